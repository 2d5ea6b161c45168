import type { Catalog } from '../../catalog/catalog.ts'
import {
  countNamesOf,
  listNamesOf,
  listShortVersions,
  sumRegistries,
  type RegistrySums,
} from '../../catalog/queries/registry.ts'
import { countHidden } from '../../catalog/queries/remote.ts'
import { listTagsOf } from '../../catalog/queries/tags.ts'
import { needScope, type Principal } from '../../core/access.ts'
import { TOKEN_PLACE, type ClientFacts } from '../../core/client-setup.ts'
import type { Handlers, RawRequest } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { FormatId } from '../../core/identity.ts'
import { isServed } from '../../core/manifest.ts'
import type { Distribution } from '../../core/repository.ts'
import { maySee, type Viewer } from '../../core/viewer.ts'
import { definitionsInTurn, type By } from '../../files/definitions.ts'
import type { Format } from '../../formats/format.ts'
import {
  registryFacts,
  type RegistryClient,
  type RegistryFacts,
  type RegistrySetup,
} from '../../formats/registry-client.ts'
import { needOwn } from '../../registries/admit.ts'
import { createAddressRule } from '../../outbound/addresses.ts'
import { listSecrets, remove, save, type ChangeDeps } from './changes.ts'
import type { RegistryView, registries } from './contract.ts'
import { changedRegistry, newRegistry } from './definition.ts'
import { setMark, type MarkWish } from './mark.ts'
import { needRegistry } from './needed.ts'
import { SECRET_DROPPED } from './notes.ts'

export interface RegistryRouteDeps extends ChangeDeps {
  readonly formats: readonly Format[]
  readonly activeFormats: ReadonlySet<FormatId>
  readonly catalog: Pick<Catalog, 'change' | 'tags'>
  readonly settings: { readonly now: () => { readonly notifications: { readonly allow_private_hosts: string } } }
  /** The facts that the set-up lines depend on, for this caller. */
  readonly clientFacts: (raw: RawRequest) => Promise<ClientFacts>
}

/** Characters that no client has to encode; the rules of a format are its own. Source: OCI distribution 1.1, tags. */
const TAG = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/
const MOST_VERSIONS = 100

function clientOf({ formats }: Pick<RegistryRouteDeps, 'formats'>, { format }: Distribution): RegistryClient {
  const client = formats.find(({ id }) => id === format)?.registryClient
  if (client === undefined) throw new Error(`this build has no registries of the format ${format}`)
  return client
}

/** @throws registry_not_found, outside_distribution, registry_takes_no_uploads */
function wishOf(
  { repositories }: Pick<RegistryRouteDeps, 'repositories'>,
  {
    params,
    viewer,
    who,
    raw,
  }: {
    readonly params: { readonly name: string; readonly package: string; readonly version: string }
    readonly viewer: Viewer
    readonly who: Principal
    readonly raw: RawRequest
  },
): MarkWish {
  const registry = needRegistry(repositories, viewer, params.name)
  needScope(who, registry.codename)
  needOwn(registry)
  return { registry, name: params.package, version: params.version, who, ip: raw.clientIp, viewer }
}

/** What is counted of a registry, and what its lines depend on. */
interface Counted {
  readonly sums: RegistrySums | undefined
  readonly facts: ClientFacts
  readonly hidden: number
  readonly hasSecret: boolean
  readonly viewer: Viewer
}

const isHosted = ({ registry }: Distribution): boolean => (registry?.kind ?? 'hosted') === 'hosted'

/** The lines for each client; nothing is published into a proxy or a group. */
function setupsOf(client: RegistryClient, one: Distribution, facts: RegistryFacts): readonly RegistrySetup[] {
  const all = client.setups(one, facts)
  return isHosted(one) ? all : all.map(({ publish: _, ...rest }) => rest)
}

