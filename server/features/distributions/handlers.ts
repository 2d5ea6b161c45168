import { searchPackages } from '../../catalog/search.ts'
import { packageItem } from '../../catalog/view.ts'
import type { Handlers, RawRequest } from '../../core/contract.ts'
import { findDistribution } from '../../core/distributions.ts'
import { fail } from '../../core/errors.ts'
import type { distributions } from './contract.ts'
import { listDistributions, type createInit, type DistributionDeps } from './distributions.ts'

export interface DistributionRouteDeps extends Pick<DistributionDeps, 'db' | 'isActive' | 'isPublishable'> {
  readonly init: ReturnType<typeof createInit>
  /** Where the caller reached this server, without a slash at the end. */
  readonly repoUrl: (raw: RawRequest) => string
}

export const distributionHandlers: Handlers<typeof distributions, DistributionRouteDeps> = {
  'GET /distributions/': async (deps, { raw }) => ({ distributions: await listDistributions(deps, deps.repoUrl(raw)) }),
  'GET /distributions/{codename}/packages': async ({ db }, { params: { codename }, query }) => {
    if (findDistribution(codename) === undefined) fail('distribution_not_found', { codename })
    const state = query.state ?? query.status ?? 'published'
    const page = await searchPackages(db, { q: query.q ?? query.search, distribution: codename, states: [state], sort: query.sort },
      { page: query.page ?? 1, perPage: query.per_page ?? 50 })
    return { ...page, items: page.items.map(packageItem) }
  },
  'POST /distributions/init': ({ init, repoUrl }, { body, who, raw }) =>
    init({ codename: body.codename ?? undefined, description: body.description ?? undefined, by: who.name, ip: raw.clientIp, repoUrl: repoUrl(raw) }),
}
