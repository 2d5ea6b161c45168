import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { createTestDb, type TestDb } from '../../test/support/postgres.ts'
import { openClient } from './db.ts'
import { createLeadership, NotLeading, type Leadership } from './leadership.ts'

let base: TestDb
beforeAll(async () => {
  base = await createTestDb()
})
afterAll(() => base.close())
const quiet = { info: () => undefined, warn: () => undefined, error: vi.fn() }
const all: Leadership[] = []
afterEach(async () => {
  for (const one of all.splice(0)) await one.stop()
})

function replica(instance: string, gained: () => Promise<void> = async () => undefined) {
  const lead = createLeadership({ open: () => openClient(base.address), db: base.db, instance, log: quiet })
  all.push(lead)
  const seen: string[] = []
  const start = (): Promise<boolean> =>
    lead.start({
      gained: async () => {
        seen.push('gained')
        await gained()
      },
      lost: async () => {
        seen.push('lost')
      },
    })
  return { lead, seen, start }
}
// of this database alone: other tests have theirs in the same cluster
const holders = () =>
  base.db.query<{ pid: number }>(
    `select pid from pg_locks where locktype = 'advisory' and granted
      and database = (select oid from pg_database where datname = current_database())`,
  )
const fenced = (lead: Leadership): Promise<unknown> =>
  base.db.tx(async tx => {
    await lead.fence(tx)
    return 'written'
  })

describe('of several replicas', () => {
  test('one leads; when it stops, the next one does, under a higher number, and what the first began is refused', async () => {
    const [a, b] = [replica('a'), replica('b')]
    expect([await a.start(), await b.start()]).toEqual([true, false])
    expect([a.lead.leads(), b.lead.leads()]).toEqual([true, false])
    expect(await fenced(a.lead)).toBe('written')
    await expect(fenced(b.lead)).rejects.toThrow(NotLeading)
    expect(() => b.lead.assert()).toThrow(NotLeading)
    const before = a.lead.epoch()
    await a.lead.stop()
    await vi.waitFor(() => expect(b.lead.leads()).toBe(true), 10_000)
    expect(b.lead.epoch()).toBe(before + 1)
    expect(await fenced(b.lead)).toBe('written')
    await expect(fenced(a.lead)).rejects.toThrow(NotLeading)
    expect(() => a.lead.assert()).toThrow(NotLeading)
  })

  test('one whose session the server has ended knows it, and may lead again under a new number', async () => {
    const a = replica('a')
    await a.start()
    const before = a.lead.epoch()
    for (const { pid } of await holders()) await base.db.query('select pg_terminate_backend($1)', [pid])
    await vi.waitFor(() => expect(a.seen).toEqual(['gained', 'lost', 'gained']), 10_000)
    expect(a.lead.epoch()).toBe(before + 1)
    expect(await fenced(a.lead)).toBe('written')
  })

  test('one whose session has just ended waits for its answer instead of refusing, and one beside a leader does not wait', async () => {
    const [a, b] = [replica('a'), replica('b')]
    await a.start()
    for (const { pid } of await holders()) await base.db.query('select pg_terminate_backend($1)', [pid])
    await vi.waitFor(() => expect(a.lead.leads()).toBe(false), 10_000)
    expect(await a.lead.decided()).toBe(true)
    await b.start()
    expect(await b.lead.decided()).toBe(false)
  })

  test('a transaction of the old leader that is still open is waited for, and the next one is refused', async () => {
    const [a, b] = [replica('a'), replica('b')]
    await a.start()
    await b.start()
    const gate = Promise.withResolvers<undefined>()
    const inside = Promise.withResolvers<undefined>()
    const writing = base.db.tx(async tx => {
      await a.lead.fence(tx)
      inside.resolve(undefined)
      await gate.promise
      return 'written'
    })
    await inside.promise
    await a.lead.stop()
    await vi.waitFor(
      async () =>
        expect(
          await base.db.query(
            `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like 'update leader%'
              and datname = current_database()`,
          ),
        ).toHaveLength(1),
      10_000,
    )
    expect(b.lead.leads()).toBe(false)
    gate.resolve(undefined)
    expect(await writing).toBe('written')
    await vi.waitFor(() => expect(b.lead.leads()).toBe(true), 10_000)
    await expect(fenced(a.lead)).rejects.toThrow(NotLeading)
  })

  test('one that cannot begin its work says so at the start', async () => {
    const a = replica('a', async () => {
      throw new Error('the trees cannot be read')
    })
    await expect(a.start()).rejects.toThrow('the trees cannot be read')
  })
})
