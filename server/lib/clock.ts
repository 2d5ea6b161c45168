import type { Iso } from '../core/identity.ts'

/** The time, passed in so that tests can hold it still. */
export interface Clock {
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }

/** The time as ISO 8601 in UTC. */
export function isoNow(clock: Clock): Iso {
  return clock.now().toISOString()
}

/** A moment of the database as ISO 8601 in UTC; null stays null. */
export const isoOrNull = (at: Date | null): Iso | null => at?.toISOString() ?? null
