import { SEVERITIES, severityOfRank, type Severity } from '../../core/findings.ts'
import type { Named } from '../../core/identity.ts'
import type { State } from '../../core/manifest.ts'
import { seesAll, type Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { params, seenBy } from './sql.ts'

export type SeverityCounts = Readonly<Record<Severity, number>>

const none = (): Record<Severity, number> =>
  Object.fromEntries(SEVERITIES.map(severity => [severity, 0])) as Record<Severity, number>

/** How many vulnerabilities of each severity there are in all packages, each once, by the worst that it is anywhere. */
export async function countVulnerabilities(db: Queryable, viewer: Viewer): Promise<SeverityCounts> {
  const { values, add } = params()
  const rows = await db.query<{ rank: number; n: number }>(
    `select rank, count(*) as n from (
      select max(f.rank) as rank from finding f ${seesAll(viewer) ? '' : 'join package p on p.id = f.package_id'}
      where ${seenBy(viewer, add, 'p.codename')} group by f.cve) as one group by rank`,
    values,
  )
  const counts = none()
  for (const { rank, n } of rows) counts[severityOfRank(rank) ?? 'negligible'] = n
  return counts
}

/** A package with findings, and how many of each severity. */
export interface AffectedPackage extends Named {
  readonly status: State
  readonly severity: Severity
  readonly cve_counts: SeverityCounts
  readonly total: number
}

const PER_SEVERITY = SEVERITIES.map(severity => `count(*) filter (where f.severity = '${severity}') as ${severity}`)

/** The packages with findings: the worst first, then those with most. */
export async function listAffectedPackages(
  db: Queryable,
  viewer: Viewer,
  { most }: { readonly most: number },
): Promise<AffectedPackage[]> {
  const { values, add } = params(most)
  const rows = await db.query<
    Named & SeverityCounts & { readonly status: State; readonly rank: number; readonly total: number }
  >(
    `
    select p.name, p.version, p.arch, p.codename as distribution, p.format, p.state as status, sums.* from (
      select f.package_id, max(f.rank) as rank, count(*) as total, ${PER_SEVERITY.join(', ')}
      from finding f ${seesAll(viewer) ? '' : 'join package p on p.id = f.package_id'} where ${seenBy(viewer, add, 'p.codename')}
      group by f.package_id order by rank desc, total desc, f.package_id limit $1
    ) as sums join package p on p.id = sums.package_id order by sums.rank desc, sums.total desc, p.id`,
    values,
  )
  return rows.map(({ name, version, arch, distribution, format, status, rank, total, ...row }) => ({
    name,
    version,
    arch,
    distribution,
    format,
    status,
    severity: severityOfRank(rank) ?? 'negligible',
    cve_counts: Object.fromEntries(SEVERITIES.map(severity => [severity, row[severity]])) as SeverityCounts,
    total,
  }))
}
