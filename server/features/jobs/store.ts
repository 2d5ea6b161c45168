import type { Page, Paging } from '../../catalog/page.ts'
import { pageOf } from '../../catalog/page.ts'
import type { JobState } from '../../core/work.ts'
import type { Queryable } from '../../db/db.ts'

/** A row of the table, without its request, which may name what not everybody sees. */
export interface JobRow {
  readonly id: string
  readonly kind: string
  readonly target: string
  readonly state: JobState
  readonly asked_by: string
  readonly asked_at: Date
  readonly request_id: string | null
  readonly started_at: Date | null
  readonly finished_at: Date | null
  readonly run_at: Date | null
  readonly run_done: number
  readonly run_bytes: number
  readonly moved_at: Date | null
  readonly done: number
  readonly total: number | null
  readonly bytes: number
  readonly total_bytes: number | null
  readonly told: number
  readonly cancelled_by: string | null
  readonly result: unknown
  readonly error: { readonly code: string; readonly message: string } | null
}

/** Whose eyes: kinds that the role may see, hidden distributions, and the name: one's own jobs are always seen. */
export interface JobViewer {
  readonly kinds: readonly string[]
  readonly hidden: readonly string[]
  readonly name: string
}

const COLUMNS = `id, kind, target, state, asked_by, asked_at, request_id, started_at, finished_at, run_at, run_done,
  run_bytes, moved_at, done, total, bytes, total_bytes, told, cancelled_by, result, error`
// $1 kinds, $2 hidden codenames, $3 name
// a job about all distributions has the codename *
const SEEN = `(kind = any($1) or asked_by = $3) and not codenames && $2::text[]
  and not ('*' = any(codenames) and cardinality($2::text[]) > 0)`

const eyes = ({ kinds, hidden, name }: JobViewer): unknown[] => [kinds, hidden, name]

export async function listJobs(
  db: Queryable,
  viewer: JobViewer,
  { states, kind, paging }: { readonly states?: readonly JobState[]; readonly kind?: string; readonly paging: Paging },
): Promise<Page<JobRow>> {
  const where = `${SEEN} and ($4::text[] is null or state = any($4)) and ($5::text is null or kind = $5)`
  const params = [...eyes(viewer), states ?? null, kind ?? null]
  const [rows, count] = await Promise.all([
    db.query<JobRow>(`select ${COLUMNS} from job where ${where} order by asked_at desc, id limit $6 offset $7`, [
      ...params,
      paging.perPage,
      (paging.page - 1) * paging.perPage,
    ]),
    db.first<{ n: number }>(`select count(*) as n from job where ${where}`, params),
  ])
  return pageOf(rows, count?.n ?? 0, paging)
}

/** Undefined also for a job that this viewer may not see. */
export const findJob = (db: Queryable, viewer: JobViewer, id: string): Promise<JobRow | undefined> =>
  db.first<JobRow>(`select ${COLUMNS} from job where ${SEEN} and id = $4`, [...eyes(viewer), id])
