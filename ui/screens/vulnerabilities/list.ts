import { call } from '../../api.ts'
import type { Placed } from '../../pages.svelte.ts'
import type { Query } from '../../routes.svelte.ts'
import type { ReviewItem, Vulnerability } from '../../wire.ts'
import { STATE_NAMES } from '../../words.ts'

const KEYS = ['by', 'q', 'dist', 'severity', 'kev', 'fixable', 'epss', 'state', 'open', 'sort']

/** A row of either list. */
export type Row = { readonly cve: Vulnerability } | { readonly held: ReviewItem }

/** The part of the address that the list depends on; the same text as long as that is the same. */
export const listPart = (query: Query): string => JSON.stringify(Object.fromEntries(KEYS.map(key => [key, query[key]])))

/** What narrows both lists. */
function both({ q, dist, severity, kev, fixable, state }: Query) {
  const status = STATE_NAMES.find(name => name === state)
  return {
    ...(q ? { q } : {}),
    ...(dist ? { distribution: dist } : {}),
    ...(severity ? { severity } : {}),
    ...(kev ? { kev: true } : {}),
    ...(fixable ? { fixable: true } : {}),
    ...(status ? { status } : {}),
  }
}

/** What is read of a list. */
interface Part {
  readonly page: number
  readonly per_page: number
  readonly signal?: AbortSignal
}

/** A page of vulnerabilities for a `listPart`. @throws ApiProblem */
export async function readCves(part: string, { signal, ...paging }: Part) {
  const query = JSON.parse(part) as Query
  const { epss, open, sort } = query
  const { vulnerabilities, total, page, per_page, pages } = await call('GET /security/vulnerabilities', {
    ...(signal ? { signal } : {}),
    query: {
      ...both(query),
      ...(Number(epss) > 0 ? { min_epss: Number(epss) } : {}),
      ...(open ? { accepted: false } : {}),
      ...(sort ? { sort } : {}),
      ...paging,
    },
  })
  return { items: vulnerabilities.items, total, page, per_page, pages }
}

/** A page of packages with vulnerabilities for a `listPart`; for maintainers. @throws ApiProblem */
export async function readPackages(part: string, { signal, ...paging }: Part) {
  const query = JSON.parse(part) as Query
  const { packages, total, page, per_page, pages } = await call('GET /security/packages', {
    ...(signal ? { signal } : {}),
    query: { ...both(query), sort: query.sort || 'severity', ...paging },
  })
  return { items: packages, total, page, per_page, pages }
}

export const keyOf = (row: Row): string =>
  'cve' in row ? row.cve.id : `${row.held.name} ${row.held.version} ${row.held.distribution} ${row.held.arch}`

export const cvesOf = (rows: readonly Placed<Row>[]): readonly Placed<Vulnerability>[] =>
  rows.flatMap(({ item, ...rest }) => ('cve' in item ? [{ item: item.cve, ...rest }] : []))

export const packagesOf = (rows: readonly Placed<Row>[]): readonly Placed<ReviewItem>[] =>
  rows.flatMap(({ item, ...rest }) => ('held' in item ? [{ item: item.held, ...rest }] : []))
