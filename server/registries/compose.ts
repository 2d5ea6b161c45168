import type { Job } from '../core/feature.ts'
import type { RegistryDeps } from './deps.ts'
import { createMaven } from './maven/index.ts'
import { createNpm } from './npm/index.ts'
import type { OciDeps } from './oci/deps.ts'
import { createOci } from './oci/index.ts'
import type { RegistryProtocol } from './protocol.ts'
import { createPypi } from './pypi/index.ts'

/** Every protocol of this build. A new one is its folder and one line here. */
const PROTOCOLS: readonly ((deps: RegistryDeps & OciDeps) => RegistryProtocol)[] = [
  createNpm,
  createPypi,
  createMaven,
  createOci,
]

/** The protocols by which clients read and publish, over one catalogue, and what is done by the clock. */
export function composeRegistries(deps: RegistryDeps & OciDeps): {
  readonly protocols: readonly RegistryProtocol[]
  readonly jobs: readonly Job[]
} {
  const protocols = PROTOCOLS.map(create => create(deps))
  return { protocols, jobs: protocols.flatMap(({ jobs = [] }) => jobs) }
}
