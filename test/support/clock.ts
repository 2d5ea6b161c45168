import type { Clock } from '../../server/lib/clock.ts'

/** A clock that stands still until it is told. */
export interface FakeClock extends Clock {
  set(iso: string): void
  advance(ms: number): void
}

export function createFakeClock(iso = '2026-11-01T12:00:00.000Z'): FakeClock {
  let now = new Date(iso)
  return {
    now: () => new Date(now),
    set: to => {
      now = new Date(to)
    },
    advance: ms => {
      now = new Date(now.getTime() + ms)
    },
  }
}
