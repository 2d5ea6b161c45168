import { pagingOf } from '../../catalog/page.ts'
import { allows, type Principal } from '../../core/access.ts'
import type { Handlers, StreamEvent } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { WorkKind } from '../../core/work.ts'
import type { Queryable } from '../../db/db.ts'
import type { Audit } from '../../record/audit.ts'
import { allLines, nextMove } from '../../work/follow.ts'
import type { Scheduler } from '../../work/scheduler.ts'
import type { Worker } from '../../work/worker.ts'
import type { jobs, JobView } from './contract.ts'
import { findJob, listJobs, type JobRow, type JobViewer } from './store.ts'
import { viewOf } from './view.ts'

export interface JobRouteDeps {
  readonly db: Queryable
  readonly worker: Pick<Worker, 'cancel' | 'onMoved'>
  readonly scheduler: Pick<Scheduler, 'jobs' | 'lastRuns' | 'runNow' | 'started'>
  readonly kinds: () => readonly WorkKind[]
  /** The time zone of the clock's jobs, as people read it. */
  readonly zone: () => string
  readonly audit: Pick<Audit, 'record'>
}

interface Caller {
  readonly who: Principal
  readonly viewer: Viewer
}

const viewerOf = ({ kinds }: JobRouteDeps, { who, viewer }: Caller): JobViewer => ({
  kinds: kinds()
    .filter(({ see }) => allows(see, who.role))
    .map(({ kind }) => kind),
  hidden: viewer.hidden,
  name: who.name,
})

function mayCancel(deps: JobRouteDeps, { who }: Caller, row: JobRow): boolean {
  const work = deps.kinds().find(({ kind }) => kind === row.kind)
  return row.asked_by === who.name || (work !== undefined && allows(work.cancel, who.role))
}

const shown = (deps: JobRouteDeps, caller: Caller, row: JobRow): JobView =>
  viewOf(
    row,
    deps.kinds().find(({ kind }) => kind === row.kind),
    mayCancel(deps, caller, row),
  )

async function rowOf(deps: JobRouteDeps, caller: Caller, id: string): Promise<JobRow> {
  return (await findJob(deps.db, viewerOf(deps, caller), id)) ?? fail('job_not_found', { id })
}

async function* follow(
  deps: JobRouteDeps,
  caller: Caller,
  { id, after, signal }: { readonly id: string; readonly after: number; readonly signal: AbortSignal },
): AsyncGenerator<StreamEvent> {
  let seen = after
  let last = ''
  for (;;) {
    // the row first: lines that come in between are told before its end is
    const row = await rowOf(deps, caller, id)
    const moved = nextMove(deps.worker, id, signal)
    for await (const { n, at, level, message, data } of allLines(deps.db, id, seen)) {
      yield { id: String(n), event: 'log', data: { n, at: at.toISOString(), level, message, data } }
      seen = n
    }
    const view = shown(deps, caller, row)
    if (row.finished_at !== null) {
      yield { event: 'end', data: view }
      return
    }
    const text = JSON.stringify(view)
    if (text !== last) yield { event: 'progress', data: view }
    last = text
    await moved
    if (signal.aborted) return
  }
}

export const jobHandlers: Handlers<typeof jobs, JobRouteDeps> = {
  'GET /jobs': async (deps, input) => {
    const { state, kind } = input.query
    const page = await listJobs(deps.db, viewerOf(deps, input), {
      ...(state === undefined ? {} : { states: state === 'open' ? ['queued', 'running'] : [state] }),
      ...(kind === undefined ? {} : { kind }),
      paging: pagingOf(input.query),
    })
    // a result may name thousands of packages
    return { ...page, items: page.items.map(row => ({ ...shown(deps, input, row), result: null })) }
  },
  'GET /jobs/{id}': async (deps, input) => shown(deps, input, await rowOf(deps, input, input.params.id)),
  'GET /jobs/{id}/events': async (deps, input) => {
    const { id } = input.params
    await rowOf(deps, input, id) // a refusal, before the stream begins
    const header = input.raw.headers['last-event-id']
    const from = input.query.last_event_id ?? (typeof header === 'string' ? header : '0')
    const after = /^\d{1,9}$/.test(from) ? Number(from) : 0
    return follow(deps, input, { id, after, signal: input.raw.signal })
  },
  'POST /jobs/{id}/cancel': async (deps, input) => {
    const { id } = input.params
    const row = await rowOf(deps, input, id)
    if (!mayCancel(deps, input, row)) fail('job_not_yours', { id, owner: row.asked_by })
    const cancelled = await deps.worker.cancel(id, input.who.name)
    const now = await rowOf(deps, input, id)
    if (cancelled)
      await deps.audit.record({
        action: 'JOB_CANCEL',
        result: 'SUCCESS',
        user: input.who.name,
        facts: { kind: 'job.cancelled', job: id, work: shown(deps, input, now).label },
        ip: input.raw.clientIp,
      })
    return {
      job_id: id,
      cancelled,
      status: now.state,
      message: cancelled
        ? now.state === 'cancelled'
          ? 'The job was cancelled before it began.'
          : 'The job ends as soon as what it is at is finished. What it has done stays.'
        : now.cancelled_by !== null && now.finished_at === null
          ? 'The job was cancelled already and is about to end.'
          : 'The job has ended already.',
    }
  },
  'GET /schedule': async ({ scheduler, zone }) => {
    const last = await scheduler.lastRuns()
    return {
      jobs: scheduler
        .jobs()
        .filter(({ listed }) => listed)
        .map(({ id, name, next_run }) => ({ id, name, next_run, last: last.get(id) ?? null })),
      timezone: zone(),
      is_leader: scheduler.started,
    }
  },
  'POST /schedule/{id}/run': async ({ scheduler, audit }, { params: { id }, who, raw }) => {
    const job = scheduler.jobs().find(one => one.id === id && one.listed) ?? fail('clock_job_not_found', { id })
    if (scheduler.runNow(id) === 'running') return { message: `It is running already: ${job.name}.` }
    await audit.record({
      action: 'JOB_RUN',
      result: 'SUCCESS',
      user: who.name,
      facts: { kind: 'job.run', job: id, work: job.name },
      ip: raw.clientIp,
    })
    return { message: `Begun: ${job.name}.` }
  },
}
