/** Counts what is on its way in, for work that is better done once for all of it. */
export interface Arrivals {
  /** One more is on its way, until the returned function is called; `many`: it is one that brings many. */
  enter(many?: 'many'): () => void
  /**
   * Resolves as soon as nothing is on its way, at the latest after `longestMs`, or ten seconds while one brings many.
   */
  quiet(longestMs: number): Promise<void>
}

const MANY_MS = 10_000

/** Nothing is on its way. */
export function createArrivals(): Arrivals {
  let under = 0
  let bringMany = 0
  const waiting = new Set<() => void>()
  return {
    enter(many) {
      under++
      if (many !== undefined) bringMany++
      let hasLeft = false
      return () => {
        if (hasLeft) return
        hasLeft = true
        if (many !== undefined) bringMany--
        if (--under === 0) for (const tell of [...waiting]) tell()
      }
    },
    quiet: longestMs => {
      const ms = bringMany > 0 ? Math.max(longestMs, MANY_MS) : longestMs
      return under === 0 || ms <= 0
        ? Promise.resolve()
        : new Promise(resolve => {
            const tell = (): void => {
              clearTimeout(timer)
              waiting.delete(tell)
              resolve()
            }
            const timer = setTimeout(tell, ms)
            waiting.add(tell)
          })
    },
  }
}
