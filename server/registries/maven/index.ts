import { BASIC_CHALLENGE } from '../../core/basic-challenge.ts'
import { fail } from '../../core/errors.ts'
import { createKeyedLock } from '../../lib/keyed-lock.ts'
import type { ProtocolDeps } from '../protocol-deps.ts'
import type { RegistryProtocol } from '../protocol.ts'
import { refuse } from './answers.ts'
import { createDeploys } from './deploys.ts'
import { joinLists } from './group-lists.ts'
import { nameAt, placeOf } from '../../formats/maven/place.ts'
import { readFile, readMetadata } from './read.ts'
import { createMavenProxy } from './proxy.ts'
import { isProxy } from '../remote/remote.ts'
import { createSettle } from './settle.ts'
import { settleJob } from './settle-job.ts'
import { put, remove, type WriteDeps } from './write.ts'

/** What Maven, Gradle and sbt speak. Source: maven.apache.org/repositories, and requests of real clients. */
export function createMaven(deps: ProtocolDeps): RegistryProtocol {
  const parts = { ...deps, lock: createKeyedLock(), deploys: createDeploys(deps) }
  const proxy = createMavenProxy(deps)
  const settle = createSettle(parts)
  const writing: WriteDeps = { ...parts, settle }
  const protocol: RegistryProtocol = {
    format: 'maven',
    root: 'maven',
    nameOf: ({ segments, endsWithSlash }) =>
      segments.length === 0 || endsWithSlash ? undefined : nameAt(placeOf(segments)),
    jobs: [settleJob(settle.rested)],
    challenge: () => BASIC_CHALLENGE,
    async answer(request) {
      const { method, segments } = request
      // below .meta Maven 4 looks for lists of groups, which are not there
      if (segments.length === 0 || segments[0] === '.meta') return undefined
      if (method === 'DELETE') return remove(writing, request)
      if (!['GET', 'HEAD', 'PUT'].includes(method))
        fail('method_not_allowed', { method, allowed: 'GET, HEAD, PUT, DELETE' })
      if (request.endsWithSlash) return undefined
      const place = placeOf(segments)
      if (method === 'PUT') return put(writing, request, place)
      if (isProxy(request.registry))
        return place.kind === 'file' ? proxy.file(request, place) : proxy.metadata(request, place)
      return place.kind === 'file' ? readFile(deps, request, place) : readMetadata(deps, request, place)
    },
    join: (request, group) => joinLists(protocol, request, group),
    hasName: ({ registry }, name) => proxy.hasName(registry, name),
    refuse,
  }
  return protocol
}
