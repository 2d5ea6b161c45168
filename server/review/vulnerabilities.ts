import { pageOf, type Paging } from '../catalog/page.ts'
import type { Finding, Severity } from '../core/findings.ts'
import type { State } from '../core/manifest.ts'
import { fail } from '../core/errors.ts'
import type { Queryable } from '../db/db.ts'
import {
  conditions,
  containing,
  orderNames,
  orderOf,
  pageClause,
  type Conditions,
  type Orders,
} from '../catalog/queries/sql.ts'

/** A package that has a vulnerability. */
export interface Affected {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly distribution: string
  readonly format: string
  readonly status: State
  /** What in the package has it, where that is not the package itself. */
  readonly component: string
  readonly severity: Severity
  readonly fixed_version: string | null
  readonly accepted: boolean
  readonly accepted_until: string | null
  readonly first_seen: string
}

/** One vulnerability with the packages that have it. */
export interface Vulnerability {
  readonly id: string
  readonly cve_id: string
  readonly severity: Severity
  readonly epss: number | null
  readonly kev: boolean
  readonly fixable: boolean
  readonly summary: string | null
  readonly aliases: readonly string[]
  readonly detected_by: readonly string[]
  readonly fixed_versions: readonly string[]
  /** In how many packages, how many of them are served, and in how many nobody accepted it. */
  readonly package_count: number
  readonly published_count: number
  readonly open_count: number
  readonly first_seen: string
  /** The first ten; `GET /security/vulnerabilities/{cve}` pages through all. */
  readonly packages: readonly Affected[]
}

export interface VulnerabilityFilter {
  readonly q?: string | undefined
  readonly severity?: string | undefined
  readonly kev?: boolean | undefined
  readonly fixable?: boolean | undefined
  readonly accepted?: boolean | undefined
  readonly status?: string | undefined
  readonly distribution?: string | undefined
  readonly format?: string | undefined
  readonly package?: string | undefined
  readonly minEpss?: number | undefined
}

const ORDERS = {
  severity: [
    ['rank', 'desc'],
    ['kev', 'desc'],
    ['epss', 'desc'],
  ],
  kev: [
    ['kev', 'desc'],
    ['epss', 'desc'],
    ['rank', 'desc'],
  ],
  epss: [
    ['epss', 'desc'],
    ['rank', 'desc'],
  ],
  packages: [
    ['places', 'desc'],
    ['rank', 'desc'],
  ],
  first_seen: [
    ['first_seen', 'desc'],
    ['rank', 'desc'],
  ],
  id: [['cve', 'asc']],
} satisfies Orders
export const VULNERABILITY_ORDERS = orderNames(ORDERS)

const LISTED = 10
const SEVERITY_OF_RANK: readonly Severity[] = [
  'negligible',
  'negligible',
  'low',
  'unknown',
  'medium',
  'high',
  'critical',
]

interface Head {
  readonly cve: string
  readonly rank: number
  readonly epss: number | null
  readonly kev: boolean
  readonly fixable: boolean
  readonly first_seen: Date
  readonly total: number
}
interface Counts {
  readonly cve: string
  readonly package_count: number
  readonly published_count: number
  readonly open_count: number
}
interface AffectedRow extends Omit<Affected, 'accepted_until' | 'first_seen'> {
  readonly cve: string
  readonly accepted_until: Date | null
  readonly first_seen: Date
  readonly found?: Finding | null
}

function narrow(is: Conditions, filter: VulnerabilityFilter): void {
  is.when(
    filter.q === undefined || filter.q.trim() === '' ? undefined : containing(filter.q.trim().toLowerCase()),
    place => `(lower(f.cve) like ${place} or lower(p.name) like ${place})`,
  )
  is.when(filter.severity, place => `f.severity = ${place}`)
  is.when(filter.kev, place => `f.kev = ${place}`)
  is.when(filter.fixable, place => `(f.fixed_in is not null) = ${place}`)
  is.when(filter.accepted, place => `f.accepted = ${place}`)
  is.when(filter.minEpss, place => `f.epss >= ${place}`)
  is.when(filter.status, place => `p.state = ${place}`)
  is.when(filter.distribution, place => `p.codename = ${place}`)
  is.when(filter.format, place => `p.format = ${place}`)
  is.when(filter.package, place => `p.name = ${place}`)
}

const AFFECTED = `f.cve, p.name, p.version, p.arch, p.codename as distribution, p.format, p.state as status, f.component, f.severity, f.fixed_in as fixed_version,
  f.accepted, f.accepted_until, f.first_seen`
// what is served comes first: it is what somebody may install
const SERVED_FIRST = `(p.state = 'published') desc, (p.state = 'pending_review') desc, p.name, p.sort_key desc, p.codename, p.arch, f.component`

function affectedView({ cve: _, found: __, ...row }: AffectedRow): Affected {
  return { ...row, accepted_until: row.accepted_until?.toISOString() ?? null, first_seen: row.first_seen.toISOString() }
}

/** The first packages of each of these vulnerabilities; the finding itself comes with the first one. */
async function listAffected(
  db: Queryable,
  cves: readonly string[],
  filter: VulnerabilityFilter,
): Promise<ReadonlyMap<string, readonly AffectedRow[]>> {
  const is = conditions('f.cve = wanted.cve')
  const wanted = is.add(cves)
  narrow(is, filter)
  const rows = await db.query<AffectedRow>(
    `
    select one.* from unnest(${wanted}::text[]) as wanted (cve)
    cross join lateral (
      select ${AFFECTED}, row_number() over (order by ${SERVED_FIRST}) as n,
        case when row_number() over (order by ${SERVED_FIRST}) = 1
          then jsonb_path_query_first(p.manifest, '$.findings[*] ? (@.id == $cve)', jsonb_build_object('cve', f.cve)) end as found
      from finding f join package p on p.id = f.package_id ${is.where()} order by n limit ${LISTED}
    ) as one order by one.cve, one.n`,
    is.values,
  )
  const found = new Map<string, AffectedRow[]>()
  for (const row of rows) found.set(row.cve, [...(found.get(row.cve) ?? []), row])
  return found
}

