import { needScope, type Principal } from '../../core/access.ts'
import { wantsEvents, type Handlers, type RawRequest, type StreamEvent } from '../../core/contract.ts'
import { MAKE_ROOM } from '../../core/disk.ts'
import { AppError, fail } from '../../core/errors.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Order } from '../../core/work.ts'
import { isSeen } from '../../imports/source-rules.ts'
import { IMPORT_PACKAGES, type ImportRequest, type ImportResult } from '../../imports/run/import-work.ts'
import { jobLines } from '../../work/follow.ts'
import type { HowBody, imports, ImportReply, WishBody } from './contract.ts'
import type { ImportRouteDeps } from './deps.ts'
import { analyzeDockerfile } from './dockerfile-handler.ts'
import { groupHandlers } from './group-handlers.ts'
import { resolveReply } from './resolve-reply.ts'

interface Caller {
  readonly who: Principal
  readonly viewer: Viewer
  readonly raw: RawRequest
}
interface Asked extends HowBody {
  readonly packages: readonly (string | WishBody)[]
  readonly source_key?: string
}

const THERE = new Set(['added', 'already'])

/** One sentence about the whole. */
function messageOf({ packages, unresolved, stopped }: ImportResult, status: ImportReply['status']): string {
  if (packages.length === 0 && status === 'complete') return 'All that was asked for is served here already.'
  const count = (state: string): number => packages.filter(one => one.status === state).length
  const parts = [
    `${count('added')} published`,
    ...(
      [
        ['already', 'here already'],
        ['pending_review', 'held for review'],
        ['blocked', 'blocked'],
        ['upstream_changed', 'with other bytes upstream than here'],
        ['failed', 'failed'],
        ['waiting', 'left over'],
      ] as const
    ).flatMap(([state, said]) => (count(state) === 0 ? [] : [`${count(state)} ${said}`])),
    ...(unresolved.length === 0 ? [] : [`${unresolved.length} needs that nothing meets`]),
  ]
  const first = status === 'complete' ? 'All that was asked for is served' : 'Not all that was asked for is served'
  const why = stopped === 'out_of_space' ? ` The disk has no room for more. ${MAKE_ROOM} Then ask again.` : ''
  return `${first}: ${parts.join(', ')}.${why}`
}

function replyOf(jobId: string, result: ImportResult, asked: readonly string[]): ImportReply {
  const roots = result.packages.filter(({ is_root: isRoot }) => isRoot)
  const there = roots.filter(({ status }) => THERE.has(status))
  const isComplete = result.unresolved.length === 0 && there.length === roots.length && asked.length > 0
  const status = isComplete ? 'complete' : result.packages.some(one => THERE.has(one.status)) ? 'partial' : 'none'
  return {
    status,
    message: messageOf(result, status),
    job_id: jobId,
    group: result.group,
    distribution: result.distribution,
    stopped: result.stopped ?? null,
    counts: { ...result.counts },
    packages: result.packages.map(({ name, version, arch, status: state, why }) => ({
      ...{ name, version, arch, why },
      status: state,
    })),
    unresolved: result.unresolved,
  }
}

/** The group of what was asked for without one: a name that can be asked for, and be removed by, again. */
const groupNamed = (name: string): string =>
  name
    .replaceAll(/[^A-Za-z0-9_.+-]/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 100) || 'import'

/** What is asked for, checked. @throws missing_field, and what `Planner.target` throws */
async function requestOf(deps: ImportRouteDeps, asked: Asked, { who, viewer, raw }: Caller): Promise<ImportRequest> {
  const wishes = asked.packages.map(one => (typeof one === 'string' ? { name: one } : one))
  const packages = wishes.map(({ name, package: other, version }) => ({
    name: name ?? other ?? fail('missing_field', { field: 'package' }),
    ...(version === undefined ? {} : { version }),
  }))
  const [first] = packages
  const wanted = asked.distribution ?? (wishes[0] as WishBody | undefined)?.distribution
  const target = await deps.planner.target(
    { name: first?.name ?? '', codename: wanted, arch: asked.arch ?? (wishes[0] as WishBody | undefined)?.arch },
    viewer,
  )
  needScope(who, target.codename)
  if (target.state === 'retired') fail('distribution_retired', { codename: target.codename })
  return {
    packages,
    codename: target.codename,
    arch: target.arch,
    group: asked.group ?? groupNamed(first?.name ?? ''),
    recommends: asked.recommends ?? false,
    ip: raw.clientIp,
    ...(asked.source_key === undefined ? {} : { source_key: asked.source_key }),
    ...(asked.base === undefined ? {} : { base: asked.base }),
  }
}

/** Puts the import into the queue, and answers with its end or its lines. */
async function runImport(
  deps: ImportRouteDeps,
  asked: Asked,
  caller: Caller,
): Promise<ImportReply | AsyncIterable<StreamEvent>> {
  const { who, raw } = caller
  const request = await requestOf(deps, asked, caller)
  const order: Order = {
    kind: IMPORT_PACKAGES,
    request: { ...request },
    target: request.group,
    codenames: [request.codename],
    by: who.name,
    requestId: raw.requestId,
  }
  const { id, isNew } = await deps.worker.ask(order)
  if (isNew)
    await deps.audit.record({
      action: 'IMPORT',
      result: 'SUCCESS',
      user: who.name,
      ip: raw.clientIp,
      distribution: request.codename,
      facts: {
        kind: 'import.asked',
        packages: request.packages.map(({ name }) => name),
        group: request.group,
        job: id,
      },
    })
  if (wantsEvents(raw)) return jobLines(deps, { id, signal: raw.signal })
  const { state, result, error } = await deps.worker.ended(id, raw.signal)
  if (state === 'cancelled') fail('job_cancelled', {})
  if (error !== undefined) throw new AppError(error.code, error.facts)
  return replyOf(
    id,
    result as ImportResult,
    request.packages.map(({ name }) => name),
  )
}

export const importHandlers: Handlers<typeof imports, ImportRouteDeps> = {
  'GET /import/resolve/{name}': async ({ planner, forecast }, { params: { name }, query, viewer, raw }) => {
    const { distribution: codename, version, arch, recommends = false, base } = query
    const target = await planner.target({ name, codename, arch }, viewer)
    const packages = [{ name, ...(version === undefined ? {} : { version }) }]
    const found = await planner.resolve({ packages, target, recommends, base }, raw.signal)
    return resolveReply(name, found, await forecast(target.codename, found.packages))
  },
  'POST /import/fetch': (deps, input) => runImport(deps, { ...input.body, packages: [input.body] }, input),
  'POST /import/batch': (deps, input) => {
    if (input.body.packages.length === 0)
      fail('bad_request', { said: 'The list of packages is empty. Name at least one.' })
    return runImport(deps, input.body, input)
  },
  'POST /import/packages': async (deps, input) => {
    const { body } = input
    const source = await deps.findSource(body.source_id)
    if (source === undefined || !isSeen(source, input.viewer.hidden))
      return fail('source_not_found', { source: String(body.source_id) })
    const [only] = source.codenames
    const codename = body.distribution ?? (source.codenames.length === 1 ? only : undefined)
    return runImport(
      deps,
      {
        ...body,
        ...(codename === undefined ? {} : { distribution: codename }),
        packages: [body],
        source_key: source.key,
      },
      input,
    )
  },
  'POST /import/analyze-dockerfile': analyzeDockerfile,
  ...groupHandlers,
}
