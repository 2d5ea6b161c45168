import { isZero } from '../../lib/collector.ts'
import { malformed } from '../../lib/limited.ts'
import {
  BLOCK,
  checkHeader,
  extensionSize,
  isExtension,
  readEntry,
  readExtension,
  type Ahead,
} from '../../lib/tar-header.ts'
import type { OpenFile, OtherMember } from '../reader.ts'
import type { Source } from '../source.ts'

/** A path of an archive, relative to its root. */
export const cleanPath = (name: string): string => name.replace(/^(?:\.?\/)+/, '').replace(/\/+$/, '')

/** Whether these are the first bytes of a tar. */
export const isTar = (head: Buffer): boolean => head.length >= BLOCK && head.toString('latin1', 257, 262) === 'ustar'

const padded = (size: number): number => Math.ceil(size / BLOCK) * BLOCK - size
const what = 'the tar'

/** @throws Malformed when something follows the end mark, where tar does not look */
async function mustEnd(source: Source): Promise<void> {
  for await (const bytes of source.rest()) if (!isZero(bytes)) malformed(`${what} goes on behind its end mark`)
}

/**
 * The files of a tar in its order; v7, ustar, GNU long names and pax.
 * @param place  before each path: empty, or `app.tar!/`
 * @param isChecked  the format check has read its headers, so they need not be summed up again
 * @throws Malformed where it is damaged or sparse
 */
export async function* tarFiles(
  source: Source,
  {
    place,
    entries,
    isChecked = false,
  }: { readonly place: string; readonly entries: number; readonly isChecked?: boolean },
): AsyncGenerator<OpenFile | OtherMember> {
  let ahead: Ahead = {}
  let n = 0
  for (let block = await source.take(BLOCK); block !== undefined; block = await source.take(BLOCK)) {
    if (isZero(block)) return mustEnd(source)
    if (++n > entries) malformed(`${what} holds more than ${entries} entries`)
    if (!isChecked) checkHeader(block, { dialect: 'any', what })
    const flag = String.fromCharCode(block[156] ?? 0)
    if (isExtension(flag)) {
      const size = extensionSize(block, flag, what)
      const body = (await source.take(size)) ?? malformed(`${what} is cut off`)
      ahead = { ...ahead, ...readExtension(body, flag, what) }
      await source.skip(padded(size))
      continue
    }
    const { name, type, size } = readEntry(block, ahead, what)
    ahead = {}
    const path = `${place}${cleanPath(name)}`
    if (type === 'file') {
      yield await source.file(path, size)
      await source.skip(padded(size))
    } else yield { other: path }
  }
}
