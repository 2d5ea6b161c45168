import { needScopes, type Principal } from '../../core/access.ts'
import { listNamesIn } from '../../catalog/queries/distributions.ts'
import { searchPackages } from '../../catalog/queries/search.ts'
import { packageItem } from '../../catalog/view.ts'
import type { ClientFacts } from '../../core/client-setup.ts'
import type { Handlers, Input, RawRequest } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import { policyOf } from '../../core/policy.ts'
import { asSeenBy, isRegistry } from '../../core/repository.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Jobs } from '../../core/work.ts'
import type { Audit } from '../../record/audit.ts'
import { isoNow, type Clock } from '../../lib/clock.ts'
import type { Settings } from '../../settings/store.ts'
import type { Keyring } from '../../signing/signer.ts'
import { setupsOf } from './client-setups.ts'
import { compareDistributions, summarise } from './compare.ts'
import type { distributions } from './contract.ts'
import type { FormatCard } from './format-cards.ts'
import { listGenerations, rollBack, type Generations } from './generations.ts'
import { listDistributions, type createInit, type DistributionDeps } from './init.ts'
import { migrate } from './migrate.ts'
import { promote, type PromoteDeps, type Route } from './promote.ts'
import { listTargets, type TargetDeps } from './targets.ts'
import type { promotionTargets } from './targets-contract.ts'

export interface DistributionRouteDeps
  extends
    Pick<DistributionDeps, 'db' | 'isActive' | 'isPublishable' | 'repositories' | 'formats'>,
    Omit<PromoteDeps, 'repositories'> {
  readonly jobs: Jobs
  readonly init: ReturnType<typeof createInit>
  readonly publisher: Generations
  readonly keyring: Pick<Keyring, 'keys' | 'rsaKeys' | 'publicKey'>
  readonly audit: Pick<Audit, 'owe'>
  readonly formatCards: readonly FormatCard[]
  /** The facts that the set-up lines depend on, for this caller. */
  readonly clientFacts: (raw: RawRequest) => Promise<ClientFacts>
}

interface Road {
  readonly from_dist?: string
  readonly to_dist?: string
  readonly from_distribution?: string
  readonly to_distribution?: string
  readonly dry_run?: boolean
}
type Body = Road & { readonly package?: string; readonly name?: string }
type Word = Exclude<keyof Body, 'dry_run'>

/**
 * Reads a value that the specification allows under two names; both may be given if they are equal. @throws
 * missing_property, two_answers
 */
function either(body: Body, field: Word, other: Word): string {
  const [said, alsoSaid] = [body[field], body[other]]
  // never guess where packages go
  if (said !== undefined && alsoSaid !== undefined && said !== alsoSaid)
    fail('two_answers', { field, said, other, other_said: alsoSaid })
  return said ?? alsoSaid ?? fail('missing_property', { property: field })
}

/**
 * Folds the two forms into one. @throws missing_property, two_answers, outside_distribution where source or target is
 * not the token's own
 */
function routeOf({
  body,
  who,
  viewer,
  raw,
}: Pick<Input<string, never>, 'raw'> & {
  readonly body: Body
  readonly viewer: Viewer
  readonly who: Pick<Principal, 'name' | 'scope'>
}): Route {
  const [from, to] = [either(body, 'from_dist', 'from_distribution'), either(body, 'to_dist', 'to_distribution')]
  needScopes(who, [from, to])
  return { from, to, by: who.name, ip: raw.clientIp, viewer, dryRun: body.dry_run === true }
}

/** What the viewer sees of signed trees. */
const ofTrees = (deps: DistributionRouteDeps, viewer: Viewer) => ({
  ...deps,
  repositories: deps.repositories.seenBy(viewer).trees,
})

