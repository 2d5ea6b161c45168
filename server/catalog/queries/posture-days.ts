import { SEVERITIES, type Severity } from '../../core/findings.ts'
import type { Queryable } from '../../db/db.ts'

const LIVE = `p.state in ('published', 'pending_review')`

/** What the newest earlier count of each distribution said, by severity: it may be of days ago. */
const BEFORE = `before as (
    select c.codename, c.taken_at, f.severity, f.open
    from (select distinct on (codename) codename, day, taken_at from posture_day where day < $1::date
      order by codename, day desc) c
    left join finding_day f on f.day = c.day and f.codename = c.codename)`

/**
 * Counts the open findings of the served and waiting packages of each distribution: the row of this day, made again
 * when it is there. What came since the count before is told by when it was first seen; what then does not add up
 * came or went otherwise: by a decision, another rating, a package that was published or removed.
 */
export async function countDay(
  tx: Queryable,
  { day, now, codenames }: { readonly day: string; readonly now: Date; readonly codenames: readonly string[] },
): Promise<void> {
  await tx.query('delete from posture_day where day = $1::date', [day])
  await tx.query(
    `insert into posture_day (day, codename, taken_at, packages, not_looked)
    select $1::date, d.codename, $2, count(p.id), count(p.id) filter (where p.unscanned)
    from unnest($3::text[]) as d (codename) left join package p on p.codename = d.codename and ${LIVE}
    group by d.codename`,
    [day, now, codenames],
  )
  await tx.query(
    `with ${BEFORE},
    first as (select not exists (select 1 from before) as none),
    present as (
      select p.codename, f.severity, count(*) as open,
        count(*) filter (where f.first_seen > coalesce(b.taken_at, '-infinity')) as seen
      from finding f join package p on p.id = f.package_id
      left join (select distinct codename, taken_at from before) b on b.codename = p.codename
      where ${LIVE} and not f.accepted and p.codename = any($2::text[]) group by p.codename, f.severity),
    paired as (
      select codename, severity, coalesce(n.open, 0) as open, coalesce(n.seen, 0) as seen, coalesce(b.open, 0) as was
      from present n full join (select * from before where severity is not null) b using (codename, severity)
      where codename = any($2::text[]))
    insert into finding_day (day, codename, severity, open, appeared, gone)
    select $1::date, codename, severity, open,
      case when first.none then null else greatest(seen, open - was) end,
      case when first.none then null else greatest(seen, open - was) - (open - was) end
    from paired, first where open > 0 or was > 0`,
    [day, codenames],
  )
}

/** Whether this day was counted. */
export async function isCounted(db: Queryable, day: string): Promise<boolean> {
  return (await db.first('select 1 as one from posture_day where day = $1::date limit 1', [day])) !== undefined
}

/** Removes days before this one, and those of distributions that are no more. */
export async function pruneDays(
  tx: Queryable,
  { before, codenames }: { readonly before: string; readonly codenames: readonly string[] },
): Promise<void> {
  await tx.query('delete from posture_day where day < $1::date or codename <> all($2::text[])', [before, codenames])
}

/** The sums of one counted day. */
export interface CountedDay {
  readonly date: string
  readonly packages: number
  readonly not_looked: number
  readonly open: Readonly<Record<Severity, number>>
  /** Since the day that was counted before; null where there is none. */
  readonly appeared: number | null
  readonly gone: number | null
}

type DayRow = Omit<CountedDay, 'open'> & { readonly open: Partial<Record<Severity, number>> | null }

/** The counted days from this one on, in order, summed over these distributions. One that was not counted is absent. */
export async function listCountedDays(
  db: Queryable,
  { since, codenames }: { readonly since: string; readonly codenames: readonly string[] },
): Promise<CountedDay[]> {
  const rows = await db.query<DayRow>(
    `with seen as (select * from posture_day where day >= $1::date and codename = any($2::text[])),
    sums as (
      select day, severity, sum(open)::int as open, sum(appeared)::int as appeared, sum(gone)::int as gone
      from finding_day where day >= $1::date and codename = any($2::text[]) group by day, severity),
    earlier as (select min(day) as day from posture_day where codename = any($2::text[]))
    select to_char(d.day, 'YYYY-MM-DD') as date, d.packages, d.not_looked, s.open,
      case when d.day > earlier.day then coalesce(s.appeared, 0) end as appeared,
      case when d.day > earlier.day then coalesce(s.gone, 0) end as gone
    from (select day, sum(packages)::int as packages, sum(not_looked)::int as not_looked from seen group by day) d
    left join (
      select day, jsonb_object_agg(severity, open) as open, sum(appeared)::int as appeared, sum(gone)::int as gone
      from sums group by day) s using (day), earlier
    order by d.day`,
    [since, codenames],
  )
  return rows.map(({ open, ...row }) => ({
    ...row,
    open: Object.fromEntries(SEVERITIES.map(name => [name, open?.[name] ?? 0])) as Record<Severity, number>,
  }))
}
