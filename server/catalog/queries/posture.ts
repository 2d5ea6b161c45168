import type { Severity } from '../../core/findings.ts'
import type { SlaDays } from '../../core/review.ts'
import { seesAll, type Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { conditions, dueSql, params, seenBy } from './sql.ts'

const LIVE = `p.state in ('published', 'pending_review')`
/**
 * How many served and waiting packages have which worst finding that counts. `none` was looked at and has none,
 * `not_looked` has none either, but no engine answered for it.
 */
export function countByWorst(
  db: Queryable,
  viewer: Viewer,
): Promise<{ readonly name: Severity | 'none' | 'not_looked'; readonly n: number }[]> {
  const { values, add } = params()
  return db.query(
    `select coalesce(p.open_worst, case when p.unscanned then 'not_looked' else 'none' end) as name, count(*) as n from package p
    where ${LIVE} and ${seenBy(viewer, add, 'p.codename')} group by 1`,
    values,
  )
}

/** Findings of one severity in served and held packages; `open` ones are not accepted. */
export interface FindingSums {
  readonly severity: Severity
  readonly n: number
  readonly open: number
  readonly kev: number
  readonly fixable: number
}

export function sumFindings(db: Queryable, viewer: Viewer): Promise<FindingSums[]> {
  const { values, add } = params()
  return db.query<FindingSums>(
    `select f.severity, count(*) as n, count(*) filter (where not f.accepted) as open,
      count(*) filter (where f.kev and not f.accepted) as kev, count(*) filter (where f.fixed_in is not null and not f.accepted) as fixable
    from finding f join package p on p.id = f.package_id where ${LIVE} and ${seenBy(viewer, add, 'p.codename')} group by f.severity`,
    values,
  )
}

/** Vulnerabilities of one severity in packages in any state: all, those with a fix, and those known to be exploited. */
export interface CveSums {
  readonly severity: Severity
  readonly cves: number
  readonly fixable: number
  readonly exploited: number
}

/** Counts as `GET /security/vulnerabilities` lists them. */
export function sumCves(db: Queryable, viewer: Viewer): Promise<CveSums[]> {
  const { values, add } = params()
  return db.query<CveSums>(
    `select f.severity, count(distinct f.cve) as cves, count(distinct f.cve) filter (where f.fixed_in is not null) as fixable,
      count(distinct f.cve) filter (where f.kev) as exploited
    from finding f ${seesAll(viewer) ? '' : 'join package p on p.id = f.package_id'} where ${seenBy(viewer, add, 'p.codename')}
    group by f.severity order by max(f.rank) desc`,
    values,
  )
}

/** How many acceptances stand, and how many of them end within 30 days. */
export async function countExceptions(
  db: Queryable,
  viewer: Viewer,
  now: Date,
): Promise<{ readonly standing: number; readonly ending: number }> {
  const { values, add } = params(now)
  const row = await db.first<{ standing: number; ending: number }>(
    `select count(*) as standing, count(*) filter (where f.accepted_until <= $1::timestamptz + interval '30 days') as ending
    from finding f ${seesAll(viewer) ? '' : 'join package p on p.id = f.package_id'}
    where f.accepted and (f.accepted_until is null or f.accepted_until > $1) and ${seenBy(viewer, add, 'p.codename')}`,
    values,
  )
  return row ?? { standing: 0, ending: 0 }
}

/** Served and waiting packages of one distribution; `rank` is that of the worst finding that counts, 0 for none. */
export interface DistributionSums {
  readonly distribution: string
  readonly packages: number
  readonly with_findings: number
  readonly waiting: number
  readonly rank: number
  readonly kev: number
  /** No engine answered for them. */
  readonly not_looked: number
}
export function sumByDistribution(db: Queryable, viewer: Viewer): Promise<DistributionSums[]> {
  const { values, add } = params()
  return db.query<DistributionSums>(
    `
    select p.codename as distribution, count(*) as packages, count(*) filter (where p.open_count > 0) as with_findings,
      count(*) filter (where p.state = 'pending_review') as waiting, max(p.open_rank) as rank, count(*) filter (where p.open_kev) as kev, count(*) filter (where p.unscanned) as not_looked
    from package p where ${LIVE} and ${seenBy(viewer, add, 'p.codename')} group by p.codename order by p.codename`,
    values,
  )
}

/** Waiting packages against their deadlines, and the time of the last scan. */
export interface WaitingSums {
  readonly waiting: number
  readonly overdue: number
  readonly soon: number
  readonly unassigned: number
  readonly oldest: Date | null
  readonly scanned: Date | null
}

export async function sumWaiting(
  db: Queryable,
  viewer: Viewer,
  { days, now }: { readonly days: SlaDays; readonly now: Date },
): Promise<WaitingSums> {
  const is = conditions(`p.state = 'pending_review'`)
  const due = dueSql(days, is.add)
  const at = is.add(now)
  const mine = seenBy(viewer, is.add, 'codename')
  is.seenBy(viewer, 'p.codename')
  // each upload is scanned as it comes in. Only the newest are read: one of them has an answer unless no engine had
  // data for a long time.
  const atAdmission = `(select max(newest.created_at) from (select created_at, manifest from package where ${mine} order by changed_at desc limit 200) as newest
    where jsonb_path_exists(newest.manifest, '$.reports[*] ? (@.step == "vulnerabilities" && @.outcome != "unavailable" && @.outcome != "skipped")'))`
  const row = await db.first<WaitingSums>(
    `
    select count(*) as waiting, count(*) filter (where ${due} <= ${at}) as overdue,
      count(*) filter (where ${due} > ${at} and ${due} <= ${at}::timestamptz + interval '7 days') as soon,
      count(*) filter (where p.assignee is null) as unassigned, min(p.held_at) as oldest,
      greatest((select max(scanned_at) from package where ${mine}), ${atAdmission}) as scanned
    from package p ${is.where()}`,
    is.values,
  )
  return row ?? { waiting: 0, overdue: 0, soon: 0, unassigned: 0, oldest: null, scanned: null }
}
