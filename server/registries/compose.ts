import type { RegistryDeps } from './deps.ts'
import type { RegistryProtocol } from './protocol.ts'
import { createPypi } from './pypi/index.ts'

/** Every protocol of this build. A new one is its folder and one line here. */
const PROTOCOLS: readonly ((deps: RegistryDeps) => RegistryProtocol)[] = [createPypi]

/** The protocols by which clients read and publish, over one catalogue. */
export const composeRegistries = (deps: RegistryDeps): readonly RegistryProtocol[] =>
  PROTOCOLS.map(create => create(deps))
