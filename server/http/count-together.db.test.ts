import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDb } from '../../test/support/postgres.ts'
import type { Db } from '../db/db.ts'
import { createRateCounts } from '../db/rate-counts.ts'
import { createCountTogether } from './count-together.ts'
import { createRateLimits, type RateLimits } from './rate-limit.ts'

let db: Db
let close: () => Promise<void>
beforeAll(async () => {
  ;({ db, close } = await createTestDb())
})
afterAll(() => close())
beforeEach(() => db.query('truncate rate_count'))

const warnings: unknown[] = []
/** What three replicas have in place of Redis: it answers, or it does not. Its counts are never in the way. */
function replicas(backend: 'redis' | 'memory', { others = 2, broken = false } = {}) {
  const state = { isUp: backend === 'redis', now: Date.now() }
  const told: ((trouble: string | undefined) => void)[] = []
  const shared = {
    backend,
    // one that knows every client and refuses none
    client: () => (state.isUp ? ({ multi: () => EVERY } as never) : undefined),
    onTrouble: (listener: (trouble: string | undefined) => void) => void told.push(listener),
  }
  const counts = broken
    ? { add: () => Promise.reject(new Error('gone')), sweep: () => Promise.resolve() }
    : createRateCounts(db)
  const limits = Array.from({ length: 3 }, () => {
    const now = (): number => state.now
    const log = { warn: (...said: unknown[]) => void warnings.push(said) }
    const together = createCountTogether({ now, shared, counts, replicas: { others: () => others }, log })
    return createRateLimits(now, shared, together)
  })
  return {
    limits,
    state,
    goes: (up: boolean) => {
      state.isUp = up
      for (const tell of told) tell(up ? undefined : 'gone')
    },
  }
}
// as koa-ratelimit asks ioredis
const EVERY = {
  zremrangebyscore: () => EVERY,
  zcard: () => EVERY,
  zadd: () => EVERY,
  zrange: () => EVERY,
  zremrangebyrank: () => EVERY,
  pexpire: () => EVERY,
  exec: () => Promise.resolve([0, 0, 0, 0, 0, 0, 0].map(() => [null, 0])),
}

const passes = async (limits: RateLimits, id: string): Promise<boolean> => {
  const ctx = { state: {}, set: () => undefined, response: { get: () => '' } }
  return limits.count(ctx as never, { bucket: 'login', perMinute: 6, id }).then(
    () => true,
    (error: { code: string; facts: { retry_after: number } }) => {
      expect(error.code).toBe('rate_limited')
      expect(error.facts.retry_after).toBeGreaterThan(0)
      return false
    },
  )
}
async function ask(limits: readonly RateLimits[], times: number, id: string): Promise<number> {
  let passed = 0
  for (let n = 0; n < times; n++) if (await passes(limits[n % limits.length] as RateLimits, id)) passed++
  return passed
}

test('without any Redis, replicas that see one another let pass together what the limit says', async () => {
  expect(await ask(replicas('memory').limits, 30, '192.0.2.1')).toBe(6)
  expect(await ask(replicas('memory').limits, 30, '192.0.2.2')).toBe(6)
})

test('a replica that is alone asks no database', async () => {
  const { limits } = replicas('memory', { others: 0, broken: true })
  expect(await ask(limits.slice(0, 1), 10, '192.0.2.1')).toBe(6)
  expect(warnings).toEqual([])
})

test('Redis goes away: what each replica let pass before counts for all of them, and no more passes than with Redis', async () => {
  const { limits, goes } = replicas('redis')
  const [one, two, three] = limits as [RateLimits, RateLimits, RateLimits]
  expect(await ask([one], 4, '192.0.2.1')).toBe(4)
  expect(await ask([two], 1, '192.0.2.1')).toBe(1)
  goes(false)
  // each brings what it has, also those that nobody asks
  await expect.poll(async () => (await db.first<{ n: number }>('select n from rate_count'))?.n).toBe(5)
  expect(await ask([three], 9, '192.0.2.1')).toBe(1)
  expect(await ask(limits, 30, '192.0.2.2')).toBe(6)
})

test('Redis comes back empty: for a minute the count of before still holds', async () => {
  const { limits, goes, state } = replicas('redis')
  const [one, two] = limits as [RateLimits, RateLimits]
  goes(false)
  expect(await ask([one], 9, '192.0.2.1')).toBe(6)
  goes(true)
  expect(await ask([two], 9, '192.0.2.1')).toBe(0)
  state.now += 61_000
  expect(await ask([two], 3, '192.0.2.1')).toBe(3)
})

test('a minute later clients may come again', async () => {
  const { limits } = replicas('memory')
  expect(await ask(limits, 9, '192.0.2.1')).toBe(6)
  await db.query(`update rate_count set until = now() - interval '1 second'`)
  const later = replicas('memory').limits
  expect(await ask(later, 9, '192.0.2.1')).toBe(6)
  later[0]?.sweep()
  expect(await db.query('select key from rate_count')).toHaveLength(1)
})

test('a database that does not answer is told, and each replica counts for itself', async () => {
  const { limits } = replicas('memory', { broken: true })
  expect(await ask(limits.slice(0, 1), 9, '192.0.2.1')).toBe(6)
  expect(warnings.length).toBeGreaterThan(0)
})
