import { findHead, hasVersions } from '../../../catalog/queries/oci.ts'
import {
  findList,
  findListState,
  listRemoteTags,
  saveList,
  saveListFailure,
  type ListKey,
  type RemoteList,
} from '../../../catalog/queries/oci-remote.ts'
import { noteUnanswered } from '../../../catalog/queries/remote-unanswered.ts'
import { AppError } from '../../../core/errors.ts'
import { isServed } from '../../../core/manifest.ts'
import type { Descriptor } from '../../../formats/oci/descriptor.ts'
import type { Distribution } from '../../../core/repository.ts'
import { inLanes } from '../../../lib/in-lanes.ts'
import type { RegistryAnswer, RegistryRequest } from '../../protocol.ts'
import { outcomeOf, type Known } from '../../remote/freshness.ts'
import { OciRefusal, refuseAs } from '../answers.ts'
import { partOf, tagsAnswer, type createListRoutes } from '../lists.ts'
import type { ProxyDeps } from './deps.ts'
import { repositoryOf, staleWarning, warningOf, type createProxiedManifests } from './manifests.ts'
import { keyOf, mustShow, noteMissing } from './tags.ts'
import { isMissing, type FarRepository, type Missing } from './upstream.ts'

/** So many of what is about one manifest come in at once. */
const AT_ONCE = 3

type State = Known<Omit<RemoteList, 'items'>>

/** Lists of a registry that reads through. */
export function createProxiedLists(
  deps: ProxyDeps,
  manifests: Pick<ReturnType<typeof createProxiedManifests>, 'need'>,
  hosted: Pick<ReturnType<typeof createListRoutes>, 'referrers'>,
) {
  const { db, clock, remote, far, lacking } = deps

  /**
   * A list of the upstream, as fresh as `Freshness.current` has it.
   * @param ask  undefined: there is none
   */
  async function current(
    at: FarRepository,
    list: string,
    ask: (signal: AbortSignal) => Promise<readonly unknown[] | Missing>,
  ): Promise<State | Missing | undefined> {
    const key = keyOf(at, `list ${list}`)
    const of: ListKey = { ...repositoryOf(at), list }
    const found = await remote.freshness.current<State>({
      key,
      find: () => findListState(db, of),
      refresh: async (known, signal) => {
        const told = await ask(signal)
        if (isMissing(told) && known === undefined) {
          lacking.add(key, told)
          return list === 'tags' ? noteMissing(db, repositoryOf(at), { told, now: clock.now() }) : undefined
        }
        if (isMissing(told)) mustShow(told)
        await saveList(db, of, { items: isMissing(told) ? [] : told, now: clock.now() })
      },
      failed: async (said, error) => {
        const now = clock.now()
        await saveListFailure(db, of, { now, said })
        await noteUnanswered(db, repositoryOf(at), { outcome: outcomeOf(error), said, now })
      },
    })
    return found ?? lacking.find(key)
  }

  /** The list of tags; where nothing is known of it, those of what is here. */
  async function currentTags(at: FarRepository): Promise<State | Missing | undefined> {
    const missing = lacking.find(keyOf(at, 'list tags'))
    if (missing !== undefined) return missing
    try {
      return await current(at, 'tags', signal => far.tags(at, signal))
    } catch (error) {
      if (!(error instanceof AppError) || !(await hasVersions(db, repositoryOf(at)))) throw error
      const now = clock.now()
      return { checked_at: now, tried_at: now, said: error.message, stale: { since: now, said: error.message } }
    }
  }

  /** Brings in what is about a manifest, as far as it passes the gate. @throws OciRefusal TOOMANYREQUESTS */
  async function bringReferrers(request: RegistryRequest, at: FarRepository, items: readonly Descriptor[]) {
    let late: OciRefusal | undefined
    await inLanes(AT_ONCE, items, async ({ digest }) => {
      try {
        await manifests.need({ request, at }, digest)
      } catch (error) {
        // what is held, or did not come, is not listed
        if (error instanceof OciRefusal && error.status === 429) late = error
        else if (!(error instanceof OciRefusal || error instanceof AppError)) throw error
      }
    })
    if (late !== undefined) throw late
  }

  return {
    /** Whether the upstream has a repository of this name, or had it while its versions came in. */
    async hasName(registry: Distribution, name: string): Promise<boolean> {
      const at = { registry, name }
      if (await hasVersions(db, repositoryOf(at))) return true
      const state = await currentTags(at)
      return state !== undefined && !isMissing(state)
    },

    async tags(request: RegistryRequest, name: string): Promise<RegistryAnswer> {
      const at = { registry: request.registry, name }
      await remote.needForeign(request.registry, name)
      const part = partOf(request.query)
      const state = await currentTags(at)
      const found = await listRemoteTags(db, repositoryOf(at), { last: part.last, n: part.n + 1, now: clock.now() })
      const isThere = state !== undefined && !isMissing(state)
      if (!isThere && found.length === 0)
        refuseAs(
          404,
          'NAME_UNKNOWN',
          state === undefined
            ? `There is no ${name}.`
            : `${request.registry.codename} reads through to ${state.host}: ${state.why}.`,
        )
      const { headers, ...answer } = tagsAnswer(request, name, { found, n: part.n })
      return { ...answer, headers: { ...headers, ...warningOf(isThere ? staleWarning(state.stale) : []) } }
    },

    async referrers(
      request: RegistryRequest,
      about: { readonly name: string; readonly digest: string },
    ): Promise<RegistryAnswer> {
      const at = { registry: request.registry, name: about.name }
      await remote.needForeign(request.registry, about.name)
      const subject = await findHead(db, repositoryOf(at), about.digest)
      // nothing is looked for about what is not here; of a group another member may have it
      if (subject === undefined && request.asked.codename !== request.registry.codename)
        refuseAs(404, 'MANIFEST_UNKNOWN', `${about.name} has no manifest ${about.digest} here.`)
      if (subject === undefined || !isServed(subject.state)) return hosted.referrers(request, about)
      const state = await current(at, about.digest, signal => far.referrers(at, about.digest, signal))
      const list = await findList(db, { ...repositoryOf(at), list: about.digest })
      const wanted = request.query.get('artifactType')
      const items = ((list?.items ?? []) as readonly Descriptor[]).filter(
        ({ artifactType }) => wanted === null || artifactType === undefined || artifactType === wanted,
      )
      await bringReferrers(request, at, items)
      const { headers, ...answer } = await hosted.referrers(request, about)
      const stale = state === undefined || isMissing(state) ? undefined : state.stale
      return { ...answer, headers: { ...headers, ...warningOf(staleWarning(stale)) } }
    },
  }
}
