import type { Catalog } from '../../catalog/catalog.ts'
import { numbersOf, pagingOf } from '../../catalog/page.ts'
import type { Handlers } from '../../core/contract.ts'
import { asSeenBy, type Repositories } from '../../core/repository.ts'
import { policyOf } from '../../core/policy.ts'
import { slaDays } from '../../core/review.ts'
import type { Db } from '../../db/db.ts'
import { isoNow, type Clock } from '../../lib/clock.ts'
import { readVersion, versionPlaceOf } from '../../review/find-version.ts'
import { readFindingDays } from '../../review/posture-history.ts'
import { readPosture } from '../../review/posture.ts'
import { listReviews } from '../../review/queue.ts'
import { versionCves } from '../../review/version-view.ts'
import { getVulnerability, listVulnerabilities, readOverview } from '../../review/vulnerabilities.ts'
import type { Settings } from '../../settings/store.ts'
import type { vulnerabilities } from './contract.ts'

export interface VulnerabilityDeps {
  readonly db: Db
  readonly repositories: Pick<Repositories, 'seenBy'>
  readonly catalog: Pick<Catalog, 'find'>
  readonly settings: Pick<Settings, 'now'>
  readonly clock: Clock
}

export const vulnerabilityHandlers: Handlers<typeof vulnerabilities, VulnerabilityDeps> = {
  'GET /security/packages': async ({ db, settings, clock }, { query, viewer }) => {
    const { status, sort = 'severity', ...filter } = query
    const states =
      status === undefined ? (['published', 'pending_review', 'quarantined', 'rejected'] as const) : [status]
    // what waits, or was blocked, is of interest whatever it was for; of what is served only what has findings
    const page = await listReviews(db, viewer, {
      filter: { ...filter, states, withFindings: status === undefined || status === 'published' },
      paging: pagingOf(query),
      sort,
      days: slaDays(settings.now().cve_policy),
      policy: policyOf(settings.now()),
      now: clock.now(),
    })
    return { packages: page.items, ...numbersOf(page) }
  },
  'GET /security/findings-history': async ({ db, clock, repositories }, { query, viewer }) => {
    const { days = 30, distribution } = query
    const seen = repositories.seenBy(viewer)
    const codenames = (distribution === undefined ? seen.all() : [seen.get(distribution)]).map(one => one.codename)
    return { days: await readFindingDays(db, { days, now: clock.now(), codenames }) }
  },
  'GET /security/packages/{name}/{version}/cve': async (deps, { params, query, viewer }) => {
    const { manifest, others } = await readVersion(asSeenBy(deps, viewer), viewer, versionPlaceOf(params, query))
    return versionCves(manifest, others, isoNow(deps.clock))
  },
  'GET /security/vulnerabilities': async ({ db }, { query, viewer }) => {
    const { min_epss: minEpss, sort = 'severity', ...filter } = query
    const [overview, vulnerabilities] = await Promise.all([
      readOverview(db, viewer),
      listVulnerabilities(db, viewer, { filter: { ...filter, minEpss }, paging: pagingOf(query), sort }),
    ])
    return { ...overview, ...numbersOf(vulnerabilities), vulnerabilities }
  },
  'GET /security/vulnerabilities/{cve}': ({ db }, { params, query, viewer }) =>
    getVulnerability(db, viewer, { cve: params.cve, paging: pagingOf(query) }),
  'GET /security/packages-posture': ({ db, settings, clock }, { viewer }) =>
    readPosture(db, viewer, { policy: settings.now().cve_policy, now: clock.now() }),
}
