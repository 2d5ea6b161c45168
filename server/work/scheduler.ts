import { setTimeout as wait } from 'node:timers/promises'
import cron from 'cron-parser'
import schedule, { type Job as Scheduled } from 'node-schedule'
import type { Job } from '../core/feature.ts'
import type { Queryable } from '../db/db.ts'
import type { Clock } from '../lib/clock.ts'

/** A job as health and console show it. Times are ISO 8601. */
export interface JobCard {
  readonly id: string
  readonly name: string
  /** Null while the job is paused. */
  readonly next_run: string | null
  readonly paused: boolean
  readonly daily: boolean
}

/** How the last run of a daily job went. */
export interface LastRun {
  readonly due_at: string
  readonly ran_at: string | null
  readonly took_ms: number | null
  /** Why it failed; null after a success. */
  readonly error: string | null
}

export interface Scheduler {
  /** Starts what the clock asks for, and what was missed meanwhile once. */
  start(): Promise<void>
  /** Reads `when` and `zone` of every job again, after settings changed. */
  reschedule(): Promise<void>
  readonly started: boolean
  jobs(): readonly JobCard[]
  /** Of daily jobs that have run, by their ids. */
  lastRuns(): Promise<ReadonlyMap<string, LastRun>>
  /** Runs a daily job now. @returns false when there is none of this id */
  runNow(id: string): boolean
  /** Waits for running jobs. */
  stop(): Promise<void>
}

export interface SchedulerOptions {
  readonly db: Queryable
  readonly clock: Clock
  /** IANA name of the time zone of all cron lines; undefined: the machine's. */
  readonly zone: () => string | undefined
  /** Daily jobs begin up to so many ms after they are due. */
  readonly jitterMs: () => number
  readonly random?: () => number
  readonly onError: (id: string, error: unknown) => void
}

interface Rule {
  readonly line: string
  readonly zone: string
}

/** The last moment at or before `now` at which a cron line was due. */
export function lastDue({ line, zone }: Rule, now: Date): Date {
  // `prev` is strictly before: a second later, the moment itself counts
  const currentDate = new Date(now.getTime() + 1_000)
  return cron
    .parseExpression(line, { currentDate, ...(zone === '' ? {} : { tz: zone }) })
    .prev()
    .toDate()
}

/** Runs jobs by the clock. Does not start a job that is still running. */
export function createScheduler(list: readonly Job[], options: SchedulerOptions): Scheduler {
  const { db, clock, zone, jitterMs, random = Math.random, onError } = options
  const scheduled = new Map<string, { readonly rule: Rule; readonly timer: Scheduled }>()
  const running = new Map<string, Promise<void>>()
  let started = false
  let stopping = new AbortController()

  async function recorded(job: Job, due: Date): Promise<void> {
    const from = performance.now()
    const rule = scheduled.get(job.id)?.rule
    const keep = (error: string | null): Promise<unknown> =>
      db.query(
        `insert into clock_job (id, rule, due_at, ran_at, took_ms, error) values ($1, $2, $3, $4, $5, $6)
        on conflict (id) do update set rule = $2, due_at = $3, ran_at = $4, took_ms = $5, error = $6`,
        [job.id, printed(rule), due, clock.now(), Math.round(performance.now() - from), error],
      )
    try {
      await job.run()
      await keep(null)
    } catch (error) {
      await keep(error instanceof Error ? error.message : String(error))
      throw error
    }
  }

  function fire(job: Job, due: Date, afterMs = 0): void {
    if (running.has(job.id)) return
    const { signal } = stopping
    const run = (async () => {
      // a stop in between leaves it missed: the next start makes it up
      if (afterMs > 0) await wait(afterMs, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
      await (job.daily === true ? recorded(job, due) : job.run())
    })()
      .catch((error: unknown) => onError(job.id, error))
      .finally(() => running.delete(job.id))
    running.set(job.id, run)
  }

  function plan(job: Job): void {
    scheduled.get(job.id)?.timer.cancel()
    scheduled.delete(job.id)
    const line = job.when()
    if (line === undefined) return
    const rule = { line, zone: job.zone?.() ?? zone() ?? '' }
    const timer = schedule.scheduleJob(job.id, { rule: line, ...(rule.zone === '' ? {} : { tz: rule.zone }) }, due =>
      fire(job, due, job.daily === true ? Math.floor(random() * jitterMs()) : 0),
    ) as Scheduled | null
    // the library returns null for a rule it cannot read
    if (timer === null) throw new Error(`The job ${job.id} cannot be scheduled: ${line} is no cron line.`)
    scheduled.set(job.id, { rule, timer })
  }

  /**
   * Runs once what was due while no process kept the time. A job that is new, or whose hour was changed, has missed
   * nothing. @param makeUp  false: only notes what is planned now
   */
  async function look(makeUp: boolean): Promise<void> {
    const rows = await db.query<{ id: string; rule: string; due_at: Date }>('select id, rule, due_at from clock_job')
    const known = new Map(rows.map(row => [row.id, row]))
    for (const job of list) {
      const rule = scheduled.get(job.id)?.rule
      if (job.daily !== true || rule === undefined) continue
      const row = known.get(job.id)
      const due = lastDue(rule, clock.now())
      if (row?.rule !== printed(rule))
        await db.query(
          `insert into clock_job (id, rule, due_at) values ($1, $2, $3)
          on conflict (id) do update set rule = $2, due_at = greatest(clock_job.due_at, $3)`,
          [job.id, printed(rule), due],
        )
      else if (makeUp && row.due_at < due) fire(job, due)
    }
  }

  return {
    start: async () => {
      stopping = new AbortController()
      list.forEach(plan)
      started = true
      await look(true)
    },
    reschedule: async () => {
      if (!started) return
      list.forEach(plan)
      await look(false)
    },
    get started() {
      return started
    },
    jobs: () =>
      list.map(({ id, name, daily = false }) => {
        const next = scheduled.get(id)?.timer.nextInvocation() as
          { toDate?: () => Date; toISOString?: () => string } | undefined
        const at = next?.toISOString?.() ?? null
        return { id, name, next_run: at, paused: at === null, daily }
      }),
    lastRuns: async () =>
      new Map(
        (
          await db.query<LastRun & { id: string; due_at: Date; ran_at: Date }>(
            'select id, due_at, ran_at, took_ms, error from clock_job where ran_at is not null',
          )
        ).map(({ id, due_at, ran_at, took_ms, error }) => [
          id,
          { due_at: due_at.toISOString(), ran_at: ran_at.toISOString(), took_ms, error },
        ]),
      ),
    runNow: id => {
      const job = list.find(one => one.id === id && one.daily === true)
      if (job !== undefined) fire(job, clock.now())
      return job !== undefined
    },
    stop: async () => {
      stopping.abort()
      for (const { timer } of scheduled.values()) timer.cancel()
      scheduled.clear()
      started = false
      await Promise.all(running.values())
    },
  }
}

/** A rule in one text, to tell whether it has changed. */
const printed = (rule: Rule | undefined): string => (rule === undefined ? '' : `${rule.line} ${rule.zone}`.trim())
