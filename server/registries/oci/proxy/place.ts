import type { Distribution } from '../../../core/repository.ts'
import { DOCKER_HUB, isDockerHub, pathBefore } from '../../../formats/oci/names.ts'
import { parseTarget } from '../../../outbound/target.ts'

/** Where a repository lies at an upstream. */
export interface Place {
  /** `https://registry.example` */
  readonly origin: string
  /** What stands behind `/v2/` there: `team/app`. */
  readonly name: string
}

/**
 * Where a name of a proxy lies at its upstream. A path of the upstream's address stands before every name, with `v2` in
 * front or without: `https://host/team` and `https://host/v2/team` are one. Images of Docker Hub without a slash are
 * below `library`.
 * @throws outbound_refused
 */
export function placeAt({ registry }: Pick<Distribution, 'registry'>, name: string): Place {
  const url = parseTarget(registry?.upstream?.url ?? '')
  const isHub = isDockerHub(url.hostname)
  const segments = [...pathBefore(url), ...name.split('/')]
  return {
    origin: isHub ? `${url.protocol}//${DOCKER_HUB}` : url.origin,
    name: (isHub && segments.length === 1 ? ['library', ...segments] : segments).join('/'),
  }
}
