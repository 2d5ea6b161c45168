import { hostname } from 'node:os'
import { AppError } from '../core/errors.ts'
import type { JobEnd, JobError, Jobs, Order, Run, WorkKind } from '../core/work.ts'
import { isUnavailable } from '../db/database-unavailable.ts'
import type { Db } from '../db/db.ts'
import type { Log } from '../lib/log.ts'
import { machineFaultOf } from '../lib/machine-faults.ts'
import { inRequest } from '../lib/request-scope.ts'
import { createQueue, type Queue, type RunOf, type Taken } from './queue.ts'

/** Why the signal of a run is aborted. */
class RunEnded extends Error {
  readonly why: 'cancelled' | 'lost' | 'stopping'

  constructor(why: RunEnded['why']) {
    super(
      why === 'cancelled'
        ? 'the job was cancelled'
        : why === 'lost'
          ? 'another process goes on with the job'
          : 'the service stops',
    )
    this.name = 'RunEnded'
    this.why = why
  }
}

interface Running extends RunOf {
  readonly kind: string
  readonly stopper: AbortController
  finished: Promise<void>
}

export interface Worker extends Jobs {
  /** @returns false when there is no open job of this id */
  cancel(id: string, by: string): Promise<boolean>
  /** Adds kinds of work that this process can do. */
  handle(kinds: readonly WorkKind[]): void
  kinds(): readonly WorkKind[]
  /** Calls back whenever a job begins, moves or ends in this process. */
  onMoved(listener: (id: string) => void): () => void
  /** Removes ended jobs. */
  prune(days: number): Promise<void>
  /** Takes jobs from now on. Those that run in no process any longer are taken over at once. */
  start(): Promise<void>
  /** Takes none any longer and gives the running ones back; they go on from their cursors. */
  stop(): Promise<void>
}

export interface WorkerOptions {
  readonly db: Db
  readonly log: Pick<Log, 'error' | 'warn' | 'info'>
  /** How often the queue is looked at for what other processes have put there. */
  readonly lookMs?: number
  readonly renewMs?: number
}

/** Runs that stop the process, or its database, without any step between them: the work itself must be the cause. */
const GIVE_UP = 5

const wordsOf = (error: unknown, id: string): JobError => {
  const { code, message, facts } =
    error instanceof AppError ? error : new AppError(machineFaultOf(error) ?? 'job_failed', { id })
  return { code, message, facts }
}

