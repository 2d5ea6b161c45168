import { pageOf, type Page, type Paging } from '../../catalog/page.ts'
import { conditions, containing, pageClause } from '../../catalog/queries/sql.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { hideFrom } from './clients.ts'
import type { CveView, PackageView, ScanView, UpdateView } from './views.ts'

type Dated<View, Names extends keyof View> = Omit<View, Names> & { readonly [Name in Names]: Date }

async function paged<Row extends object, View>(
  db: Queryable,
  { columns, from, order }: { readonly columns: string; readonly from: string; readonly order: string },
  {
    found,
    paging,
    view,
  }: { readonly found: ReturnType<typeof conditions>; readonly paging: Paging; readonly view: (row: Row) => View },
): Promise<Page<View>> {
  const total = await db.first<{ n: number }>(`select count(*) as n from ${from} ${found.where()}`, found.values)
  const rows = await db.query<Row>(
    `select ${columns} from ${from} ${found.where()} order by ${order} ${pageClause(paging, found.add)}`,
    found.values,
  )
  return pageOf(rows.map(view), total?.n ?? 0, paging)
}

const named = (found: ReturnType<typeof conditions>, q: string | undefined, column: string): void =>
  found.when(
    q === undefined || q === '' ? undefined : containing(q.toLowerCase()),
    place => `lower(${column}) like ${place}`,
  )

/** The packages of a machine, by name. */
export function listPackages(
  db: Queryable,
  { clientId, q, paging }: { readonly clientId: number; readonly q: string | undefined; readonly paging: Paging },
): Promise<Page<PackageView>> {
  const found = conditions()
  found.when(clientId, place => `p.client_id = ${place}`)
  named(found, q, 'p.name')
  return paged<Dated<PackageView, 'since' | 'scanned_at'>, PackageView>(
    db,
    {
      columns: 'p.name, p.version, p.arch, p.source, p.source_version, p.since, c.last_seen as scanned_at',
      from: 'inventory_package p join inventory_client c on c.id = p.client_id',
      order: 'p.name, p.version, p.arch',
    },
    {
      found,
      paging,
      view: row => ({ ...row, since: row.since.toISOString(), scanned_at: row.scanned_at.toISOString() }),
    },
  )
}

const closed = (severity: string): string => `coalesce((u.closes->>'${severity}')::int, 0)`

/** What is newer than what a machine has: what closes most first. */
export function listUpdates(
  db: Queryable,
  {
    clientId,
    q,
    state,
    paging,
  }: {
    readonly clientId: number
    readonly q: string | undefined
    readonly state: string | undefined
    readonly paging: Paging
  },
): Promise<Page<UpdateView>> {
  const found = conditions()
  found.when(clientId, place => `u.client_id = ${place}`)
  found.when(state, place => `u.state = ${place}`)
  named(found, q, 'u.name')
  return paged<Dated<UpdateView, 'since'>, UpdateView>(
    db,
    {
      columns: 'u.name, u.arch, u.installed, u.available, u.state, u.closes, u.since',
      from: 'inventory_update u',
      order: `${['critical', 'high', 'medium'].map(severity => `${closed(severity)} desc`).join(', ')}, u.name, u.arch`,
    },
    { found, paging, view: row => ({ ...row, since: row.since.toISOString() }) },
  )
}

/** Scans and reports, newest first. */
export function listScans(
  db: Queryable,
  viewer: Viewer,
  {
    clientId,
    status,
    paging,
  }: { readonly clientId: number | undefined; readonly status?: string | undefined; readonly paging: Paging },
): Promise<Page<ScanView>> {
  const found = conditions()
  hideFrom(viewer, found)
  found.when(clientId, place => `s.client_id = ${place}`)
  found.when(status, place => `s.status = ${place}`)
  return paged<Dated<ScanView, 'at'>, ScanView>(
    db,
    {
      columns: `s.id, s.client_id, c.hostname, s.at, s.connection_type, s.asked_by, s.status, s.error_code, s.error, s.duration_ms,
        s.packages, s.added, s.removed, s.changed, s.changes`,
      from: 'inventory_scan s join inventory_client c on c.id = s.client_id',
      order: 's.at desc, s.id desc',
    },
    { found, paging, view: row => ({ ...row, at: row.at.toISOString() }) },
  )
}

export interface CveFilter {
  readonly q?: string | undefined
  readonly client_id?: number | undefined
  readonly severity?: string | undefined
  readonly kev?: boolean | undefined
  readonly fixable?: boolean | undefined
}

/** Vulnerabilities of machines, worst first. */
export function listCves(db: Queryable, viewer: Viewer, filter: CveFilter, paging: Paging): Promise<Page<CveView>> {
  const found = conditions()
  hideFrom(viewer, found)
  found.when(filter.client_id, place => `f.client_id = ${place}`)
  found.when(filter.severity, place => `f.severity = ${place}`)
  found.when(filter.kev, place => `f.kev = ${place}::boolean`)
  found.when(filter.fixable, place => `(f.fixed_in is not null) = ${place}::boolean`)
  found.when(filter.q === undefined || filter.q === '' ? undefined : filter.q, place => {
    const like = found.add(containing((filter.q ?? '').toLowerCase()))
    return `(lower(f.cve) = lower(${place}) or lower(f.package) like ${like} or lower(c.hostname) like ${like})`
  })
  return paged<Dated<CveView, 'first_seen' | 'scanned_at'>, CveView>(
    db,
    {
      columns: `f.client_id, c.hostname, f.package as pkg_name, f.version as pkg_version, f.arch, f.cve as cve_id, f.severity, f.cvss,
        coalesce(w.summary, '') as description, case when f.fixed_in is null then 'not-fixed' else 'fixed' end as fix_state,
        f.fixed_in as fix_version, f.update_state, f.kev as in_kev, f.epss, f.epss_percentile, coalesce(w.urls, '{}') as urls,
        f.first_seen, c.last_seen as scanned_at`,
      from: 'inventory_finding f join inventory_client c on c.id = f.client_id left join inventory_cve w on w.cve = f.cve',
      order: 'f.rank desc, f.kev desc, f.cve, f.package, f.client_id, f.version, f.arch',
    },
    {
      found,
      paging,
      view: row => ({ ...row, first_seen: row.first_seen.toISOString(), scanned_at: row.scanned_at.toISOString() }),
    },
  )
}

/** How many updates of a machine are where. */
export async function countUpdates(
  db: Queryable,
  clientId: number,
): Promise<{ readonly here: number; readonly in_review: number; readonly not_here: number }> {
  const rows = await db.query<{ state: string; n: number }>(
    'select state, count(*) as n from inventory_update where client_id = $1 group by state',
    [clientId],
  )
  const count = (state: string): number => rows.find(row => row.state === state)?.n ?? 0
  return { here: count('here'), in_review: count('in_review'), not_here: count('not_here') }
}
