const DAY_MS = 86_400_000

/**
 * The days that are left until a moment. A day that has begun counts, so a deadline of 30 days shows 30 when it is made
 * and 1 in its last hours. 0: it passed less than a day ago; negative: so many whole days ago. Whether it passed is
 * another question, which `hasPassed` answers: at the moment itself it has.
 */
export function remainingDays(end: Date, now: Date): number {
  // + 0 makes the -0 of the first hours after it a 0
  return Math.ceil((end.getTime() - now.getTime()) / DAY_MS) + 0
}

/** Whether a moment has come or is past. */
export function hasPassed(end: Date, now: Date): boolean {
  return end.getTime() <= now.getTime()
}
