import { ociClient } from '../../formats/oci/client.ts'
import { oci } from '../../formats/oci/index.ts'
import type { RegistryAnswer, RegistryProtocol, RegistryRequest, RootRequest } from '../protocol.ts'
import { errorAnswer, OciRefusal, plain, refusalAnswer, refuseAs } from './answers.ts'
import { createBlobRoutes } from './blobs.ts'
import { collectJob } from './collect.ts'
import type { OciDeps } from './deps.ts'
import { createListRoutes } from './lists.ts'
import { createManifestRoutes } from './manifests.ts'
import { createOciProxy, refuseDelete } from './proxy/index.ts'
import { nameAt, nameIn, routeOf, type Route } from './routes.ts'
import { createTokens, type ScopeAction } from './token.ts'
import { createUploads } from './uploads.ts'
import { createWaitingTags } from './waiting-tags.ts'

const SERVICE = 'gatehouse'

const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD'

/** What a request needs of its token. */
function actionOf(method: string, route: Pick<Route, 'kind'> | undefined): ScopeAction {
  if (route?.kind === 'upload') return 'push'
  if (method === 'DELETE') return 'delete'
  return isRead(method) ? 'pull' : 'push'
}

/** Actions as clients are told to ask for them. Source: distribution, "Token Scope Documentation". */
const ASKED: Readonly<Record<ScopeAction, string>> = { pull: 'pull', push: 'pull,push', delete: 'delete' }

type Challenged = Parameters<RegistryProtocol['challenge']>[0]

/** `Bearer realm="https://host/v2/token",service="gatehouse",scope="repository:ours/app:pull"`. Source: RFC 6750, 3. */
function challengeOf({ address, segments, method, registry }: Challenged, error?: 'insufficient_scope'): string {
  const root = registry === undefined ? address : address.slice(0, address.lastIndexOf('/'))
  const below = registry === undefined ? segments : [registry.codename, ...segments]
  const name = nameIn(below)?.replace(/[^a-z0-9._/-]/g, '')
  const isUpload = below.at(-1) === 'uploads' || below.at(-2) === 'uploads'
  const action = ASKED[actionOf(method, isUpload ? { kind: 'upload' } : undefined)]
  return [
    `Bearer realm="${root}/token"`,
    `service="${SERVICE}"`,
    ...(name === undefined || name === '' ? [] : [`scope="repository:${name}:${action}"`]),
    ...(error === undefined ? [] : [`error="${error}"`]),
  ].join(',')
}

/** A refusal of our own as an answer; what is left of the body is read away. */
async function explained(
  request: Pick<RootRequest, 'body'>,
  work: () => Promise<RegistryAnswer | undefined>,
): Promise<RegistryAnswer | undefined> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof OciRefusal)) throw error
    request.body.resume()
    return errorAnswer(error.status, error.code, error.message, error.headers)
  }
}

/**
 * The protocol of container registries.
 * Source: the OCI distribution specification 1.1, with the token exchange of distribution's registry. skopeo proves it
 * in `test/clients/oci.test.ts`.
 */
export function createOci(deps: OciDeps): RegistryProtocol {
  const uploads = createUploads(deps)
  const tokens = createTokens(deps)
  const waiting = createWaitingTags(deps)
  const blobs = createBlobRoutes(deps, uploads)
  const manifests = createManifestRoutes(deps, waiting)
  const lists = createListRoutes(deps, waiting)
  const proxy = createOciProxy(deps, lists)

  /** Keeps a token of the exchange to what it was given for. @throws OciRefusal UNAUTHORIZED */
  async function needGrant(request: RegistryRequest, route: Route): Promise<void> {
    const { authorization } = request.headers
    const exchanged = authorization === undefined ? undefined : await tokens.read(authorization)
    if (exchanged === undefined) return
    const name = `${request.asked.codename}/${route.name}`
    const action = actionOf(request.method, route)
    if (exchanged.grants.some(one => one.name === name && one.actions.includes(action))) return
    // with a credential behind it and no right to it, another token would not help
    if (exchanged.authorization !== undefined)
      request.caller.need({ pull: 'read', push: 'write', delete: 'manage' }[action] as 'read')
    refuseAs(401, 'UNAUTHORIZED', `The token is not for ${action} of ${name}. Ask for another one.`, {
      'WWW-Authenticate': challengeOf({ ...request, registry: request.asked }, 'insufficient_scope'),
    })
  }

  async function route(request: RegistryRequest): Promise<RegistryAnswer | undefined> {
    const found = routeOf(request.segments)
    if (found === undefined) return undefined
    await needGrant(request, found)
    const mustRead = (): void => {
      if (!isRead(request.method))
        refuseAs(405, 'UNSUPPORTED', `A list takes no ${request.method}.`, { Allow: 'GET, HEAD' })
    }
    const isProxy = request.registry.registry?.kind === 'proxy'
    switch (found.kind) {
      case 'blob':
        return isProxy && request.method === 'DELETE' ? refuseDelete(request) : blobs.blob(request, found)
      case 'upload':
        return blobs.upload(request, { codename: request.registry.codename, name: found.name }, found.id)
      case 'manifest':
        return isProxy ? proxy.manifest(request, found) : manifests(request, found)
      case 'tags':
        mustRead()
        return (isProxy ? proxy.lists : lists).tags(request, found.name)
      case 'referrers':
        mustRead()
        return (isProxy ? proxy.lists : lists).referrers(request, found)
    }
  }

  async function atRoot(request: RootRequest): Promise<RegistryAnswer | undefined> {
    const { segments, method, headers } = request
    const [first, ...more] = segments
    if (more.length > 0) return undefined
    // clients that are let in here without a token ask for none later, so all must ask
    const isStranger = headers.authorization === undefined
    const ask = (): never =>
      refuseAs(401, 'UNAUTHORIZED', 'Log in, or ask for a token without a name where the registry is open.', {
        'WWW-Authenticate': challengeOf(request),
      })
    if (first === undefined) return isStranger ? ask() : { ...plain(200), body: { kind: 'json', json: {} } }
    if (first !== 'token' && first !== '_catalog') return undefined
    if (!isRead(method)) return refuseAs(405, 'UNSUPPORTED', `It takes no ${method}.`, { Allow: 'GET, HEAD' })
    if (first === 'token') return tokens.exchange(request)
    return request.caller.who === undefined ? ask() : lists.catalog(request)
  }

  return {
    format: oci.id,
    jobs: [collectJob(deps, uploads)],
    root: ociClient.root,
    async unwrap(authorization) {
      const exchanged = await tokens.read(authorization)
      return exchanged && (exchanged.authorization ?? 'anonymous')
    },
    challenge: request => challengeOf(request),
    nameOf: ({ segments }) => nameAt(segments),
    hasName: ({ registry }, name) => proxy.lists.hasName(registry, name),
    answer: request => explained(request, () => route(request)),
    atRoot: request => explained(request, () => atRoot(request)),
    refuse: refusalAnswer,
  }
}
