import type { Severity } from '../../core/findings.ts'
import type { Iso, Named } from '../../core/identity.ts'
import type { SlaDays } from '../../core/review.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable, Tx } from '../../db/db.ts'
import { conditions, dueSql, params, seenBy } from './sql.ts'

/** A waiting package with a deadline. */
export interface Breach extends Omit<Named, 'format'> {
  readonly severity: Severity
  readonly held_at: Iso
  readonly due_at: Iso
  readonly assigned_to: string | null
}
type BreachRow = Omit<Breach, 'held_at' | 'due_at'> & {
  readonly id: number
  readonly held_at: Date
  readonly due_at: Date
}

/** Every waiting package whose deadline is in a span of time, by default all of the past; the oldest deadline first. */
export async function listDue(
  db: Queryable,
  viewer: Viewer,
  { days, after, until }: { readonly days: SlaDays; readonly after?: Date; readonly until: Date },
): Promise<readonly (Breach & { readonly id: number })[]> {
  const is = conditions(`p.state = 'pending_review'`)
  const due = dueSql(days, is.add)
  is.seenBy(viewer, 'p.codename')
  is.when(until, at => `${due} <= ${at}`)
  is.when(after, at => `${due} > ${at}`)
  const rows = await db.query<BreachRow>(
    `
    select p.id, p.name, p.version, p.arch, p.codename as distribution, p.open_worst as severity, p.held_at, ${due} as due_at, p.assignee as assigned_to
    from package p ${is.where()} order by due_at, p.id`,
    is.values,
  )
  return rows.map(row => ({ ...row, held_at: row.held_at.toISOString(), due_at: row.due_at.toISOString() }))
}

/** How many packages are held. */
export async function countWaiting(db: Queryable, viewer: Viewer): Promise<number> {
  const { values, add } = params()
  const row = await db.first<{ n: number }>(
    `select count(*) as n from package where state = 'pending_review' and ${seenBy(viewer, add, 'codename')}`,
    values,
  )
  return row?.n ?? 0
}

/**
 * Marks these missed deadlines as reported, unless the package was deleted. @returns the ids that were not reported
 * before: of two calls at once, one gets them
 */
export async function markNotified(
  tx: Tx,
  viewer: Viewer,
  {
    rows,
    now,
  }: { readonly rows: readonly (Pick<Breach, 'held_at' | 'due_at'> & { readonly id: number })[]; readonly now: Date },
): Promise<ReadonlySet<number>> {
  const { values, add } = params(
    rows.map(({ id }) => id),
    rows.map(row => row.held_at),
    rows.map(row => row.due_at),
    now,
  )
  const fresh = await tx.query<{ package_id: number }>(
    `
    insert into sla_breach (package_id, held_at, due_at, told_at)
    select b.id, b.held_at, b.due_at, $4 from unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[]) as b (id, held_at, due_at)
    where exists (select 1 from package p where p.id = b.id and ${seenBy(viewer, add, 'p.codename')})
    on conflict do nothing returning package_id`,
    values,
  )
  return new Set(fresh.map(row => row.package_id))
}
