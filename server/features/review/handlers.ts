import type { Catalog } from '../../catalog/catalog.ts'
import { numbersOf, pagingOf } from '../../catalog/page.ts'
import { countStates } from '../../catalog/queries/counts.ts'
import { namedVersion } from '../../catalog/view.ts'
import type { Principal } from '../../core/access.ts'
import type { Handlers, RawRequest } from '../../core/contract.ts'
import type { Named } from '../../core/identity.ts'
import { asSeenBy, type Repositories } from '../../core/repository.ts'
import { policyOf } from '../../core/policy.ts'
import { slaDays } from '../../core/review.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Jobs } from '../../core/work.ts'
import type { Db } from '../../db/db.ts'
import type { Clock } from '../../lib/clock.ts'
import type { SlaWatch } from '../../review/deadlines.ts'
import { readDecision, readRequestedDecision } from '../../review/requested-decision.ts'
import type { Bulk } from '../../review/bulk/bulk.ts'
import type { Decisions } from '../../review/decisions.ts'
import { readVersion, versionPlaceOf, type Found } from '../../review/find-version.ts'
import { decisionView, listDecisions } from '../../review/history.ts'
import { listReviews } from '../../review/queue.ts'
import { RESCAN, type RescanRequest } from '../../review/rescan-request.ts'
import { versionDecision } from '../../review/version-view.ts'
import type { Settings } from '../../settings/store.ts'
import { answerOf } from '../../work/answer.ts'
import type { DecisionPage, review } from './contract.ts'
import { movedView } from './moved-view.ts'
import type { RescanResult } from './rescan-work.ts'
import { actOnEach, asksForAll, some, targetsOf, type Every, type Some } from './several.ts'

export interface ReviewHandlerDeps {
  readonly db: Db
  readonly repositories: Pick<Repositories, 'seenBy'>
  readonly catalog: Pick<Catalog, 'find'>
  readonly settings: Pick<Settings, 'now'>
  readonly clock: Clock
  readonly decisions: Decisions
  readonly bulk: Pick<Bulk, 'preview' | 'send'>
  readonly worker: Jobs
  readonly sla: SlaWatch
}

/** At once, so that all wait for their trees together. */
const allOf = <T, U>([first, ...others]: Some<T>, view: (one: T) => Promise<U>): Promise<Some<U>> =>
  Promise.all([view(first), ...others.map(view)])

const actorOf = (who: Principal, raw: RawRequest) => ({ name: who.name, ip: raw.clientIp })

interface Caller {
  readonly who: Principal
  readonly viewer: Viewer
}
type Place = Every & { readonly distribution?: string; readonly arch?: string }

/** The packages that a change concerns, as path, query and body name them together. @throws what `targetsOf` does */
const targets = (
  deps: ReviewHandlerDeps,
  {
    params,
    query,
    body,
    who,
    viewer,
  }: Caller & { params: Parameters<typeof versionPlaceOf>[0]; query: Place; body: Place },
): Promise<Some<Found>> =>
  targetsOf(asSeenBy(deps, viewer), versionPlaceOf(params, query, body), { who, viewer, all: asksForAll(query, body) })

const printNamed = ({ name, version, distribution }: Named): string => `${name} ${version} in ${distribution}`

async function decisionPage(...asked: Parameters<typeof listDecisions>): Promise<DecisionPage> {
  const page = await listDecisions(...asked)
  return { ...page, decisions: page.items, count: page.items.length }
}

