import { pagingOf } from '../../catalog/page.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { Rebuilt } from '../../catalog/rebuild.ts'
import { listCandidates, listNamed } from '../../catalog/queries/versions.ts'
import { manifestsOf, type NameFilter } from '../../catalog/queries/names.ts'
import { searchPackages } from '../../catalog/queries/search.ts'
import { packageDetail, packageItem } from '../../catalog/view.ts'
import { needScopes, type Principal } from '../../core/access.ts'
import type { ClientFacts } from '../../core/client-setup.ts'
import { named, type Named } from '../../core/identity.ts'
import type { Handlers, RawRequest } from '../../core/contract.ts'
import { STATES } from '../../core/manifest.ts'
import type { FormatId } from '../../core/identity.ts'
import type { Repositories } from '../../core/repository.ts'
import type { Viewer } from '../../core/viewer.ts'
import { fail, isRefusal } from '../../core/errors.ts'
import type { Db } from '../../db/db.ts'
import type { Format } from '../../formats/format.ts'
import type { Audit } from '../../record/audit.ts'
import { getArtifact, listArtifacts, refuseMissing } from './artifacts.ts'
import type { ContentsOf } from '../../contents/contents.ts'
import type { Pool } from '../../files/pool.ts'
import { isoNow, type Clock } from '../../lib/clock.ts'
import type { artifacts } from './contract.ts'
import type { artifactVersions } from './versions-contract.ts'
import { listVersions, readSnapshot, sendIndex, sendVersion } from './versions.ts'
import { readChanges } from './changes.ts'
import { resolveDependencies } from './dependencies.ts'
import { installCommands } from './install.ts'
import type { Jobs, Order } from '../../core/work.ts'
import type { FindElsewhere } from '../../imports/run/elsewhere.ts'
import { answerOf } from '../../work/answer.ts'
import { REBUILD, type RebuildRequest } from './rebuild-work.ts'

export interface ArtifactDeps {
  readonly db: Db
  readonly catalog: Pick<Catalog, 'change'>
  readonly audit: Pick<Audit, 'record'>
  readonly pool: Pick<Pool, 'locate'>
  readonly clock: Clock
  readonly contents: Pick<ContentsOf, 'of' | 'known'>
  readonly formats: (
    id: FormatId,
  ) => Pick<Format, 'id' | 'satisfies' | 'multiArch' | 'fileOf' | 'installCommand' | 'client' | 'registryClient'>
  readonly repositories: Pick<Repositories, 'get'>
  /** Rebuilds the index from the manifests on disk. */
  readonly jobs: Jobs
  /** The address by which the caller reached this server, without a slash at the end: `http://repo.example:8000`. */
  readonly clientFacts: (raw: RawRequest) => Promise<ClientFacts>
  /** Whether the distribution's own sources have what is missing here. */
  readonly findElsewhere: FindElsewhere
}

const FOLLOW_MS = 30_000
// how many deletions of one request are under way at once; each is a transaction
const AT_ONCE = 4

interface Caller {
  readonly who: Principal
  readonly viewer: Viewer
  readonly raw: RawRequest
}

/** Refuses a version that lies in several distributions. @throws ambiguous_version */
async function refuseSeveral({ db }: ArtifactDeps, viewer: Viewer, filter: NameFilter & { readonly version: string }) {
  const found = await listCandidates(db, viewer, filter)
  if (new Set(found.map(({ codename }) => codename)).size < 2) return
  fail('ambiguous_version', {
    name: filter.name,
    version: filter.version,
    where: [...new Set(found.map(({ codename }) => codename))].sort().join(', '),
    how: 'distribution names one, all=true means each',
    variants: found.map(({ codename, arch, state }) => ({ distribution: codename, arch, status: state })),
  })
}

/**
 * Deletes everything that the filter selects, or nothing, through the catalogue. What somebody else deletes meanwhile
 * is no error. @throws outside_distribution
 */
