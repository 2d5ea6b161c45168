import { hiddenNow } from './caller.ts'
import type { Clock } from './clock.ts'

/** How long an answer stays fresh, in milliseconds; perhaps by what it cost to get. */
export type Freshness = number | ((costMs: number) => number)

/** At most a tenth of the time goes into asking, and a cheap answer is never older than 200 ms. */
export const tenthOfTheTime: Freshness = costMs => Math.max(200, 10 * costMs)

/**
 * Asks at most once per `ms`: callers meanwhile share the answer, also while it is on its way. A failure is told to
 * those who waited and not kept.
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
    // what one caller may see is not for another
    if (hiddenNow().length > 0) return read()
    const now = clock.now().getTime()
    // a clock that was set back must not keep an answer for ever
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