export const reviewHandlers: Handlers<typeof review, ReviewHandlerDeps> = {
  'GET /security/review-queue': async ({ db, settings, clock }, { query, viewer }) => {
    const { assigned_to: assignedTo, sort = 'sla', ...filter } = query
    const asked = listReviews(db, viewer, {
      filter: { ...filter, assignedTo, states: ['pending_review'] },
      paging: pagingOf(query),
      sort,
      days: slaDays(settings.now().cve_policy),
      policy: policyOf(settings.now()),
      now: clock.now(),
    })
    const [packages, states] = await Promise.all([asked, countStates(db, viewer)])
    const { pending_review: review_count, quarantined: blocked_count } = states
    const { min_reason_chars } = settings.now().review
    return { ...numbersOf(packages), blocked_count, review_count, min_reason_chars, packages }
  },
  'POST /security/review-queue/preview': ({ bulk }, { body, who, viewer }) => {
    const { packages, filter: { assigned_to: assignedTo, ...filter } = {} } = body
    const decision = readDecision(body, [])
    return bulk.preview(
      { decision, ...(packages === undefined ? { filter: { ...filter, assignedTo } } : { packages }) },
      { who, viewer },
    )
  },
  'POST /security/review-queue/decide': async ({ bulk, clock }, { body, who, viewer, raw }) => {
    const { selection, confirmed = [] } = body
    const said = readRequestedDecision(body, clock.now())
    const { job, beginsAt, total } = await bulk.send({ selection, said, confirmed, ip: raw.clientIp }, { who, viewer })
    return {
      job_id: job,
      begins_at: beginsAt,
      total,
      message: `Begins at ${beginsAt}. Cancelled before, nothing is decided.`,
    }
  },
  'GET /security/packages/{name}/{version}/decision': async (deps, { params, query, viewer }) => {
    const { manifest, others } = await readVersion(asSeenBy(deps, viewer), viewer, versionPlaceOf(params, query))
    return versionDecision(manifest, others, { days: slaDays(deps.settings.now().cve_policy), now: deps.clock.now() })
  },
  'POST /security/packages/{name}/{version}/decide': async (deps, input) => {
    const { body, who, raw } = input
    const now = deps.clock.now()
    const said = readRequestedDecision(body, now)
    const { done, errors } = await actOnEach(await targets(deps, input), async found => ({
      found,
      ...(await deps.decisions.decide(found, said, actorOf(who, raw))),
    }))
    const packages = await allOf(done, async ({ found, decisions, changed }) => {
      const [decision] = decisions
      if (decision === undefined) throw new Error('a decision about nothing')
      const moved = await movedView(changed, found.state)
      return {
        ...moved,
        package: found.ref.name,
        ...decisionView(decision, now.toISOString()),
        cves: decisions.flatMap(({ cve }) => cve ?? []),
        new_status: moved.status,
        message: `${printNamed(moved)} is ${moved.status}: ${decision.decision}, ${decision.justification}`,
      }
    })
    return { ...packages[0], packages, errors }
  },
  'POST /security/packages/{name}/{version}/assign': async (deps, { params, query, body, who, viewer, raw }) => {
    const [found] = await targets(deps, { params, query, body, who, viewer })
    const username = (body.assignee ?? body.assigned_to ?? '') as string
    const { manifest } = await deps.decisions.assign(found, username === '' ? undefined : username, actorOf(who, raw))
    return {
      ...namedVersion(manifest),
      assigned_to: manifest.review?.assigned_to ?? null,
      updated_at: manifest.changed_at,
    }
  },
  'POST /security/packages/{name}/{version}/quarantine': async (deps, input) => {
    const { body, who, raw } = input
    const why =
      [body.reason, body.justification, body.comment].map(text => text?.trim() ?? '').find(text => text !== '') ?? ''
    const { done, errors } = await actOnEach(await targets(deps, input), async found => ({
      found,
      changed: await deps.decisions.quarantine(found, why, actorOf(who, raw)),
    }))
    const packages = await allOf(done, async ({ found, changed }) => {
      const moved = await movedView(changed, found.state)
      return { ...moved, package: moved.name, message: `${printNamed(moved)} is ${moved.status}.` }
    })
    return { ...packages[0], packages, errors }
  },
  'POST /security/packages/{name}/{version}/rescan': async (deps, input) => {
    const { who, viewer, raw } = input
    const refs = (await targets(deps, input)).map(({ ref }) => ref)
    const request: RescanRequest = { refs, viewer, ip: raw.clientIp }
    const result = await answerOf<RescanResult>(
      deps.worker,
      {
        kind: RESCAN,
        // two scans of one version never run beside each other
        target: `${input.params.name} ${input.params.version}`,
        request: { ...request },
        codenames: [...new Set(refs.map(({ codename }) => codename))],
        by: who.name,
        requestId: raw.requestId,
      },
      raw.signal,
    )
    const packages = some(result.packages)
    return { ...packages[0], packages, errors: result.errors }
  },
  'POST /security/check-sla': async ({ sla }, { viewer }) => {
    const { near, ...checked } = await sla.check(viewer)
    return {
      status: 'ok',
      ...checked,
      expired: checked.breached,
      expiring_soon: near.length,
      notified: checked.told > 0,
      expired_list: checked.breaches,
      expiring_list: near,
    }
  },
  'GET /security/decisions': ({ db, clock }, { query, viewer }) => {
    const { decided_by: decidedBy, ...filter } = query
    return decisionPage(db, viewer, { filter: { ...filter, decidedBy }, paging: pagingOf(query), now: clock.now() })
  },
  'GET /security/decisions/mine': ({ db, clock }, { query, who, viewer }) =>
    decisionPage(db, viewer, { filter: { assignedTo: who.name }, paging: pagingOf(query), now: clock.now() }),
  'GET /security/decisions/unassigned': ({ db, clock }, { query, viewer }) =>
    decisionPage(db, viewer, { filter: { assignedTo: null }, paging: pagingOf(query), now: clock.now() }),
}
