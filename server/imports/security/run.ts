import type { BringCursor, BringDeps } from '../mirror/run.ts'
import type { SyncMany } from '../catalogue/sync-many.ts'
import type { Audit } from '../../record/audit.ts'
import type { Notices } from '../../outbound/notices.ts'
import type { CoveredDeps } from './covered.ts'
import type { SecurityReport } from './report.ts'

export const SECURITY_UPDATES = 'security.updates'

/** What a run is for. Two that are equal share one job. */
export interface SecurityRequest {
  /** In alphabetical order; absent: all that are covered. */
  readonly distributions?: readonly string[]
}

/** Where a run is. */
export interface SecurityCursor extends BringCursor {
  readonly started_at: string
  readonly synchronised: SecurityReport['synchronised']
  /** Lists that are through, `codename arch` each. */
  readonly done: readonly string[]
  /** Names of the list that it is at which were dealt with. */
  readonly dealt: readonly string[]
}

/** What the settings say of a run. */
export interface SecurityBounds {
  readonly max_packages_per_run: number
  readonly max_runtime_minutes: number
  readonly min_free_disk_gb: number
}

export interface SecurityDeps extends Omit<BringDeps, 'bounds'>, CoveredDeps {
  readonly db: BringDeps['db']
  readonly bounds: () => SecurityBounds
  readonly syncMany: SyncMany
  /** Ids of the sources that the catalogue holds something of. */
  readonly held: () => Promise<ReadonlySet<number>>
  readonly audit: Pick<Audit, 'owe'>
  readonly notices: Pick<Notices, 'owe'>
}
