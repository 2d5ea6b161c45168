import type { RegistryAnswer, RegistryRequest } from '../../protocol.ts'
import { refuseAs } from '../answers.ts'
import type { OciDeps } from '../deps.ts'
import type { createListRoutes } from '../lists.ts'
import type { Route } from '../routes.ts'
import { needHosted } from '../../admit.ts'
import { createAges } from './ages.ts'
import type { ProxyDeps } from './deps.ts'
import { createProxiedLists } from './lists.ts'
import { createProxiedManifests } from './manifests.ts'
import { createParts } from './parts.ts'
import { createFarTags, createLacking } from './tags.ts'
import { createUpstreamTokens } from './tokens.ts'
import { createOciUpstream } from './upstream.ts'

/** What a registry that reads through answers about images. Its blobs are those of manifests that came in. */
export function createOciProxy(deps: OciDeps, hosted: Pick<ReturnType<typeof createListRoutes>, 'referrers'>) {
  const { upstream, freshness, needForeign } = deps.remote
  const far = createOciUpstream({ upstream, tokens: createUpstreamTokens({ upstream, clock: deps.clock }) })
  const parts = createParts({ ...deps, far })
  const lacking = createLacking(deps)
  const tags = createFarTags({ ...deps, freshness, lacking, far })
  const all: ProxyDeps = { ...deps, far, parts, lacking, tags, ages: createAges({ ...deps, parts, far }) }
  const manifests = createProxiedManifests(all)
  return {
    lists: createProxiedLists(all, manifests, hosted),
    async manifest(request: RegistryRequest, route: Extract<Route, { kind: 'manifest' }>): Promise<RegistryAnswer> {
      const { method, registry, caller } = request
      if (method === 'GET' || method === 'HEAD') {
        await needForeign(registry, route.name)
        return manifests.read(request, route)
      }
      if (method === 'DELETE') return refuseDelete(request)
      caller.need('write')
      needHosted(registry)
      return refuseAs(405, 'UNSUPPORTED', `A manifest takes no ${method}.`, { Allow: 'GET, HEAD' })
    },
  }
}

/** @throws OciRefusal UNSUPPORTED, always: it would be here again with the next pull */
export function refuseDelete({ registry, caller }: RegistryRequest): never {
  caller.need('manage')
  return refuseAs(
    405,
    'UNSUPPORTED',
    `${registry.codename} reads through to another registry: what is deleted here comes in again when somebody asks for it. Reject it in the console to keep it from clients.`,
    { Allow: 'GET, HEAD' },
  )
}
