import type { Access } from './access.ts'
import type { ErrorCode } from './errors.ts'

/** How a job stands. `queued` and `running` are open; the others are its end. */
export const JOB_STATES = ['queued', 'running', 'done', 'error', 'cancelled'] as const
export type JobState = (typeof JOB_STATES)[number]

/** How much a line of a job's log matters. */
export const TELLING_LEVELS = ['info', 'warning', 'error'] as const

/** A line of a job's log. `data` is small and holds no secret: whoever sees the job sees it. */
export interface Telling {
  readonly level: (typeof TELLING_LEVELS)[number]
  readonly message: string
  readonly data?: Readonly<Record<string, unknown>>
}

/** What a step changes; a field that is absent stays as it was. */
export interface Progress<Cursor> {
  /** Where to go on after a crash: kept as JSON. */
  readonly cursor?: Cursor
  /** Items that are finished, and how many there are. */
  readonly done?: number
  readonly total?: number
  readonly bytes?: number
  readonly totalBytes?: number
  readonly say?: readonly Telling[]
}

/** A connection that runs statements: a step within the transaction that did its item is done exactly once. */
export interface Statements {
  query<Row extends object>(sql: string, params?: readonly unknown[]): Promise<Row[]>
}

/** The run of a job, as its work sees it. */
export interface Run<Cursor> {
  readonly id: string
  /** Who asked for it. */
  readonly by: string
  readonly requestId: string | undefined
  /** Aborted when the job is cancelled, when another process has taken it over, and when the service stops. */
  readonly signal: AbortSignal
  /** Where an earlier run came to; undefined at the first. */
  readonly cursor: Cursor | undefined
  /**
   * Records progress, cursor and lines in one statement. @throws the reason of `signal` once the job is cancelled or no
   * longer this run's: then nothing was recorded, and `within` must be rolled back
   */
  step(progress: Progress<Cursor>, within?: Statements): Promise<void>
}

/**
 * One kind of long work. `Request`, `Cursor` and `Result` are kept as JSON. The work must bear to be run again from its
 * last cursor: what it did after that is done twice.
 */
export interface WorkKind<Request = unknown, Cursor = unknown, Result = unknown> {
  readonly kind: string
  /** What it does, for people. */
  readonly name: string
  /** Who may see jobs of this kind, and who may cancel them. Whoever asked for one may do both. */
  readonly see: Access
  readonly cancel: Access
  /** How many run at once; 1 by default. */
  readonly limit?: number
  run(run: Run<Cursor>, request: Request): Promise<Result>
}

/** A request for work. */
export interface Order {
  readonly kind: string
  readonly request: Readonly<Record<string, unknown>>
  /** What it works on, in a word: a codename, a source. Of one kind and target, only one job runs at a time. */
  readonly target?: string
  /**
   * Distributions it concerns: who may not see one of them does not see the job. `all`: it counts packages of all, and
   * only who sees all of them sees it.
   */
  readonly codenames?: readonly string[] | 'all'
  readonly by: string
  readonly requestId?: string
}

/** How a job ended. */
export interface JobEnd {
  readonly state: 'done' | 'error' | 'cancelled'
  readonly result: unknown
  /** What went wrong, with the way out. */
  readonly error: JobError | undefined
}

export interface JobError {
  readonly code: ErrorCode
  readonly message: string
  readonly facts: Readonly<Record<string, unknown>>
}

/** Asks for long work. */
export interface Jobs {
  /**
   * Puts a job into the queue. While an equal one (kind, target and request) is open, the answer is that one's id, with
   * `isNew` false.
   */
  ask(order: Order): Promise<{ readonly id: string; readonly isNew: boolean }>
  /** Waits until the job has ended. The job goes on when `signal` is aborted. @throws the reason of `signal` */
  ended(id: string, signal: AbortSignal): Promise<JobEnd>
}
