import { SEVERITIES, type Severity } from '../../core/findings.ts'
import { STATES, type State } from '../../core/manifest.ts'
import type { Queryable } from '../../db/db.ts'

/** How many packages are in each state; every state is named. */
export async function countStates(db: Queryable): Promise<Record<State, number>> {
  const rows = await db.query<{ state: State; n: number }>('select state, count(*) as n from package group by state')
  const counts = Object.fromEntries(STATES.map(state => [state, 0])) as Record<State, number>
  for (const { state, n } of rows) counts[state] = n
  return counts
}

/**
 * How many findings of each severity the packages have that could still be installed or approved; every severity is
 * named.
 */
export async function countFindings(db: Queryable): Promise<Record<Severity, number>> {
  const rows = await db.query<{ severity: Severity; n: number }>(`
    select finding->>'severity' as severity, count(*) as n
    from package, jsonb_array_elements(manifest->'findings') as finding
    where findings > 0 and state <> 'rejected' group by 1`)
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

export function listGroups(db: Queryable): Promise<Group[]> {
  return db.query<Group>(`select codename, format, state, count(*) as packages, coalesce(sum(size), 0)::bigint as bytes
    from package group by codename, format, state order by codename, format, state`)
}

/** Names in the list, and the bytes on disk behind them: equal blobs lie there once. */
export async function countStorage(
  db: Queryable,
): Promise<{ readonly artifacts: number; readonly blobs: number; readonly bytes: number }> {
  const row = await db.first<{ artifacts: number; blobs: number; bytes: number }>(`
    select (select count(*) from artifact) as artifacts, count(*) as blobs, coalesce(sum(size), 0)::bigint as bytes
    from (select sha256, max(size) as size from package group by sha256) as blob`)
  return row ?? { artifacts: 0, blobs: 0, bytes: 0 }
}

/**
 * Packages that came in on each of the last `days` days in UTC, today included, the oldest first; days without any are
 * there with 0.
 */
export async function uploadsPerDay(
  db: Queryable,
  days: number,
  today: Date,
): Promise<{ readonly day: string; readonly count: number }[]> {
  return db.query<{ day: string; count: number }>(
    `
    select to_char(d, 'YYYY-MM-DD') as day, coalesce(n, 0) as count
    from generate_series($1::date - ($2::int - 1), $1::date, '1 day') as d
    left join (select (created_at at time zone 'UTC')::date as d, count(*) as n from package
               where created_at >= ($1::date - ($2::int - 1))::timestamp at time zone 'UTC' group by 1) as made using (d)
    order by d`,
    [today.toISOString().slice(0, 10), days],
  )
}