async function deleteAll({ db, catalog }: ArtifactDeps, filter: NameFilter, { who, viewer, raw }: Caller) {
  const refs = await listNamed(db, viewer, filter)
  if (refs.length === 0) await refuseMissing(db, viewer, filter)
  needScopes(who, [...new Set(refs.map(ref => ref.codename))])
  const deleted: Named[] = []
  const following: Promise<boolean>[] = []
  const waiting = [...refs]
  const worker = async (): Promise<void> => {
    for (let ref = waiting.shift(); ref !== undefined; ref = waiting.shift()) {
      try {
        const changed = await catalog.change({ kind: 'delete', ref, why: '' }, { name: who.name, ip: raw.clientIp })
        // it is deleted; the tree follows when the database answers again
        following.push(changed.settled(FOLLOW_MS).catch(() => false))
        deleted.push(named(ref))
      } catch (error) {
        if (!isRefusal(error, 'version_not_found')) throw error
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return { status: 'deleted' as const, deleted, published: (await Promise.all(following)).every(Boolean) }
}

export const versionHandlers: Handlers<typeof artifactVersions, ArtifactDeps> = {
  'GET /artifacts/{name}/versions': ({ db }, { params, query, viewer }) =>
    listVersions(db, viewer, { ...query, name: params.name }),
  'GET /artifacts/{name}/versions/{version}/snapshot': ({ db }, { params, query, viewer }) =>
    readSnapshot(db, viewer, { ...query, ...params }),
  'GET /artifacts/{name}/versions/{version}/download': (deps, { params, query, viewer }) =>
    sendVersion(deps, viewer, { ...query, ...params }),
  'GET /artifacts/admin/index': ({ db, clock }, { viewer }) => sendIndex(db, viewer, isoNow(clock)),
}

export const artifactHandlers: Handlers<typeof artifacts, ArtifactDeps> = {
  'GET /packages/': async ({ db }, { query, viewer }) => {
    const state = query.state ?? query.status
    const { distribution, format, kind, arch, scanned, gate, since, origin, within, sort } = query
    // "packages from the pool": what is blocked lies in quarantine, not in the pool
    const all =
      gate === undefined && since === undefined && within === undefined
        ? (['published', 'pending_review'] as const)
        : STATES.filter(one => within !== 'not_published' || one !== 'published')
    const states = state === undefined ? all : [state]
    const page = await searchPackages(db, viewer, {
      filter: {
        q: query.q ?? query.search,
        distribution,
        format,
        states,
        kind,
        arch,
        scanned,
        gate,
        since,
        origin,
        sort,
      },
      paging: pagingOf(query),
    })
    return { ...page, items: page.items.map(packageItem) }
  },
  'GET /artifacts/': ({ db }, { query, viewer }) =>
    listArtifacts(db, viewer, {
      filter: { ...query, q: query.search ?? query.q },
      paging: pagingOf(query),
    }),
  'GET /artifacts/{name}': ({ db }, { params, query, viewer }) =>
    getArtifact(db, viewer, { ...query, name: params.name }),
  'GET /artifacts/{name}/dependencies': (deps, { params, query, viewer }) =>
    resolveDependencies(deps, viewer, { ...query, name: params.name }),
  'GET /artifacts/{name}/install': async (deps, { params, query, viewer, raw }) =>
    installCommands(deps, viewer, { ...query, name: params.name }, await deps.clientFacts(raw)),
  'GET /artifacts/{name}/{version}': async ({ db }, { params, query, viewer }) => {
    const filter = { ...query, ...params }
    const [manifest, ...others] = await manifestsOf(db, viewer, { ...filter, most: 100 })
    if (manifest === undefined) return refuseMissing(db, viewer, filter)
    return {
      ...packageDetail(manifest),
      variants: others.map(({ ref, state }) => ({ distribution: ref.codename, arch: ref.arch, status: state })),
    }
  },
  'GET /artifacts/{name}/{version}/changes': (deps, { params, query, viewer, raw }) =>
    readChanges(deps, viewer, { filter: { ...query, ...params }, signal: raw.signal }),
  'DELETE /artifacts/{name}': (deps, { params, query, ...from }) =>
    deleteAll(deps, { ...query, name: params.name }, from),
  'DELETE /artifacts/{name}/{version}': async (deps, { params, query: { all, ...place }, ...from }) => {
    const which = { ...place, ...params }
    if (all !== true && place.distribution === undefined) await refuseSeveral(deps, from.viewer, which)
    return deleteAll(deps, which, from)
  },
  'POST /artifacts/admin/sync-index': async ({ jobs }, { who, viewer, raw }) => {
    const request: RebuildRequest = { viewer, ip: raw.clientIp }
    const by = { by: who.name, requestId: raw.requestId }
    const order: Order = { kind: REBUILD, request: { ...request }, codenames: 'all', ...by }
    return {
      status: 'ok',
      ...(await answerOf<Omit<Rebuilt, 'broken'> & { unreadable: number }>(jobs, order, raw.signal)),
    }
  },
}
