import { printPurl } from '../../server/core/purl.ts'
import type { Found, Reader, Reading } from '../../server/contents/reader.ts'
import { openFile } from './open-file.ts'

/** What the first reader that wants the file finds in it; all of its answer where something was not opened. */
export async function findings(
  readers: readonly Reader[],
  path: string,
  content: Buffer | string,
): Promise<readonly Found[] | Reading | 'not wanted'> {
  const file = openFile(path, content)
  const reader = readers.find(one => one.wants(file))
  if (reader === undefined) return 'not wanted'
  const reading = await reader.read(file)
  return reading.unopened === undefined ? reading.found : reading
}

/** One line for each component: package URL, presence, confidence, and why it is not asked about. */
export async function purls(readers: readonly Reader[], path: string, content: Buffer | string): Promise<string[]> {
  const found = await findings(readers, path, content)
  if (found === 'not wanted' || !Array.isArray(found)) throw new Error(`${path}: ${JSON.stringify(found)}`)
  return (found as readonly Found[]).map(
    ({ presence, confidence, unasked, ...purl }) =>
      `${printPurl({ ...purl, version: purl.version ?? '' })} ${presence} ${confidence}${unasked === undefined ? '' : `: ${unasked}`}`,
  )
}
