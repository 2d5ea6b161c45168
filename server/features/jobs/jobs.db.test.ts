import { setTimeout } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { codeOf, createCaller } from '../../../test/support/routes.ts'
import { createTestDb } from '../../../test/support/postgres.ts'
import type { Role } from '../../core/access.ts'
import type { Db } from '../../db/db.ts'
import { createScheduler, type Scheduler } from '../../work/scheduler.ts'
import { createWorker, type Worker } from '../../work/worker.ts'
import { jobs } from './contract.ts'
import { jobHandlers } from './handlers.ts'

let db: Db
let close: () => Promise<void>
let worker: Worker
let gate = Promise.withResolvers<unknown>()
const audited: unknown[] = []
const quiet = { error: vi.fn(), warn: vi.fn(), info: vi.fn() }
let scheduler: Scheduler
const makeScheduler = (): Scheduler =>
  createScheduler(
    [
      {
        id: 'asks',
        name: 'Copy',
        when: () => '0 3 * * *',
        daily: true,
        work: { kind: 'copy', request: {} },
        run: () => worker.ask({ kind: 'copy', request: {}, by: 'system' }),
      },
      { id: 'nightly', name: 'Tidy up', when: () => '0 3 * * *', run: async () => undefined, daily: true },
      { id: 'often', name: 'Look', when: () => '* * * * *', run: async () => undefined },
      { id: 'count', name: 'Count', when: () => '*/5 * * * *', run: async () => undefined, listed: true },
    ],
    {
      db,
      clock: { now: () => new Date() },
      zone: () => 'UTC',
      jitterMs: () => 0,
      onError: () => undefined,
    },
  )
beforeAll(async () => {
  ;({ db, close } = await createTestDb())
  scheduler = makeScheduler()
  await scheduler.start()
})
afterAll(async () => {
  await scheduler.stop()
  await close()
})
beforeEach(async () => {
  await db.query('truncate job cascade')
  gate = Promise.withResolvers()
  audited.length = 0
  worker = createWorker({ db, log: quiet, lookMs: 20, renewMs: 20 })
  worker.handle([
    {
      kind: 'copy',
      name: 'Copy packages',
      see: 'maintainer+',
      cancel: 'admin',
      run: async run => {
        await setTimeout(2) // a pace needs a time
        await run.step({ total: 4, done: 1, say: [{ level: 'info', message: 'One is there.', data: { n: 1 } }] })
        run.signal.throwIfAborted()
        return Promise.race([
          gate.promise,
          new Promise((_, reject) =>
            run.signal.addEventListener('abort', () => reject(run.signal.reason as Error), { once: true }),
          ),
        ])
      },
    },
  ])
  await worker.start()
})
afterEach(() => worker.stop())

const { call } = createCaller(jobs, jobHandlers, () => ({
  db,
  worker,
  scheduler,
  kinds: () => worker.kinds(),
  zone: () => 'UTC',
  audit: { record: async (fact: unknown) => void audited.push(fact) } as never,
}))
const as = (role: Role, name: string = role, hidden: readonly string[] = []) => ({
  who: { kind: 'user', name, role, credential: 'x' } as const,
  viewer: { hidden },
})
const ask = async (more: object = {}): Promise<string> =>
  (await worker.ask({ kind: 'copy', request: {}, by: 'ada', target: 'jammy', codenames: ['jammy'], ...more })).id
const moved = (id: string): Promise<void> =>
  vi.waitFor(async () =>
    expect(await call('GET /jobs/{id}', { params: { id }, ...as('admin') })).toMatchObject({ done_count: 1 }),
  )

