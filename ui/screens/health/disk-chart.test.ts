import { expect, test } from 'vitest'
import { drawDisk } from './disk-chart.ts'

const GB = 1e9
const days = [0, 1, 2].map(n => ({
  at: new Date(Date.UTC(2026, 10, 1 + n)).toISOString(),
  used_bytes: (40 + 10 * n) * GB,
  free_bytes: (60 - 10 * n) * GB,
}))
const forecast = { days_until_uploads_stop: 39, samples: 3, since: null, why: null }
const box = { left: 0, right: 600, top: 0, floor: 100 }

test('the axis begins at 0, the forecast goes on from today until the disk is full', () => {
  expect(drawDisk({ days, forecast: { ...forecast, days_until_full: 4, bytes_per_day: 10 * GB } }, box)).toMatchObject({
    total: 100 * GB,
    line: 'M0 60 L100 50 L200 40',
    area: 'M0 60 L100 50 L200 40 L200 100 L0 100Z',
    gaps: undefined,
    ahead: 'M200 40 L600 0',
    now: { x: 200, y: 40 },
    end: '2026-11-07T00:00:00.000Z',
  })
})

test('a disk that fills in years is drawn for three times the days that are known', () => {
  const drawn = drawDisk({ days, forecast: { ...forecast, days_until_full: 400, bytes_per_day: GB / 10 } }, box)
  expect(drawn).toMatchObject({ ahead: 'M150 40 L600 39.4', end: '2026-11-09T00:00:00.000Z' })
})

test('what nobody can tell is not drawn: no forecast without a number, no chart of one day', () => {
  const unknown = { ...forecast, days_until_full: null, bytes_per_day: null }
  expect(drawDisk({ days, forecast: unknown }, box)).toMatchObject({ ahead: undefined, now: { x: 600, y: 40 } })
  expect(drawDisk({ days: days.slice(0, 1), forecast: unknown }, box)).toBeUndefined()
})

test('days that nobody measured are no part of the line, and nothing is filled below them', () => {
  const unknown = { ...forecast, days_until_full: null, bytes_per_day: null }
  const [one, two, three] = days
  const late = (n: number, day = three) => ({ ...day, at: new Date(Date.UTC(2026, 10, 1 + n)).toISOString() })
  expect(drawDisk({ days: [one, two, late(9), late(10)] as typeof days, forecast: unknown }, box)).toMatchObject({
    line: 'M0 60 L60 50 M540 40 L600 40',
    area: 'M0 60 L60 50 L60 100 L0 100Z M540 40 L600 40 L600 100 L540 100Z',
    gaps: 'M60 50 L540 40',
  })
})
