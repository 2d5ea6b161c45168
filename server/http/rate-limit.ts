import type { Context, Next } from 'koa'
import type { Redis } from 'ioredis'
import ratelimit from 'koa-ratelimit'
import { fail } from '../core/errors.ts'
import type { Limit } from '../core/contract.ts'
import { ALONE, type Shared } from '../lib/redis.ts'

const MINUTE_MS = 60_000

/** What koa-ratelimit keeps per address. `reset` is in seconds since 1970. */
interface Kept {
  readonly reset?: number
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

export interface RateLimits {
  /** @throws rate_limited in the middleware when the address has used up its count of this bucket */
  middleware(limit: Limit): (ctx: Context, next: Next) => Promise<void>
  /** Forgets addresses whose minute is over. Also runs once a minute while requests come. */
  sweep(): void
  /** Addresses remembered, over all buckets. */
  size(): number
}

/**
 * Counts per client address and bucket in Redis, and in this process for when Redis does not answer.
 * Routes with one bucket share its count. Addresses whose minute is over are forgotten within another one; the library
 * would keep them for ever.
 */
export function createRateLimits(now: () => number = Date.now, shared: Pick<Shared, 'client'> = ALONE): RateLimits {
  const buckets = new Map<string, Counts>()
  let swept = now()

  function sweep(): void {
    swept = now()
    for (const db of buckets.values()) for (const [id, kept] of db) if ((kept.reset ?? 0) * 1000 < swept) db.delete(id)
  }

  return {
    middleware({ bucket, perMinute }) {
      const db = buckets.get(bucket) ?? new Counts()
      buckets.set(bucket, db)
      const options = {
        duration: MINUTE_MS,
        max: perMinute,
        id: (ctx: { readonly state: { readonly clientIp?: unknown } }) => String(ctx.state.clientIp),
      }
      const alone = ratelimit({ ...options, driver: 'memory', db })
      const together = (client: Redis): typeof alone =>
        ratelimit({ ...options, driver: 'redis', db: client as never, namespace: `gatehouse:limit:${bucket}` } as never)
      async function count(ctx: Context, next: () => Promise<void>): Promise<void> {
        const client = shared.client()
        if (client === undefined) return alone(ctx as never, next)
        let passes = false
        try {
          await together(client)(ctx as never, async () => {
            passes = true
          })
        } catch {
          return alone(ctx as never, next) // Redis went away in between: the limit still holds
        }
        // also counted here, so that the count continues when Redis goes away
        if (passes) await alone({ state: ctx.state, set: () => undefined } as never, next)
      }
      return async (ctx, next) => {
        if (now() - swept >= MINUTE_MS) sweep()
        let passed = false
        await count(ctx, async () => {
          passed = true
        })
        const limited = ctx.state.rateLimit as { readonly after: number } | undefined
        const reset = Number(ctx.response.get('X-RateLimit-Reset'))
        if (Number.isFinite(reset)) ctx.set('X-RateLimit-Reset', String(Math.ceil(reset)))
        if (!passed)
          fail('rate_limited', { limit: perMinute, retry_after: Math.max(1, Math.ceil((limited?.after ?? 0) + 1)) })
        return next()
      }
    },
    sweep,
    size: () => [...buckets.values()].reduce((sum, db) => sum + db.size, 0),
  }
}
