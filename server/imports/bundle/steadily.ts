const APART_MS = 500

/** Calls on at most twice a second: progress is told in a statement to the database. */
export function steadily(tell: (value: number) => Promise<void>): (value: number) => Promise<void> {
  let toldAt = -Infinity // by performance.now(): the time of day may be set back
  return async value => {
    if (performance.now() - toldAt < APART_MS) return
    toldAt = performance.now()
    await tell(value)
  }
}
