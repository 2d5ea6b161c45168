import { setTimeout as sleep } from 'node:timers/promises'

/** One limit for everything that comes in. */
export interface Bucket {
  /** Resolves when so many bytes may be used. */
  take(bytes: number, signal: AbortSignal): Promise<void>
}

/**
 * A token bucket that holds one second's worth.
 * @param bytesPerSecond  asked at every call; 0: no limit
 * @param nowMs  a clock that never goes back
 */
export function createBucket({
  bytesPerSecond,
  nowMs = () => performance.now(),
}: {
  readonly bytesPerSecond: () => number
  readonly nowMs?: () => number
}): Bucket {
  let tokens = 0
  let at = nowMs()
  return {
    async take(bytes, signal) {
      const rate = bytesPerSecond()
      if (rate <= 0) return
      const now = nowMs()
      tokens = Math.min(rate, tokens + ((now - at) / 1000) * rate) - bytes
      at = now
      // each waits for what it overdrew, so whoever comes later waits longer
      if (tokens < 0) await sleep((-tokens / rate) * 1000, undefined, { signal })
    },
  }
}