export const distributionHandlers: Handlers<typeof distributions, DistributionRouteDeps> = {
  'GET /formats': ({ formatCards }) => ({ formats: formatCards }),
  'GET /distributions/': async (deps, { viewer, raw }) => ({
    distributions: await listDistributions(deps, viewer, await deps.clientFacts(raw)),
  }),
  'GET /distributions/{codename}/packages': async ({ db, repositories }, { params: { codename }, query, viewer }) => {
    repositories.seenBy(viewer).trees.need(codename)
    const state = query.state ?? query.status ?? 'published'
    const q = query.q ?? query.search
    const isPaged = query.page !== undefined || query.per_page !== undefined
    const page = await searchPackages(db, viewer, {
      filter: {
        q,
        distribution: codename,
        states: [state],
        kind: query.kind,
        arch: query.arch,
        sort: query.sort,
      },
      paging: { page: query.page ?? 1, perPage: query.per_page ?? 50 },
    })
    const packages = isPaged
      ? page.items.map(({ name, version, arch }) => ({ name, version, arch }))
      : await listNamesIn(db, viewer, { codename, state, kind: query.kind, q })
    return { ...page, codename, packages, items: page.items.map(packageItem) }
  },
  'POST /distributions/init': async ({ init, clientFacts }, { body, who, viewer, raw }) => {
    needScopes(who, body.codename === undefined || body.codename === null ? 'all' : [body.codename])
    return init({
      codename: body.codename ?? undefined,
      description: body.description ?? undefined,
      by: who.name,
      ip: raw.clientIp,
      viewer,
      facts: await clientFacts(raw),
    })
  },
  'GET /distributions/{codename}/setup': async (deps, { params, viewer, raw }) =>
    setupsOf(ofTrees(deps, viewer), params.codename, await deps.clientFacts(raw)),
  'POST /distributions/promote': (deps, input) => {
    const { version, arch } = input.body
    return promote(
      asSeenBy(deps, input.viewer),
      { name: either(input.body, 'package', 'name'), version, arch },
      routeOf(input),
    )
  },
  'POST /distributions/migrate': (deps, input) => migrate(deps, input.body.packages, routeOf(input), input.raw),
  'GET /distributions/{codename}/compare': async ({ db, repositories }, { params: { codename }, query, viewer }) => {
    const { get } = repositories.seenBy(viewer)
    const [from, to] = [get(codename), get(query.with)]
    if (from.codename === to.codename) fail('same_distribution', { codename })
    if (from.format !== to.format)
      fail('other_format', { from: from.codename, to: to.codename, has: from.format, takes: to.format })
    const packages = await compareDistributions(db, viewer, { from: from.codename, to: to.codename })
    return { from: from.codename, to: to.codename, difference: summarise(packages), packages }
  },
  'GET /distributions/{codename}/generations': (deps, { params, viewer }) =>
    listGenerations(ofTrees(deps, viewer), params.codename),
  'POST /distributions/{codename}/rollback': (deps, { params, body, who, viewer, raw }) =>
    rollBack(ofTrees(deps, viewer), params.codename, {
      n: body.generation,
      by: who.name,
      ip: raw.clientIp,
      why: body.justification ?? body.reason ?? '',
    }),
}

export interface TargetRouteDeps
  extends
    Pick<DistributionRouteDeps, 'db' | 'repositories' | 'isActive' | 'isPublishable'>,
    Pick<TargetDeps, 'catalog'> {
  readonly settings: Pick<Settings, 'now'>
  readonly clock: Clock
}

export const targetHandlers: Handlers<typeof promotionTargets, TargetRouteDeps> = {
  'GET /artifacts/{name}/promote/targets': (deps, { params: { name }, query, viewer }) =>
    listTargets(
      {
        ...asSeenBy(deps, viewer),
        isTarget: one => deps.isActive(one) && (isRegistry(one) || deps.isPublishable(one)),
      },
      { name, version: query.version, arch: query.arch },
      {
        from: either(query, 'from_dist', 'from_distribution'),
        viewer,
        policy: policyOf(deps.settings.now()),
        now: isoNow(deps.clock),
      },
    ),
}
