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
  /** Whether people see it in the list of what the clock starts, and may start it at once. */
  readonly listed: boolean
}

/** How the last run of a listed job went. */
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
  /** All jobs; also where another replica runs them, with when that one does next. */
  jobs(): readonly JobCard[]
  /** Of listed jobs that have run, also by hand, by their ids. What only asks for work has run when that has ended. */
  lastRuns(): Promise<ReadonlyMap<string, LastRun>>
  /** Runs a listed job now, unless it is running. @returns undefined when there is none of this id */
  runNow(id: string): 'begun' | 'running' | undefined
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

/** The first moment after `now` at which a cron line is due. */
export const nextDue = ({ line, zone }: Rule, now: Date): Date =>
  cron
    .parseExpression(line, { currentDate: now, ...(zone === '' ? {} : { tz: zone }) })
    .next()
    .toDate()

const isListed = ({ daily, listed }: Job): boolean => daily === true || listed === true

/** Runs jobs by the clock. Does not start a job that is still running. */
export function createScheduler(list: readonly Job[], options: SchedulerOptions): Scheduler {
  const { db, clock, zone, jitterMs, random = Math.random, onError } = options
  const scheduled = new Map<string, { readonly rule: Rule; readonly timer: Scheduled }>()
  const running = new Map<string, Promise<void>>()
  let started = false
  let stopping = new AbortController()

  function ruleOf(job: Job): Rule | undefined {
    const line = job.when()
    return line === undefined ? undefined : { line, zone: job.zone?.() ?? zone() ?? '' }
  }

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
      await (isListed(job) ? recorded(job, due) : job.run())
    })()
      .catch((error: unknown) => onError(job.id, error))
      .finally(() => running.delete(job.id))
    running.set(job.id, run)
  }

  function plan(job: Job): void {
    scheduled.get(job.id)?.timer.cancel()
    scheduled.delete(job.id)
    const rule = ruleOf(job)
    if (rule === undefined) return
    const { line } = rule
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
      list.map(job => {
        const rule = ruleOf(job)
        const at = rule === undefined ? null : nextDue(rule, clock.now()).toISOString()
        return { id: job.id, name: job.name, next_run: at, paused: at === null, listed: isListed(job) }
      }),
    lastRuns: () => readLastRuns(db, list),
    runNow: id => {
      const job = list.find(one => one.id === id && isListed(one))
      if (job === undefined) return undefined
      if (running.has(id)) return 'running'
      fire(job, clock.now())
      return 'begun'
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

interface RunRow {
  readonly id: string
  readonly due_at: Date
  readonly ran_at: Date
  readonly took_ms: number | null
  readonly error: string | null
}

async function readLastRuns(db: Queryable, list: readonly Job[]): Promise<ReadonlyMap<string, LastRun>> {
  const asking = list.flatMap(({ id, work }) => (work === undefined ? [] : [{ id, ...work }]))
  const [begun, ended] = await Promise.all([
    db.query<RunRow>('select id, due_at, ran_at, took_ms, error from clock_job where ran_at is not null'),
    db.query<RunRow>(
      `select distinct on (a.id) a.id, j.asked_at as due_at, j.finished_at as ran_at, j.error->>'message' as error,
        round(extract(epoch from j.finished_at - j.started_at) * 1000)::integer as took_ms
      from unnest($1::text[], $2::text[], $3::jsonb[]) as a (id, kind, request)
      join job j on j.kind = a.kind and j.request - 'ip' = a.request and j.state in ('done', 'error')
      order by a.id, j.finished_at desc`,
      [
        asking.map(({ id }) => id),
        asking.map(({ kind }) => kind),
        asking.map(({ request }) => JSON.stringify(request)),
      ],
    ),
  ])
  const last = new Map(ended.map(row => [row.id, row]))
  for (const row of begun) {
    const work = last.get(row.id)
    // that it was asked for says nothing; that it could not be asked for does
    if (work === undefined || (row.error !== null && row.ran_at > work.ran_at)) last.set(row.id, row)
  }
  return new Map(
    [...last].map(([id, { due_at, ran_at, took_ms, error }]) => [
      id,
      { due_at: due_at.toISOString(), ran_at: ran_at.toISOString(), took_ms, error },
    ]),
  )
}
