import type { Query } from '../../routes.svelte.ts'
import type { ReviewItem, Wire } from '../../wire.ts'

type Ask = NonNullable<Wire['GET /security/review-queue']['ask']['query']>

/** What narrows the queue, as the address has it. */
const FILTERS = ['q', 'dist', 'severity', 'format', 'kev', 'who', 'overdue'] as const
export const PER_PAGE = 25

export const isFiltered = (query: Query): boolean => FILTERS.some(name => Boolean(query[name]))

/** The change of the address that shows the whole queue. */
export const UNFILTERED: Readonly<Record<string, undefined>> = Object.fromEntries(
  [...FILTERS, 'page'].map(name => [name, undefined]),
)

/** The part of the address that the list depends on; the same text as long as that is the same. */
export const listPart = (query: Query): string =>
  JSON.stringify(Object.fromEntries([...FILTERS, 'sort'].map(name => [name, query[name]])))

/** The question to the server for a `listPart`. @param me  the name of the reader, for `who=me` */
export function askFor(part: string, me: string | undefined): Ask {
  const { q, dist, severity, format, kev, who, overdue, sort } = JSON.parse(part) as Query
  return {
    ...(q ? { q } : {}),
    ...(dist ? { distribution: dist } : {}),
    ...(severity ? { severity } : {}),
    ...(format ? { format } : {}),
    ...(kev ? { kev: true } : {}),
    ...(overdue ? { overdue: true } : {}),
    ...(who === 'me' ? { assigned_to: me ?? '' } : who === 'none' ? { assigned_to: 'none' } : {}),
    ...(sort ? { sort } : {}),
  }
}

/** One version in one distribution: a row of the queue. */
export type RowKey = Pick<ReviewItem, 'name' | 'version' | 'distribution' | 'arch'>

export const keyOf = ({ name, version, distribution, arch }: RowKey): string =>
  JSON.stringify([name, version, distribution, arch])

/** The row that the address has open. */
export const pickedIn = (query: Query): RowKey | undefined =>
  query.pick === undefined
    ? undefined
    : { name: query.pick, version: query.version ?? '', distribution: query.in ?? '', arch: query.arch ?? '' }

/** The change of the address that opens a row, or closes the open one. */
export const pickOf = (item: RowKey | undefined) => ({
  pick: item?.name,
  version: item?.version,
  in: item?.distribution,
  arch: item?.arch,
})
