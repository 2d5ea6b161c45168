import type { Viewer } from '../../core/viewer.ts'
import type { JobState } from '../../core/work.ts'
import type { Queryable } from '../../db/db.ts'
import { NOTHING, type Tally } from '../../imports/mirror/report.ts'
import { MIRROR } from '../../imports/mirror/work.ts'
import { isoOrNull } from '../../lib/clock.ts'

interface Row {
  readonly id: string
  readonly target: string
  readonly codenames: string[]
  readonly state: JobState
  readonly total: number | null
  readonly done: number
  readonly told: number
  readonly cursor: { readonly tally?: Tally } | null
  readonly result: Tally | null
  readonly error: { readonly message: string } | null
  readonly cancelled_by: string | null
  readonly started_at: Date | null
  readonly finished_at: Date | null
}

const labelOf = (source: string): string => `Mirror ${source}`

/** A mirror as these routes show it: one that waits for its turn counts as running. */
export function jobView(row: Row) {
  const isOpen = row.state === 'queued' || row.state === 'running'
  const tally = row.result ?? row.cursor?.tally ?? NOTHING
  return {
    job_id: row.id,
    source_id: row.target,
    label: labelOf(row.target),
    distribution: row.codenames.join(', '),
    status: isOpen ? ('running' as const) : (row.state as 'done' | 'error' | 'cancelled'),
    total: row.total ?? 0,
    done_count: row.done,
    added_count: tally.added,
    pending_count: tally.pending,
    blocked_count: tally.blocked,
    skipped_count: tally.skipped,
    error_count: tally.errors,
    started_at: isoOrNull(row.started_at),
    finished_at: isoOrNull(row.finished_at),
    log_count: row.told,
    cancelling: isOpen && row.cancelled_by !== null,
    error: row.error?.message ?? null,
  }
}

const COLUMNS =
  'id, target, codenames, state, total, done, told, cursor, result, error, cancelled_by, started_at, finished_at'
const SEEN = `kind = '${MIRROR}' and not codenames && $1::text[]`

/** The newest mirrors that somebody may see. */
export const listMirrorJobs = (db: Queryable, { hidden }: Viewer): Promise<Row[]> =>
  db.query<Row>(`select ${COLUMNS} from job where ${SEEN} order by asked_at desc, id limit 20`, [hidden])

/** The newest mirror of each source, by its key. */
export async function lastMirrorJobs(db: Queryable, { hidden }: Viewer): Promise<ReadonlyMap<string, Row>> {
  const rows = await db.query<Row>(
    `select distinct on (target) ${COLUMNS} from job where ${SEEN} order by target, asked_at desc, id`,
    [hidden],
  )
  return new Map(rows.map(row => [row.target, row]))
}

/** Undefined also for one that this viewer may not see. */
export const findMirrorJob = (db: Queryable, { hidden }: Viewer, id: string): Promise<Row | undefined> =>
  db.first<Row>(`select ${COLUMNS} from job where ${SEEN} and id = $2`, [hidden, id])

/** The mirror that runs, or waits for its turn. */
export const findOpenMirror = (db: Queryable): Promise<{ id: string; target: string } | undefined> =>
  db.first(
    `select id, target from job where kind = $1 and state in ('queued', 'running') order by asked_at, id limit 1`,
    [MIRROR],
  )