function viewOf(
  deps: Pick<RegistryRouteDeps, 'formats' | 'activeFormats'>,
  one: Distribution,
  { sums, facts, hidden, hasSecret, viewer }: Counted,
): RegistryView {
  const client = clientOf(deps, one)
  const { address, needsToken } = registryFacts(client, one, facts)
  const upstream = one.registry?.upstream
  return {
    name: one.codename,
    format: one.format,
    kind: one.registry?.kind ?? 'hosted',
    label: one.label,
    path: `/${client.root}/${one.codename}/`,
    url: address,
    private: needsToken,
    retired: one.state === 'retired',
    mark: isHosted(one) ? (deps.formats.find(({ id }) => id === one.format)?.marking?.kind ?? null) : null,
    active: deps.activeFormats.has(one.format),
    upstream: upstream === undefined ? null : { url: upstream.url, user: upstream.user ?? null, has_secret: hasSecret },
    min_age_days: one.registry?.minAgeDays ?? 0,
    age_from: one.registry?.ageFrom ?? 'upstream',
    hold_lookalikes: one.registry?.holdLookalikes === true,
    members: (one.registry?.members ?? []).filter(member => maySee(viewer, member)),
    reserved: one.registry?.reserved ?? [],
    require_signature: one.registry?.requireSignature ?? 'none',
    hidden,
    snapshots_kept: one.registry?.snapshotsKept ?? null,
    packages: sums?.names ?? 0,
    versions: sums?.versions ?? 0,
    held: sums?.held ?? 0,
    files: sums?.files ?? 0,
    bytes: sums?.size ?? 0,
  }
}

async function viewsOf(
  deps: RegistryRouteDeps,
  all: readonly Distribution[],
  { viewer, raw }: { readonly viewer: Viewer; readonly raw: RawRequest },
): Promise<RegistryView[]> {
  const facts = await deps.clientFacts(raw)
  const codenames = all.map(({ codename }) => codename)
  const rows = await sumRegistries(deps.db, viewer, codenames)
  const proxies = all.filter(({ registry }) => registry?.kind === 'proxy')
  const hidden = await countHidden(deps.db, viewer, proxies, deps.clock.now())
  const secrets = await listSecrets(deps.db, codenames)
  const sums = new Map(rows.map(row => [row.codename, row]))
  // a build that lost a format shows the others
  const known = all.filter(({ format }) => deps.formats.some(one => one.id === format && one.registryClient))
  return known.map(one =>
    viewOf(deps, one, {
      sums: sums.get(one.codename),
      facts,
      hidden: hidden.get(one.codename) ?? 0,
      hasSecret: secrets.has(one.codename),
      viewer,
    }),
  )
}

async function viewNow(
  deps: RegistryRouteDeps,
  one: Distribution,
  caller: { readonly viewer: Viewer; readonly raw: RawRequest },
): Promise<RegistryView> {
  const [view] = await viewsOf(deps, [one], caller)
  return view ?? fail('registry_not_found', { name: one.codename })
}

/** Addresses that are written as such are known before anything is asked; names are looked up when it is. */
const refusesAddress =
  ({ settings }: Pick<RegistryRouteDeps, 'settings'>) =>
  (address: string): string | undefined =>
    createAddressRule(settings.now().notifications.allow_private_hosts).refusal(address)

const inTurn = <T>({ lock }: ChangeDeps, work: () => Promise<T>): Promise<T> => definitionsInTurn(lock, work)
const byOf = ({ who, raw }: { readonly who: { readonly name: string }; readonly raw: RawRequest }): By => ({
  name: who.name,
  ip: raw.clientIp,
})

