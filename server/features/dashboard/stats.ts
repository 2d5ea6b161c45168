import { countBlobs, countScanned, listGroups, uploadsPerDay, type Group } from '../../catalog/queries/counts.ts'
import { countDecided } from '../../catalog/queries/decisions.ts'
import { countUnmet, listRecent } from '../../catalog/queries/overview.ts'
import { sumCves, sumWaiting, type CveSums } from '../../catalog/queries/posture.ts'
import type { SpeakingRow } from '../../catalog/queries/search.ts'
import { factsOfRow, type VersionFacts } from '../../catalog/version-facts.ts'
import type { Severity } from '../../core/findings.ts'
import { STATES, type State } from '../../core/manifest.ts'
import { slaDays } from '../../core/review.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Db } from '../../db/db.ts'
import { cached, cachedByViewer, type Freshness } from '../../lib/cached.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Audit } from '../../record/audit.ts'
import { listDecisions, type DecisionRow } from '../../review/history.ts'
import type { AntivirusScanner } from '../../scanners/scanner.ts'
import type { Settings } from '../../settings/store.ts'
import { activityOf, listActivity } from './activity.ts'
import { alertsOf, type Alert } from './alerts.ts'
import { readClamav, type Clamav } from './clamav.ts'
import { inPool, type Numbers } from './numbers.ts'

interface Sum {
  readonly packages: number
  readonly published: number
  readonly bytes: number
}

/** A version that came in, in the words of existing clients. */
export interface RecentImport extends VersionFacts {
  readonly name: string
  readonly package: string
  readonly version: string
  readonly format: string
}

export interface Stats {
  readonly packages: {
    /** In the pool: published and waiting, as `GET /packages/` counts. */
    readonly total: number
    /** On disk; equal files count once. */
    readonly total_size_bytes: number
    /** Of `total`: those that need something that is not served here. */
    readonly deps_missing_count: number
    readonly imports_today: number
  }
  readonly artifacts: number
  readonly by_state: Readonly<Record<State, number>>
  readonly by_distribution: readonly (Sum & { readonly distribution: string })[]
  readonly by_format: readonly (Sum & { readonly format: string })[]
  readonly storage: { readonly blobs: number; readonly bytes: number; readonly size_mb: number }
  readonly uploads_per_day: readonly { readonly day: string; readonly count: number }[]
  readonly activity: readonly { readonly date: string; readonly imports: number; readonly failures: number }[]
  /** Days of `activity` before this one were not counted: their zeros are none. */
  readonly counted_since: string
  readonly recent_imports: readonly RecentImport[]
  readonly alerts: readonly Alert[]
  readonly clamav: Clamav
  /** `total` packages of which an engine answered for `scanned`; findings as the summary counts them. */
  readonly security_posture: Readonly<Record<Severity | 'scanned' | 'total', number>>
  /** By severity, worst first; severities that nothing has are left out. */
  readonly vulnerabilities: readonly CveSums[]
  readonly security_review: {
    readonly pending_review: number
    /** Quarantined and rejected: neither may be installed. */
    readonly blocked: number
    readonly quarantined: number
    readonly accepted_risk: number
    readonly exception: number
    readonly upgrade_required: number
    /** Acceptances that end within 30 days. */
    readonly expiring_soon: readonly DecisionRow[]
    readonly total_decisions: number
  }
}

export interface StatsDeps {
  readonly db: Db
  readonly audit: Pick<Audit, 'tally' | 'firstDay'>
  readonly clock: Clock
  readonly settings: Pick<Settings, 'now'>
  readonly antivirus: Pick<AntivirusScanner, 'status'>
}

export const DAYS = 30
const RECENT = 10
const DAY_MS = 86_400_000
/** A clamd that hangs is asked no more often than this. */
const CLAMAV_MS = 10_000
/** Counting what is missing opens the manifests of all packages with warnings. */
const UNMET_MS: Freshness = costMs => Math.max(200, 100 * costMs)

export const recentImport = (row: SpeakingRow): RecentImport => ({
  name: row.name,
  package: row.name,
  version: row.version,
  format: row.format,
  ...factsOfRow(row),
})

