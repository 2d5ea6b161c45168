import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Tables and answers of other projects, which are not part of this one. Tests that need them are skipped without. */
const FOLDER = process.env.REFERENCE_DATA ?? join(import.meta.dirname, '../../../shared/data')

export const referencePath = (path: string): string => join(FOLDER, path)

/** The columns of each row of a table of versions; none where it is not there. */
export function readVectors(name: string): string[][] {
  const path = referencePath(`vectors/${name}`)
  if (!existsSync(path)) return []
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
    .map(line => line.split('\t'))
}