export const registryHandlers: Handlers<typeof registries, RegistryRouteDeps> = {
  'GET /registries/': async (deps, { viewer, raw }) => ({
    registries: await viewsOf(deps, deps.repositories.seenBy(viewer).registries(), { viewer, raw }),
  }),
  'POST /registries/': (deps, { body, viewer, who, raw }) =>
    inTurn(deps, async () => {
      const defined = newRegistry(body, { ...deps, refusesAddress: refusesAddress(deps) })
      await save(deps, defined, { by: byOf({ who, raw }) })
      return viewNow(deps, defined.registry, { viewer, raw })
    }),
  'GET /registries/{name}': (deps, { params, viewer, raw }) =>
    viewNow(deps, needRegistry(deps.repositories, viewer, params.name), { viewer, raw }),
  'PATCH /registries/{name}': (deps, { params, body, viewer, who, raw }) =>
    inTurn(deps, async () => {
      const before = needRegistry(deps.repositories, viewer, params.name)
      const after = changedRegistry(before, body, { ...deps, refusesAddress: refusesAddress(deps) })
      const had = (await listSecrets(deps.db, [before.codename])).has(before.codename)
      await save(deps, after, { by: byOf({ who, raw }), before })
      const notes = had && after.secret.is === 'dropped' ? [SECRET_DROPPED] : []
      return { ...(await viewNow(deps, after.registry, { viewer, raw })), notes }
    }),
  'DELETE /registries/{name}': (deps, { params, viewer, who, raw }) =>
    inTurn(deps, () => remove(deps, needRegistry(deps.repositories, viewer, params.name), byOf({ who, raw }))),
  'GET /registries/{name}/setup': async (deps, { params, viewer, raw }) => {
    const one = needRegistry(deps.repositories, viewer, params.name)
    const client = clientOf(deps, one)
    const facts = registryFacts(client, one, await deps.clientFacts(raw))
    return {
      name: one.codename,
      format: one.format,
      url: facts.address,
      token_place: TOKEN_PLACE,
      clients: setupsOf(client, one, facts),
    }
  },
  'GET /registries/{name}/packages': async ({ db, repositories }, { params, query, viewer }) => {
    const { codename, format } = needRegistry(repositories, viewer, params.name)
    const { q, page = 1, per_page: perPage = 50 } = query
    const filter = { codename, format, q: q === '' ? undefined : q }
    const rows = await listNamesOf(db, viewer, filter, { skip: (page - 1) * perPage, most: perPage })
    const names = rows.map(({ name }) => name)
    const [versions, tags] = [
      await listShortVersions(db, viewer, { codename, format, names, most: MOST_VERSIONS }),
      await listTagsOf(db, viewer, { codename, format, names }),
    ]
    return {
      name: codename,
      total: await countNamesOf(db, viewer, filter),
      page,
      per_page: perPage,
      packages: rows.map(({ size, changed_at: changedAt, ...row }) => ({
        ...row,
        bytes: size,
        changed_at: changedAt.toISOString(),
        newest: versions
          .filter(({ name }) => name === row.name)
          .map(({ name: _, state, size: bytes, at, ...one }) => ({
            ...one,
            status: state,
            bytes,
            at: at.toISOString(),
          })),
        tags: tags.filter(({ name }) => name === row.name).map(({ name: _, ...tag }) => tag),
      })),
    }
  },
  'GET /registries/{name}/packages/{package}/tags': async ({ catalog, repositories }, { params, viewer }) => {
    const { codename, format } = needRegistry(repositories, viewer, params.name)
    const { package: name } = params
    return { name: codename, package: name, tags: await catalog.tags(viewer, { codename, format, name }) }
  },
  'PUT /registries/{name}/packages/{package}/tags/{tag}': async (deps, { params, body, viewer, who, raw }) => {
    const registry = needRegistry(deps.repositories, viewer, params.name)
    const { codename, format } = registry
    needScope(who, codename)
    needOwn(registry)
    const { package: name, tag } = params
    const { version } = body
    if (!TAG.test(tag))
      fail('bad_registry', {
        field: 'tag',
        why: 'letters, digits, "_", "." and "-" are allowed, and no dot or hyphen first',
      })
    const why = deps.formats.find(({ id }) => id === format)?.complainTag?.(tag)
    if (why !== undefined) fail('bad_registry', { field: 'tag', why })
    const of = { codename, format, name }
    const known = await listShortVersions(deps.db, viewer, { codename, format, names: [name], version, most: 1 })
    const [found] = known
    if (found === undefined) return fail('version_not_found', { name, version })
    if (!isServed(found.state)) fail('tag_needs_served', { tag, name, version, state: found.state })
    await deps.catalog.change({ kind: 'tag', of, tag, version }, { name: who.name, ip: raw.clientIp })
    const set = (await deps.catalog.tags(viewer, of)).find(one => one.tag === tag)
    return set ?? fail('version_not_found', { name, version })
  },
  'DELETE /registries/{name}/packages/{package}/tags/{tag}': async (deps, { params, viewer, who, raw }) => {
    const { codename, format } = needRegistry(deps.repositories, viewer, params.name)
    needScope(who, codename)
    const { package: name, tag } = params
    await deps.catalog.change(
      { kind: 'tag', of: { codename, format, name }, tag },
      { name: who.name, ip: raw.clientIp },
    )
  },
  'PUT /registries/{name}/packages/{package}/versions/{version}/mark': async (deps, input) =>
    setMark(deps, wishOf(deps, input), input.body.reason),
  'DELETE /registries/{name}/packages/{package}/versions/{version}/mark': async (deps, input) =>
    setMark(deps, wishOf(deps, input), undefined),
  'PUT /registries/{name}/packages/{package}/versions/{version}/yank': async (deps, input) =>
    setMark(deps, { ...wishOf(deps, input), kind: 'yanked' }, input.body.reason),
  'DELETE /registries/{name}/packages/{package}/versions/{version}/yank': async (deps, input) =>
    setMark(deps, { ...wishOf(deps, input), kind: 'yanked' }, undefined),
}
