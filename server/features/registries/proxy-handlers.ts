import { listAskedNames, listAskedNamesOnly, listHidden } from '../../catalog/queries/remote.ts'
import { listReservedAsked } from '../../catalog/queries/remote-unanswered.ts'
import { needScope } from '../../core/access.ts'
import type { Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import { whatClientsSee } from '../../core/manifest.ts'
import type { Distribution, Repositories } from '../../core/repository.ts'
import type { Viewer } from '../../core/viewer.ts'
import { getFormat } from '../../formats/index.ts'
import { isoOrNull } from '../../lib/clock.ts'
import type { RegistryRouteDeps } from './handlers.ts'
import { needRegistry } from './needed.ts'
import { readReason } from './reason.ts'
import type { AskedNameView, proxies, WaiverView } from './proxy-contract.ts'
import { isOwned, lookalikesOf, ownersOfEach } from '../../registries/owned.ts'
import { giveWaiver, listWaivers, takeWaiver, type Waiver } from './waivers.ts'

/** @throws registry_not_found, not_a_proxy */
function needProxy(repositories: Pick<Repositories, 'seenBy'>, viewer: Viewer, name: string): Distribution {
  const one = needRegistry(repositories, viewer, name)
  const kind = one.registry?.kind ?? 'hosted'
  return kind === 'proxy' ? one : fail('not_a_proxy', { name: one.codename, kind })
}

const pageOf = ({
  page = 1,
  per_page: perPage = 50,
}: {
  readonly page?: number | undefined
  readonly per_page?: number | undefined
}) => ({
  page,
  per_page: perPage,
  slice: { skip: (page - 1) * perPage, most: perPage },
})

const waiverView = ({ name, version, reason, given_by, given_at, expires_at }: Waiver, now: Date): WaiverView => ({
  package: name,
  version,
  reason,
  by: given_by,
  at: given_at.toISOString(),
  expires_at: expires_at.toISOString(),
  expired: expires_at <= now,
})

const byOf = (who: { readonly name: string }, raw: { readonly clientIp: string }) => ({
  name: who.name,
  ip: raw.clientIp,
})

/** The name as rows have it: some formats have one for all spellings. */
const nameIn = ({ format }: Distribution, name: string): string =>
  getFormat(format).registryClient?.nameKey?.(name) ?? name

/** So many names are looked at before others get their turn. */
const AT_ONCE = 2_000

/** Those of many names that fit. */
async function among(names: readonly string[], fits: (name: string) => boolean): Promise<readonly string[]> {
  const found: string[] = []
  for (let from = 0; from < names.length; from += AT_ONCE) {
    found.push(...names.slice(from, from + AT_ONCE).filter(fits))
    await new Promise(setImmediate)
  }
  return found
}

export const proxyHandlers: Handlers<typeof proxies, RegistryRouteDeps> = {
  'GET /registries/{name}/hidden': async ({ db, repositories, clock }, { params, query, viewer }) => {
    const { codename, format } = needProxy(repositories, viewer, params.name)
    const { slice, ...paging } = pageOf(query)
    const { q, because } = query
    const rows = await listHidden(
      db,
      viewer,
      { codename, format, now: clock.now(), q: q === '' ? undefined : q, because },
      slice,
    )
    return {
      ...{ name: codename, total: rows[0]?.total ?? 0, ...paging },
      hidden: rows.map(one => ({
        package: one.name,
        version: one.version,
        arch: one.arch,
        because: one.because,
        said: one.because === 'here' && one.state !== null ? whatClientsSee(one.state) : (one.said ?? ''),
        published_at: isoOrNull(one.published_at),
        seen_at: one.seen_at.toISOString(),
        ripe_at: isoOrNull(one.ripe_at),
        status: one.state,
        waiver:
          one.waiver === null
            ? null
            : {
                reason: one.waiver.reason,
                by: one.waiver.given_by,
                expires_at: new Date(one.waiver.expires_at).toISOString(),
              },
      })),
    }
  },
  'GET /registries/{name}/asked': async ({ db, repositories }, { params, query, viewer }) => {
    const { codename, format } = needProxy(repositories, viewer, params.name)
    const { slice, ...paging } = pageOf(query)
    const seen = { db, repositories: repositories.seenBy(viewer) }
    const reserved = await listReservedAsked(db, viewer, codename)
    const ownersOf = await ownersOfEach(seen, { format, names: reserved })
    const unseen = reserved.filter(name => !isOwned(ownersOf(name)))
    const filter = { codename, q: query.q === '' ? undefined : query.q, unseen }
    const lookalike = await lookalikesOf(seen, format)
    const names =
      query.lookalike === true
        ? await among(await listAskedNamesOnly(db, viewer, filter), name => lookalike(name) !== undefined)
        : undefined
    const rows = await listAskedNames(db, viewer, { ...filter, names }, slice)
    const likeOf = (name: string): AskedNameView['looks_like'] => {
      const found = lookalike(name)
      return found === undefined ? null : { name: found.name, registry: found.owner }
    }
    return {
      ...{ name: codename, total: rows[0]?.total ?? 0, ...paging },
      asked: rows.map(({ name, outcome, versions, checked_at, tried_at, said }) => ({
        ...{ package: name, outcome, versions, said, looks_like: likeOf(name) },
        checked_at: isoOrNull(checked_at),
        tried_at: tried_at.toISOString(),
      })),
    }
  },
  'GET /registries/{name}/waivers': async ({ db, repositories, clock }, { params, query, viewer }) => {
    const { codename } = needProxy(repositories, viewer, params.name)
    const { slice, ...paging } = pageOf(query)
    const { total, waivers } = await listWaivers(db, codename, slice)
    return { name: codename, total, ...paging, waivers: waivers.map(one => waiverView(one, clock.now())) }
  },
  'PUT /registries/{name}/packages/{package}/versions/{version}/waiver': async (
    deps,
    { params, body, viewer, who, raw },
  ) => {
    const registry = needProxy(deps.repositories, viewer, params.name)
    needScope(who, registry.codename)
    const reason = readReason(body.reason)
    const of = {
      ...{ codename: registry.codename, name: nameIn(registry, params.package), version: params.version },
      format: getFormat(registry.format),
    }
    const now = deps.clock.now()
    const given = await giveWaiver(deps, of, { reason, days: body.expires_in_days, now, by: byOf(who, raw) })
    return waiverView(given, now)
  },
  'DELETE /registries/{name}/packages/{package}/versions/{version}/waiver': async (
    deps,
    { params, viewer, who, raw },
  ) => {
    const registry = needProxy(deps.repositories, viewer, params.name)
    needScope(who, registry.codename)
    const of = { codename: registry.codename, name: nameIn(registry, params.package), version: params.version }
    await takeWaiver(deps, of, byOf(who, raw))
  },
}
