import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { createTestDb } from '../../test/support/postgres.ts'
import type { Db } from './db.ts'
import { createOutbox, type Outbox } from './outbox.ts'

let db: Db
let close: () => Promise<void>
beforeAll(async () => {
  ;({ db, close } = await createTestDb())
})
afterAll(() => close())
beforeEach(() => db.query('truncate outbox'))

const owed = async (): Promise<string[]> =>
  (await db.query<{ key: string }>('select key from outbox order by id')).map(row => row.key)

async function withOutbox(work: (outbox: Outbox, errors: string[]) => Promise<void>): Promise<void> {
  const errors: string[] = []
  const outbox = createOutbox({ db, onError: key => errors.push(key), tickMs: 20 })
  try {
    await work(outbox, errors)
  } finally {
    await outbox.stop()
  }
}

/** Deliveries of publications that wait until they are let go; then they take along what is owed by now, if told to. */
function holdPublications(outbox: Outbox, { joins = false } = {}) {
  const started = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const held = { runs: 0, started: started.promise, letGo: gate.resolve }
  outbox.handle('publish', async (_, join) => {
    held.runs++
    started.resolve()
    await gate.promise
    if (joins) await join()
  })
  return held
}

/** Owes a publication, and another one during its delivery. @returns how often it was delivered until both were done */
async function oweTwice(outbox: Outbox, options: { readonly joins: boolean }): Promise<number> {
  const held = holdPublications(outbox, options)
  await db.tx(tx => outbox.owe(tx, 'publish:jammy'))
  outbox.start()
  await held.started
  const late = await db.tx(tx => outbox.owe(tx, 'publish:jammy'))
  const settled = outbox.settled('publish:jammy', late, 5_000)
  held.letGo()
  expect(await settled).toBe(true)
  await outbox.drain()
  expect(await owed()).toEqual([])
  return held.runs
}

