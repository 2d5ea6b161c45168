import { getFormat } from '../../formats/index.ts'
import type { Source } from '../source.ts'

/** The rows that are not among the newest so many of their name and architecture. */
export function olderThan<Row extends { readonly name: string; readonly arch: string; readonly version: string }>(
  rows: readonly Row[],
  { format, newest = Infinity }: Pick<Source, 'format' | 'newest'>,
): readonly Row[] {
  const { compareVersions } = getFormat(format)
  const groups = Map.groupBy(rows, ({ name, arch }) => `${name} ${arch}`)
  return [...groups.values()].flatMap(group =>
    group.toSorted((a, b) => compareVersions(b.version, a.version)).slice(newest),
  )
}
