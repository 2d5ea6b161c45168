import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { createTestDb } from '../../test/support/postgres.ts'
import { AppError } from '../core/errors.ts'
import type { Run, WorkKind } from '../core/work.ts'
import type { Db } from '../db/db.ts'
import { currentRequest, inRequest } from '../lib/request-scope.ts'
import { createWorker, type Worker } from './worker.ts'

let db: Db
let close: () => Promise<void>
beforeAll(async () => {
  ;({ db, close } = await createTestDb())
})
afterAll(() => close())
beforeEach(() => db.query('truncate job cascade'))

const NEVER = new AbortController().signal
const quiet = { error: vi.fn(), warn: vi.fn(), info: vi.fn() }
const order = { kind: 'count', request: { to: 3 }, by: 'ada' }

/** A kind of work around a function. */
function workOf(run: (run: Run<unknown>, request: unknown) => Promise<unknown>, limit = 1): WorkKind {
  return { kind: 'count', name: 'Count', see: 'any', cancel: 'maintainer+', limit, run }
}

/** Waits in `run` until it is told to go on, and says when it got there. */
function holdWork() {
  const arrived: Run<unknown>[] = []
  const gate = Promise.withResolvers<string>()
  return {
    arrived,
    letGo: gate.resolve,
    work: (limit?: number) =>
      workOf(async run => {
        arrived.push(run)
        const aborted = new Promise((_, reject) =>
          run.signal.addEventListener('abort', () => reject(run.signal.reason as Error), { once: true }),
        )
        return Promise.race([gate.promise, aborted])
      }, limit),
  }
}

const started: Worker[] = []
async function start(work: WorkKind, begin = true, renewMs = 20): Promise<Worker> {
  const worker = createWorker({ db, log: quiet, lookMs: 20, renewMs })
  worker.handle([work])
  started.push(worker)
  if (begin) await worker.start()
  return worker
}
beforeEach(async () => {
  for (const worker of started.splice(0)) await worker.stop()
})

const stateOf = async (id: string): Promise<string | undefined> =>
  (await db.first<{ state: string }>('select state from job where id = $1', [id]))?.state
const logOf = async (id: string): Promise<string[]> =>
  (
    await db.query<{ line: string }>(`select n || ' ' || message as line from job_event where job_id = $1 order by n`, [
      id,
    ])
  ).map(({ line }) => line)
/** As after `kill -9`: the lease runs out, nobody writes. */
const abandon = (id: string): Promise<unknown> =>
  db.query(`update job set lease_until = now() - interval '1 second' where id = $1`, [id])

