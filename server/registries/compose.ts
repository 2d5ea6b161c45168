import type { Part } from '../core/feature.ts'
import { createGroups, type Groups } from './group/groups.ts'
import { createKeptDocuments } from './kept-documents.ts'
import { createMaven } from './maven/index.ts'
import { createNpm } from './npm/index.ts'
import type { OciDeps } from './oci/deps.ts'
import { createOci } from './oci/index.ts'
import type { ProtocolDeps } from './protocol-deps.ts'
import type { RegistryProtocol } from './protocol.ts'
import { createPypi } from './pypi/index.ts'
import type { RegistryIntake } from '../pipeline/registry-intake.ts'
import { createIntake } from './carried/intake.ts'
import { createRemote, type RemoteDeps } from './remote/remote.ts'

/** Every protocol of this build. A new one is its folder and one line here. */
const PROTOCOLS: readonly ((deps: OciDeps & ProtocolDeps) => RegistryProtocol)[] = [
  createNpm,
  createPypi,
  createMaven,
  createOci,
]

/** The protocols by which clients read and publish, over one catalogue, and what is done by the clock. */
export function composeRegistries(deps: RemoteDeps & Omit<OciDeps, 'remote' | 'kept'>): Part & {
  readonly protocols: readonly RegistryProtocol[]
  readonly groups: Groups
  /** The way in for what other installations carry here. */
  readonly intake: RegistryIntake
} {
  const remote = createRemote(deps)
  const kept = createKeptDocuments(deps)
  const protocols = PROTOCOLS.map(create => create({ ...deps, remote, kept }))
  const jobs = protocols.flatMap(protocol => protocol.jobs ?? [])
  const intake = createIntake(deps)
  return { protocols, groups: createGroups(deps), intake, jobs, stop: () => remote.close() }
}
