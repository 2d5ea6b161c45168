import { SEVERITIES, type Severity } from '../../core/findings.ts'
import { STATES, type State } from '../../core/manifest.ts'
import { seesAll, type Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { params, seenBy } from './sql.ts'

/** How many packages are in each state; every state is named. */
export async function countStates(db: Queryable, viewer: Viewer): Promise<Record<State, number>> {
  const { values, add } = params()
  const rows = await db.query<{ state: State; n: number }>(
    `select state, count(*) as n from package where ${seenBy(viewer, add, 'codename')} group by state`,
    values,
  )
  const counts = Object.fromEntries(STATES.map(state => [state, 0])) as Record<State, number>
  for (const { state, n } of rows) counts[state] = n
  return counts
}

/** How many packages a vulnerability engine answered for. */
export async function countScanned(db: Queryable, viewer: Viewer): Promise<number> {
  const { values, add } = params()
  const seen = seenBy(viewer, add, 'codename')
  const row = await db.first<{ n: number }>(
    `select (select count(*) from package where ${seen}) - (select count(*) from package where unscanned and ${seen}) as n`,
    values,
  )
  return row?.n ?? 0
}

/** How many served and waiting packages no vulnerability engine answered for. */
export async function countNotLooked(db: Queryable, viewer: Viewer): Promise<number> {
  const { values, add } = params()
  const row = await db.first<{ n: number }>(
    `select count(*) as n from package where unscanned and state in ('published', 'pending_review') and ${seenBy(viewer, add, 'codename')}`,
    values,
  )
  return row?.n ?? 0
}

/** How many packages each codename has. */
export async function countByCodename(db: Queryable, viewer: Viewer): Promise<ReadonlyMap<string, number>> {
  const { values, add } = params()
  const rows = await db.query<{ codename: string; n: number }>(
    `select codename, count(*)::int as n from package where ${seenBy(viewer, add, 'codename')} group by codename`,
    values,
  )
  return new Map(rows.map(({ codename, n }) => [codename, n]))
}

/** How many binary packages are published in each codename, by codename. */
export async function countServedByCodename(db: Queryable, viewer: Viewer): Promise<ReadonlyMap<string, number>> {
  const { values, add } = params()
  const rows = await db.query<{ codename: string; n: number }>(
    `select codename, count(*)::int as n from package
    where state = 'published' and kind = 'binary' and ${seenBy(viewer, add, 'codename')} group by codename order by codename`,
    values,
  )
  return new Map(rows.map(({ codename, n }) => [codename, n]))
}

/** How many packages each format has; formats without any are left out. */
export async function countByFormat(db: Queryable, viewer: Viewer): Promise<Readonly<Record<string, number>>> {
  const { values, add } = params()
  const rows = await db.query<{ format: string; n: number }>(
    `select format, count(*) as n from package where ${seenBy(viewer, add, 'codename')} group by format`,
    values,
  )
  return Object.fromEntries(rows.map(({ format, n }) => [format, n]))
}

/**
 * How many findings of each severity are in packages that could still be installed or approved; every severity is
 * named.
 */
export async function countFindings(db: Queryable, viewer: Viewer): Promise<Record<Severity, number>> {
  const { values, add } = params()
  const rows = await db.query<{ severity: Severity; n: number }>(
    `
    select finding->>'severity' as severity, count(*) as n
    from package, jsonb_array_elements(manifest->'findings') as finding
    where findings > 0 and state <> 'rejected' and ${seenBy(viewer, add, 'codename')} group by 1`,
    values,
  )
  const counts = Object.fromEntries(SEVERITIES.map(severity => [severity, 0])) as Record<Severity, number>
  for (const { severity, n } of rows) counts[severity] = n
  return counts
}

/** One group of packages: in one distribution, in one state. Bytes count a blob once per package. */
export interface Group {
  readonly codename: string
  readonly format: string
  readonly state: State
  readonly packages: number
  readonly bytes: number
}

export function listGroups(db: Queryable, viewer: Viewer): Promise<Group[]> {
  const { values, add } = params()
  return db.query<Group>(
    `select codename, format, state, count(*) as packages, coalesce(sum(size), 0)::bigint as bytes
    from package where ${seenBy(viewer, add, 'codename')} group by codename, format, state order by codename, format, state`,
    values,
  )
}

/** How many names there are. */
export async function countArtifacts(db: Queryable, viewer: Viewer): Promise<number> {
  const { values, add } = params()
  const isThere = seesAll(viewer)
    ? 'true'
    : `exists (select 1 from package p where p.name = a.name and p.format = a.format and ${seenBy(viewer, add, 'p.codename')})`
  const row = await db.first<{ n: number }>(`select count(*) as n from artifact a where ${isThere}`, values)
  return row?.n ?? 0
}

/** The bytes on disk behind the packages; equal blobs count once. */
export async function countBlobs(
  db: Queryable,
  viewer: Viewer,
): Promise<{ readonly blobs: number; readonly bytes: number }> {
  const { values, add } = params()
  const row = await db.first<{ blobs: number; bytes: number }>(
    `
    select count(*) as blobs, coalesce(sum(size), 0)::bigint as bytes
    from (select f.sha256, max(f.size) as size from package_file f join package p on p.id = f.package_id
          where ${seenBy(viewer, add, 'p.codename')} group by f.sha256) as blob`,
    values,
  )
  return row ?? { blobs: 0, bytes: 0 }
}

/**
 * Packages that came in on each of the last `days` days in UTC, today included, oldest first; days without any count 0.
 */
export async function uploadsPerDay(
  db: Queryable,
  viewer: Viewer,
  { days, today }: { readonly days: number; readonly today: Date },
): Promise<{ readonly day: string; readonly count: number }[]> {
  const { values, add } = params(today.toISOString().slice(0, 10), days)
  return db.query<{ day: string; count: number }>(
    `
    select to_char(d, 'YYYY-MM-DD') as day, coalesce(n, 0) as count
    from generate_series($1::date - ($2::int - 1), $1::date, '1 day') as d
    left join (select (created_at at time zone 'UTC')::date as d, count(*) as n from package
               where created_at >= ($1::date - ($2::int - 1))::timestamp at time zone 'UTC' and ${seenBy(viewer, add, 'codename')}
               group by 1) as made using (d)
    order by d`,
    values,
  )
}

/** Whether there is any package at all. */
export async function isEmpty(db: Queryable, viewer: Viewer): Promise<boolean> {
  const { values, add } = params()
  return (
    (await db.first(`select 1 from package where ${seenBy(viewer, add, 'codename')} limit 1`, values)) === undefined
  )
}
