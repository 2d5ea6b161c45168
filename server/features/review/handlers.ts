import type { Catalog } from '../../catalog/catalog.ts'
import type { Changed } from '../../catalog/change.ts'
import { numbersOf, pagingOf } from '../../catalog/page.ts'
import { countStates } from '../../catalog/queries/counts.ts'
import { namedVersion } from '../../catalog/view.ts'
import type { Principal } from '../../core/access.ts'
import type { Handlers, RawRequest } from '../../core/contract.ts'
import type { Named } from '../../core/identity.ts'
import { NOT_YET_INDEXED, whatClientsSee, type State } from '../../core/manifest.ts'
import { asSeenBy, type Repositories } from '../../core/repository.ts'
import { policyOf } from '../../core/policy.ts'
import { slaDays } from '../../core/review.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Db } from '../../db/db.ts'
import type { Clock } from '../../lib/clock.ts'
import type { SlaWatch } from '../../review/deadlines.ts'
import { readRequestedDecision } from '../../review/requested-decision.ts'
import type { Decisions } from '../../review/decisions.ts'
import { readVersion, versionPlaceOf, type Found } from '../../review/find-version.ts'
import { decisionView, listDecisions } from '../../review/history.ts'
import { listReviews } from '../../review/queue.ts'
import type { Rescans } from '../../review/rescan.ts'
import { versionDecision } from '../../review/version-view.ts'
import type { Settings } from '../../settings/store.ts'
import type { DecisionPage, review } from './contract.ts'
import { actOnEach, asksForAll, targetsOf, type Every, type Some } from './several.ts'

export interface ReviewHandlerDeps {
  readonly db: Db
  readonly repositories: Pick<Repositories, 'seenBy'>
  readonly catalog: Pick<Catalog, 'find'>
  readonly settings: Pick<Settings, 'now'>
  readonly clock: Clock
  readonly decisions: Decisions
  readonly rescans: Pick<Rescans, 'rescan'>
  readonly sla: SlaWatch
}

const FOLLOW_MS = 30_000

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

/** Waits until clients see it; the decision stands in any case. */
async function movedView(changed: Changed, before: State) {
  const indexed = await changed.settled(FOLLOW_MS).catch(() => false)
  const { state } = changed.manifest
  return {
    ...namedVersion(changed.manifest),
    previous_status: before,
    published: indexed && state === 'published',
    publication: state === 'published' && !indexed ? NOT_YET_INDEXED : whatClientsSee(state),
    updated_at: changed.manifest.changed_at,
  }
}

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
    return { ...numbersOf(packages), blocked_count, review_count, packages }
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
    const { done, errors } = await actOnEach(await targets(deps, input), ({ ref }) =>
      deps.rescans.rescan({ ref, viewer }, actorOf(who, raw), raw.signal),
    )
    const packages = await allOf(done, async ({ changed, before, report, fresh, gone }) => ({
      ...(await movedView(changed, before)),
      cve_scan: report.verdict,
      said: report.said,
      findings: changed.manifest.findings.length,
      severity: changed.manifest.worst ?? null,
      new: [...fresh],
      gone: [...gone],
    }))
    return { ...packages[0], packages, errors }
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
