import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createStock, type Stock } from '../../../test/support/test-catalog.ts'
import { createMachineHistory } from './machine-history.ts'

let stock: Stock
beforeAll(async () => {
  stock = await createStock()
})
afterAll(() => stock.close())
beforeEach(async () => {
  await stock.db.query('truncate machine_sample')
})
const on = (machine: string) => createMachineHistory({ ...stock, machine })
const seen = (one: number, used: number | null) => ({
  cores: 4,
  load: { one, five: 0, fifteen: 0, per_core: 0 },
  memory: used === null ? null : { total_mb: 8_000, available_mb: 8_000 - used, used_pct: 0, limit_mb: null },
})
async function note(machine: string, at: string, ...facts: readonly [number, number | null]): Promise<void> {
  stock.clock.set(at)
  await on(machine).note(seen(...facts))
}
const nothing = { hours: 0, load_mean: null, load_peak: null, memory_mean_mb: null, memory_peak_mb: null }

test('a day has the mean and the peak of its samples; one while the service was off has neither', async () => {
  await note('a', '2026-03-08T23:59:00Z', 1, 1_000)
  await note('a', '2026-03-10T09:00:00Z', 0.5, 2_000)
  await note('a', '2026-03-10T09:01:00Z', 2.5, 4_000)
  await note('a', '2026-03-10T11:00:00Z', 0, 3_000)
  expect(await on('a').read(3)).toEqual([
    {
      machine: 'a',
      here: true,
      last_at: '2026-03-10T11:00:00.000Z',
      cores: 4,
      memory_total_mb: 8_000,
      days: [
        {
          date: '2026-03-08',
          hours: 1,
          load_mean: 1,
          load_peak: 1,
          memory_mean_mb: 1_000,
          memory_peak_mb: 1_000,
        },
        { date: '2026-03-09', ...nothing },
        {
          date: '2026-03-10',
          hours: 2,
          load_mean: 1,
          load_peak: 2.5,
          memory_mean_mb: 3_000,
          memory_peak_mb: 4_000,
        },
      ],
    },
  ])
})

test('memory that could not be read is unknown, not 0, and does not lower the mean of what was', async () => {
  await note('a', '2026-03-09T10:00:00Z', 1, null)
  await note('a', '2026-03-10T10:00:00Z', 1, null)
  await note('a', '2026-03-10T10:01:00Z', 1, 2_000)
  const [one] = await on('a').read(2)
  expect(one?.days.map(day => [day.hours, day.load_mean, day.memory_mean_mb, day.memory_peak_mb])).toEqual([
    [1, 1, null, null],
    [1, 1, 2_000, 2_000],
  ])
})

test('each replica has its own days: the one that answers first, then those seen last, at most 20', async () => {
  await note('old', '2026-03-08T10:00:00Z', 3, 1)
  await note('other', '2026-03-10T10:00:00Z', 2, 1)
  await note('here', '2026-03-09T10:00:00Z', 1, 1)
  stock.clock.set('2026-03-10T12:00:00Z')
  const read = async () => (await on('here').read(30)).map(({ machine, here }) => [machine, here])
  expect(await read()).toEqual([
    ['here', true],
    ['other', false],
    ['old', false],
  ])
  for (let n = 0; n < 25; n++) await note(`container-${n}`, '2026-03-11T10:00:00Z', 1, 1)
  expect([(await read()).length, (await read())[0]]).toEqual([20, ['here', true]])
})

test('two processes of one machine add to the same hours', async () => {
  await Promise.all([on('a').note(seen(1, 100)), on('a').note(seen(3, 300))])
  const [one] = await on('a').read(1)
  expect(one?.days).toMatchObject([{ hours: 1, load_mean: 2, load_peak: 3, memory_mean_mb: 200, memory_peak_mb: 300 }])
})

test('samples of more than 90 days ago are removed', async () => {
  await note('a', '2026-03-10T10:00:00Z', 1, 1)
  await note('b', '2026-06-07T10:00:00Z', 1, 1)
  const kept = () => stock.db.query('select machine from machine_sample order by machine')
  expect(await kept()).toEqual([{ machine: 'a' }, { machine: 'b' }])
  await note('b', '2026-06-09T10:00:00Z', 1, 1)
  expect(await kept()).toEqual([{ machine: 'b' }, { machine: 'b' }])
})
