import { Type } from '@sinclair/typebox'
import type { Page } from '../../catalog/page.ts'
import { pagingQuery } from '../../catalog/schemas.ts'
import { contract } from '../../core/contract.ts'
import { listed, OrNull, Text, Time } from '../../core/schemas.ts'
import { JOB_STATES, type JobState } from '../../core/work.ts'

/** A job as everybody who may see it sees it. Times are ISO 8601. */
export interface JobView {
  readonly job_id: string
  readonly kind: string
  readonly label: string
  /** What it works on, in a word; empty where there is nothing to tell apart. */
  readonly target: string
  readonly status: JobState
  readonly asked_by: string
  readonly request_id: string | null
  readonly asked_at: string
  readonly started_at: string | null
  readonly finished_at: string | null
  /** Items; `total` is null while nobody knows. */
  readonly done_count: number
  readonly total: number | null
  readonly bytes: number
  readonly total_bytes: number | null
  /** Of the run that goes on; null before it has moved. */
  readonly items_per_second: number | null
  readonly bytes_per_second: number | null
  readonly remaining_seconds: number | null
  readonly cancelling: boolean
  readonly cancelled_by: string | null
  readonly may_cancel: boolean
  /** Lines of its log. */
  readonly log_count: number
  readonly result: unknown
  readonly error: { readonly code: string; readonly message: string } | null
}

/** A job of the clock. */
export interface ClockJob {
  readonly id: string
  readonly name: string
  readonly next_run: string | null
  readonly last: {
    readonly due_at: string
    readonly ran_at: string | null
    readonly took_ms: number | null
    readonly error: string | null
  } | null
}

const JobId = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 60 }),
})
const Job = Type.Unsafe<JobView>(
  Type.Object({
    job_id: Text,
    kind: Text,
    label: Text,
    target: Text,
    status: Type.String({ enum: [...JOB_STATES] }),
    asked_by: Text,
    request_id: OrNull(Text),
    asked_at: Time,
    started_at: OrNull(Time),
    finished_at: OrNull(Time),
    done_count: Type.Integer(),
    total: OrNull(Type.Integer()),
    bytes: Type.Integer(),
    total_bytes: OrNull(Type.Integer()),
    items_per_second: OrNull(Type.Number()),
    bytes_per_second: OrNull(Type.Number()),
    remaining_seconds: OrNull(Type.Integer()),
    cancelling: Type.Boolean(),
    cancelled_by: OrNull(Text),
    may_cancel: Type.Boolean(),
    log_count: Type.Integer(),
    result: Type.Unknown(),
    error: OrNull(Type.Object({ code: Text, message: Text })),
  }),
)

/** Long work, and what the clock starts. */
export const jobs = contract({
  'GET /jobs': {
    summary: 'Lists jobs, newest first: those that your role or you yourself may see.',
    details: '`result` is null here; a job by itself has it.',
    access: 'any',
    query: Type.Object({
      ...pagingQuery(200),
      state: Type.Optional(listed([...JOB_STATES, 'open'])),
      kind: Type.Optional(Type.String({ maxLength: 60 })),
    }),
    reply: Type.Unsafe<Page<JobView>>(
      Type.Object({
        items: Type.Array(Job),
        total: Type.Integer(),
        page: Type.Integer(),
        per_page: Type.Integer(),
        pages: Type.Integer(),
      }),
    ),
  },
  'GET /jobs/{id}': {
    summary: 'Shows one job: how far it is, its result, or what went wrong and the way out.',
    access: 'any',
    params: JobId,
    reply: Job,
    fails: ['job_not_found'],
  },
  'GET /jobs/{id}/events': {
    summary: "Streams a job's log from its first line, then live, and `progress` whenever it moved.",
    details:
      'Each line is an event `log` with its number as id; Last-Event-ID, or `last_event_id`, resumes after it, on any replica. The last event is `end`, with the whole job.',
    access: 'any',
    params: JobId,
    query: Type.Object({
      last_event_id: Type.Optional(Type.String({ pattern: '^[0-9]{1,9}$', rule: 'the number of a line' })),
    }),
    reply: 'events',
    fails: ['job_not_found'],
  },
  'POST /jobs/{id}/cancel': {
    summary: 'Cancels a job. What it has done stays done; an ended job is answered with `cancelled` false.',
    access: 'any',
    params: JobId,
    reply: Type.Object({ job_id: Text, cancelled: Type.Boolean(), status: Text, message: Text }),
    fails: ['job_not_found', 'job_not_yours'],
  },
  'GET /schedule': {
    summary: 'Lists what the clock starts, when next, and how the last run went.',
    access: 'maintainer+',
    reply: Type.Unsafe<{ jobs: readonly ClockJob[]; timezone: string; is_leader: boolean }>(
      Type.Object({
        jobs: Type.Array(
          Type.Object({
            id: Text,
            name: Text,
            next_run: OrNull(Time),
            last: OrNull(
              Type.Object({
                due_at: Time,
                ran_at: OrNull(Time),
                took_ms: OrNull(Type.Integer()),
                error: OrNull(Text),
              }),
            ),
          }),
        ),
        timezone: Text,
        is_leader: Type.Boolean(),
      }),
    ),
  },
  'POST /schedule/{id}/run': {
    summary: 'Runs a job of the clock now. Its next run stays when it was.',
    leader: true,
    access: 'admin',
    params: Type.Object({ id: Type.String({ minLength: 1, maxLength: 60 }) }),
    limit: { bucket: 'schedule', perMinute: 20 },
    reply: Type.Object({ message: Text }),
    fails: ['clock_job_not_found'],
  },
})
