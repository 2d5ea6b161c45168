import type { Codename } from '../core/identity.ts'

/** What a publication did, for logs, events and the dashboard. */
export interface Publication {
  readonly codename: Codename
  readonly n: number
  readonly packages: number
  readonly bytes: number
  readonly shardsWritten: number
  readonly ms: number
}

/** Makes generations and switches to them. One at a time per distribution. */
export interface Publisher {
  /**
   * Brings the live tree of one distribution to what the database says. Idempotent; costs what changed.
   * @returns undefined when nothing was dirty and a live generation exists. @throws no_signing_key
   */
  publish(codename: Codename): Promise<Publication | undefined>
  /** Removes `.part` folders and dangling links that a crash left; run before anything is served. */
  repair(): Promise<void>
  /** Removes generations past what is kept (at least 3, at least an hour), unlinked pool files and unused shards. */
  prune(codename: Codename): Promise<void>
}
