import type { Sha256 } from '../core/identity.ts'
import type { SpooledFile } from './spool.ts'

/** Content-addressed bytes: `pool/` may be linked into a tree, `quarantine/` never is. All calls are idempotent. */
export interface Pool {
  /** Moves a spooled file into the pool; durable when it returns. Also takes it out of quarantine when it lay there. */
  add(file: SpooledFile): Promise<void>
  /** Moves a spooled file into quarantine, unless the pool has the same bytes. */
  quarantine(file: SpooledFile): Promise<void>
  /** Quarantine → pool. Fine when it is in the pool already. */
  release(digest: Sha256): Promise<void>
  /** Pool → quarantine. */
  confine(digest: Sha256): Promise<void>
  /** Deletes the bytes from both; a hard link in a published tree keeps its own. */
  remove(digest: Sha256): Promise<void>
  has(digest: Sha256): Promise<'pool' | 'quarantine' | 'nowhere'>
  /** The path to read from, wherever it lies. @throws ENOENT */
  locate(digest: Sha256): Promise<string>
  /** Deletes every blob that `isNeeded` denies and that is older than an hour. */
  sweep(isNeeded: (digest: Sha256) => Promise<boolean>): Promise<{ readonly removed: number }>
}
