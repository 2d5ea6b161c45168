import type { Context, Next } from 'koa'
import ratelimit from 'koa-ratelimit'
import { fail } from '../core/errors.ts'
import type { Limit } from '../core/contract.ts'

const MINUTE_MS = 60_000

/** What koa-ratelimit keeps per address: `reset` is in seconds since 1970. */
interface Kept { readonly reset?: number }

export interface RateLimits {
  /** @throws rate_limited in the middleware when the address has used up its count of this bucket */
  middleware(limit: Limit): (ctx: Context, next: Next) => Promise<void>
  /** Forgets addresses whose minute is over; happens by itself once a minute while requests come. */
  sweep(): void
  /** Addresses remembered, over all buckets. */
  size(): number
}

/**
 * Counts per client address and bucket, in memory. Routes that name one bucket share its count. Addresses whose minute is over
 * are forgotten within another one; the library itself would keep them for ever.
 */
export function createRateLimits(now: () => number = Date.now): RateLimits {
  const buckets = new Map<string, Map<string, Kept>>()
  let swept = now()

  function sweep(): void {
    swept = now()
    for (const db of buckets.values()) for (const [id, kept] of db) if ((kept.reset ?? 0) * 1000 < swept) db.delete(id)
  }

  return {
    middleware({ bucket, perMinute }) {
      const db = buckets.get(bucket) ?? new Map<string, Kept>()
      buckets.set(bucket, db)
      const count = ratelimit({ driver: 'memory', db, duration: MINUTE_MS, max: perMinute, id: ctx => String(ctx.state.clientIp) })
      return async (ctx, next) => {
        if (now() - swept >= MINUTE_MS) sweep()
        let passed = false
        await count(ctx as never, async () => { passed = true })
        const limited = ctx.state.rateLimit as { readonly after: number } | undefined
        const reset = Number(ctx.response.get('X-RateLimit-Reset'))
        if (Number.isFinite(reset)) ctx.set('X-RateLimit-Reset', String(Math.ceil(reset)))
        if (!passed) fail('rate_limited', { limit: perMinute, retry_after: Math.max(1, Math.ceil((limited?.after ?? 0) + 1)) })
        return next()
      }
    },
    sweep,
    size: () => [...buckets.values()].reduce((sum, db) => sum + db.size, 0),
  }
}