function viewOf(row: Head, count: Counts | undefined, affected: readonly AffectedRow[]): Vulnerability {
  const found = affected[0]?.found
  return {
    id: row.cve,
    cve_id: row.cve,
    severity: SEVERITY_OF_RANK[row.rank] ?? 'unknown',
    epss: row.epss,
    kev: row.kev,
    fixable: row.fixable,
    summary: found?.summary ?? null,
    aliases: found?.aliases ?? [],
    detected_by: found?.detected_by ?? [],
    fixed_versions: [...new Set(affected.flatMap(({ fixed_version }) => fixed_version ?? []))],
    package_count: count?.package_count ?? 0,
    published_count: count?.published_count ?? 0,
    open_count: count?.open_count ?? 0,
    first_seen: row.first_seen.toISOString(),
    packages: affected.map(affectedView),
  }
}

// what every vulnerability is sorted by; packages are only counted for those of the page. The column is of single
// precision: read as its shortest text, 0.99999 is not 0.9999899864196777
const SUMS = `f.cve, max(f.rank) as rank, max(f.epss)::text::float8 as epss, bool_or(f.kev) as kev, bool_or(f.fixed_in is not null) as fixable, min(f.first_seen) as first_seen,
  count(*) as places, count(*) over () as total`

async function countPackages(
  db: Queryable,
  cves: readonly string[],
  filter: VulnerabilityFilter,
): Promise<ReadonlyMap<string, Counts>> {
  const is = conditions()
  is.when(cves, place => `f.cve = any(${place}::text[])`)
  narrow(is, filter)
  const rows = await db.query<Counts>(
    `
    select f.cve, count(distinct f.package_id) as package_count, count(distinct f.package_id) filter (where p.state = 'published') as published_count,
      count(distinct f.package_id) filter (where not f.accepted) as open_count
    from finding f join package p on p.id = f.package_id ${is.where()} group by f.cve`,
    is.values,
  )
  return new Map(rows.map(row => [row.cve, row]))
}

const looksAtPackages = ({ q, status, distribution, format, package: name }: VulnerabilityFilter): boolean =>
  (q ?? '').trim() !== '' || [status, distribution, format, name].some(value => value !== undefined)

export interface VulnerabilityPage {
  readonly vulnerabilities: readonly Vulnerability[]
  readonly total: number
  readonly page: number
  readonly per_page: number
  readonly pages: number
}

/** A page of vulnerabilities over all packages that the filter lets through, each once. */
export async function listVulnerabilities(
  db: Queryable,
  filter: VulnerabilityFilter,
  { paging, sort }: { readonly paging: Paging; readonly sort: string },
): Promise<VulnerabilityPage> {
  const is = conditions()
  narrow(is, filter)
  const from = `from finding f ${looksAtPackages(filter) ? 'join package p on p.id = f.package_id' : ''} ${is.where()} group by f.cve`
  const plain = [...is.values]
  const rows = await db.query<Head>(
    `select ${SUMS} ${from} order by ${orderOf(ORDERS, sort)}, cve desc ${pageClause(paging, is.add)}`,
    is.values,
  )
  const cves = rows.map(({ cve }) => cve)
  const [counts, affected] = await Promise.all([countPackages(db, cves, filter), listAffected(db, cves, filter)])
  // a page behind the last one has no row that could say how many there are
  const total =
    rows[0]?.total ??
    (await db.first<{ total: number }>(`select count(*) as total from (select 1 ${from}) as all_of_them`, plain))
      ?.total ??
    0
  const { items: _, ...numbers } = pageOf([], total, paging)
  return { vulnerabilities: rows.map(row => viewOf(row, counts.get(row.cve), affected.get(row.cve) ?? [])), ...numbers }
}

export interface VulnerabilityDetail extends Vulnerability {
  readonly total: number
  readonly page: number
  readonly per_page: number
  readonly pages: number
}

/** One vulnerability with a page of the packages that have it. @throws cve_not_found */
export async function getVulnerability(db: Queryable, cve: string, paging: Paging): Promise<VulnerabilityDetail> {
  // ids are written in upper case by most who name them and in lower case by some who ask
  const row =
    (await db.first<Head>(`select ${SUMS} from finding f where f.cve = any($1::text[]) group by f.cve limit 1`, [
      [cve, cve.toUpperCase()],
    ])) ?? fail('cve_not_found', { cve: cve.slice(0, 100) })
  const [counts, first] = await Promise.all([countPackages(db, [row.cve], {}), listAffected(db, [row.cve], {})])
  const rows = await db.query<AffectedRow>(
    `select ${AFFECTED} from finding f join package p on p.id = f.package_id where f.cve = $1
    order by ${SERVED_FIRST} limit $2 offset $3`,
    [row.cve, paging.perPage, (paging.page - 1) * paging.perPage],
  )
  const counted = await db.first<{ total: number }>('select count(*) as total from finding where cve = $1', [row.cve])
  const { items, ...numbers } = pageOf(rows.map(affectedView), counted?.total ?? 0, paging)
  return { ...viewOf(row, counts.get(row.cve), first.get(row.cve) ?? []), packages: items, ...numbers }
}
