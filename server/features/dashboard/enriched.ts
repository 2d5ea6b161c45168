import { listDue, type Breach } from '../../catalog/queries/deadlines.ts'
import type { SeverityCounts } from '../../catalog/queries/affected-packages.ts'
import {
  foundPerDay,
  listDistributionSums,
  listLargest,
  listMostVersions,
  listRecent,
  type DistributionRow,
  type FoundDay,
  type NameVersions,
} from '../../catalog/queries/overview.ts'
import { SEVERITIES } from '../../core/findings.ts'
import { slaDays } from '../../core/review.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Db } from '../../db/db.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Settings } from '../../settings/store.ts'
import type { Numbers } from './numbers.ts'
import { DAYS, recentImport, type RecentImport } from './stats.ts'

export interface Enriched {
  readonly generated_at: string
  /** Findings by the day they were first seen, for 30 days. */
  readonly cve_trends: readonly FoundDay[]
  readonly top_packages: {
    readonly by_versions: readonly NameVersions[]
    readonly by_size: readonly RecentImport[]
    readonly recently_added: readonly RecentImport[]
  }
  readonly sla_overdue: readonly Breach[]
  readonly distributions: readonly {
    readonly distribution: string
    /** Names. */
    readonly package_count: number
    readonly version_count: number
    readonly latest_import: string
    readonly cve_totals: SeverityCounts
  }[]
  readonly summary: Numbers
}

const TOP = 10

function distributionOf({ distribution, names, versions, latest, ...found }: DistributionRow) {
  return {
    distribution,
    package_count: names,
    version_count: versions,
    latest_import: latest.toISOString(),
    cve_totals: Object.fromEntries(SEVERITIES.map(severity => [severity, found[severity]])) as SeverityCounts,
  }
}

/** Reads the extended statistics of what a viewer sees. */
export async function readEnriched(
  { db, clock, settings }: { readonly db: Db; readonly clock: Clock; readonly settings: Pick<Settings, 'now'> },
  viewer: Viewer,
  summary: Numbers,
): Promise<Enriched> {
  const now = clock.now()
  const [trends, versions, largest, recent, overdue, distributions] = await Promise.all([
    foundPerDay(db, viewer, { days: DAYS, today: now }),
    listMostVersions(db, viewer, TOP),
    listLargest(db, viewer, TOP),
    listRecent(db, viewer, TOP),
    listDue(db, viewer, { days: slaDays(settings.now().cve_policy), until: now }),
    listDistributionSums(db, viewer),
  ])
  return {
    generated_at: now.toISOString(),
    cve_trends: trends,
    top_packages: {
      by_versions: versions,
      by_size: largest.map(recentImport),
      recently_added: recent.map(recentImport),
    },
    sla_overdue: overdue.map(({ id: _, ...breach }) => breach),
    distributions: distributions.map(distributionOf),
    summary,
  }
}
