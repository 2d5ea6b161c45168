/** Keeps a host that does not work from being asked by everybody in turn. */
export interface Breaker {
  /** Until when the host is left alone; undefined when it may be asked. */
  restsUntil(host: string): Date | undefined
  /** It gave no answer, or one that says that it is out of order. */
  failed(host: string): void
  worked(host: string): void
}

const FAILURES = 3
const MINUTE = 60_000

interface Health {
  failures: number
  rests: number
  until: number
}

/**
 * After three failures in a row a host rests, by default for 5 minutes, then for 15, then for 60 each time that it
 * fails again.
 */
export function createBreaker(
  { now }: { readonly now: () => Date },
  restsMs: readonly [number, ...number[]] = [5 * MINUTE, 15 * MINUTE, 60 * MINUTE],
): Breaker {
  const hosts = new Map<string, Health>()
  return {
    restsUntil(host) {
      const until = hosts.get(host)?.until ?? 0
      return until > now().getTime() ? new Date(until) : undefined
    },
    failed(host) {
      const health = hosts.get(host) ?? { failures: 0, rests: 0, until: 0 }
      hosts.set(host, health)
      // what was on its way when the rest began says nothing new
      if (health.until > now().getTime()) return
      health.failures++
      // after a rest one failure is enough
      if (health.failures < FAILURES && health.rests === 0) return
      health.until = now().getTime() + (restsMs[health.rests] ?? restsMs[0])
      health.rests = Math.min(health.rests + 1, restsMs.length - 1)
      health.failures = 0
    },
    worked: host => void hosts.delete(host),
  }
}
