import type { Context } from 'koa'
import type { Redis } from 'ioredis'
import ratelimit from 'koa-ratelimit'
import { fail } from '../core/errors.ts'
import type { Limit } from '../core/contract.ts'
import { ALONE, type Shared } from '../lib/replica-memory.ts'
import type { CountTogether } from './count-together.ts'

const MINUTE_MS = 60_000

/** What koa-ratelimit keeps per address. `reset` is in seconds since 1970; `remaining` still has the last request. */
interface Kept {
  readonly reset?: number
  readonly total?: number
  readonly remaining?: number
}

/**
 * Gives each request its own count. The library lowers the count in the object it was given and reads it later, so
 * simultaneous requests would all see the last one's count, and none would pass.
 */
class Counts extends Map<string, Kept> {
  override get(id: string): Kept | undefined {
    const kept = super.get(id)
    if (kept === undefined) return undefined
    const own = { ...kept }
    this.set(id, own)
    return own
  }
}

type Counter = (ctx: Context, next: () => Promise<void>) => Promise<void>

/** Whose requests are counted, and how many may come. */
export interface Counted extends Pick<Limit, 'bucket' | 'perMinute'> {
  /** The address, or the name of a sender. */
  readonly id: string
}

export interface RateLimits {
  /** Counts this request. @throws rate_limited when the count is used up */
  count(ctx: Context, of: Counted): Promise<void>
  /** Forgets those whose minute is over. Also runs once a minute while requests come. */
  sweep(): void
  /** Counts remembered, over all buckets. */
  size(): number
}

const countOf = ({ total = 0, remaining = 0 }: Kept): number => (remaining > 0 ? total - remaining + 1 : total)

/**
 * Counts per sender and bucket in Redis, and in this process. Where other replicas are and no Redis answers, they count
 * together in the database: that is slower, and a client never gets more than with Redis.
 * Routes with one bucket share its count. Senders whose minute is over are forgotten within another one; the library
 * would keep them for ever.
 */
export function createRateLimits(
  now: () => number = Date.now,
  shared: Pick<Shared, 'client'> = ALONE,
  together?: CountTogether,
): RateLimits {
  const buckets = new Map<string, Counts>()
  const counters = new Map<string, Counter>()
  let swept = now()

  together?.bring(() => {
    const at = now()
    return [...buckets].flatMap(([key, db]) =>
      [...db].flatMap(([id, kept]) =>
        // as koa-ratelimit names them
        (kept.reset ?? 0) * 1_000 < at ? [] : [{ key: `${key}:${id.replace(/^limit:/, '')}`, n: countOf(kept) }],
      ),
    )
  })

  function sweep(): void {
    swept = now()
    together?.sweep()
    for (const db of buckets.values()) for (const [id, kept] of db) if ((kept.reset ?? 0) * 1000 < swept) db.delete(id)
  }

  /** Of one bucket and limit: a limit that was changed begins a new count. */
  function makeCounter({ bucket, perMinute }: Omit<Counted, 'id'>): Counter {
    const key = `${bucket}:${perMinute}`
    const known = counters.get(key)
    if (known !== undefined) return known
    const db = new Counts()
    buckets.set(key, db)
    const options = {
      duration: MINUTE_MS,
      max: perMinute,
      id: (ctx: { readonly state: { readonly counted?: unknown } }) => String(ctx.state.counted),
    }
    const alone = ratelimit({ ...options, driver: 'memory', db })
    const inRedis = (client: Redis): typeof alone =>
      ratelimit({ ...options, driver: 'redis', db: client as never, namespace: `gatehouse:limit:${key}` } as never)
    /** False when Redis says that the count is used up, which it has told the client. */
    async function passesRedis(ctx: Context): Promise<boolean> {
      const client = shared.client()
      if (client === undefined) return true
      let passes = false
      try {
        await inRedis(client)(ctx as never, async () => {
          passes = true
        })
      } catch {
        return true // Redis went away in between: the other counts still hold
      }
      return passes
    }
    const counter: Counter = async (ctx, next) => {
      const isCounted = shared.client() !== undefined
      if (!(await passesRedis(ctx))) return
      let passes = false
      // also counted here, so that the count continues when Redis goes away
      await alone((isCounted ? { state: ctx.state, set: () => undefined } : ctx) as never, async () => {
        passes = true
      })
      if (!passes) return
      const waitMs = await together?.waitMs(`${key}:${String(ctx.state.counted)}`, perMinute)
      if (waitMs === undefined) return next()
      ctx.state.rateLimit = { after: Math.ceil(waitMs / 1_000) }
    }
    counters.set(key, counter)
    return counter
  }

  return {
    async count(ctx, { bucket, perMinute, id }) {
      if (now() - swept >= MINUTE_MS) sweep()
      ctx.state.counted = id
      let passed = false
      await makeCounter({ bucket, perMinute })(ctx, async () => {
        passed = true
      })
      const limited = ctx.state.rateLimit as { readonly after: number } | undefined
      const reset = Number(ctx.response.get('X-RateLimit-Reset'))
      if (Number.isFinite(reset)) ctx.set('X-RateLimit-Reset', String(Math.ceil(reset)))
      if (!passed)
        fail('rate_limited', { limit: perMinute, retry_after: Math.max(1, Math.ceil((limited?.after ?? 0) + 1)) })
    },
    sweep,
    size: () => [...buckets.values()].reduce((sum, db) => sum + db.size, 0),
  }
}
