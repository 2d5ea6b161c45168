import { needDistribution, type Caller, type Principal } from '../../core/access.ts'
import type { Changed } from '../../catalog/catalog.ts'
import type { Handlers, RawRequest } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import { slaDays } from '../../core/review.ts'
import { isoNow } from '../../lib/clock.ts'
import type { security } from './contract.ts'
import { named, versionCves, versionDecision } from '../../review/version-view.ts'
import type { SecurityDeps } from './deps.ts'
import { decisionView, listDecisions } from '../../review/history.ts'
import { readPosture } from '../../review/posture.ts'
import { listReviews } from '../../review/queue.ts'
import { ruleHandlers } from './rule-handlers.ts'
import { makeReport } from './report.ts'
import { policyView } from '../../review/policy-view.ts'
import { renderReport, REPORT_CSP } from './report-page.ts'
import { readSaid } from '../../review/decision-words.ts'
import { getVulnerability, listVulnerabilities } from '../../review/vulnerabilities.ts'
import { findAny, findOne, type Found, type Which } from '../../review/find-version.ts'

const PER_PAGE = 50
const FOLLOW_MS = 30_000
const REPORT_DAYS = 90

interface Paged {
  readonly page?: number
  readonly per_page?: number
}
const pagingOf = (query: Paged) => ({ page: query.page ?? 1, perPage: query.per_page ?? PER_PAGE })
type Place = { readonly distribution?: string; readonly arch?: string }
const whichOf = (params: { readonly name: string; readonly version: string }, ...places: readonly Place[]): Which => ({
  ...params,
  distribution: places.find(place => place.distribution !== undefined)?.distribution,
  arch: places.find(place => place.arch !== undefined)?.arch,
})
const actorOf = (who: Principal, raw: RawRequest) => ({ name: who.name, ip: raw.clientIp })

/**
 * What a list is narrowed to, refused where it is no distribution or format.
 * @throws unknown_distribution, no_such_format
 */
function known<Filter extends Place & { readonly format?: string }>(
  { repositories }: Pick<SecurityDeps, 'repositories'>,
  filter: Filter,
): Filter {
  if (filter.distribution !== undefined) repositories.get(filter.distribution)
  const formats = [...new Set(repositories.all().map(one => one.format))]
  if (filter.format !== undefined && !formats.includes(filter.format))
    fail('no_such_format', { format: filter.format, known: formats.join(', ') })
  return filter
}

/** The package that a change is about, if the caller may change it there. @throws unknown_distribution */
async function target({ db, repositories }: SecurityDeps, which: Which, caller: Caller): Promise<Found> {
  if (which.distribution !== undefined) repositories.get(which.distribution)
  const found = await findOne(db, which)
  needDistribution(caller, found.ref.codename)
  return found
}

/** Waits until clients see it; it is decided in any case. */
async function movedView(changed: Changed, before: string) {
  const published = await changed.settled(FOLLOW_MS).catch(() => false)
  return {
    ...named(changed.manifest),
    previous_status: before,
    published: published && changed.manifest.state === 'published',
    updated_at: changed.manifest.changed_at,
  }
}

async function getKnown({ db, catalog, repositories }: SecurityDeps, which: Which) {
  if (which.distribution !== undefined) repositories.get(which.distribution)
  const { found, others } = await findAny(db, which)
  const manifest =
    (await catalog.find(found.ref)) ?? fail('version_not_found', { name: which.name, version: which.version })
  return { manifest, others }
}