function sumBy<Key extends 'codename' | 'format'>(
  groups: readonly Group[],
  key: Key,
): { readonly of: string; readonly sum: Sum }[] {
  const sums = new Map<string, { packages: number; published: number; bytes: number }>()
  for (const group of groups) {
    const sum = sums.get(group[key]) ?? { packages: 0, published: 0, bytes: 0 }
    sum.packages += group.packages
    sum.published += group.state === 'published' ? group.packages : 0
    sum.bytes += group.bytes
    sums.set(group[key], sum)
  }
  return [...sums].map(([of, sum]) => ({ of, sum }))
}

/** How many packages there are of each kind, and where. */
async function readGroups(db: Db, viewer: Viewer, today: Date) {
  const [groups, storage, uploads_per_day] = await Promise.all([
    listGroups(db, viewer),
    countBlobs(db, viewer),
    uploadsPerDay(db, viewer, { days: DAYS, today }),
  ])
  const by_state = Object.fromEntries(
    STATES.map(state => [state, groups.filter(g => g.state === state).reduce((n, g) => n + g.packages, 0)]),
  ) as Record<State, number>
  return {
    by_state,
    by_distribution: sumBy(groups, 'codename').map(({ of, sum }) => ({ distribution: of, ...sum })),
    by_format: sumBy(groups, 'format').map(({ of, sum }) => ({ format: of, ...sum })),
    storage: { blobs: storage.blobs, bytes: storage.bytes, size_mb: Math.round(storage.bytes / 104_857.6) / 10 },
    uploads_per_day,
  }
}

async function readReview(
  db: Db,
  viewer: Viewer,
  { states, now }: { readonly states: Readonly<Record<State, number>>; readonly now: Date },
): Promise<Stats['security_review']> {
  const [{ total, inForce }, ending] = await Promise.all([
    countDecided(db, viewer, now),
    listDecisions(db, viewer, {
      filter: { standing: true, endsUntil: new Date(now.getTime() + 30 * DAY_MS) },
      paging: { page: 1, perPage: 100 },
      now,
    }),
  ])
  return {
    pending_review: states.pending_review,
    blocked: states.quarantined + states.rejected,
    quarantined: states.quarantined,
    accepted_risk: (inForce['accept_risk'] ?? 0) + (inForce['accepted'] ?? 0),
    exception: inForce['exception'] ?? 0,
    upgrade_required: inForce['upgrade_required'] ?? 0,
    expiring_soon: ending.items,
    total_decisions: total,
  }
}

/** Reads the statistics of what a viewer sees. @param summary  the numbers that both show */
export function createStats(
  { db, audit, clock, settings, antivirus }: StatsDeps,
  summary: (viewer: Viewer) => Promise<Numbers>,
): (viewer: Viewer) => Promise<Stats> {
  const unmet = cachedByViewer({ clock, ms: UNMET_MS, read: viewer => countUnmet(db, viewer) })
  const clamav = cached({ clock, ms: CLAMAV_MS, read: () => readClamav(antivirus, settings.now().validation) })
  return async viewer => {
    const now = clock.now()
    const { validation, cve_policy } = settings.now()
    const [
      numbers,
      { artifacts, not_looked, cve_findings },
      missing,
      activity,
      recent,
      engine,
      scanned,
      waiting,
      vulnerabilities,
    ] = await Promise.all([
      readGroups(db, viewer, now),
      summary(viewer),
      unmet(viewer),
      listActivity(audit, viewer, { days: DAYS, now }),
      listRecent(db, viewer, RECENT),
      clamav(),
      countScanned(db, viewer),
      sumWaiting(db, viewer, { days: slaDays(cve_policy), now }),
      sumCves(db, viewer),
    ])
    const { by_state: states, storage } = numbers
    return {
      ...numbers,
      artifacts,
      packages: {
        total: inPool(states),
        total_size_bytes: storage.bytes,
        deps_missing_count: missing,
        imports_today: activity.days.at(-1)?.imports ?? 0,
      },
      activity: activity.days.map(activityOf),
      counted_since: activity.since,
      recent_imports: recent.map(recentImport),
      alerts: alertsOf({ waiting, notLooked: not_looked, ...engine, validation }),
      clamav: engine.clamav,
      vulnerabilities,
      security_posture: { ...cve_findings, scanned, total: Object.values(states).reduce((a, b) => a + b, 0) },
      security_review: await readReview(db, viewer, { states, now }),
    }
  }
}
