import type { RegistryDeps } from './deps.ts'
import type { Remote } from './remote/remote.ts'

/** What the protocols are made with: also the registries of others. */
export interface ProtocolDeps extends RegistryDeps {
  readonly remote: Remote
}
