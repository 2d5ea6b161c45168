/** A day is 24 hours: all of these are in UTC, which knows no summer time. */
export const DAY_MS = 86_400_000

/** `2026-03-01` */
export const dayOf = (at: Date | number): string => new Date(at).toISOString().slice(0, 10)

/** The last days, oldest first, today last. */
export const lastDays = (now: Date, length: number): string[] =>
  Array.from({ length }, (_, n) => dayOf(now.getTime() - (length - 1 - n) * DAY_MS))
