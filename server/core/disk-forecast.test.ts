import { describe, expect, test } from 'vitest'
import { forecastOf, type DiskSample } from './disk-forecast.ts'

const GB = 1024 ** 3
const HOUR_MS = 3_600_000
const now = new Date('2026-03-15T00:00:00Z')

/** One sample an hour up to now, of a disk of 100 GB. `used` is given hours since the first. */
const hourly = (hours: number, used: (hour: number) => number): DiskSample[] =>
  Array.from({ length: hours }, (_, n) => ({
    at: new Date(now.getTime() - (hours - 1 - n) * HOUR_MS),
    usedBytes: used(n) * GB,
    freeBytes: (100 - used(n)) * GB,
  }))
const ask = (samples: readonly DiskSample[], leastFreeGb = 1) =>
  forecastOf(samples, { now, leastFreeBytes: leastFreeGb * GB })

describe('days until the disk is full', () => {
  test.each<[string, DiskSample[], number | null, number | null]>([
    // 14 days of 1 GB a day: 66 GB are left at the end
    ['1 GB a day, evenly', hourly(337, hour => 20 + hour / 24), 66, 65],
    ['half a GB a day', hourly(337, hour => 50 + hour / 48), 86, 84],
    ['a big deletion in the middle', hourly(337, hour => 40 + hour / 24 - (hour > 200 ? 25 : 0)), 71, 70],
    ['a wild sample now and then', hourly(337, hour => 20 + hour / 24 + (hour % 10 === 0 ? 30 : 0)), 66, 65],
    ['nights without uploads', hourly(337, hour => 20 + Math.floor(hour / 24) + Math.min(1, (hour % 24) / 8)), 66, 65],
    ['full already', hourly(337, hour => Math.min(100, 90 + hour / 24)), 0, 0],
    ['below the room for uploads', hourly(337, hour => 85.5 + hour / 24), 0, 0],
    ['only the last fourteen days count', hourly(2000, hour => (hour < 1663 ? 90 : 20 + (hour - 1663) / 24)), 66, 65],
  ])('%s', (_, samples, full, stop) => {
    const { days_until_full: days, days_until_uploads_stop: stops, why } = ask(samples)
    expect([days, stops, why]).toEqual([full, stop, null])
  })

  test('nothing stops where no room is asked for', () => {
    expect(
      ask(
        hourly(337, hour => 20 + hour / 24),
        0,
      ),
    ).toMatchObject({
      days_until_full: 66,
      days_until_uploads_stop: null,
    })
  })
})

describe('no number of days', () => {
  test.each<[string, DiskSample[], number | null, string]>([
    ['no sample', [], null, 'There are 0 samples; it takes 24, over two days.'],
    ['one sample', hourly(1, () => 5), null, 'There is 1 sample; it takes 24, over two days.'],
    ['a day of samples', hourly(25, hour => hour), null, 'There are 25 samples; it takes 24, over two days.'],
    [
      '23 samples',
      hourly(230, hour => hour).filter((_, n) => n % 10 === 9),
      null,
      'There are 23 samples; it takes 24, over two days.',
    ],
    ['the same all the time', hourly(337, () => 5), 0, 'The disk does not grow.'],
    ['it empties', hourly(337, hour => 50 - hour / 24), -GB, 'The disk does not grow.'],
    ['a jump, and quiet since', hourly(337, hour => (hour < 10 ? 5 : 50)), 0, 'The disk does not grow.'],
    ['a MB a day', hourly(337, hour => 5 + hour / 24 / 1024), 1024 ** 2, 'At this rate it takes more than ten years.'],
  ])('%s', (_, samples, perDay, why) => {
    expect(ask(samples)).toMatchObject({
      days_until_full: null,
      days_until_uploads_stop: null,
      bytes_per_day: perDay,
      why,
    })
  })

  test('samples of another time say nothing', () => {
    const later = new Date(now.getTime() + 30 * 24 * HOUR_MS)
    expect(
      forecastOf(
        hourly(337, hour => hour),
        { now: later, leastFreeBytes: 0 },
      ),
    ).toMatchObject({
      samples: 0,
      since: null,
      days_until_full: null,
    })
  })
})