describe('a job is seen', () => {
  test('by those whose role its kind allows, and by who asked for it; not by whom its distribution is hidden from', async () => {
    const id = await ask()
    const seen = async (caller: ReturnType<typeof as>): Promise<unknown> => {
      const listed = (await call('GET /jobs', { query: {}, ...caller })).items.map(one => one.job_id)
      const one = await codeOf(call('GET /jobs/{id}', { params: { id }, ...caller }))
      const followed = await codeOf(call('GET /jobs/{id}/events', { params: { id }, query: {}, ...caller }))
      return [listed, one, followed]
    }
    const nothing = [[], 'job_not_found', 'job_not_found']
    expect(await seen(as('uploader'))).toEqual(nothing)
    expect(await seen(as('auditor'))).toEqual(nothing)
    expect(await seen(as('maintainer', 'grace', ['jammy']))).toEqual(nothing)
    expect(await seen(as('reader', 'ada', ['jammy']))).toEqual(nothing)
    expect(await seen(as('maintainer', 'grace', ['noble']))).toEqual([[id], 'no refusal', 'no refusal'])
    expect(await seen(as('reader', 'ada'))).toEqual([[id], 'no refusal', 'no refusal'])
  })

  test('that counts packages of all distributions only by those who see all of them', async () => {
    const id = await ask({ codenames: 'all', target: '' })
    const listed = async (hidden: readonly string[]): Promise<string[]> =>
      (await call('GET /jobs', { query: {}, ...as('admin', 'ada', hidden) })).items.map(one => one.job_id)
    expect([await listed([]), await listed(['noble'])]).toEqual([[id], []])
  })

  test('with how far it is, and at its end with its result', async () => {
    const id = await ask({ requestId: 'r-1' })
    await moved(id)
    expect(await call('GET /jobs', { query: { state: 'open' }, ...as('admin') })).toEqual({
      items: [
        {
          job_id: id,
          kind: 'copy',
          label: 'Copy packages',
          target: 'jammy',
          status: 'running',
          asked_by: 'ada',
          request_id: 'r-1',
          asked_at: expect.any(String),
          started_at: expect.any(String),
          finished_at: null,
          done_count: 1,
          total: 4,
          bytes: 0,
          total_bytes: null,
          items_per_second: expect.any(Number),
          bytes_per_second: 0,
          remaining_seconds: expect.any(Number),
          cancelling: false,
          cancelled_by: null,
          may_cancel: true,
          log_count: 2,
          result: null,
          error: null,
        },
      ],
      total: 1,
      page: 1,
      per_page: 50,
      pages: 1,
    })
    gate.resolve({ copied: 4 })
    await worker.ended(id, new AbortController().signal)
    expect(await call('GET /jobs/{id}', { params: { id }, ...as('admin') })).toMatchObject({
      status: 'done',
      result: { copied: 4 },
      remaining_seconds: null,
      may_cancel: false,
    })
    expect((await call('GET /jobs', { query: { state: 'done' }, ...as('admin') })).items).toMatchObject([
      { result: null },
    ])
    expect((await call('GET /jobs', { query: { state: 'open' }, ...as('admin') })).total).toBe(0)
  })
})

describe('its stream', () => {
  const read = async (id: string, query: Record<string, unknown> = {}): Promise<unknown[]> => {
    const stream = await call('GET /jobs/{id}/events', { params: { id }, query, ...as('admin') })
    const seen: { readonly id?: string; readonly event?: string; readonly data: unknown }[] = []
    for await (const event of stream) seen.push(event)
    return seen.map(({ id: n, event, data }) => [
      event,
      n,
      event === 'log' ? (data as { message: string }).message : (data as { status: string }).status,
    ])
  }

  test('has every line once, progress, and the end; it resumes after the last line seen', async () => {
    const id = await ask()
    await moved(id)
    const whole = read(id)
    const rest = read(id, { last_event_id: '1' })
    gate.resolve('copied')
    const log = async (events: Promise<unknown[]>): Promise<unknown[]> =>
      (await events).filter(one => (one as [string])[0] !== 'progress')
    const end = [
      ['log', '2', 'One is there.'],
      ['log', '3', 'Done.'],
      ['end', undefined, 'done'],
    ]
    expect(await log(whole)).toEqual([['log', '1', 'Asked for by ada.'], ...end])
    expect(await log(rest)).toEqual(end)
    expect(await read(id, { last_event_id: '3' })).toEqual([['end', undefined, 'done']])
  })
})

