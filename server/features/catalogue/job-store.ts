import type { Viewer } from '../../core/viewer.ts'
import type { JobState } from '../../core/work.ts'
import type { Queryable } from '../../db/db.ts'
import { isoOrNull } from '../../lib/clock.ts'
import type { SyncResult } from '../../imports/catalogue/outcome.ts'
import { SYNC } from './work.ts'

interface Row {
  readonly id: string
  readonly target: string
  readonly state: JobState
  readonly total: number | null
  readonly done: number
  readonly told: number
  readonly cursor: { readonly ended?: readonly SyncResult[] } | null
  readonly cancelled_by: string | null
  readonly started_at: Date | null
  readonly finished_at: Date | null
}

/** A synchronisation as these routes show it: one that waits for its turn counts as running. */
export function jobView(row: Row) {
  const isOpen = row.state === 'queued' || row.state === 'running'
  return {
    job_id: row.id,
    label: row.target === 'all' ? 'Synchronise every import source' : `Synchronise import sources: ${row.target}`,
    target: row.target,
    status: isOpen ? ('running' as const) : row.state,
    total: row.total ?? 0,
    done_count: row.done,
    error_count: (row.cursor?.ended ?? []).filter(({ state }) => state !== 'ok').length,
    started_at: isoOrNull(row.started_at),
    finished_at: isoOrNull(row.finished_at),
    log_count: row.told,
    cancelling: isOpen && row.cancelled_by !== null,
  }
}

const COLUMNS = 'id, target, state, total, done, told, cursor, cancelled_by, started_at, finished_at'
// a job about all distributions has the codename *
const SEEN = `kind = '${SYNC}' and not codenames && $1::text[]
  and not ('*' = any(codenames) and cardinality($1::text[]) > 0)`

/** The newest synchronisations that somebody may see. */
export const listSyncJobs = (
  db: Queryable,
  { hidden }: Viewer,
  { onlyOpen }: { readonly onlyOpen: boolean },
): Promise<Row[]> =>
  db.query<Row>(
    `select ${COLUMNS} from job where ${SEEN} and ($2 is false or state in ('queued', 'running'))
    order by asked_at desc, id limit 20`,
    [hidden, onlyOpen],
  )

/** Undefined also for one that this viewer may not see. */
export const findSyncJob = (db: Queryable, { hidden }: Viewer, id: string): Promise<Row | undefined> =>
  db.first<Row>(`select ${COLUMNS} from job where ${SEEN} and id = $2`, [hidden, id])