describe('the outbox', () => {
  test('requests under one key share one delivery, and every caller is answered', () =>
    withOutbox(async outbox => {
      const delivered: string[] = []
      outbox.handle('publish', async rests => {
        delivered.push(...rests)
      })
      const asks = await Promise.all([1, 2, 3].map(() => db.tx(tx => outbox.owe(tx, 'publish:jammy'))))
      const told = Promise.all(asks.map(ask => outbox.settled('publish:jammy', ask, 5_000)))
      outbox.start()
      expect(await told).toEqual([true, true, true])
      expect(delivered).toEqual(['jammy'])
      expect(await owed()).toEqual([])
    }))

  test('a request made while its key is being delivered is delivered again', () =>
    withOutbox(async outbox => {
      expect(await oweTwice(outbox, { joins: false })).toBe(2)
    }))

  test('a delivery that waits takes along what was owed until it joins, and its caller is answered with it', () =>
    withOutbox(async outbox => {
      expect(await oweTwice(outbox, { joins: true })).toBe(1)
    }))

  test('a debt that was delivered while the loop read the debts is not delivered twice', async () => {
    const read = Promise.withResolvers<void>()
    const hold = Promise.withResolvers<void>()
    let holding = false
    const repeat: Db['repeat'] = async (sql, values) => {
      const rows = await db.repeat(sql, values)
      if (holding && sql.includes('from outbox group by')) {
        holding = false
        read.resolve()
        await hold.promise
      }
      return rows as never
    }
    const outbox = createOutbox({ db: { ...db, repeat }, onError: () => undefined, tickMs: 60_000 })
    const held = holdPublications(outbox)
    const ask = await db.tx(tx => outbox.owe(tx, 'publish:jammy'))
    const settled = outbox.settled('publish:jammy', ask, 5_000)
    outbox.start()
    await held.started
    holding = true
    outbox.nudge()
    await read.promise // it has seen the ask that is under way
    held.letGo()
    expect(await settled).toBe(true)
    hold.resolve()
    await outbox.stop()
    expect(held.runs).toBe(1)
  })

  test('a debt of a rolled-back transaction is never delivered', () =>
    withOutbox(async outbox => {
      outbox.handle('publish', async () => {
        throw new Error('must not run')
      })
      await expect(
        db.tx(async tx => {
          await outbox.owe(tx, 'publish:jammy')
          throw new Error('rolled back')
        }),
      ).rejects.toThrow('rolled back')
      await outbox.drain()
      expect(await owed()).toEqual([])
    }))

  test('a failed delivery stays a debt, is logged and listed, and is tried again', () =>
    withOutbox(async (outbox, errors) => {
      let broken = true
      outbox.handle('publish', async () => {
        if (broken) throw new Error('disk is full')
      })
      const ask = await db.tx(tx => outbox.owe(tx, 'publish:jammy'))
      const first = outbox.settled('publish:jammy', ask, 5_000)
      outbox.start()
      expect(await first).toBe(false)
      expect(errors).toEqual(['publish:jammy'])
      await expect.poll(() => outbox.stuck()).toEqual([{ key: 'publish:jammy', tries: 1, last_error: 'disk is full' }])
      broken = false
      await expect.poll(owed, { timeout: 5_000 }).toEqual([])
    }))

  test('kinds that take batches get several keys at once, up to their limit', () =>
    withOutbox(async outbox => {
      const batches: number[] = []
      outbox.handle(
        'manifest',
        async rests => {
          batches.push(rests.length)
        },
        { batch: 4, parallel: 2 },
      )
      await db.tx(async tx => {
        for (let n = 0; n < 10; n++) await outbox.owe(tx, `manifest:${n}`)
      })
      await outbox.drain()
      expect(batches.reduce((sum, n) => sum + n)).toBe(10)
      expect(Math.max(...batches)).toBe(4)
    }))

  test('draining also tries debts that are not due yet, and ends although one keeps failing', () =>
    withOutbox(async (outbox, errors) => {
      const delivered: string[] = []
      outbox.handle('contents', async rests => {
        delivered.push(...rests)
      })
      outbox.handle('publish', async () => {
        throw new Error('no key')
      })
      await db.tx(async tx => {
        await outbox.owe(tx, 'contents:jammy', { delayMs: 60_000 })
        await outbox.owe(tx, 'publish:jammy')
      })
      await outbox.drain()
      expect(delivered).toEqual(['jammy'])
      expect(errors).toEqual(['publish:jammy'])
      expect(await owed()).toEqual(['publish:jammy'])
    }))

  test('a debt that is due later than its kind allows is delivered at once: the clock was set back', () =>
    withOutbox(async outbox => {
      const delivered: string[] = []
      outbox.handle(
        'publish',
        async ([rest = '']) => {
          delivered.push(rest)
        },
        { longestMs: 60_000 },
      )
      outbox.handle('webhook', async ([rest = '']) => {
        delivered.push(rest)
      })
      await outbox.owe(db, 'webhook:in-two-hours', { delayMs: 7_200_000 })
      const soon = await outbox.owe(db, 'publish:soon', { delayMs: 50_000 })
      const ask = await outbox.owe(db, 'publish:jammy', { delayMs: 25 })
      await db.query(`update outbox set not_before = not_before + interval '1 hour' where id = $1`, [ask])
      outbox.start()
      expect(await outbox.settled('publish:jammy', ask, 20_000)).toBe(true)
      expect(delivered).toEqual(['jammy'])
      expect(await owed()).toEqual(['webhook:in-two-hours', 'publish:soon'])
      expect(soon).toBeLessThan(ask)
    }))

  test('a failed delivery is tried again also when the clock is set back meanwhile', () =>
    withOutbox(async outbox => {
      let tries = 0
      const failed = Promise.withResolvers<void>()
      outbox.handle('publish', async () => {
        if (tries++ === 0) {
          failed.resolve()
          throw new Error('once')
        }
      })
      await outbox.owe(db, 'publish:jammy')
      try {
        outbox.start()
        await failed.promise
        vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 })
        await vi.waitUntil(() => tries === 2, { timeout: 20_000 })
      } finally {
        vi.useRealTimers()
      }
    }))

  test('waiting ends with false after its time', () =>
    withOutbox(async outbox => {
      const ask = await db.tx(tx => outbox.owe(tx, 'publish:jammy'))
      expect(await outbox.settled('publish:jammy', ask, 10)).toBe(false)
    }))

  test('a key with a colon, a slash and a quote in it arrives as it was owed', () =>
    withOutbox(async outbox => {
      const seen: string[] = []
      outbox.handle('manifest', async rests => {
        seen.push(...rests)
      })
      const ref = JSON.stringify({ name: 'a"b', version: '1:2.0~rc1+b1/x' })
      await db.tx(tx => outbox.owe(tx, `manifest:${ref}`))
      await outbox.drain()
      expect(seen).toEqual([ref])
    }))
})

test('an ask that another process delivered is answered at once, also where this one leads by now', async () => {
  let leading = false
  const outbox = createOutbox({ db, onError: () => undefined, tickMs: 20, leads: () => leading })
  const ask = await db.tx(tx => outbox.owe(tx, 'publish:jammy'))
  const settled = outbox.settled('publish:jammy', ask, 60_000)
  leading = true
  await db.query('delete from outbox')
  expect(await settled).toBe(true)
})

test('what is delivered by a process that leads no longer is owed again: another one may have written it meanwhile', async () => {
  let leading = true
  const outbox = createOutbox({ db, onError: () => undefined, tickMs: 20, leads: () => leading })
  const delivered = Promise.withResolvers<undefined>()
  outbox.handle('manifest', async () => {
    await db.query('delete from outbox') // the new leader has delivered it
    leading = false
    delivered.resolve(undefined)
  })
  await db.tx(tx => outbox.owe(tx, 'manifest:hello'))
  outbox.start()
  await delivered.promise
  await outbox.stop()
  expect(await owed()).toEqual(['manifest:hello'])
})

test('a start that loses the lead while it delivers what was owed ends, and owes it once more, not without end', async () => {
  let leading = true
  let deliveries = 0
  const outbox = createOutbox({ db, onError: () => undefined, leads: () => leading })
  outbox.handle('manifest', async () => {
    deliveries++
    await db.query('delete from outbox') // the new leader has delivered it
    leading = false
  })
  await db.tx(tx => outbox.owe(tx, 'manifest:hello'))
  await expect(outbox.drain()).rejects.toThrow('another replica leads now')
  expect([deliveries, await owed()]).toEqual([1, ['manifest:hello']])
})
