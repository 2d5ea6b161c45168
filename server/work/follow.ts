import { Line, WithHeaders, type StreamEvent } from '../core/contract.ts'
import type { JobState, Telling } from '../core/work.ts'
import type { Queryable } from '../db/db.ts'
import type { Worker } from './worker.ts'

/** A line of a job's log. */
export interface LogLine {
  readonly n: number
  readonly at: Date
  readonly level: Telling['level']
  readonly message: string
  readonly data: unknown
}

const MOST_LINES = 500

/** At most 500 lines after number `after`. */
export const readLog = (db: Queryable, id: string, after: number): Promise<LogLine[]> =>
  db.query(
    `select n, at, level, message, data from job_event where job_id = $1 and n > $2 order by n limit ${MOST_LINES}`,
    [id, after],
  )

/** Every line after number `after`. */
export async function* allLines(db: Queryable, id: string, after: number): AsyncGenerator<LogLine> {
  for (let seen = after; ;) {
    const lines = await readLog(db, id, seen)
    yield* lines
    seen = lines.at(-1)?.n ?? seen
    if (lines.length < MOST_LINES) return
  }
}

/** How long a stream waits before it asks again for what other processes have written. */
const ASK_MS = 1_000
/** A job that moves all the time is shown so often at most. */
const APART_MS = 200

/** Resolves when the job moves in this process, but not before `APART_MS`, and after `ASK_MS` in any case. */
export function nextMove(worker: Pick<Worker, 'onMoved'>, id: string, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    let hasMoved = false
    let isEarly = true
    const done = (): void => {
      clearTimeout(early)
      clearTimeout(late)
      leave()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const early = setTimeout(() => {
      isEarly = false
      if (hasMoved) done()
    }, APART_MS)
    const late = setTimeout(done, ASK_MS)
    const leave = worker.onMoved(which => {
      if (which !== id) return
      hasMoved = true
      if (!isEarly) done()
    })
    signal.addEventListener('abort', done, { once: true })
  })
}

const ENDS: Readonly<Record<'done' | 'cancelled', StreamEvent>> = {
  done: { data: new Line('success', 'It is done.') },
  cancelled: { data: new Line('warning', 'It was cancelled.') },
}

/**
 * The log of a job as lines, from number `after` on, then live until the job has ended. Only reads: whoever leaves
 * stops nothing. The caller has checked who may see the job.
 */
export async function* jobLines(
  { db, worker }: { readonly db: Queryable; readonly worker: Pick<Worker, 'onMoved'> },
  { id, after = 0, signal }: { readonly id: string; readonly after?: number; readonly signal: AbortSignal },
): AsyncGenerator<StreamEvent> {
  let seen = after
  for (;;) {
    // the state first: lines that come in between are told before its end is
    const job = await db.first<{ state: JobState; error: { readonly message: string } | null }>(
      'select state, error from job where id = $1',
      [id],
    )
    const moved = nextMove(worker, id, signal)
    for await (const { n, level, message } of allLines(db, id, seen)) {
      yield { data: new Line(level, message) }
      seen = n
    }
    if (job === undefined) return
    if (job.state === 'error') yield { data: new Line('error', job.error?.message ?? 'It failed.') }
    if (job.state === 'done' || job.state === 'cancelled') yield ENDS[job.state]
    if (job.state !== 'queued' && job.state !== 'running') return
    await moved
    if (signal.aborted) return
  }
}

/** The lines of a job with headers that say which job it is, and how many things it is about. */
export const jobStream = (
  deps: Parameters<typeof jobLines>[0],
  { total, ...asked }: Parameters<typeof jobLines>[1] & { readonly total: number },
): WithHeaders => new WithHeaders(jobLines(deps, asked), { 'X-Job-Id': asked.id, 'X-Job-Total': String(total) })
