import type { Catalog } from '../../catalog/catalog.ts'
import type { Changed } from '../../catalog/change.ts'
import { numbersOf, pagingOf } from '../../catalog/page.ts'
import { countStates } from '../../catalog/queries/counts.ts'
import { namedVersion } from '../../catalog/view.ts'
import { needScope, type Principal } from '../../core/access.ts'
import type { Handlers, RawRequest } from '../../core/contract.ts'
import type { Named } from '../../core/identity.ts'
import { asSeenBy, type Repositories } from '../../core/repository.ts'
import { slaDays } from '../../core/review.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Db } from '../../db/db.ts'
import type { Clock } from '../../lib/clock.ts'
import type { SlaWatch } from '../../review/deadlines.ts'
import { readRequestedDecision } from '../../review/requested-decision.ts'
import type { Decisions } from '../../review/decisions.ts'
import type { VersionPlace } from '../../catalog/queries/versions.ts'
import { findOne, readVersion, versionPlaceOf, type Found } from '../../review/find-version.ts'
import { decisionView, listDecisions } from '../../review/history.ts'
import { listReviews } from '../../review/queue.ts'
import type { Rescans } from '../../review/rescan.ts'
import { versionDecision } from '../../review/version-view.ts'
import type { Settings } from '../../settings/store.ts'
import type { DecisionPage, review } from './contract.ts'

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

const actorOf = (who: Principal, raw: RawRequest) => ({ name: who.name, ip: raw.clientIp })

interface Caller {
  readonly who: Pick<Principal, 'scope'>
  readonly viewer: Viewer
}

/** The package that a change concerns, if the caller may change it there. @throws unknown_distribution */
async function target(
  { db, repositories }: ReviewHandlerDeps,
  which: VersionPlace,
  { who, viewer }: Caller,
): Promise<Found> {
  if (which.distribution !== undefined) repositories.seenBy(viewer).get(which.distribution)
  const found = await findOne(db, viewer, which)
  needScope(who, found.ref.codename)
  return found
}

/** Waits until clients see it; the decision stands in any case. */
async function movedView(changed: Changed, before: string) {
  const published = await changed.settled(FOLLOW_MS).catch(() => false)
  return {
    ...namedVersion(changed.manifest),
    previous_status: before,
    published: published && changed.manifest.state === 'published',
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
  'POST /security/packages/{name}/{version}/decide': async (deps, { params, query, body, who, viewer, raw }) => {
    const now = deps.clock.now()
    const said = readRequestedDecision(body, now)
    const found = await target(deps, versionPlaceOf(params, query, body), { who, viewer })
    const { decisions, changed } = await deps.decisions.decide(found, said, actorOf(who, raw))
    const [first] = decisions
    if (first === undefined) throw new Error('a decision about nothing')
    const { previous_status: _, ...moved } = await movedView(changed, found.state)
    return {
      ...moved,
      package: found.ref.name,
      ...decisionView(first, now.toISOString()),
      cves: decisions.flatMap(({ cve }) => cve ?? []),
      new_status: moved.status,
      message: `${printNamed(moved)} is ${moved.status}: ${first.decision}, ${first.justification}`,
    }
  },
  'POST /security/packages/{name}/{version}/assign': async (deps, { params, query, body, who, viewer, raw }) => {
    const found = await target(deps, versionPlaceOf(params, query, body), { who, viewer })
    const username = (body.assignee ?? body.assigned_to ?? '') as string
    const { manifest } = await deps.decisions.assign(found, username === '' ? undefined : username, actorOf(who, raw))
    return {
      ...namedVersion(manifest),
      assigned_to: manifest.review?.assigned_to ?? null,
      updated_at: manifest.changed_at,
    }
  },
  'POST /security/packages/{name}/{version}/quarantine': async (deps, { params, query, body, who, viewer, raw }) => {
    const found = await target(deps, versionPlaceOf(params, query, body), { who, viewer })
    const why =
      [body.reason, body.justification, body.comment].map(text => text?.trim() ?? '').find(text => text !== '') ?? ''
    const moved = await movedView(await deps.decisions.quarantine(found, why, actorOf(who, raw)), found.state)
    return { ...moved, package: moved.name, message: `${printNamed(moved)} is ${moved.status}.` }
  },
  'POST /security/packages/{name}/{version}/rescan': async (deps, { params, query, body, who, viewer, raw }) => {
    const found = await target(deps, versionPlaceOf(params, query, body), { who, viewer })
    const { changed, before, report, fresh, gone } = await deps.rescans.rescan(
      { ref: found.ref, viewer },
      actorOf(who, raw),
      raw.signal,
    )
    return {
      ...(await movedView(changed, before)),
      cve_scan: report.verdict,
      said: report.said,
      findings: changed.manifest.findings.length,
      severity: changed.manifest.worst ?? null,
      new: [...fresh],
      gone: [...gone],
    }
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
