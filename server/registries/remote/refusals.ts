import { isRefusal } from '../../core/errors.ts'
import type { Clock } from '../../lib/clock.ts'

/** What was refused for what it is, so that it is not fetched again for each client that asks. */
export interface Refusals {
  /** @throws what it was refused with within the last hour. @param key  names the bytes */
  check(key: string): void
  /** Keeps an error that follows from the bytes; others pass. */
  keep(key: string, error: unknown): void
}

const KEPT_MS = 3_600_000
const MOST_KEPT = 10_000

/** Of one process: a new release, which may read what this one does not, begins without any. */
export function createRefusals(clock: Clock): Refusals {
  const kept = new Map<string, { readonly error: unknown; readonly until: number }>()
  return {
    check(key) {
      const found = kept.get(key)
      if (found === undefined) return
      if (clock.now().getTime() < found.until) throw found.error
      kept.delete(key)
    },
    keep(key, error) {
      if (!isRefusal(error, 'bad_package')) return
      kept.delete(key)
      kept.set(key, { error, until: clock.now().getTime() + KEPT_MS })
      const [oldest] = kept.keys()
      if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest)
    },
  }
}
