import type { Queryable } from '../../db/db.ts'
import type { SyncState } from '../source.ts'
import { WAYS_OUT } from './outcome.ts'

/** What is known of a source's synchronisations. */
export interface SourceState {
  readonly source_id: number
  readonly state: SyncState
  readonly said: string | null
  /** When the catalogue was last as the source is; null where it holds nothing of it. */
  readonly synced_at: Date | null
  readonly tried_at: Date | null
  readonly packages: number
  readonly added: number
  readonly removed: number
  readonly bytes: number
  readonly mirror: string | null
  /** When its owner made the root, and how long that is valid. */
  readonly at: Date | null
  readonly valid_until: Date | null
  readonly signed_by: readonly string[]
  readonly failures: number
}

/**
 * By the id of the source. Of what a backup brought back the catalogue holds nothing: it was never synchronised here.
 */
export async function sourceStates(db: Queryable): Promise<ReadonlyMap<number, SourceState>> {
  const rows = await db.query<SourceState>(
    `select s.id as source_id,
      case when r.state is null or r.state = 'ok' and h.source_id is null then 'never' else r.state end as state,
      r.said, case when h.source_id is not null then r.synced_at end as synced_at, r.tried_at,
      coalesce(h.packages, 0) as packages, coalesce(r.added, 0) as added, coalesce(r.removed, 0) as removed,
      coalesce(r.bytes, 0) as bytes, r.mirror, r.at, r.valid_until, coalesce(r.signed_by, '{}') as signed_by,
      coalesce(r.failures, 0) as failures
    from import_source s left join import_root r on r.source_id = s.id left join import_held h on h.source_id = s.id`,
  )
  return new Map(rows.map(row => [row.source_id, row]))
}

/** The ids of the sources that the catalogue holds anything of. */
export async function heldSources(db: Queryable): Promise<ReadonlySet<number>> {
  const rows = await db.query<{ id: number }>('select source_id as id from import_held')
  return new Set(rows.map(({ id }) => id))
}

/** What is said of a source that most likely is all right, while this machine's clock is not. */
export const CLOCK_SUSPECT = `Many sources say that their data have ended or not begun, so it is most likely this machine's clock. ${WAYS_OUT.clock_suspect}`

/** Says of these sources, as far as their data have ended or not begun, that this machine's clock is suspect. */
export const suspectClock = (db: Queryable, keys: readonly string[]): Promise<unknown> =>
  db.query(
    `update import_root r set state = 'clock_suspect', said = $2 from import_source s
    where s.id = r.source_id and s.key = any($1) and r.state in ('expired', 'not_yet_valid')`,
    [keys, CLOCK_SUSPECT],
  )
