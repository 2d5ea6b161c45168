import type { Reply } from '../../wire.ts'

const DAY_MS = 86_400_000
/** A forecast is drawn for at most so many times the days that are known. */
const AHEAD = 3
/** The disk is measured once a day: days further apart have some between them that nobody measured. */
const APART_MS = 1.5 * DAY_MS

interface Box {
  readonly left: number
  readonly right: number
  readonly top: number
  readonly floor: number
}
interface Point {
  readonly at: string
  readonly used: number
}

/** The paths of a chart; undefined with fewer than two days. */
export interface DiskDrawing {
  readonly first: Point
  readonly last: Point
  /** In bytes: the top of the axis, which begins at 0. */
  readonly total: number
  /** Over days that follow one another, and what is below it. */
  readonly line: string
  readonly area: string
  /** Over days that nobody measured; undefined where there are none. */
  readonly gaps: string | undefined
  /** Undefined where the disk does not fill, or nobody can tell. */
  readonly ahead: string | undefined
  readonly now: { readonly x: number; readonly y: number }
  /** The right end of the axis. */
  readonly end: string
}

/** Days as a line over time, and the forecast as the straight line that goes on from it. */
export function drawDisk(
  { days, forecast }: Pick<Reply<'GET /disk'>, 'days' | 'forecast'>,
  { left, right, top, floor }: Box,
): DiskDrawing | undefined {
  const points = days
    .map(one => ({ at: one.at, ms: Date.parse(one.at), used: one.used_bytes, total: one.used_bytes + one.free_bytes }))
    .sort((a, b) => a.ms - b.ms)
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined || points.length < 2) return undefined
  const { total } = last
  const perDay = forecast.bytes_per_day ?? 0
  const until = forecast.days_until_full
  const aheadMs =
    until === null || perDay <= 0 ? 0 : Math.min(until * DAY_MS, Math.max(DAY_MS, (last.ms - first.ms) * AHEAD))
  const end = last.ms + aheadMs
  const x = (ms: number): number => Math.round(left + ((ms - first.ms) / (end - first.ms)) * (right - left))
  const y = (used: number): number => Math.round((floor - Math.min(1, used / total) * (floor - top)) * 10) / 10
  const at = ({ ms, used }: { readonly ms: number; readonly used: number }): string => `${x(ms)} ${y(used)}`
  const runs: (typeof points)[] = []
  for (const point of points) {
    const run = runs.at(-1)
    const before = run?.at(-1)
    if (run !== undefined && before !== undefined && point.ms - before.ms <= APART_MS) run.push(point)
    else runs.push([point])
  }
  const lineOf = (run: typeof points): string => `M${run.map(at).join(' L')}`
  const long = runs.filter(run => run.length > 1)
  const gaps = runs.slice(1).flatMap((run, n) => {
    const [from, to] = [runs[n]?.at(-1), run[0]]
    return from === undefined || to === undefined ? [] : [`M${at(from)} L${at(to)}`]
  })
  const now = { x: x(last.ms), y: y(last.used) }
  return {
    first,
    last,
    total,
    line: long.map(lineOf).join(' '),
    area: long
      .map(run => `${lineOf(run)} L${x((run.at(-1) ?? last).ms)} ${floor} L${x((run[0] ?? first).ms)} ${floor}Z`)
      .join(' '),
    gaps: gaps.length === 0 ? undefined : gaps.join(' '),
    ahead: aheadMs === 0 ? undefined : `M${now.x} ${now.y} L${right} ${y(last.used + (perDay * aheadMs) / DAY_MS)}`,
    now,
    end: new Date(end).toISOString(),
  }
}
