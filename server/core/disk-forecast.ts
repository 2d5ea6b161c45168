import type { Forecast } from './disk.ts'

/** How full the disk was at a moment. */
export interface DiskSample {
  readonly at: Date
  readonly usedBytes: number
  readonly freeBytes: number
}

const DAY_MS = 86_400_000
/** How much of the past tells the future. */
export const FORECAST_DAYS = 14
const LEAST_SAMPLES = 24
const LEAST_SPAN_MS = 2 * DAY_MS
const LONGEST_DAYS = 3_650

const median = (sorted: Float64Array): number => {
  const half = sorted.length >> 1
  return sorted.length % 2 === 1 ? (sorted[half] ?? 0) : ((sorted[half - 1] ?? 0) + (sorted[half] ?? 0)) / 2
}

/**
 * The median of the slopes between all pairs, in bytes a day: a third of the samples may be far off, such as after a
 * big deletion, and it stays. Source: Theil 1950, Sen 1968. 336 samples take about 10 ms.
 */
function growth(samples: readonly DiskSample[]): number {
  const slopes = new Float64Array((samples.length * (samples.length - 1)) / 2)
  let n = 0
  for (const [i, later] of samples.entries())
    for (let j = 0; j < i; j++) {
      const earlier = samples[j]
      const ms = earlier === undefined ? 0 : later.at.getTime() - earlier.at.getTime()
      if (earlier !== undefined && ms > 0) slopes[n++] = ((later.usedBytes - earlier.usedBytes) / ms) * DAY_MS
    }
  return median(slopes.subarray(0, n).sort())
}

/**
 * When the disk will be full, if it goes on as in the last 14 days. There is no number of days with too few samples
 * (24 over two days), where the disk does not grow, and beyond ten years.
 * @param samples  in order of time
 * @param leastFreeBytes  below it uploads stop; 0: they never do
 */
export function forecastOf(
  samples: readonly DiskSample[],
  { now, leastFreeBytes }: { readonly now: Date; readonly leastFreeBytes: number },
): Forecast {
  const recent = samples.filter(({ at }) => now.getTime() - at.getTime() <= FORECAST_DAYS * DAY_MS)
  const [first, last] = [recent[0], recent.at(-1)]
  const nothing = {
    days_until_full: null,
    days_until_uploads_stop: null,
    bytes_per_day: null,
    samples: recent.length,
    since: first?.at.toISOString() ?? null,
  }
  const span = first === undefined || last === undefined ? 0 : last.at.getTime() - first.at.getTime()
  if (first === undefined || last === undefined || recent.length < LEAST_SAMPLES || span < LEAST_SPAN_MS)
    return {
      ...nothing,
      why:
        recent.length === 1
          ? `There is 1 sample; it takes ${LEAST_SAMPLES}, over two days.`
          : `There are ${recent.length} samples; it takes ${LEAST_SAMPLES}, over two days.`,
    }
  const bytesPerDay = Math.round(growth(recent))
  if (bytesPerDay <= 0) return { ...nothing, bytes_per_day: bytesPerDay, why: 'The disk does not grow.' }
  const until = (bytes: number): number => Math.max(0, Math.floor(bytes / bytesPerDay))
  const days = until(last.freeBytes)
  if (days > LONGEST_DAYS)
    return { ...nothing, bytes_per_day: bytesPerDay, why: 'At this rate it takes more than ten years.' }
  return {
    ...nothing,
    days_until_full: days,
    days_until_uploads_stop: leastFreeBytes === 0 ? null : until(last.freeBytes - leastFreeBytes),
    bytes_per_day: bytesPerDay,
    why: null,
  }
}
