import { countStates } from '../../catalog/queries/counts.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { cachedByViewer, tenthOfTheTime } from '../../lib/cached.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Metrics } from '../../record/metrics.ts'

export interface GaugeDeps {
  readonly metrics: Pick<Metrics, 'gauge'>
  readonly db: Queryable
  /** The viewer whose packages are counted. */
  readonly viewer: () => Promise<Viewer>
  readonly clock: Clock
  /** When the antivirus signatures were made; undefined when the engine does not say. */
  readonly signaturesAt: () => Promise<Date | undefined>
  /** When the vulnerability data was made; undefined when there is none. */
  readonly vulnerabilityDataAt: () => Promise<Date | undefined>
}

/** Registers the five gauges. They read the database, so they are right after a restart too; one query a scrape. */
export function registerGauges({ metrics, db, viewer, clock, signaturesAt, vulnerabilityDataAt }: GaugeDeps): void {
  const counted = cachedByViewer({ clock, ms: tenthOfTheTime, read: viewer => countStates(db, viewer) })
  const states = async () => counted(await viewer())
  metrics.gauge('svc_packages_total', async () => {
    const { published, pending_review } = await states()
    return published + pending_review
  })
  metrics.gauge('svc_pending_review_total', async () => (await states()).pending_review)
  metrics.gauge('svc_quarantine_total', async () => (await states()).quarantined)
  // no value rather than 0: an alert on old signatures must take "unknown" neither for 1970 nor for new
  metrics.gauge('svc_clamav_last_update', async () => ((await signaturesAt())?.getTime() ?? Number.NaN) / 1000)
  metrics.gauge('svc_grype_db_age_seconds', async () => {
    const at = await vulnerabilityDataAt()
    return at === undefined ? Number.NaN : Math.max(0, (clock.now().getTime() - at.getTime()) / 1000)
  })
}