/** Takes jobs from the queue and runs them, as many of each kind as it allows. */
export function createWorker({ db, log, lookMs = 2_000, renewMs = 1_000 }: WorkerOptions): Worker {
  const queue: Queue = createQueue(db)
  const runner = `${hostname()}:${process.pid}`
  const running = new Map<string, Running>()
  const listeners = new Set<(id: string) => void>()
  const known = new Map<string, WorkKind>()
  let active = false
  let isLooking = false
  let looked: Promise<void> = Promise.resolve()
  let lookAgain = false
  let timers: NodeJS.Timeout[] = []

  const moved = (id: string): void => {
    for (const listener of listeners) listener(id)
  }

  function runOf(taken: Taken, signal: AbortSignal): Run<unknown> {
    return {
      id: taken.id,
      by: taken.asked_by,
      requestId: taken.request_id ?? undefined,
      signal,
      cursor: taken.cursor ?? undefined,
      step: async (progress, within) => {
        signal.throwIfAborted()
        if (await queue.step(taken, progress, within)) return moved(taken.id)
        // the next renewal says which of the two it was
        await renew()
        signal.throwIfAborted()
        throw new RunEnded('lost')
      },
    }
  }

  async function endOf(taken: Taken, stopper: AbortController): Promise<JobEnd | RunEnded> {
    const work = known.get(taken.kind)
    if (work === undefined) throw new Error(`no work is known for jobs of the kind ${taken.kind}`)
    try {
      if (taken.fruitless >= GIVE_UP) throw new AppError('job_gave_up', { times: taken.fruitless })
      const result = await inRequest(taken.request_id ?? undefined, () =>
        work.run(runOf(taken, stopper.signal), taken.request),
      )
      return { state: 'done', result, error: undefined }
    } catch (error) {
      if (error instanceof RunEnded) return error
      const { reason } = stopper.signal as { reason: unknown }
      if (stopper.signal.aborted && reason instanceof RunEnded) return reason
      if (isUnavailable(error)) throw error
      if (!(error instanceof AppError)) log.error({ err: error, job: taken.id, kind: taken.kind }, 'a job failed')
      return { state: 'error', result: undefined, error: wordsOf(error, taken.id) }
    }
  }

  async function finish(taken: Taken, end: JobEnd | RunEnded): Promise<void> {
    if (!(end instanceof RunEnded)) {
      await queue.finish(
        taken,
        end,
        end.error === undefined
          ? { level: 'info', message: 'Done.' }
          : { level: 'error', message: end.error.message, data: { code: end.error.code } },
      )
    } else if (end.why === 'cancelled') {
      const cancelled = { state: 'cancelled', result: undefined, error: undefined } as const
      await queue.finish(taken, cancelled, { level: 'warning', message: 'Ended before it was done.' })
    } else if (end.why === 'stopping') await queue.release(taken)
  }

  function begin(taken: Taken): void {
    const stopper = new AbortController()
    const { id, epoch, kind } = taken
    const one: Running = { id, epoch, kind, stopper, finished: Promise.resolve() }
    running.set(id, one)
    moved(id)
    one.finished = endOf(taken, stopper)
      .then(end => finish(taken, end))
      .catch((error: unknown) => {
        // its lease runs out, and it goes on from its cursor
        log.warn({ err: error, job: id, kind }, 'a job was interrupted and goes on later')
      })
      .finally(() => {
        running.delete(id)
        moved(id)
        lookNow()
      })
  }

  const withRoom = (): string[] =>
    [...known.values()]
      .filter(({ kind, limit = 1 }) => [...running.values()].filter(one => one.kind === kind).length < limit)
      .map(({ kind }) => kind)

  async function look(): Promise<void> {
    do {
      lookAgain = false
      try {
        for (;;) {
          const open = withRoom()
          const taken = !active || open.length === 0 ? undefined : await queue.take(open, [...running.keys()], runner)
          if (taken === undefined) break
          // stopped while the database answered
          if (!active) {
            await queue.release(taken)
            break
          }
          begin(taken)
        }
      } catch (error) {
        if (active) log.warn({ err: error }, 'the queue of jobs could not be read')
      }
    } while (lookAgain && active)
    isLooking = false
  }

  function lookNow(): void {
    if (!active) return
    if (isLooking) {
      lookAgain = true
      return
    }
    isLooking = true
    looked = inRequest(undefined, look) // not only of the request that woke it
  }

  /** Tells runs that were cancelled or taken over. */
  async function renew(): Promise<void> {
    const runs = [...running.values()]
    if (runs.length === 0) return
    const left = new Map((await queue.renew(runs)).map(run => [run.id, run]))
    for (const run of runs) {
      const row = left.get(run.id)
      if (row === undefined) run.stopper.abort(new RunEnded('lost'))
      else if (row.cancelled_by !== null) run.stopper.abort(new RunEnded('cancelled'))
    }
  }

  /** Resolves at the next move in this process, or after `ms`: other processes do not tell. */
  function nextMove(id: string, ms: number, signal: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      const done = (): void => {
        clearTimeout(timer)
        listeners.delete(heard)
        signal.removeEventListener('abort', done)
        resolve()
      }
      const heard = (which: string): void => {
        if (which === id) done()
      }
      const timer = setTimeout(done, ms)
      listeners.add(heard)
      signal.addEventListener('abort', done, { once: true })
    })
  }

  return {
    handle: kinds => {
      for (const kind of kinds) known.set(kind.kind, kind)
    },
    kinds: () => [...known.values()],
    ask: async (order: Order) => {
      const asked = await queue.ask(order)
      lookNow()
      return asked
    },
    ended: async (id, signal) => {
      for (;;) {
        signal.throwIfAborted()
        const next = new AbortController()
        const woken = nextMove(id, lookMs, AbortSignal.any([signal, next.signal]))
        const end = await queue.end(id)
        if (end !== undefined) {
          next.abort()
          return end
        }
        await woken
      }
    },
    cancel: async (id, by) => {
      const isOpen = await queue.cancel(id, by)
      if (isOpen) running.get(id)?.stopper.abort(new RunEnded('cancelled'))
      moved(id)
      return isOpen
    },
    onMoved: listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    prune: async days => {
      await queue.prune(days)
    },
    start: async () => {
      await queue.releaseAll()
      active = true
      timers = [
        setInterval(lookNow, lookMs),
        setInterval(() => void renew().catch(() => undefined), renewMs), // tried again a second later
      ]
      lookNow()
    },
    stop: async () => {
      active = false
      for (const timer of timers) clearInterval(timer)
      await looked // it may just have taken one
      for (const { stopper } of running.values()) stopper.abort(new RunEnded('stopping'))
      await Promise.all([...running.values()].map(({ finished }) => finished))
    },
  }
}
