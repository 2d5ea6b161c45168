import { isRefusal } from '../../core/errors.ts'
import { versionIn } from '../../formats/npm/name.ts'
import { needHosted, needOwn } from '../admit.ts'
import type { ProtocolDeps } from '../protocol-deps.ts'
import type { RegistryAnswer, RegistryProtocol, RegistryRequest, Together } from '../protocol.ts'
import { isProxy } from '../remote/remote.ts'
import { account } from './account.ts'
import { attestations } from './attestations.ts'
import { refused } from './answers.ts'
import { bulk, quick } from './audit.ts'
import { announceUnpublish, changeTag, deprecate, unpublish } from './changes.ts'
import { createPackuments, type Documents, type NpmDeps } from './packument.ts'
import { createRemoteDocuments, hasRemoteName, remoteTarball } from './proxy.ts'
import { publish } from './publish.ts'
import { listTags, packument, search, tarball, version } from './reads.ts'
import { receive } from './received.ts'

/** The name at the front of some segments, as one or as two, and what follows. */
function nameIn([first = '', second, ...more]: readonly string[]): {
  readonly name: string
  readonly rest: readonly string[]
} {
  if (first.startsWith('@') && !first.includes('/') && second !== undefined)
    return { name: `${first}/${second}`, rest: more }
  return { name: first, rest: second === undefined ? [] : [second, ...more] }
}

/** What answers are made with; `remoteDocuments` are those of registries that read through to another. */
interface Deps extends NpmDeps {
  readonly remoteDocuments: Documents
}

const documentsOf = ({ packuments, remoteDocuments }: Deps, { registry }: RegistryRequest): Documents =>
  isProxy(registry) ? remoteDocuments : packuments

const ATTESTATIONS = '-/npm/v1/attestations/'

const isRead = ({ method }: Pick<RegistryRequest, 'method'>): boolean => method === 'GET' || method === 'HEAD'

/** Why who may publish may not remove, with what they may do; undefined where they may. @throws for everybody else */
function refusalOf(caller: RegistryRequest['caller']): RegistryAnswer | undefined {
  try {
    caller.need('manage')
    return undefined
  } catch (error) {
    if (!isRefusal(error, 'forbidden')) throw error
    caller.need('write')
    return refused(403, `${error.message} Whoever publishes may warn people of a version: npm deprecate.`)
  }
}

/** Addresses that are about many packages; of a group its members answer them together. */
async function atMany(deps: Deps, request: RegistryRequest, group?: Together): Promise<RegistryAnswer | undefined> {
  const { method, segments } = request
  const path = segments.join('/')
  if (isRead(request) && path === '-/v1/search') return search(deps, request, group)
  if (method === 'POST' && path === '-/npm/v1/security/advisories/bulk') return bulk(deps, request, group)
  if (method === 'POST' && /^-\/npm\/v1\/security\/audits(?:\/quick)?$/.test(path)) return quick(deps, request, group)
  return undefined
}

/** `@s/n@1.0.0` of `/-/npm/v1/attestations/@s/n@1.0.0` */
function attestedIn(segments: readonly string[]): string | undefined {
  const path = segments.join('/')
  return path.startsWith(ATTESTATIONS) ? path.slice(ATTESTATIONS.length) : undefined
}

/** The package that an address is about. */
function nameAt(segments: readonly string[]): string | undefined {
  const attested = attestedIn(segments)
  if (attested !== undefined) return /^(.+)@/.exec(attested)?.[1]
  const isAtDash = segments[0] === '-'
  if (segments.length === 0 || (isAtDash && segments[1] !== 'package')) return undefined
  return nameIn(isAtDash ? segments.slice(2) : segments).name
}

