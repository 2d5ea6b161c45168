import type { Jobs } from '../../core/work.ts'
import type { Db } from '../../db/db.ts'
import type { CoveredDeps } from '../../imports/security/covered.ts'
import type { Settings } from '../../settings/store.ts'

/** What the routes of security updates need. */
export interface SecurityRouteDeps extends Omit<CoveredDeps, 'db'> {
  readonly db: Db
  readonly settings: Pick<Settings, 'now'>
  readonly worker: Jobs
  /** Ids of the sources that the catalogue holds something of. */
  readonly held: () => Promise<ReadonlySet<number>>
  /** When the clock begins the next run. */
  readonly nextRun: () => string | null
}