describe('cancelling', () => {
  test('is for who asked for it and for whom its kind allows, and is on record', async () => {
    const id = await ask()
    await moved(id)
    const params = { id }
    expect(await codeOf(call('POST /jobs/{id}/cancel', { params, ...as('maintainer') }))).toBe('job_not_yours')
    expect(await call('POST /jobs/{id}/cancel', { params, ...as('reader', 'ada') })).toMatchObject({
      job_id: id,
      cancelled: true,
    })
    expect((await worker.ended(id, new AbortController().signal)).state).toBe('cancelled')
    expect(await call('POST /jobs/{id}/cancel', { params, ...as('admin') })).toEqual({
      job_id: id,
      cancelled: false,
      status: 'cancelled',
      message: 'The job has ended already.',
    })
    expect(audited).toMatchObject([
      { action: 'JOB_CANCEL', user: 'ada', facts: { kind: 'job.cancelled', job: id, work: 'Copy packages' } },
    ])
  })
})

describe('the clock', () => {
  test('shows daily jobs and those that ask for it, and runs one of them by hand', async () => {
    expect(await call('GET /schedule', as('maintainer'))).toEqual({
      jobs: [
        { id: 'asks', name: 'Copy', next_run: expect.any(String), last: null },
        { id: 'nightly', name: 'Tidy up', next_run: expect.any(String), last: null },
        { id: 'count', name: 'Count', next_run: expect.any(String), last: null },
      ],
      timezone: 'UTC',
      is_leader: true,
    })
    expect(await call('POST /schedule/{id}/run', { params: { id: 'nightly' }, ...as('admin') })).toEqual({
      message: 'Begun: Tidy up.',
    })
    expect(await codeOf(call('POST /schedule/{id}/run', { params: { id: 'often' }, ...as('admin') }))).toBe(
      'clock_job_not_found',
    )
    expect(audited).toMatchObject([{ action: 'JOB_RUN', facts: { kind: 'job.run', job: 'nightly', work: 'Tidy up' } }])
    await vi.waitFor(async () =>
      expect((await call('GET /schedule', as('admin'))).jobs[1]?.last).toMatchObject({ error: null }),
    )
  })

  test('counts work that was asked for by hand as the last run, once it has ended and with how it went', async () => {
    const last = async () => (await call('GET /schedule', as('admin'))).jobs.find(({ id }) => id === 'asks')?.last
    await moved(await ask({ request: { only: 'a part' } }))
    gate.resolve(undefined)
    await vi.waitFor(async () => expect(await db.query("select 1 from job where state = 'done'")).toHaveLength(1))
    expect(await last()).toBeNull() // a part is not the whole

    gate = Promise.withResolvers()
    const id = await ask({ request: { ip: '10.0.0.9' } })
    await moved(id)
    expect(await last()).toBeNull()
    gate.reject(new Error('no room'))
    await vi.waitFor(async () => expect(await last()).not.toBeNull())
    const { error, finished_at } = await call('GET /jobs/{id}', { params: { id }, ...as('admin') })
    const failed = {
      due_at: expect.any(String),
      ran_at: finished_at,
      took_ms: expect.any(Number),
      error: error?.message,
    }
    expect(await last()).toEqual(failed)

    gate = Promise.withResolvers()
    await call('POST /schedule/{id}/run', { params: { id: 'asks' }, ...as('admin') })
    await vi.waitFor(async () =>
      expect(await db.query("select 1 from clock_job where id = 'asks' and ran_at is not null")).toHaveLength(1),
    )
    expect(await last()).toEqual(failed) // that the clock asks for it is no success
    gate.resolve(undefined)
    await vi.waitFor(async () => expect(await last()).toMatchObject({ error: null }))
  })
})
