import type { BoundRoute } from './contract.ts'

/**
 * Work that is done at certain times. `when` gives a cron line (minute hour day month weekday), or undefined while it
 * is paused; it is asked again when settings change.
 */
export interface Job {
  readonly id: string
  readonly name: string
  readonly when: () => string | undefined
  readonly run: () => Promise<void>
}

/**
 * Delivers what is owed under some keys of one kind; gets what stands behind the colon of each. Must be idempotent: it
 * may run again after a crash. Where it throws, all of them stay owed.
 */
export type Deliver = (rests: readonly string[]) => Promise<void>

/** How the outbox (`db/outbox.ts`) delivers the debts of one kind. */
export interface Debt {
  readonly deliver: Deliver
  /** How many deliveries of this kind run at once; 1 unless said. */
  readonly parallel?: number
  /** How many keys one delivery takes; 1 unless said. */
  readonly batch?: number
  /**
   * Debts of this kind are never put off for longer: what seems to be owes it to a clock that was set back, and is due.
   */
  readonly longestMs?: number
}

/** Debts by the kind that stands before the colon of their keys. */
export type Debts = Readonly<Record<string, Debt>>

/** What a part of the service brings along besides its functions. */
export interface Part {
  readonly jobs?: readonly Job[]
  /** Delivered from the repair at start on. */
  readonly debts?: Debts
  /** Delivered once the service runs: they wait for other machines, and one that hangs must not hold the start. */
  readonly outwardDebts?: Debts
  /** Begins what goes on beside the requests; called when they can be served. */
  start?(): void
  /** Ends what the part keeps running. */
  stop?(): void | Promise<void>
}

/** A topic of the API, as its `compose.ts` gives it. */
export interface Feature extends Part {
  readonly routes: readonly BoundRoute[]
}
