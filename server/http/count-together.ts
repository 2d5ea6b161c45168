import type { RateCounts } from '../db/rate-counts.ts'
import type { Replicas } from '../db/replicas.ts'
import type { Log } from '../lib/log.ts'
import type { Shared } from '../lib/replica-memory.ts'

/** The counts of all replicas, for when no Redis has them. */
export interface CountTogether {
  /**
   * Counts one request where that is needed. @returns undefined when it may pass, else how long its sender has to wait
   * at most
   */
  waitMs(key: string, limit: number): Promise<number | undefined>
  /** Says where the counts of this process are, which the others must know as soon as Redis is away. */
  bring(own: () => readonly { readonly key: string; readonly n: number }[]): void
  sweep(): void
}

export interface TogetherDeps {
  readonly now: () => number
  readonly shared: Pick<Shared, 'backend' | 'client' | 'onTrouble'>
  readonly counts: RateCounts
  readonly replicas: Pick<Replicas, 'others'>
  readonly log: Pick<Log, 'warn'>
}

const MINUTE_MS = 60_000

/**
 * Counts in the database while Redis does not answer, and where there is none while other replicas are there. For a
 * minute after Redis came back as well, as it may be empty.
 */
export function createCountTogether({ now, shared, counts, replicas, log }: TogetherDeps): CountTogether {
  let own: Parameters<CountTogether['bring']>[0] = () => []
  let until = -Infinity
  let brought: Promise<unknown> | undefined
  let isUsed = false

  const isAway = (): boolean => (shared.backend === 'redis' ? shared.client() === undefined : replicas.others() > 0)
  const failed = (error: unknown): void =>
    log.warn({ err: error }, 'requests could not be counted together with other replicas: each counts for itself')

  const isOver = (): boolean => now() >= until
  /** Adds what this process has counted so far, once each time that Redis goes away. */
  function begin(): Promise<unknown> {
    if (isOver()) brought = undefined
    until = now() + MINUTE_MS
    if (brought !== undefined) return brought
    const mine = own()
    const bringing = mine.length === 0 ? Promise.resolve() : counts.add(mine)
    brought = bringing
    bringing.catch(() => {
      brought = undefined
    })
    return bringing
  }
  shared.onTrouble(trouble => {
    if (trouble === undefined) until = now() + MINUTE_MS
    else begin().catch(failed)
  })

  return {
    bring: read => {
      own = read
    },
    async waitMs(key, limit) {
      if (!isAway() && isOver()) return undefined
      try {
        isUsed = true
        // what is brought now has this request, too
        const isIn = isAway() && (isOver() || brought === undefined)
        await (isAway() ? begin() : brought)
        const [n = 0] = await counts.add([{ key, n: isIn ? 0 : 1 }])
        return n > limit ? MINUTE_MS : undefined
      } catch (error) {
        failed(error)
        return undefined
      }
    },
    sweep: () => {
      if (isUsed) counts.sweep().catch(failed)
      isUsed = now() < until
    },
  }
}
