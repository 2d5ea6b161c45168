import type { Catalog } from '../catalog/catalog.ts'
import type { Repositories } from '../core/repository.ts'
import type { Db } from '../db/db.ts'
import type { Layout } from '../files/layout.ts'
import type { Spool } from '../files/spool.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Gate } from '../pipeline/gate.ts'
import type { Events } from '../record/events.ts'
import type { Metrics } from '../record/metrics.ts'
import type { Matcher } from '../scanners/matcher.ts'
import type { Settings } from '../settings/store.ts'

/** What every protocol is made with. */
export interface RegistryDeps {
  readonly db: Db
  readonly catalog: Pick<Catalog, 'change' | 'findKnown' | 'findAll'>
  readonly gate: Gate
  readonly spool: Pick<Spool, 'receive'>
  readonly layout: Layout
  readonly repositories: Pick<Repositories, 'find' | 'all' | 'registries' | 'seenBy'>
  readonly settings: Pick<Settings, 'now'>
  readonly events: Pick<Events, 'emit'>
  readonly metrics: Pick<Metrics, 'uploaded' | 'found'>
  /** What is known of packages that are named alone. */
  readonly matcher: Pick<Matcher, 'match' | 'coverage' | 'generation'>
  readonly clock: Clock
  readonly log: Log
}
