import type { Handlers, StreamEvent } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { FormatId } from '../../core/identity.ts'
import { maySee, type Viewer } from '../../core/viewer.ts'
import type { Db } from '../../db/db.ts'
import { searchCatalogue } from '../../imports/catalogue/search.ts'
import { heldSources, sourceStates } from '../../imports/catalogue/source-states.ts'
import { isActive, isSeen } from '../../imports/source-rules.ts'
import type { Source } from '../../imports/source.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Audit } from '../../record/audit.ts'
import { allLines, jobStream, nextMove } from '../../work/follow.ts'
import type { Worker } from '../../work/worker.ts'
import type { catalogue } from './contract.ts'
import { findSyncJob, jobView, listSyncJobs } from './job-store.ts'
import { mustBeTarget, sourcesOf, wordOf, type TargetDeps } from './targets.ts'
import { hitView, isOfDistro, sourceView } from './view.ts'
import { SYNC, type SyncRequest } from './work.ts'

export interface CatalogueRouteDeps extends TargetDeps {
  readonly db: Db
  readonly clock: Clock
  readonly sources: () => Promise<readonly Source[]>
  readonly worker: Pick<Worker, 'ask' | 'cancel' | 'onMoved' | 'ended'>
  readonly audit: Pick<Audit, 'record'>
  readonly schedule: () => {
    readonly enabled: boolean
    readonly hour: number
    readonly minute: number
    readonly timezone: string
    readonly nextRun: string | null
  }
}

interface Caller {
  readonly who: { readonly name: string }
  readonly viewer: Viewer
}

const LIMIT = 20

/** Sources that somebody may see, each with the distributions that he may see. */
const seenSources = async ({ sources }: CatalogueRouteDeps, viewer: Viewer): Promise<readonly Source[]> =>
  (await sources())
    .filter(source => isSeen(source, viewer.hidden))
    .map(source => ({ ...source, codenames: source.codenames.filter(codename => maySee(viewer, codename)) }))

/** By key or number. @throws source_not_found */
async function sourceOf(deps: CatalogueRouteDeps, viewer: Viewer, id: string): Promise<Source> {
  const all = await seenSources(deps, viewer)
  return (
    all.find(({ key }) => key === id) ??
    all.find(one => String(one.id) === id) ??
    fail('source_not_found', { source: id })
  )
}

/** Asks for a synchronisation of what the caller may see, or finds the equal one that is open. */
async function ask(deps: CatalogueRouteDeps, { who, viewer }: Caller, target: string) {
  const all = await deps.sources()
  const isMine = (source: Source): boolean => isSeen(source, viewer.hidden)
  mustBeTarget(target, all.filter(isMine), deps)
  const wanted = sourcesOf(target, all, deps, { held: new Set(), codenames: new Set() })
  const chosen = wanted.filter(isMine)
  const without = wanted.filter(source => !isMine(source)).map(({ key }) => key)
  const codenames = new Set(chosen.flatMap(source => source.codenames.filter(one => maySee(viewer, one))))
  const request: SyncRequest = { target, ...(without.length === 0 ? {} : { without }) }
  const order = { kind: SYNC, target, request: { ...request }, codenames: [...codenames], by: who.name }
  const { id, isNew } = await deps.worker.ask(order)
  return { id, isNew, total: chosen.length }
}

async function begin(deps: CatalogueRouteDeps, caller: Caller, target: string) {
  const { id, isNew, total } = await ask(deps, caller, target)
  const job = await jobOf(deps, caller.viewer, id)
  return {
    job_id: id,
    label: job.label,
    // it may have ended already: whoever started it looks again
    status: isNew ? ('running' as const) : job.status,
    total: job.total === 0 ? total : job.total,
    already_running: !isNew,
  }
}

async function jobOf(deps: CatalogueRouteDeps, viewer: Viewer, id: string) {
  return jobView((await findSyncJob(deps.db, viewer, id)) ?? fail('job_not_found', { id }))
}

/** The lines of a new synchronisation, or of the equal one that is open. */
async function linesOf(
  deps: CatalogueRouteDeps,
  caller: Caller & { readonly raw: { readonly signal: AbortSignal } },
  target: string,
): Promise<AsyncIterable<StreamEvent>> {
  const { job_id: id, total } = await begin(deps, caller, target)
  return jobStream(deps, { id, total, signal: caller.raw.signal })
}

/** How a job of one source goes, as `{status, count, message}`. */
async function* progressOf(
  { db, worker }: CatalogueRouteDeps,
  { id, signal }: { readonly id: string; readonly signal: AbortSignal },
): AsyncGenerator<StreamEvent> {
  let seen = 0
  let count = 0
  for (;;) {
    const job = await db.first<{ state: string; error: { message: string } | null }>(
      'select state, error from job where id = $1',
      [id],
    )
    const moved = nextMove(worker, id, signal)
    for await (const { n, message, data } of allLines(db, id, seen)) {
      const told = (data ?? {}) as { readonly count?: number; readonly state?: string }
      seen = n
      count = told.count ?? count
      yield { data: { status: told.state ?? 'running', count, message } }
    }
    if (job === undefined || job.state === 'done') return
    if (job.state === 'error' || job.state === 'cancelled') {
      yield { data: { status: job.state, count, message: job.error?.message ?? 'It was cancelled.' } }
      return
    }
    await moved
    if (signal.aborted) return
  }
}

