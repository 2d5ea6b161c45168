import { expect, test } from 'vitest'
import { drawDays, knownFrom, roundUp } from './day-chart.ts'

const series = [
  { id: 'high', name: 'High', fill: 'fill-high' },
  { id: 'low', name: 'Low', fill: 'fill-low' },
]
const box = { top: 0, floor: 100 }

test('parts stand on each other over an axis that begins at 0', () => {
  const { most, bars } = drawDays([{ date: '2026-11-01', values: { high: 2, low: 1 } }], series, box)
  expect(most).toBe(4)
  expect(bars[0]).toMatchObject({
    total: 3,
    pieces: [
      { y: 50, height: 50 },
      { y: 25, height: 25 },
    ],
  })
})

test('what hangs below the line has the same scale, and its own room', () => {
  const days = [
    { date: '2026-11-01', values: { high: 4, low: 1 } },
    { date: '2026-11-02', values: { high: 0, low: 4 } },
  ]
  const [up, down] = series
  const { most, low, line, bars } = drawDays(days, [up!, { ...down!, below: true }], box)
  expect([most, low, line]).toEqual([4, 4, 50])
  expect(bars.map(({ total, pieces }) => [total, ...pieces.map(({ y, height }) => [y, height])])).toEqual([
    [4, [0, 50], [50, 12.5]],
    [0, [50, 50]],
  ])
})

test('a mean stands before its peak, and nothing leaves an axis that is given', () => {
  const { most, bars } = drawDays([{ date: '2026-11-01', values: { high: 20, low: 120 } }], series, {
    ...box,
    most: 100,
    nested: true,
  })
  expect([most, bars[0]?.total]).toEqual([100, 120])
  expect(bars[0]?.pieces.map(({ series: { id }, y, height }) => [id, y, height])).toEqual([
    ['low', 0, 100],
    ['high', 80, 20],
  ])
})

test('days before counting began are gaps, as is everything while it never began', () => {
  const days = ['2026-11-01', '2026-11-02', '2026-11-03'].map(date => ({ date, values: { high: 0 } }))
  const known = (since: string | null) => knownFrom(since, days).map(({ values }) => values !== null)
  expect(known('2026-11-02')).toEqual([false, true, true])
  expect(known('2026-10-01')).toEqual([true, true, true])
  expect(known(null)).toEqual([false, false, false])
})

test('a day of which nothing is known is a gap with its neighbours, a day of 0 is not', () => {
  const { bars, gaps } = drawDays(
    [null, null, { high: 0 }, null, { high: 1 }].map((values, n) => ({ date: `2026-11-0${n + 1}`, values })),
    series,
    box,
  )
  expect(bars.map(({ total }) => total)).toEqual([undefined, undefined, 0, undefined, 1])
  expect(gaps).toEqual([
    { from: 0, length: 2 },
    { from: 3, length: 1 },
  ])
})

test.each([
  [0, 4],
  [4, 4],
  [5, 6],
  [20, 20],
  [21, 40],
  [999, 1000],
])('an axis for %i ends at %i', (n, most) => {
  expect(roundUp(n)).toBe(most)
})
