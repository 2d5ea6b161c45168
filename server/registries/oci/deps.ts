import type { Catalog } from '../../catalog/catalog.ts'
import type { Outbox } from '../../db/outbox.ts'
import type { Pool } from '../../files/pool.ts'
import type { Spool } from '../../files/spool.ts'
import type { ProtocolDeps } from '../protocol-deps.ts'

/** What the protocol of OCI needs beside what every protocol is made with: its blobs come before their version. */
export interface OciDeps extends Omit<ProtocolDeps, 'spool' | 'catalog'> {
  readonly spool: Pick<Spool, 'receive' | 'borrow'>
  readonly catalog: Pick<Catalog, 'change' | 'findKnown' | 'holdBlobs'>
  readonly pool: Pick<Pool, 'add' | 'quarantine' | 'has' | 'locate'>
  readonly outbox: Pick<Outbox, 'owe' | 'nudge' | 'settled'>
  /** The secret that tokens of this service are made with. */
  readonly jwtSecret: string
}