describe('a job', () => {
  test('is of the request that asked for it, and so is all that it does', async () => {
    const seen: (string | undefined)[] = []
    const worker = await start(
      workOf(async run => {
        seen.push(run.requestId, currentRequest())
        await new Promise(setImmediate)
        seen.push(currentRequest())
        return null
      }),
    )
    const { id } = await inRequest('r-7', () => worker.ask(order))
    await worker.ended(id, NEVER)
    expect(seen).toEqual(['r-7', 'r-7', 'r-7'])
  })

  test('runs, tells how far it is, and ends with its result', async () => {
    const worker = await start(
      workOf(async (run, request) => {
        await run.step({ total: 3, say: [{ level: 'info', message: 'Three of them.' }] })
        await run.step({ done: 3, cursor: { at: 3 } })
        return { counted: (request as { to: number }).to, by: run.by }
      }),
    )
    const { id, isNew } = await worker.ask(order)
    expect(isNew).toBe(true)
    expect(await worker.ended(id, NEVER)).toEqual({
      state: 'done',
      result: { counted: 3, by: 'ada' },
      error: undefined,
    })
    expect(await logOf(id)).toEqual(['1 Asked for by ada.', '2 Three of them.', '3 Done.'])
    expect(await db.first('select done, total, cursor from job')).toEqual({ done: 3, total: 3, cursor: { at: 3 } })
  })

  test('that equals an open one is that one; after its end it is a new one', async () => {
    const held = holdWork()
    const worker = await start(held.work())
    const first = await worker.ask({ ...order, request: { to: 3, from: 1 } })
    expect(await worker.ask({ ...order, request: { from: 1, to: 3 } })).toEqual({ id: first.id, isNew: false })
    expect((await worker.ask({ ...order, request: { to: 4 } })).isNew).toBe(true)
    expect((await worker.ask({ ...order, target: 'jammy' })).isNew).toBe(true)
    held.letGo('counted')
    await worker.ended(first.id, NEVER)
    expect((await worker.ask({ ...order, request: { to: 3, from: 1 } })).isNew).toBe(true)
  })

  test('waits while as many of its kind run as may, and while one runs on its target', async () => {
    const held = holdWork()
    const worker = await start(held.work(2))
    const ids = []
    for (const [to, target] of [
      [1, 'jammy'],
      [2, 'jammy'],
      [3, 'noble'],
      [4, 'focal'],
    ] as const)
      ids.push((await worker.ask({ ...order, target, request: { to } })).id)
    await vi.waitFor(() => expect(held.arrived).toHaveLength(2))
    expect(await Promise.all(ids.map(stateOf))).toEqual(['running', 'queued', 'running', 'queued'])
    held.letGo('counted')
    for (const id of ids) expect((await worker.ended(id, NEVER)).state).toBe('done')
  })

  test('goes on from its cursor when its process has died, and the dead one can write nothing more', async () => {
    const held = holdWork()
    // as after `kill -9`: it renews nothing
    const dead = await start(held.work(), true, 3_600_000)
    const { id } = await dead.ask(order)
    await vi.waitFor(() => expect(held.arrived).toHaveLength(1))
    const [frozen] = held.arrived
    await frozen?.step({ cursor: { at: 2 }, done: 2, say: [{ level: 'info', message: 'Two.' }] })
    await abandon(id)
    const cursors: unknown[] = []
    const heir = createWorker({ db, log: quiet, lookMs: 20 })
    heir.handle([
      workOf(async run => {
        cursors.push(run.cursor)
        return 'counted'
      }),
    ])
    started.push(heir)
    await heir.start()
    expect(await heir.ended(id, NEVER)).toMatchObject({ state: 'done', result: 'counted' })
    expect(cursors).toEqual([{ at: 2 }])
    await expect(frozen?.step({ done: 3, cursor: { at: 3 } })).rejects.toThrow('another process goes on with the job')
    expect(await db.first('select done, cursor from job')).toEqual({ done: 2, cursor: { at: 2 } })
    expect(await logOf(id)).toEqual(['1 Asked for by ada.', '2 Two.', '3 Done.'])
  })

  test('is given back when the service stops, and goes on at the next start', async () => {
    const held = holdWork()
    const first = await start(held.work())
    const { id } = await first.ask(order)
    await vi.waitFor(() => expect(held.arrived).toHaveLength(1))
    await held.arrived[0]?.step({ cursor: 'middle' })
    await first.stop()
    expect(await stateOf(id)).toBe('queued')
    const next = await start(workOf(async run => run.cursor))
    expect(await next.ended(id, NEVER)).toMatchObject({ state: 'done', result: 'middle' })
  })

  test('that was taken in the moment in which the service stops is given back, and nothing waits for it', async () => {
    const held = holdWork()
    const worker = await start(held.work())
    for (let n = 0; n < 30; n++) {
      await worker.ask({ ...order, request: { to: n } })
      await worker.stop() // the queue is being looked at
      await worker.start()
    }
    await worker.stop()
    expect(await db.query(`select distinct state from job`)).toEqual([{ state: 'queued' }])
  })

  test('that is cancelled ends at once, also when it is cancelled by another process, or still waits', async () => {
    const held = holdWork()
    const worker = await start(held.work())
    const other = await start(held.work(), false)
    for (const canceller of [worker, other]) {
      const { id } = await worker.ask(order)
      await vi.waitFor(async () => expect(await stateOf(id)).toBe('running'))
      const waiting = await worker.ask({ ...order, request: { to: 9 } })
      expect(await canceller.cancel(waiting.id, 'grace')).toBe(true)
      expect(await stateOf(waiting.id)).toBe('cancelled')
      expect(await canceller.cancel(id, 'grace')).toBe(true)
      expect(await worker.ended(id, NEVER)).toEqual({ state: 'cancelled', result: null, error: undefined })
      expect(await logOf(id)).toEqual(['1 Asked for by ada.', '2 Cancelled by grace.', '3 Ended before it was done.'])
      expect(await canceller.cancel(id, 'grace')).toBe(false)
    }
  })

  test('that is refused ends with the reason; one that breaks names no internals', async () => {
    const worker = await start(
      workOf(async (_, request) => {
        const { to } = request as { to: number }
        if (to === 3) throw new AppError('distribution_not_found', { codename: 'sid' })
        if (to === 5) throw Object.assign(new Error('no space left on /x'), { code: 'ENOSPC' })
        throw new Error('secret path /x')
      }),
    )
    const refused = await worker.ask(order)
    expect((await worker.ended(refused.id, NEVER)).error).toEqual({
      code: 'distribution_not_found',
      message: 'There is no distribution sid.',
      facts: { codename: 'sid' },
    })
    const broken = await worker.ask({ ...order, request: { to: 4 } })
    expect((await worker.ended(broken.id, NEVER)).error).toEqual({
      code: 'job_failed',
      message: `Something inside failed: the log says what, in the line about job ${broken.id}. Then ask for it again.`,
      facts: { id: broken.id },
    })
    expect((await logOf(broken.id)).join()).not.toContain('secret')
    const full = await worker.ask({ ...order, request: { to: 5 } })
    expect((await worker.ended(full.id, NEVER)).error).toMatchObject({
      code: 'disk_full',
      message: expect.stringMatching(/^There is no room left on the disk.*free space/) as unknown,
    })
    expect(quiet.error).toHaveBeenCalled()
  })

  test('that kills its process again and again is given up', async () => {
    const worker = await start(
      workOf(async () => 'counted'),
      false,
    )
    const { id } = await worker.ask(order)
    await db.query(`update job set fruitless = 5 where id = $1`, [id])
    await worker.start()
    expect((await worker.ended(id, NEVER)).error?.code).toBe('job_gave_up')
  })

  test('whose step is within a transaction does the item and the step, or neither', async () => {
    await db.query('create table counted (n int)')
    const worker = await start(
      workOf(async run => {
        await db.tx(async tx => {
          await tx.query('insert into counted values (1)')
          await run.step({ cursor: 1, done: 1 }, tx)
        })
        await db.query(`update job set epoch = epoch + 1`) // somebody has taken it over
        await db.tx(async tx => {
          await tx.query('insert into counted values (2)')
          await run.step({ cursor: 2, done: 2 }, tx)
        })
      }),
    )
    await worker.ask(order)
    await vi.waitFor(async () => expect(await db.query('select done from job')).toEqual([{ done: 1 }]))
    await worker.stop()
    expect(await db.query('select n from counted')).toEqual([{ n: 1 }])
  })

  test('that ended some days ago is removed with its log; an open one stays', async () => {
    const worker = await start(
      workOf(async () => 'counted'),
      false,
    )
    const { id } = await worker.ask(order)
    const open = await worker.ask({ ...order, request: { to: 4 } })
    await db.query(`update job set state = 'done', finished_at = now() - interval '31 days' where id = $1`, [id])
    await worker.prune(30)
    expect(await db.query('select id from job')).toEqual([{ id: open.id }])
    expect(await logOf(id)).toEqual([])
  })
})
