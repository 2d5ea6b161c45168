import { versionIn } from '../../formats/npm/name.ts'
import { needHosted } from '../admit.ts'
import type { RegistryDeps } from '../deps.ts'
import type { RegistryAnswer, RegistryProtocol, RegistryRequest } from '../protocol.ts'
import { account } from './account.ts'
import { attestations } from './attestations.ts'
import { refused } from './answers.ts'
import { bulk, quick } from './audit.ts'
import { announceUnpublish, deprecate, distTags, unpublish } from './changes.ts'
import { createPackuments, type NpmDeps } from './packument.ts'
import { publish } from './publish.ts'
import { packument, search, tarball, version } from './reads.ts'
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

const isRead = ({ method }: Pick<RegistryRequest, 'method'>): boolean => method === 'GET' || method === 'HEAD'

/** Addresses that are about no package: `/-/…`. */
async function atDash(deps: NpmDeps, request: RegistryRequest): Promise<RegistryAnswer | undefined> {
  const { method, segments } = request
  const path = segments.slice(1).join('/')
  if (isRead(request) && path === 'v1/search') return search(deps, request)
  if (method === 'POST' && path === 'npm/v1/security/advisories/bulk') return bulk(deps, request)
  if (method === 'POST' && /^npm\/v1\/security\/audits(?:\/quick)?$/.test(path)) return quick(deps, request)
  if (isRead(request) && path.startsWith('npm/v1/attestations/'))
    return attestations(deps, request, path.slice('npm/v1/attestations/'.length))
  if (segments[1] !== 'package') return account(request)
  const { name, rest } = nameIn(segments.slice(2))
  const [what, tag, ...more] = rest
  if (more.length > 0) return undefined
  if (what === 'dist-tags') return distTags(deps, request, { name, tag })
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
async function atName(deps: NpmDeps, request: RegistryRequest): Promise<RegistryAnswer | undefined> {
  const { method, segments, caller } = request
  const { name, rest } = nameIn(segments)
  const [first, second, third, fourth, ...more] = rest
  if (more.length > 0) return undefined
  if (first === undefined) {
    if (isRead(request)) return packument(deps, request, name)
    return method === 'PUT' ? put(deps, request, name) : undefined
  }
  if (first === '-rev' && second !== undefined && third === undefined) {
    if (method !== 'PUT' && method !== 'DELETE') return undefined
    caller.need('manage')
    return method === 'PUT'
      ? announceUnpublish(deps, request, { name, revision: second })
      : unpublish(deps, request, { name, revision: second })
  }
  if (first === '-' && second !== undefined) {
    if (third === undefined) return isRead(request) ? tarball(deps, request, { name, file: second }) : undefined
    if (method !== 'DELETE' || third !== '-rev' || fourth === undefined) return undefined
    caller.need('manage')
    return unpublish(deps, request, { name, revision: fourth, version: versionIn(name, second) ?? second })
  }
  return second === undefined && isRead(request) ? version(deps, request, { name, wanted: first }) : undefined
}

/** What npm, pnpm, yarn and bun speak. Source: npm/registry, docs/REGISTRY-API.md; the clients themselves */
export function createNpm(base: RegistryDeps): RegistryProtocol {
  const deps: NpmDeps = { ...base, packuments: createPackuments(base.db) }
  return {
    format: 'npm',
    root: 'npm',
    // npm shows this and not the body, unless the scheme is written as usual: then it advises `npm login`
    challenge: () =>
      'bearer realm="Gatehouse: send an API token from .npmrc. It is made in the console: Users, API tokens"',
    answer: request =>
      request.segments[0] === '-'
        ? atDash(deps, request)
        : request.segments.length === 0
          ? Promise.resolve(undefined)
          : atName(deps, request),
    refuse: ({ status, detail, code }) =>
      refused(status, detail, {
        body: { kind: 'json', json: { error: detail, code } },
      }),
  }
}
