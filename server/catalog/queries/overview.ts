import { SEVERITIES } from '../../core/findings.ts'
import type { FormatId } from '../../core/identity.ts'
import { seesAll, type Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { SeverityCounts } from './affected-packages.ts'
import { SPEAKING, type SpeakingRow } from './search.ts'
import { params, seenBy } from './sql.ts'

const IN_POOL = `p.state in ('published', 'pending_review')`

/**
 * How many served and waiting packages need something that is not served here; what sources need to be built does not
 * count.
 */
export async function countUnmet(db: Queryable, viewer: Viewer): Promise<number> {
  const { values, add } = params()
  // the step warns: of packages without a warning no manifest has to be opened
  const row = await db.first<{ n: number }>(
    `select count(*) as n from package p where p.warned and ${IN_POOL} and ${seenBy(viewer, add, 'p.codename')}
      and jsonb_path_exists(p.manifest, '$.reports[*].missing[0]')`,
    values,
  )
  return row?.n ?? 0
}

/** The packages that came in last, newest first. */
export function listRecent(db: Queryable, viewer: Viewer, most: number): Promise<SpeakingRow[]> {
  return listFirst(db, viewer, { order: 'p.created_at desc, p.id desc', most })
}

/** The largest packages. */
export function listLargest(db: Queryable, viewer: Viewer, most: number): Promise<SpeakingRow[]> {
  return listFirst(db, viewer, { order: 'p.size desc, p.id', most })
}

function listFirst(
  db: Queryable,
  viewer: Viewer,
  { order, most }: { readonly order: string; readonly most: number },
): Promise<SpeakingRow[]> {
  const { values, add } = params(most)
  // numbers first, so that only the manifests of the result are opened
  return db.query<SpeakingRow>(
    `select ${SPEAKING} from package p where p.id in (
      select p.id from package p where ${seenBy(viewer, add, 'p.codename')} order by ${order} limit $1) order by ${order}`,
    values,
  )
}

/** A name and how many versions it has. */
export interface NameVersions {
  readonly name: string
  readonly format: FormatId
  readonly versions: number
}

/** The names with most versions. */
export function listMostVersions(db: Queryable, viewer: Viewer, most: number): Promise<NameVersions[]> {
  const { values, add } = params(most)
  return db.query<NameVersions>(
    `select p.name, p.format, count(distinct p.version)::int as versions from package p where ${seenBy(viewer, add, 'p.codename')}
    group by p.name, p.format order by versions desc, p.name, p.format limit $1`,
    values,
  )
}

/** Findings seen for the first time on one day, by severity. */
export interface FoundDay extends SeverityCounts {
  readonly date: string
  readonly total: number
}

const PER_SEVERITY = SEVERITIES.map(
  severity => `count(*) filter (where f.severity = '${severity}')::int as ${severity}`,
)

/** Findings by the day they were first seen, in UTC, the last `days`, oldest first; days without any count 0. */
export function foundPerDay(
  db: Queryable,
  viewer: Viewer,
  { days, today }: { readonly days: number; readonly today: Date },
): Promise<FoundDay[]> {
  const { values, add } = params(today.toISOString().slice(0, 10), days)
  const join = seesAll(viewer) ? '' : 'join package p on p.id = f.package_id'
  return db.query<FoundDay>(
    `
    select to_char(day, 'YYYY-MM-DD') as date, coalesce(total, 0) as total, ${SEVERITIES.map(one => `coalesce(${one}, 0) as ${one}`).join(', ')}
    from generate_series($1::date - ($2::int - 1), $1::date, '1 day') as day
    left join (select (f.first_seen at time zone 'UTC')::date as day, count(*)::int as total, ${PER_SEVERITY.join(', ')} from finding f ${join}
               where f.first_seen >= ($1::date - ($2::int - 1))::timestamp at time zone 'UTC' and ${seenBy(viewer, add, 'p.codename')}
               group by 1) as found using (day)
    order by day`,
    values,
  )
}

/** What one distribution holds. */
export interface DistributionRow extends SeverityCounts {
  readonly distribution: string
  readonly names: number
  readonly versions: number
  readonly latest: Date
}

/** Distributions with packages: names, versions, findings by severity and the newest arrival. */
export function listDistributionSums(db: Queryable, viewer: Viewer): Promise<DistributionRow[]> {
  const { values, add } = params()
  const seen = seenBy(viewer, add, 'p.codename')
  return db.query<DistributionRow>(
    `
    select sums.*, ${SEVERITIES.map(one => `coalesce(found.${one}, 0) as ${one}`).join(', ')} from (
      select p.codename as distribution, count(distinct p.name)::int as names, count(distinct (p.name, p.version))::int as versions,
        max(p.created_at) as latest from package p where ${seen} group by p.codename) as sums
    left join (
      select p.codename as distribution, ${PER_SEVERITY.join(', ')} from finding f join package p on p.id = f.package_id
      where ${seen} group by p.codename) as found using (distribution)
    order by distribution`,
    values,
  )
}
