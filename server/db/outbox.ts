import type { Db, Tx } from './db.ts'

/** Delivers one kind of key. Must be idempotent: it may run again after a crash. */
export type Deliver = (rest: string) => Promise<void>

/**
 * What must still happen to files because of a committed decision. Equal keys coalesce.
 * Keys: `manifest:<ref>`, `publish:<codename>`, `contents:<codename>`, `audit`.
 */
export interface Outbox {
  owe(tx: Tx, key: string, options?: { readonly delayMs?: number }): Promise<void>
  /** Names the function for `<kind>` or `<kind>:<rest>`; call before `start`. */
  handle(kind: string, deliver: Deliver, options?: { readonly parallel?: number }): void
  /** Looks now instead of at the next tick; call after a commit that owed something. */
  nudge(): void
  /** Resolves true when nothing is owed under the key, false after `timeoutMs`. */
  settled(key: string, timeoutMs: number): Promise<boolean>
  /** Delivers until nothing is owed, or throws the first error; used at start and by tests. */
  drain(): Promise<void>
  start(): void
  /** Finishes what is running, then stops. */
  stop(): Promise<void>
  /** Rows that failed at least once, for the health report. */
  stuck(): Promise<readonly { readonly key: string; readonly tries: number; readonly last_error: string }[]>
}

export type OutboxDeps = { readonly db: Db; readonly onError: (key: string, error: unknown) => void }
