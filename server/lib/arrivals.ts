/** Counts what is on its way in, for work that is better done once for all of it. */
export interface Arrivals {
  /** One more is on its way, until the returned function is called; `many`: it is one that brings many. */
  enter(many?: 'many'): () => void
  /**
   * Resolves as soon as nothing was on its way for `restMs`, at the latest after `longestMs`, or ten seconds while one
   * brings many.
   */
  quiet(longestMs: number, restMs?: number): Promise<void>
}

/** Who waits for quiet is told when the last one leaves and when the first one comes. */
interface Waiting {
  calm(): void
  stir(): void
}

const MANY_MS = 10_000

/** Nothing is on its way. */
export function createArrivals(): Arrivals {
  let under = 0
  let bringMany = 0
  const waiting = new Set<Waiting>()
  return {
    enter(many) {
      if (under++ === 0) for (const one of [...waiting]) one.stir()
      if (many !== undefined) bringMany++
      let hasLeft = false
      return () => {
        if (hasLeft) return
        hasLeft = true
        if (many !== undefined) bringMany--
        if (--under === 0) for (const one of [...waiting]) one.calm()
      }
    },
    quiet: (longestMs, restMs = 0) => {
      const ms = bringMany > 0 ? Math.max(longestMs, MANY_MS) : longestMs
      if (ms <= 0 || (under === 0 && restMs <= 0)) return Promise.resolve()
      return new Promise(resolve => {
        let rest: NodeJS.Timeout | undefined
        const end = (): void => {
          clearTimeout(rest)
          clearTimeout(longest)
          waiting.delete(one)
          resolve()
        }
        const one: Waiting = {
          calm: () => {
            if (restMs <= 0) end()
            else rest = setTimeout(end, restMs)
          },
          stir: () => clearTimeout(rest),
        }
        const longest = setTimeout(end, ms)
        waiting.add(one)
        if (under === 0) one.calm()
      })
    },
  }
}
