import type { Finding, Severity } from '../../core/findings.ts'
import type { Iso, Named } from '../../core/identity.ts'
import type { State } from '../../core/manifest.ts'
import { seesAll, type Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { Paging } from '../page.ts'
import {
  conditions,
  containing,
  orderNames,
  orderOf,
  pageClause,
  params,
  seenBy,
  type Conditions,
  type Orders,
} from './sql.ts'

export interface VulnerabilityFilter {
  readonly q?: string | undefined
  readonly severity?: string | undefined
  readonly kev?: boolean | undefined
  readonly fixable?: boolean | undefined
  readonly accepted?: boolean | undefined
  readonly status?: string | undefined
  readonly distribution?: string | undefined
  readonly format?: string | undefined
  readonly arch?: string | undefined
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

/** One vulnerability over the packages that have it; `rank` 6 is critical, 1 negligible. */
export interface VulnerabilityRow {
  readonly cve: string
  readonly rank: number
  readonly epss: number | null
  readonly kev: boolean
  readonly fixable: boolean
  readonly first_seen: Date
  readonly total: number
}
/** The number of packages with a vulnerability. */
export interface VulnerabilityCounts {
  readonly cve: string
  readonly package_count: number
  readonly published_count: number
  readonly open_count: number
}
/** A package that has a vulnerability. */
export interface Affected extends Named {
  readonly status: State
  /** The library inside the package that has it, where it is not the package itself. */
  readonly component: string
  readonly severity: Severity
  readonly fixed_version: string | null
  readonly accepted: boolean
  readonly accepted_until: Iso | null
  readonly first_seen: Iso
}
/** The first packages that have a vulnerability, and the finding itself. */
export interface FirstAffected {
  readonly found: Finding | undefined
  readonly packages: readonly Affected[]
}
type AffectedRow = Omit<Affected, 'accepted_until' | 'first_seen'> & {
  readonly cve: string
  readonly accepted_until: Date | null
  readonly first_seen: Date
}
const affectedOf = ({ cve: _, ...row }: AffectedRow): Affected => ({
  ...row,
  accepted_until: row.accepted_until?.toISOString() ?? null,
  first_seen: row.first_seen.toISOString(),
})

function narrow(is: Conditions, viewer: Viewer, filter: VulnerabilityFilter): void {
  is.seenBy(viewer, 'p.codename')
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
  is.when(filter.arch, place => `p.arch = ${place}`)
  is.when(filter.package, place => `p.name = ${place}`)
}

const AFFECTED = `f.cve, p.name, p.version, p.arch, p.codename as distribution, p.format, p.state as status, f.component, f.severity, f.fixed_in as fixed_version,
  f.accepted, f.accepted_until, f.first_seen`
// served packages first: somebody may install them
const SERVED_FIRST = `(p.state = 'published') desc, (p.state = 'pending_review') desc, p.name, p.sort_key desc, p.codename, p.arch, f.component`

/** The first packages of each of these vulnerabilities. */
export async function listFirstAffected(
  db: Queryable,
  viewer: Viewer,
  { cves, filter = {} }: { readonly cves: readonly string[]; readonly filter?: VulnerabilityFilter },
): Promise<ReadonlyMap<string, FirstAffected>> {
  const is = conditions('f.cve = wanted.cve')
  const wanted = is.add(cves)
  narrow(is, viewer, filter)
  const rows = await db.query<AffectedRow & { readonly found: Finding | null; readonly n: number }>(
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
  const first = new Map<string, FirstAffected>()
  for (const { found, n: _, ...row } of rows) {
    const known = first.get(row.cve)
    // the finding comes with the first package
    first.set(row.cve, {
      found: known === undefined ? (found ?? undefined) : known.found,
      packages: [...(known?.packages ?? []), affectedOf(row)],
    })
  }
  return first
}

// what vulnerabilities are sorted by; packages are counted only for those on the page. The column has single precision:
// read as its shortest text, 0.99999 is not 0.9999899864196777
const SUMS = `f.cve, max(f.rank) as rank, max(f.epss)::text::float8 as epss, bool_or(f.kev) as kev, bool_or(f.fixed_in is not null) as fixable, min(f.first_seen) as first_seen,
  count(*) as places, count(*) over () as total`

/** The number of packages with each of these. */
export async function countAffected(
  db: Queryable,
  viewer: Viewer,
  { cves, filter = {} }: { readonly cves: readonly string[]; readonly filter?: VulnerabilityFilter },
): Promise<ReadonlyMap<string, VulnerabilityCounts>> {
  const is = conditions()
  is.when(cves, place => `f.cve = any(${place}::text[])`)
  narrow(is, viewer, filter)
  const rows = await db.query<VulnerabilityCounts>(
    `
    select f.cve, count(distinct f.package_id) as package_count, count(distinct f.package_id) filter (where p.state = 'published') as published_count,
      count(distinct f.package_id) filter (where not f.accepted) as open_count
    from finding f join package p on p.id = f.package_id ${is.where()} group by f.cve`,
    is.values,
  )
  return new Map(rows.map(row => [row.cve, row]))
}

const filtersPackages = ({ q, status, distribution, format, package: name }: VulnerabilityFilter): boolean =>
  (q ?? '').trim() !== '' || [status, distribution, format, name].some(value => value !== undefined)

/** `finding f`, joined with `package p` only when a condition concerns packages. */
const findings = (viewer: Viewer, filter: VulnerabilityFilter): string =>
  `finding f ${filtersPackages(filter) || !seesAll(viewer) ? 'join package p on p.id = f.package_id' : ''}`

/** A page of vulnerabilities in all packages that the filter selects, each once. */
export async function listFound(
  db: Queryable,
  viewer: Viewer,
  { filter, paging, sort }: { readonly filter: VulnerabilityFilter; readonly paging: Paging; readonly sort: string },
): Promise<{ readonly rows: readonly VulnerabilityRow[]; readonly total: number }> {
  const is = conditions()
  narrow(is, viewer, filter)
  const from = `from ${findings(viewer, filter)} ${is.where()} group by f.cve`
  const plain = [...is.values]
  const rows = await db.query<VulnerabilityRow>(
    `select ${SUMS} ${from} order by ${orderOf(ORDERS, sort)}, cve desc ${pageClause(paging, is.add)}`,
    is.values,
  )
  // a page behind the last one has no row that could carry the count
  const total =
    rows[0]?.total ??
    (await db.first<{ total: number }>(`select count(*) as total from (select 1 ${from}) as all_of_them`, plain))
      ?.total ??
    0
  return { rows, total }
}

/** One vulnerability, by its id in upper or lower case. */
export function findFound(db: Queryable, viewer: Viewer, cve: string): Promise<VulnerabilityRow | undefined> {
  // most write ids in upper case, some ask in lower case
  const { values, add } = params([cve, cve.toUpperCase()])
  return db.first<VulnerabilityRow>(
    `select ${SUMS} from ${findings(viewer, {})} where f.cve = any($1::text[]) and ${seenBy(viewer, add, 'p.codename')}
    group by f.cve limit 1`,
    values,
  )
}

/** A page of the packages with one vulnerability; served ones first. */
export async function listAffected(
  db: Queryable,
  viewer: Viewer,
  { cve, paging }: { readonly cve: string; readonly paging: Paging },
): Promise<{ readonly rows: readonly Affected[]; readonly total: number }> {
  const { values, add } = params(cve)
  const where = `where f.cve = $1 and ${seenBy(viewer, add, 'p.codename')}`
  const counted = db.first<{ total: number }>(`select count(*) as total from ${findings(viewer, {})} ${where}`, [
    ...values,
  ])
  const asked = db.query<AffectedRow>(
    `select ${AFFECTED} from finding f join package p on p.id = f.package_id ${where}
    order by ${SERVED_FIRST} ${pageClause(paging, add)}`,
    values,
  )
  const [total, rows] = await Promise.all([counted, asked])
  return { rows: rows.map(affectedOf), total: total?.total ?? 0 }
}
