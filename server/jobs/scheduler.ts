import schedule, { type Job as Scheduled } from 'node-schedule'
import type { Job } from '../core/feature.ts'
import { createKeyedLock } from '../lib/keyed-lock.ts'

export interface Scheduler {
  start(): void
  /** Reads `when` of every job again, after settings changed. */
  reschedule(): void
  readonly started: boolean
  /** `next_run` is ISO 8601, null while the job is paused. */
  jobs(): readonly {
    readonly id: string
    readonly name: string
    readonly next_run: string | null
    readonly paused: boolean
    readonly progress?: string
  }[]
  /** Waits for running jobs. */
  stop(): Promise<void>
}

/** Runs jobs by the clock. Does not start a job that is still running. */
export function createScheduler(list: readonly Job[], onError: (id: string, error: unknown) => void): Scheduler {
  const lock = createKeyedLock()
  const scheduled = new Map<string, Scheduled>()
  const running = new Map<string, Promise<void>>()
  let started = false

  function fire(job: Job): void {
    if (running.has(job.id)) return
    const run = lock
      .run(job.id, job.run)
      .catch((error: unknown) => onError(job.id, error))
      .finally(() => running.delete(job.id))
    running.set(job.id, run)
  }

  function plan(job: Job): void {
    scheduled.get(job.id)?.cancel()
    scheduled.delete(job.id)
    const rule = job.when()
    if (rule === undefined) return
    const made = schedule.scheduleJob(job.id, rule, () => fire(job)) as Scheduled | null
    // the library returns null for a rule it cannot read
    if (made === null) throw new Error(`The job ${job.id} cannot be scheduled: ${rule} is no cron line.`)
    scheduled.set(job.id, made)
  }

  return {
    start: () => {
      list.forEach(plan)
      started = true
    },
    reschedule: () => {
      if (started) list.forEach(plan)
    },
    get started() {
      return started
    },
    jobs: () =>
      list.map(({ id, name, progress }) => {
        const next = scheduled.get(id)?.nextInvocation() as
          { toDate?: () => Date; toISOString?: () => string } | undefined
        const at = next?.toISOString?.() ?? null
        const far = progress?.()
        return { id, name, next_run: at, paused: at === null, ...(far === undefined ? {} : { progress: far }) }
      }),
    stop: async () => {
      for (const job of scheduled.values()) job.cancel()
      scheduled.clear()
      started = false
      await Promise.all(running.values())
    },
  }
}
