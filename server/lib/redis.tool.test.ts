import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createRateLimits, type RateLimits } from '../http/rate-limit.ts'
import { createEvents } from '../record/events.ts'
import { createRedis, type TestRedis } from '../../test/support/redis.ts'
import { lacking } from '../../test/support/tools.ts'
import { createShared } from './redis.ts'
import type { Shared } from './replica-memory.ts'

let redis: TestRedis
const opened: Shared[] = []

function open(onTrouble: (trouble: string | undefined) => void = () => undefined): Shared {
  const shared = createShared({ url: redis.url, onTrouble })
  opened.push(shared)
  return shared
}
const until = (is: () => boolean): Promise<void> =>
  vi.waitFor(
    () => {
      if (!is()) throw new Error('not yet')
    },
    { timeout: 15_000, interval: 20 },
  )
const isUp = (shared: Shared): Promise<void> => until(() => shared.client() !== undefined)
const passes = (limits: RateLimits, address: string): Promise<boolean> => {
  const ctx = { state: { clientIp: address }, set: () => undefined, response: { get: () => '' } }
  return limits.count(ctx as never, { bucket: 'b', perMinute: 3, id: address }).then(
    () => true,
    () => false,
  )
}
const count = async (limits: readonly RateLimits[], times: number, address: string): Promise<number> => {
  let passed = 0
  for (let n = 0; n < times; n++) if (await passes(limits[n % limits.length] as RateLimits, address)) passed++
  return passed
}

describe.skipIf(lacking('redis-server').length > 0)('with redis-server', () => {
  beforeEach(async () => {
    redis = await createRedis()
    redis.start()
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map(shared => shared.close()))
    await redis.close()
  })

  test('replicas share the count of a client; without Redis each counts for itself', async () => {
    const shared = [open(), open()]
    await Promise.all(shared.map(isUp))
    expect(
      await count(
        shared.map(one => createRateLimits(Date.now, one)),
        8,
        '192.0.2.1',
      ),
    ).toBe(3)
    expect(await count([createRateLimits(Date.now), createRateLimits(Date.now)], 8, '192.0.2.1')).toBe(6)
  })

  test('a limit holds while Redis goes away, and the log line has no password', async () => {
    const said: (string | undefined)[] = []
    const shared = open(trouble => {
      said.push(trouble)
    })
    await isUp(shared)
    const limits = createRateLimits(Date.now, shared)
    expect(await count([limits], 2, '192.0.2.2')).toBe(2)
    await redis.kill()
    await until(() => shared.trouble() !== undefined)
    expect(await count([limits], 8, '192.0.2.2')).toBe(1)
    redis.start()
    await isUp(shared)
    // this Redis knows of nothing that was before
    expect(await count([limits], 8, '192.0.2.2')).toBe(0)
    expect(await count([limits], 8, '192.0.2.9')).toBe(3)
    expect(said[0]).toBeUndefined()
    expect(said[1]).toMatch(/^Redis does not answer: /)
    expect(said.at(-1)).toBeUndefined()
    expect(JSON.stringify(said)).not.toContain(redis.password)
  })

  test('of requests in one moment as many pass as the limit says', async () => {
    const shared = open()
    await isUp(shared)
    const limits = createRateLimits(Date.now, shared)
    const burst = (times: number, address: string): Promise<boolean[]> =>
      Promise.all(Array.from({ length: times }, () => passes(limits, address)))
    expect((await burst(3, '192.0.2.3')).filter(Boolean)).toHaveLength(3)
    expect((await burst(30, '192.0.2.4')).filter(Boolean)).toHaveLength(3)
  })

  test('foreign messages on our channel and failing listeners do not end the process', async () => {
    const shared = [open(), open()] as const
    await Promise.all(shared.map(isUp))
    const heard: unknown[] = []
    shared[1].hear('x', () => {
      throw new Error('this one cannot take it')
    })
    shared[1].hear('x', message => {
      heard.push(message)
    })
    const said = async (): Promise<void> => {
      for (const text of ['', 'no JSON', 'null', '[]', '{"from":1}'])
        await shared[0].client()?.publish('gatehouse:x', text)
      shared[0].tell('x', 'the last')
    }
    // a subscription stands a moment after the connection does
    await vi.waitFor(
      async () => {
        await said()
        expect(heard).toContain('the last')
      },
      { timeout: 15_000, interval: 20 },
    )
    expect(new Set(heard)).toEqual(new Set([undefined, 'the last']))
  })

  test('an event of one replica reaches the listeners of the others, once', async () => {
    const shared = [open(), open()] as const
    await Promise.all(shared.map(isUp))
    const clock = { now: () => new Date() }
    const [one, other] = [createEvents({ clock, shared: shared[0] }), createEvents({ clock, shared: shared[1] })]
    const heard: string[] = []
    const gone = new AbortController()
    const following = [one, other].map(async (events, n) => {
      for await (const { event } of events.follow(undefined, gone.signal)) heard.push(`${n} ${String(event.data['n'])}`)
    })
    // a subscription stands a moment after the connection does
    await until(() => {
      one.emit({ type: 'upload', at: '', data: { n: 0 } })
      return heard.includes('1 0')
    })
    heard.length = 0
    one.emit({ type: 'upload', at: '', data: { n: 1 } })
    await until(() => heard.filter(text => text.endsWith(' 1')).length === 2)
    expect(heard.filter(text => text.endsWith(' 1')).sort()).toEqual(['0 1', '1 1'])
    gone.abort()
    await Promise.all(following)
  })
})
