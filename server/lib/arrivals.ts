/** Counts what is on its way in, for work that is better done once for all of it. */
export interface Arrivals {
  /** One more is on its way, until the returned function is called. */
  enter(): () => void
  /** Resolves as soon as nothing is on its way, at the latest after `longestMs`. */
  quiet(longestMs: number): Promise<void>
}

/** Nothing is on its way. */
export function createArrivals(): Arrivals {
  let under = 0
  const waiting = new Set<() => void>()
  return {
    enter() {
      under++
      let hasLeft = false
      return () => {
        if (hasLeft) return
        hasLeft = true
        if (--under === 0) for (const tell of [...waiting]) tell()
      }
    },
    quiet: longestMs =>
      under === 0
        ? Promise.resolve()
        : new Promise(resolve => {
            const tell = (): void => {
              clearTimeout(timer)
              waiting.delete(tell)
              resolve()
            }
            const timer = setTimeout(tell, longestMs)
            waiting.add(tell)
          }),
  }
}
