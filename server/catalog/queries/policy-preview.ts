import type { Named } from '../../core/identity.ts'
import type { State } from '../../core/manifest.ts'
import type { Report } from '../../core/report.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { DEPENDENCY_RULE } from '../../core/findings.ts'
import { params, seenBy } from './sql.ts'

/** A package with what a policy reads of its findings. */
export interface Profiled extends Named {
  readonly id: number
  readonly state: State
  /** The different findings that count, as numbers that `readProfile` reads. */
  readonly profiles: readonly number[] | null
  /** The report that says the licence; null where none does, and where licences were not asked for. */
  readonly licence: Report | null
  /** Somebody approved it as a whole. */
  readonly approved: boolean
}

/** Other reasons why a package is held. */
export interface Waiting {
  readonly reports: readonly Report[]
}

const BATCH = 5_000

/**
 * A finding as a number, without its name: whether it is in a dependency, malicious code, rank, known exploitation, a
 * fix, and whether its probability reaches the threshold.
 */
const profileSql = (threshold: string): string =>
  `(coalesce(batch.needed @> jsonb_build_array(f.component), false))::int * 128 + (f.cve like 'MAL-%')::int * 64 + f.rank * 8 + f.kev::int * 4 + (f.fixed_in is not null)::int * 2 + coalesce(f.epss >= ${threshold}::real, false)::int`

/** The names of dependencies that findings of a package are in; null for the packages of distributions. */
const NEEDED = `case when p.format in ('npm', 'pypi', 'maven')
  then jsonb_path_query_array(p.manifest, '$.findings[*] ? (@.at.rule == "${DEPENDENCY_RULE}").package') end`

/** The parts of a finding that a policy reads. `rank` 6 is critical, 1 negligible. */
export interface Profile {
  readonly rank: number
  readonly kev: boolean
  readonly isFixable: boolean
  readonly isLikely: boolean
  readonly isMalicious: boolean
  readonly isOfDependency: boolean
}

/** Reads a number that `profileSql` made. */
export const readProfile = (profile: number): Profile => ({
  isOfDependency: (profile & 128) !== 0,
  isMalicious: (profile & 64) !== 0,
  rank: (profile >> 3) & 7,
  kev: (profile & 4) !== 0,
  isFixable: (profile & 2) !== 0,
  isLikely: (profile & 1) !== 0,
})

const LICENCE = `jsonb_path_query_first(p.manifest, '$.reports[*] ? (exists(@.licence))')`

/**
 * Served and waiting packages in the order of their ids: those with findings that count, and all waiting ones.
 * @param licences  those that say their licence, too
 */
export function listProfiles(
  db: Queryable,
  viewer: Viewer,
  { after, threshold, licences }: { readonly after: number; readonly threshold: number; readonly licences: boolean },
): Promise<Profiled[]> {
  const { values, add } = params(after, threshold)
  const licence = licences ? LICENCE : 'null::jsonb'
  return db.query<Profiled>(
    `
    with batch as (
      select p.id, p.name, p.version, p.arch, p.codename as distribution, p.format, p.state, ${NEEDED} as needed,
        ${licence} as licence, coalesce(p.manifest->'decision'->>'action' = 'approve', false) as approved from package p
      where p.id > $1 and (p.state = 'pending_review' or (p.state = 'published' and (p.open_count > 0${licences ? ` or ${LICENCE} is not null` : ''}))) and ${seenBy(viewer, add, 'p.codename')} order by p.id limit ${BATCH}
    ), profile as (
      select f.package_id, array_agg(distinct ${profileSql('$2')}) as profiles from batch join finding f on f.package_id = batch.id
      where not f.accepted group by f.package_id
    )
    select batch.id, batch.name, batch.version, batch.arch, batch.distribution, batch.format, batch.state, batch.licence, batch.approved, profile.profiles from batch left join profile on profile.package_id = batch.id order by batch.id`,
    values,
  )
}

/** Other reasons why these packages are held, by id. */
export async function readWaiting(
  db: Queryable,
  viewer: Viewer,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Waiting>> {
  const { values, add } = params(ids)
  const waiting = await db.query<Waiting & { readonly id: number }>(
    `
    select id, jsonb_path_query_array(manifest, '$.reports[*]') as reports
    from package where id = any($1::bigint[]) and ${seenBy(viewer, add, 'codename')}`,
    values,
  )
  return new Map(waiting.map(row => [row.id, row]))
}

/** The names of the findings that count in these packages, by id, the worst first. */
export async function readOpenCves(
  db: Queryable,
  viewer: Viewer,
  ids: readonly number[],
): Promise<ReadonlyMap<number, readonly string[]>> {
  const { values, add } = params(ids)
  const rows = await db.query<{ id: number; cves: string[] }>(
    `
    select f.package_id as id, array_agg(f.cve order by f.rank desc, f.cve) as cves from finding f join package p on p.id = f.package_id
    where f.package_id = any($1::bigint[]) and not f.accepted and ${seenBy(viewer, add, 'p.codename')} group by f.package_id`,
    values,
  )
  return new Map(rows.map(({ id, cves }) => [id, [...new Set(cves)]]))
}
