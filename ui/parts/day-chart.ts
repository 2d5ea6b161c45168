import { DATES } from '../show.ts'

/** A part of a bar: its name, its colour, and the pattern that tells it apart without one. */
export interface Series {
  readonly id: string
  readonly name: string
  /** A class that fills it: `fill-1`. */
  readonly fill: string
  readonly mark?: 'plain' | 'lines' | 'dots' | 'cross'
  /** It hangs below the line of 0. */
  readonly below?: boolean
}
/** One day; null where nothing is known of it, which is not 0. */
export interface ChartDay {
  readonly date: string
  readonly values: Readonly<Record<string, number>> | null
  /** What else there is to say of it. */
  readonly note?: string
}
export interface Piece {
  readonly series: Series
  readonly y: number
  readonly height: number
}
export interface Bar {
  readonly day: ChartDay
  /** What stands above the line of 0. */
  readonly total: number | undefined
  readonly pieces: readonly Piece[]
}
/** Days one after the other of which nothing is known. */
export interface Gap {
  readonly from: number
  readonly length: number
}
/** How bars are drawn: between which heights, up to which number, and whether they stand on or before each other. */
export interface Drawing {
  readonly top: number
  readonly floor: number
  /** The end of the axis; otherwise a round number above the largest. */
  readonly most?: number | undefined
  /** Each begins at 0, the larger behind the smaller: a mean before its peak. */
  readonly nested?: boolean
}

/** The smallest round number at or above: its quarters are whole from 4 on. */
export function roundUp(n: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, n))))
  const step = [1, 2, 4, 6, 8, 10].find(part => part * unit >= n) ?? 10
  return Math.max(4, step * unit)
}

/** `3 Nov`, of a day in UTC. */
export const shortDay = (date: string): string =>
  new Intl.DateTimeFormat(DATES, { day: 'numeric', month: 'short', timeZone: 'UTC' }).format(
    new Date(`${date}T00:00:00Z`),
  )

/** Days of which `since` says that nobody counted them yet are gaps. */
export const knownFrom = (since: string | null, days: readonly ChartDay[]): ChartDay[] =>
  days.map(day => (since === null || day.date < since ? { ...day, values: null } : day))

/** Bars over an axis that begins at 0. Days without a value have no bar: they are gaps. */
export function drawDays(
  days: readonly ChartDay[],
  series: readonly Series[],
  { top, floor, most: end, nested = false }: Drawing,
): {
  readonly most: number
  /** The height of 0. */
  readonly line: number
  /** The largest number below it. */
  readonly low: number
  readonly bars: readonly Bar[]
  readonly gaps: readonly Gap[]
} {
  const sum = ({ values }: ChartDay, below: boolean): number => {
    const all = series.filter(one => (one.below ?? false) === below).map(({ id }) => values?.[id] ?? 0)
    return nested ? Math.max(0, ...all) : all.reduce((total, n) => total + n, 0)
  }
  const most = end ?? roundUp(Math.max(0, ...days.map(day => sum(day, false))))
  const low = Math.max(0, ...days.map(day => sum(day, true)))
  const unit = (floor - top) / (most + low)
  const line = floor - low * unit
  const bars = days.map((day): Bar => {
    let [up, down] = [line, line]
    // those in front last; of equal ones the first
    const drawn = nested
      ? series.toReversed().toSorted((a, b) => (day.values?.[b.id] ?? 0) - (day.values?.[a.id] ?? 0))
      : series
    const pieces = drawn.flatMap((one): Piece[] => {
      const height = Math.min(most + low, day.values?.[one.id] ?? 0) * unit
      if (height === 0) return []
      const y = one.below ? down : (nested ? line : up) - height
      if (one.below) down += height
      else up -= height
      return [{ series: one, y, height }]
    })
    return { day, total: day.values === null ? undefined : sum(day, false), pieces }
  })
  const gaps: Gap[] = []
  for (const [at, { values }] of days.entries()) {
    const last = gaps.at(-1)
    if (values !== null) continue
    if (last !== undefined && last.from + last.length === at)
      gaps[gaps.length - 1] = { ...last, length: last.length + 1 }
    else gaps.push({ from: at, length: 1 })
  }
  return { most, line, low, bars, gaps }
}
