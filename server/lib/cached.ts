import type { Viewer } from '../core/viewer.ts'
import type { Clock } from './clock.ts'

/** How long an answer stays fresh, in milliseconds. May depend on what the answer cost. */
export type Freshness = number | ((costMs: number) => number)

/** Spends at most a tenth of the time on asking. A cheap answer is at most 200 ms old. */
export const tenthOfTheTime: Freshness = costMs => Math.max(200, 10 * costMs)

/**
 * Asks at most once per `ms`: callers in between share the answer, also while it is on its way. A failure reaches those
 * who waited for it and is not kept.
 */
export function cached<T>({
  clock,
  ms,
  read,
}: {
  readonly clock: Clock
  readonly ms: Freshness
  readonly read: () => Promise<T>
}): () => Promise<T> {
  let kept: { readonly answer: Promise<T>; readonly from: number; until: number } | undefined
  return () => {
    const now = clock.now().getTime()
    // if the clock was set back, the answer must not stay for ever
    if (kept !== undefined && now >= kept.from && now < kept.until) return kept.answer
    const mine = { answer: read(), from: now, until: Number.POSITIVE_INFINITY }
    kept = mine
    mine.answer.then(
      () => {
        const done = clock.now().getTime()
        mine.until = done + (typeof ms === 'number' ? ms : ms(done - now))
      },
      () => {
        if (kept === mine) kept = undefined
      },
    )
    return mine.answer
  }
}

// ways to see: as many as there are different sets of hidden distributions among those who ask
const MOST_WAYS = 100

/** As `cached`, with an answer for each way to see: only who sees the same shares it. */
export function cachedByViewer<T>({
  clock,
  ms,
  read,
}: {
  readonly clock: Clock
  readonly ms: Freshness
  readonly read: (viewer: Viewer) => Promise<T>
}): (viewer: Viewer) => Promise<T> {
  const ways = new Map<string, () => Promise<T>>()
  return viewer => {
    const key = JSON.stringify([...viewer.hidden].sort())
    const known = ways.get(key) ?? cached({ clock, ms, read: () => read(viewer) })
    // the one that was asked last is last: the oldest goes
    ways.delete(key)
    ways.set(key, known)
    const [oldest] = ways.keys()
    if (ways.size > MOST_WAYS && oldest !== undefined) ways.delete(oldest)
    return known()
  }
}
