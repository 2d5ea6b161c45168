import type { Clock } from './clock.ts'

/** Asks at most once per `ms`: callers meanwhile share the answer, also while it is on its way. A failure is told to those who waited and not kept. */
export function cached<T>({ clock, ms, read }: { readonly clock: Clock; readonly ms: number; readonly read: () => Promise<T> }): () => Promise<T> {
  let kept: { readonly answer: Promise<T>; at: number } | undefined
  return () => {
    const now = clock.now().getTime()
    // a clock that was set back must not keep an answer for ever
    if (kept !== undefined && now >= kept.at && now < kept.at + ms) return kept.answer
    const mine = { answer: read(), at: now }
    kept = mine
    mine.answer.then(() => { mine.at = clock.now().getTime() }, () => { if (kept === mine) kept = undefined })
    return mine.answer
  }
}
