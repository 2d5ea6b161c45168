import type { FormatId } from '../../core/identity.ts'
import type { Repositories } from '../../core/repository.ts'
import type { Format } from '../../formats/format.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Notices } from '../../outbound/notices.ts'
import type { Audit } from '../../record/audit.ts'
import type { AskingDeps } from '../run/asked.ts'
import type { ImportRequest } from '../run/import-work.ts'
import type { Planner } from '../run/plan.ts'
import type { Source, SyncState } from '../source.ts'
import type { Tally } from './report.ts'

/** What is remembered while packages are brought in parts. */
export interface BringCursor {
  /** No further file is begun after this moment. */
  readonly until: string
  /** So many packages at most. */
  readonly limit: number
  /** Packages that count against the bound. */
  readonly taken: number
  readonly bytes: number
  readonly tally: Tally
  /** Imports that were asked for. */
  readonly asked: number
  /** The import that was asked for last, until it is counted. */
  readonly importing?: Importing | undefined
  /** Wanted, and left for the next run. */
  readonly remaining: number
}

export interface Importing {
  readonly request: ImportRequest & { readonly part_of: string }
  /** Lines of it that were told. */
  readonly seen: number
  readonly missing: readonly string[]
}

export interface MirrorRequest {
  /** The key of the source. */
  readonly source: string
  /** The run begins no further file after this moment; absent: as many minutes on as the settings say. */
  readonly until?: string
  /** So many packages; as the settings say where it is absent. */
  readonly limit?: number
  readonly ip?: string
}

/** What the settings say of a run. */
export interface MirrorBounds {
  readonly max_packages_per_run: number
  readonly max_runtime_minutes: number
  readonly min_free_disk_gb: number
}

/** Where a run is. */
export interface MirrorCursor extends BringCursor {
  readonly started_at: string
  readonly synchronised: { readonly state: SyncState; readonly said: string | null }
  /** Lists that were gone through, `codename arch` each. */
  readonly done: readonly string[]
  /** The list that is gone through: it began behind this name, and has come round to its beginning. */
  readonly list?: { readonly key: string; readonly start: string; readonly wrapped: boolean } | undefined
}

/** What bringing packages in parts needs. */
export interface BringDeps extends AskingDeps {
  readonly clock: Clock
  readonly planner: Pick<Planner, 'resolve'>
  readonly bounds: () => MirrorBounds
  /** Bytes that are free below REPOS_ROOT. */
  readonly freeBytes: () => Promise<number>
}

export interface MirrorDeps extends BringDeps {
  readonly repositories: Pick<Repositories, 'seenBy'>
  readonly formatOf: (id: FormatId) => Format
  /** Every source; those that are switched off are not `enabled`. */
  readonly listSources: () => Promise<readonly Source[]>
  readonly synchronise: (source: Source, signal: AbortSignal) => Promise<{ state: SyncState; said: string | null }>
  readonly audit: Pick<Audit, 'owe'>
  readonly notices: Pick<Notices, 'owe'>
}
