import { beforeEach, expect, test } from 'vitest'
import { createFakeClock } from '../../../test/support/clock.ts'
import { AppError } from '../../core/errors.ts'
import { createFlights, within } from './flights.ts'
import { createFreshness, type AskedRow, type Known } from './freshness.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

interface Row extends AskedRow {
  readonly value: number
}
const clock = createFakeClock()
let row: Row | undefined
let asked = 0
let answer: () => Promise<void>
const freshness = createFreshness({ clock, log: { warn: () => undefined }, flights: createFlights() })
const works = async (): Promise<void> => {
  row = { value: asked, checked_at: clock.now(), tried_at: clock.now(), said: null }
}
const fails = async (): Promise<never> => {
  throw new AppError('outbound_failed', { host: 'far.example', why: 'it answered 500' })
}
const current = (): Promise<Known<Row> | undefined> =>
  freshness.current<Row>({
    key: 'thing',
    find: async () => row,
    refresh: async () => {
      asked += 1
      await answer()
    },
    failed: async said => {
      row = row && { ...row, tried_at: clock.now(), said }
    },
  })

beforeEach(() => {
  row = undefined
  asked = 0
  answer = works
})

test('an upstream is asked once in five minutes, and once for all who ask together', async () => {
  expect((await Promise.all([current(), current(), current()])).map(one => one?.value)).toEqual([1, 1, 1])
  clock.advance(5 * MINUTE - 1)
  expect((await current())?.value).toBe(1)
  clock.advance(1)
  expect((await current())?.value).toBe(2)
})

test('while it fails, what was known holds for seven days, and it is tried again after half a minute', async () => {
  await current()
  const since = clock.now()
  answer = fails
  clock.advance(5 * MINUTE)
  const stale = { since, said: 'far.example gave no usable answer: it answered 500.' }
  expect(await current()).toMatchObject({ value: 1, stale })
  clock.advance(29_000)
  expect(await current()).toMatchObject({ value: 1, stale })
  expect(asked).toBe(2)
  clock.advance(1_000)
  await current()
  expect(asked).toBe(3)
  clock.advance(7 * DAY - 6 * MINUTE)
  expect(await current()).toMatchObject({ value: 1, stale })
  clock.advance(6 * MINUTE)
  await expect(current()).rejects.toMatchObject({ code: 'outbound_failed' })
  answer = works
  expect(await current()).not.toHaveProperty('stale')
})

test('what was never known fails as the upstream does', async () => {
  answer = fails
  await expect(current()).rejects.toMatchObject({ code: 'outbound_failed' })
  expect(row).toBeUndefined()
})

test('whoever loses patience gets nothing, and the work goes on', async () => {
  const flights = createFlights()
  const finished: (() => void)[] = []
  const work = () =>
    flights.join(
      'work',
      () =>
        new Promise<string>(resolve => {
          finished.push(() => resolve('done'))
        }),
    )
  const first = work()
  expect(await within(1, first)).toBeUndefined()
  const second = work()
  finished.forEach(end => end())
  expect([finished.length, await first, await within(60_000, second)]).toEqual([1, 'done', 'done'])
  // a later one begins anew
  const third = work()
  finished.forEach(end => end())
  expect([finished.length, await third]).toEqual([2, 'done'])
})
