import type { Reply } from '../../wire.ts'

const DAY_MS = 86_400_000
/** A forecast is drawn for at most so many times the days that are known. */
const AHEAD = 3

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
  readonly line: string
  readonly area: string
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
  const line = points.map(({ ms, used }, n) => `${n === 0 ? 'M' : 'L'}${x(ms)} ${y(used)}`).join(' ')
  const now = { x: x(last.ms), y: y(last.used) }
  return {
    first,
    last,
    total,
    line,
    area: `${line} L${now.x} ${floor} L${x(first.ms)} ${floor}Z`,
    ahead: aheadMs === 0 ? undefined : `M${now.x} ${now.y} L${right} ${y(last.used + (perDay * aheadMs) / DAY_MS)}`,
    now,
    end: new Date(end).toISOString(),
  }
}
