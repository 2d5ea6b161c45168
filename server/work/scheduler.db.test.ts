import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { createTestDb } from '../../test/support/postgres.ts'
import type { Job } from '../core/feature.ts'
import type { Db } from '../db/db.ts'
import { createScheduler, lastDue, type Scheduler, type SchedulerOptions } from './scheduler.ts'

let db: Db
let close: () => Promise<void>
beforeAll(async () => {
  ;({ db, close } = await createTestDb())
})
afterAll(() => close())
beforeEach(() => db.query('truncate clock_job'))

/** 10:00 in UTC on a day in spring. */
const NOW = new Date('2026-03-10T10:00:00Z')
let now = NOW
beforeEach(() => {
  now = NOW
})
const open: Scheduler[] = []
afterEach(async () => {
  for (const scheduler of open.splice(0)) await scheduler.stop()
})

function make(jobs: readonly Partial<Job>[], options: Partial<SchedulerOptions> = {}): Scheduler {
  const scheduler = createScheduler(
    jobs.map(job => ({
      id: 'night',
      name: 'Nightly',
      when: () => '0 3 * * *',
      run: async () => undefined,
      daily: true,
      ...job,
    })),
    { db, clock: { now: () => now }, zone: () => 'UTC', jitterMs: () => 0, onError: () => undefined, ...options },
  )
  open.push(scheduler)
  return scheduler
}

const runsOf = async (job: Partial<Job> = {}): Promise<number> => {
  const run = vi.fn(async () => undefined)
  const scheduler = make([{ run, ...job }])
  await scheduler.start()
  await scheduler.stop()
  return run.mock.calls.length
}
const rows = (): Promise<object[]> => db.query('select id, due_at, ran_at, error from clock_job order by id')

describe('a missed run', () => {
  test('is made up once, whatever number of days was missed', async () => {
    expect(await runsOf()).toBe(0) // new: nothing was missed
    now = new Date('2026-03-14T11:00:00Z')
    expect(await runsOf()).toBe(1)
    expect(await rows()).toEqual([{ id: 'night', due_at: new Date('2026-03-14T03:00:00Z'), ran_at: now, error: null }])
    expect(await runsOf()).toBe(0)
  })

  test('is none when the hour or its zone was changed meanwhile, or the job was paused', async () => {
    await runsOf()
    expect(await runsOf({ when: () => '0 9 * * *' })).toBe(0)
    now = new Date('2026-03-10T23:30:00Z')
    expect(await runsOf({ when: () => '0 9 * * *', zone: () => 'Pacific/Auckland' })).toBe(0)
    now = new Date('2026-03-12T10:00:00Z')
    expect(await runsOf({ when: () => undefined })).toBe(0)
    expect(await runsOf({ when: () => '0 9 * * *', zone: () => 'Pacific/Auckland' })).toBe(1)
  })

  test('of a job that is not daily is not made up', async () => {
    for (const day of ['2026-03-10', '2026-03-12']) {
      now = new Date(`${day}T10:00:00Z`)
      expect(await runsOf({ daily: undefined as never })).toBe(0)
    }
    expect(await rows()).toEqual([])
  })
})

describe('a run', () => {
  test('by hand is on record, with why it failed, and begins no second one beside it', async () => {
    const gate = Promise.withResolvers<undefined>()
    const run = vi.fn(() => gate.promise)
    const errors: string[] = []
    const scheduler = make([{ run }], { onError: id => errors.push(id) })
    await scheduler.start()
    expect([scheduler.runNow('night'), scheduler.runNow('night'), scheduler.runNow('day')]).toEqual([
      'begun',
      'running',
      undefined,
    ])
    gate.reject(new Error('the disk is full'))
    await scheduler.stop()
    expect(run).toHaveBeenCalledTimes(1)
    expect(errors).toEqual(['night'])
    expect(await rows()).toEqual([{ id: 'night', due_at: NOW, ran_at: NOW, error: 'the disk is full' }])
    expect((await scheduler.lastRuns()).get('night')).toEqual({
      due_at: NOW.toISOString(),
      ran_at: NOW.toISOString(),
      took_ms: expect.any(Number),
      error: 'the disk is full',
    })
  })

  test('that is put off by chance when the service stops is made up at the next start', async () => {
    await runsOf()
    now = new Date('2026-03-11T10:00:00Z')
    const run = vi.fn(async () => undefined)
    const random = vi.fn(() => 0.9)
    const before = await rows()
    // every second: the clock starts it while this test looks on
    const scheduler = make([{ id: 'second', run, when: () => '* * * * * *' }], { jitterMs: () => 3_600_000, random })
    await scheduler.start()
    await vi.waitFor(() => expect(random).toHaveBeenCalled(), 10_000)
    await scheduler.stop()
    expect(run).not.toHaveBeenCalled()
    expect(await rows()).toEqual([...before, { id: 'second', due_at: expect.any(Date), ran_at: null, error: null }])
    now = new Date('2026-03-11T10:00:05Z')
    expect(await runsOf({ id: 'second', when: () => '* * * * * *' })).toBe(1)
  })
})

test('the next run is told where another replica runs the jobs, too; of a paused one there is none', async () => {
  const scheduler = make([{}, { id: 'off', when: () => undefined }, { id: 'often', when: () => '*/5 * * * *' }])
  const nights = { id: 'night', name: 'Nightly', next_run: '2026-03-11T03:00:00.000Z', paused: false, listed: true }
  const expected = [
    nights,
    { ...nights, id: 'off', next_run: null, paused: true },
    { ...nights, id: 'often', next_run: '2026-03-10T10:05:00.000Z' },
  ]
  expect(scheduler.jobs()).toEqual(expected)
  await scheduler.start()
  expect(scheduler.jobs()).toEqual(expected)
})

test('a job that runs often is on record and run by hand where it says so, and is not made up', async () => {
  const run = vi.fn(async () => undefined)
  const often: Partial<Job> = { id: 'count', when: () => '*/5 * * * *', daily: undefined as never, listed: true, run }
  const scheduler = make([often])
  await scheduler.start()
  expect(scheduler.runNow('count')).toBe('begun')
  await vi.waitFor(async () => expect((await scheduler.lastRuns()).get('count')).toMatchObject({ error: null }))
  now = new Date('2026-03-12T10:00:00Z')
  await scheduler.stop()
  await scheduler.start()
  expect(run).toHaveBeenCalledTimes(1)
})

test('the last due moment is that of the zone, also on the day the clocks change, and may be now', () => {
  const at = (line: string, zone: string, when: string): string => lastDue({ line, zone }, new Date(when)).toISOString()
  expect(at('0 3 * * *', 'UTC', '2026-03-10T03:00:00Z')).toBe('2026-03-10T03:00:00.000Z')
  expect(at('0 3 * * *', 'UTC', '2026-03-10T02:59:58Z')).toBe('2026-03-09T03:00:00.000Z')
  expect(at('0 3 * * *', 'Europe/Paris', '2026-03-28T12:00:00Z')).toBe('2026-03-28T02:00:00.000Z')
  expect(at('0 3 * * *', 'Europe/Paris', '2026-03-29T12:00:00Z')).toBe('2026-03-29T01:00:00.000Z')
})
