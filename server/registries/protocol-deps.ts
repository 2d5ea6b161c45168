import type { RegistryDeps } from './deps.ts'
import type { KeptDocuments } from './kept-documents.ts'
import type { Remote } from './remote/remote.ts'

/** What the protocols are made with: also the registries of others. */
export interface ProtocolDeps extends RegistryDeps {
  readonly remote: Remote
  /** What was joined for clients of any of them. */
  readonly kept: KeptDocuments
}