/** The sources to search. @throws catalogue_empty, source_not_synchronised, source_not_found */
async function searched(
  deps: CatalogueRouteDeps,
  viewer: Viewer,
  { source_id: id, distro }: { readonly source_id?: string | undefined; readonly distro?: string | undefined },
): Promise<{ readonly sources: readonly Source[]; readonly isAll: boolean }> {
  const held = await heldSources(deps.db)
  if (id !== undefined) {
    const source = await sourceOf(deps, viewer, id)
    if (!held.has(source.id)) fail('source_not_synchronised', { source: source.key })
    return { sources: distro === undefined || isOfDistro(source, distro) ? [source] : [], isAll: false }
  }
  const seen = await seenSources(deps, viewer)
  const known = seen.filter(source => held.has(source.id) && isActive(source))
  if (known.length === 0) fail('catalogue_empty', {})
  const sources = distro === undefined ? known : known.filter(source => isOfDistro(source, distro))
  return { sources, isAll: sources.length === held.size }
}

export const catalogueHandlers: Handlers<typeof catalogue, CatalogueRouteDeps> = {
  'GET /import/search': async (deps, { query, viewer }) => {
    const { q, limit = LIMIT, format } = query
    const { sources, isAll } = await searched(deps, viewer, query)
    const hits = await searchCatalogue(deps.db, {
      q,
      limit,
      ...(format === undefined ? {} : { format: format as FormatId }),
      ...(isAll ? {} : { sources: sources.map(({ id }) => id) }),
    })
    const states = await sourceStates(deps.db)
    const byId = new Map(sources.map(source => [source.id, source]))
    const find = (id: number) => {
      const source = byId.get(id)
      if (source === undefined) throw new Error(`a hit is of the source ${id}, which was not searched`)
      return { source, state: states.get(id) }
    }
    const results = hits.map(hit => hitView(hit, find))
    return { query: q, count: results.length, results }
  },
  'GET /import/sync-status': async (deps, { viewer }) => {
    const states = await sourceStates(deps.db)
    const now = deps.clock.now()
    return {
      sources: (await seenSources(deps, viewer)).map(source =>
        sourceView(source, states.get(source.id), {
          word: wordOf(deps.formats, source.format),
          isActive: isActive(source),
          now,
        }),
      ),
    }
  },
  'GET /import/sync-schedule': async (deps, { viewer }) => {
    const { enabled, hour, minute, timezone, nextRun } = deps.schedule()
    const at = `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`
    const security = (await seenSources(deps, viewer)).filter(source => source.security && isActive(source))
    return {
      schedule: enabled ? `Every day at ${at}${timezone === '' ? '' : ` (${timezone})`}` : 'Switched off',
      cron: `0 ${minute} ${hour} * * *`,
      enabled,
      timezone,
      next_run: nextRun,
      security_sources: security.map(({ key: id, label }) => ({ id, label })),
    }
  },
  'POST /import/sync/start': (deps, input) => begin(deps, input, 'all'),
  'POST /import/sync/start/{target}': (deps, input) => begin(deps, input, input.params.target),
  'POST /import/sync': (deps, input) => linesOf(deps, input, 'all'),
  'POST /import/sync-security': (deps, input) => linesOf(deps, input, 'security'),
  'POST /import/sync/{source_id}': async (deps, input) => {
    const { key } = await sourceOf(deps, input.viewer, input.params.source_id)
    const { job_id, status, already_running } = await begin(deps, input, key)
    return { job_id, source_id: key, status, already_running }
  },
  'POST /import/sources/{id}/sync': async (deps, input) => {
    const { key } = await sourceOf(deps, input.viewer, input.params.id)
    const { id } = await ask(deps, input, key)
    return progressOf(deps, { id, signal: input.raw.signal })
  },
  'GET /import/sync/jobs': async ({ db }, { viewer }) => ({
    jobs: (await listSyncJobs(db, viewer, { onlyOpen: false })).map(jobView),
  }),
  'GET /import/sync/jobs/active': async ({ db }, { viewer }) => ({
    jobs: (await listSyncJobs(db, viewer, { onlyOpen: true })).map(jobView),
  }),
  'GET /import/sync/jobs/{id}': (deps, { params, viewer }) => jobOf(deps, viewer, params.id),
  'POST /import/sync/jobs/{id}/cancel': async (deps, { params: { id }, viewer, who, raw }) => {
    await jobOf(deps, viewer, id)
    const cancelled = await deps.worker.cancel(id, who.name)
    const { status, label } = await jobOf(deps, viewer, id)
    if (cancelled)
      await deps.audit.record({
        action: 'JOB_CANCEL',
        result: 'SUCCESS',
        user: who.name,
        facts: { kind: 'job.cancelled', job: id, work: label },
        ip: raw.clientIp,
      })
    const message = cancelled
      ? 'It ends as soon as what it is at is finished. What was synchronised whole stays.'
      : 'It has ended already, or was cancelled before.'
    return { job_id: id, cancelled, status, message }
  },
  'GET /import/sync/jobs/{id}/stream': async (deps, { params: { id }, query, viewer, raw }) => {
    const { total } = await jobOf(deps, viewer, id)
    return jobStream(deps, { id, total, after: query.from_index ?? 0, signal: raw.signal })
  },
}
