/** Rows by their place in the whole list, from 0; `to` is behind the last one. */
export interface Range {
  readonly from: number
  readonly to: number
}

/** So many rows are drawn at once, and so many more in each frame (in sight, else ahead): none takes long. */
export const FIRST = 24
const SEEN = 12
const MORE = 5
/** Rows before and after those in sight; fewer than that are drawn ahead, more than twice that are taken away. */
const AHEAD = 16
/** The part of a range that is within another; empty at the nearer end where there is none. */
export const cut = ({ from, to }: Range, by: Range): Range => {
  const first = Math.min(Math.max(from, by.from), by.to)
  return { from: first, to: Math.max(first, Math.min(to, by.to)) }
}

/**
 * One step from the rows that are drawn to those that are wanted, small enough for one frame. What is passed is kept
 * for a while, so that going to and fro costs nothing.
 */
export function stepTo(now: Range, view: Range, known: Range): Range {
  if (view.from >= known.to || view.to <= known.from) return now // until what belongs there was read
  const wanted = cut({ from: view.from - AHEAD, to: view.to + AHEAD }, known)
  const kept = cut({ from: view.from - 2 * AHEAD, to: view.to + 2 * AHEAD }, known)
  const held = cut(now, kept)
  if (held.from === held.to) return cut({ from: view.from, to: Math.max(view.to, view.from + FIRST) }, known)
  if (held.to < wanted.to) {
    const more = held.to < view.to ? SEEN : MORE
    return { from: held.from, to: Math.min(held.to + more, wanted.to) }
  }
  if (held.from > wanted.from) {
    const more = held.from > view.from ? SEEN : MORE
    return { from: Math.max(held.from - more, wanted.from), to: held.to }
  }
  return held
}

/**
 * Which rows left a list, by key: those of `before` that are not in `now` and had neighbours on both sides that are. At
 * an end of what was read, one may only have moved on to the next page.
 */
export function leftOf(
  before: readonly string[],
  now: readonly string[],
  { isStart, isEnd }: { readonly isStart: boolean; readonly isEnd: boolean },
): ReadonlySet<string> {
  const there = new Set(now)
  const first = isStart ? 0 : before.findIndex(key => there.has(key))
  const last = isEnd ? before.length - 1 : before.findLastIndex(key => there.has(key))
  return new Set(before.filter((key, n) => first >= 0 && n >= first && n <= last && !there.has(key)))
}