/** Addresses that do not begin with the name of a package: `/-/…`. */
async function atDash(deps: Deps, request: RegistryRequest): Promise<RegistryAnswer | undefined> {
  const { segments } = request
  const answer = await atMany(deps, request)
  if (answer !== undefined) return answer
  const attested = attestedIn(segments)
  if (isRead(request) && attested !== undefined) return attestations(deps, request, attested)
  if (segments[1] !== 'package') return account(request)
  const { name, rest } = nameIn(segments.slice(2))
  const [what, tag, ...more] = rest
  if (more.length > 0) return undefined
  if (what === 'dist-tags' && tag === undefined)
    return isRead(request) ? listTags(documentsOf(deps, request), request, name) : undefined
  if (what === 'dist-tags' && tag !== undefined && !isRead(request)) {
    request.caller.need('write')
    needOwn(request.registry)
    return changeTag(deps, request, { name, tag })
  }
  // nothing of this registry is on the public one
  if (what === 'visibility' && isRead(request)) return { status: 200, body: { kind: 'json', json: { public: false } } }
  return undefined
}

/** A document about a name was sent: a version with its bytes, or what is said of versions that are here. */
async function put(deps: NpmDeps, request: RegistryRequest, name: string): Promise<RegistryAnswer> {
  request.caller.need('write')
  needHosted(request.registry)
  const received = await receive(deps, request)
  if (received.tarballs.length > 0) return publish(deps, request, { received, name })
  await received.discard()
  return deprecate(deps, request, { received, name })
}

/** Addresses of one package. Undefined: none of them. */
async function atName(deps: Deps, request: RegistryRequest): Promise<RegistryAnswer | undefined> {
  const { method, segments, caller, registry } = request
  const { name, rest } = nameIn(segments)
  const [first, second, third, fourth, ...more] = rest
  if (more.length > 0) return undefined
  if (first === undefined) {
    if (isRead(request)) return packument(documentsOf(deps, request), request, name)
    return method === 'PUT' ? put(deps, request, name) : undefined
  }
  if (first === '-rev' && second !== undefined && third === undefined) {
    if (method !== 'PUT' && method !== 'DELETE') return undefined
    const may = refusalOf(caller)
    if (may !== undefined) return may
    needOwn(registry)
    return method === 'PUT'
      ? announceUnpublish(deps, request, { name, revision: second })
      : unpublish(deps, request, { name, revision: second })
  }
  if (first === '-' && second !== undefined) {
    if (third === undefined) {
      if (!isRead(request)) return undefined
      return (isProxy(registry) ? remoteTarball : tarball)(deps, request, { name, file: second })
    }
    if (method !== 'DELETE' || third !== '-rev' || fourth === undefined) return undefined
    const may = refusalOf(caller)
    if (may !== undefined) return may
    needOwn(registry)
    return unpublish(deps, request, { name, revision: fourth, version: versionIn(name, second) ?? second })
  }
  return second === undefined && isRead(request)
    ? version(documentsOf(deps, request), request, { name, wanted: first })
    : undefined
}

/** What npm, pnpm, yarn and bun speak. Source: npm/registry, docs/REGISTRY-API.md; the clients themselves */
export function createNpm(base: ProtocolDeps): RegistryProtocol {
  const deps: Deps = {
    ...base,
    packuments: createPackuments(base),
    remoteDocuments: createRemoteDocuments(base),
  }
  return {
    format: 'npm',
    root: 'npm',
    // npm shows this and not the body, unless the scheme is written as usual: then it advises `npm login`
    challenge: () =>
      'bearer realm="Gatehouse: send an API token from .npmrc. It is made in the console: Users, API tokens"',
    nameOf: ({ segments }) => nameAt(segments),
    // audits, and what is asked about accounts
    isQuestion: ({ segments }) => segments[0] === '-' && segments[1] !== 'package',
    join: (request, group) => atMany(deps, request, group),
    hasName: ({ registry }, name) => hasRemoteName(deps, registry, name),
    answer: request =>
      request.segments[0] === '-'
        ? atDash(deps, request)
        : request.segments.length === 0
          ? Promise.resolve(undefined)
          : atName(deps, request),
    refuse: ({ status, detail, code }) =>
      // a 409 would read as one version that is here already
      refused(code === 'registry_takes_no_uploads' ? 405 : status, detail, {
        body: { kind: 'json', json: { error: detail, code } },
      }),
  }
}
