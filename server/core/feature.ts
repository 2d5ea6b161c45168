import type { BoundRoute } from './contract.ts'
import type { WorkKind } from './work.ts'

/**
 * Scheduled work. `when` gives a cron line (minute hour day month weekday), or undefined while it is paused; it is
 * called again when settings change, and so is `zone`, the IANA name of its time zone.
 */
export interface Job {
  readonly id: string
  readonly name: string
  readonly when: () => string | undefined
  readonly zone?: () => string | undefined
  /**
   * It runs once a day or less. So its runs are on record, a missed one is made up once, the setting
   * `clock.jitter_minutes` moves it, and an admin can run it at once.
   */
  readonly daily?: true
  /** It runs more often, and people see it beside the daily ones all the same: on record, and to be run at once. */
  readonly listed?: true
  /**
   * What `run` only asks for. Its last run is then that of the work, which people also ask for by hand: in the same
   * words, but for their `ip`.
   */
  readonly work?: { readonly kind: string; readonly request: Readonly<Record<string, unknown>> }
  readonly run: () => Promise<unknown>
}

/**
 * Delivers debts of one kind; gets the part of each key behind the colon. Must be idempotent: it may run again after a
 * crash. When it throws, all of them stay owed. `join` counts as delivered, too, what is owed under the same keys by
 * now: for a delivery that waits before it looks at what there is to do.
 */
export type Deliver = (rests: readonly string[], join: () => Promise<void>) => Promise<void>

/** How the outbox (`db/outbox.ts`) delivers the debts of one kind. */
export interface Debt {
  readonly deliver: Deliver
  /** How many deliveries of this kind run at once; 1 by default. */
  readonly parallel?: number
  /** How many keys one delivery takes; 1 by default. */
  readonly batch?: number
  /**
   * Debts of this kind are never put off for longer than this. One that seems to be was owed before the clock was set
   * back, and is due.
   */
  readonly longestMs?: number
}

/** Debts by kind: the part of their keys before the colon. */
export type Debts = Readonly<Record<string, Debt>>

/** What a part of the service adds, beside its functions. */
export interface Part {
  readonly jobs?: readonly Job[]
  /** Delivered from the start's repair on. */
  readonly debts?: Debts
  /** Done once the service runs: they depend on other machines, which must not delay the start. */
  readonly outwardDebts?: Debts
  /** Long work that people or the clock ask for. */
  readonly work?: readonly WorkKind[]
  /** Starts background work. Called when requests can be served. */
  start?(): void
  /** Starts what one process of an installation does alone. Called whenever this one begins to lead. */
  lead?(): void
  /** Ends the background work. */
  stop?(): void | Promise<void>
}

/** A topic of the API, as its `compose.ts` makes it. */
export interface Feature extends Part {
  readonly routes: readonly BoundRoute[]
}