export const securityHandlers: Handlers<typeof security, SecurityDeps> = {
  ...ruleHandlers,
  'GET /security/review-queue': ({ db, settings, clock, repositories }, { query }) => {
    const { assigned_to: assignedTo, sort = 'sla', ...filter } = known({ repositories }, query)
    return listReviews(
      db,
      { ...filter, assignedTo, states: ['pending_review'] },
      { paging: pagingOf(query), sort, days: slaDays(settings.now().cve_policy), now: clock.now() },
    )
  },
  'GET /security/packages': ({ db, settings, clock, repositories }, { query }) => {
    const { status, sort = 'severity', ...filter } = known({ repositories }, query)
    const states =
      status === undefined ? (['published', 'pending_review', 'quarantined', 'rejected'] as const) : [status]
    // what waits, or was blocked, is of interest whatever it was for; of what is served only what has findings
    return listReviews(
      db,
      { ...filter, states, withFindings: status === undefined || status === 'published' },
      { paging: pagingOf(query), sort, days: slaDays(settings.now().cve_policy), now: clock.now() },
    )
  },
  'GET /security/packages/{name}/{version}/cve': async (deps, { params, query }) => {
    const { manifest, others } = await getKnown(deps, whichOf(params, query))
    return versionCves(manifest, others, isoNow(deps.clock))
  },
  'GET /security/packages/{name}/{version}/decision': async (deps, { params, query }) => {
    const { manifest, others } = await getKnown(deps, whichOf(params, query))
    return versionDecision(manifest, others, { days: slaDays(deps.settings.now().cve_policy), now: deps.clock.now() })
  },
  'POST /security/packages/{name}/{version}/decide': async (deps, { params, query, body, who, viewer, raw }) => {
    const now = deps.clock.now()
    const said = readSaid(body, now)
    const found = await target(deps, whichOf(params, query, body), { who, viewer })
    const { decisions, changed } = await deps.decisions.decide(found, said, actorOf(who, raw))
    const [first] = decisions
    if (first === undefined) throw new Error('a decision about nothing')
    const { previous_status: _, ...moved } = await movedView(changed, found.state)
    return {
      ...moved,
      package: found.ref.name,
      ...decisionView(first, now.toISOString()),
      cves: decisions.flatMap(({ cve }) => cve ?? []),
    }
  },
  'POST /security/packages/{name}/{version}/assign': async (deps, { params, query, body, who, viewer, raw }) => {
    const found = await target(deps, whichOf(params, query, body), { who, viewer })
    const username = (body.assignee ?? body.assigned_to ?? '') as string
    const { manifest } = await deps.decisions.assign(found, username === '' ? undefined : username, actorOf(who, raw))
    return { ...named(manifest), assigned_to: manifest.review?.assigned_to ?? null, updated_at: manifest.changed_at }
  },
  'POST /security/packages/{name}/{version}/quarantine': async (deps, { params, query, body, who, viewer, raw }) => {
    const found = await target(deps, whichOf(params, query, body), { who, viewer })
    const why =
      [body.reason, body.justification, body.comment].map(text => text?.trim() ?? '').find(text => text !== '') ?? ''
    return movedView(await deps.decisions.quarantine(found, why, actorOf(who, raw)), found.state)
  },
  'POST /security/packages/{name}/{version}/rescan': async (deps, { params, query, body, who, viewer, raw }) => {
    const found = await target(deps, whichOf(params, query, body), { who, viewer })
    const { changed, before, report, fresh, gone } = await deps.rescans.rescan(found.ref, actorOf(who, raw), raw.signal)
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
  'POST /security/check-sla': async ({ sla }) => ({ status: 'ok', ...(await sla.check()) }),
  'GET /security/decisions': ({ db, clock }, { query }) => {
    const { decided_by: decidedBy, ...filter } = query
    return listDecisions(db, { ...filter, decidedBy }, pagingOf(query), clock.now())
  },
  'GET /security/vulnerabilities': ({ db, repositories }, { query }) => {
    const { min_epss: minEpss, sort = 'severity', ...filter } = known({ repositories }, query)
    return listVulnerabilities(db, { ...filter, minEpss }, { paging: pagingOf(query), sort })
  },
  'GET /security/vulnerabilities/{cve}': ({ db }, { params, query }) =>
    getVulnerability(db, params.cve, pagingOf(query)),
  'GET /security/packages-posture': ({ db, settings, clock }) =>
    readPosture(db, settings.now().cve_policy, clock.now()),
  'GET /security/report': async ({ db, settings, clock, engines }, { query, who }) => {
    const now = settings.now()
    const report = await makeReport(db, {
      by: who.name,
      days: query.days ?? REPORT_DAYS,
      now: clock.now(),
      settings: now,
      policy: policyView(now),
      engines: await engines(),
    })
    if (query.format === 'html')
      return { body: Buffer.from(renderReport(report)), type: 'text/html; charset=utf-8', csp: REPORT_CSP }
    return { body: Buffer.from(JSON.stringify(report)), type: 'application/json' }
  },
}
