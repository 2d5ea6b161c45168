import type { Source } from '../source.ts'
import type { SyncResult } from './outcome.ts'
import type { Sync, SyncOptions } from './sync.ts'
import { createQueue } from './turns.ts'

export interface ManyOptions extends SyncOptions {
  /** Called at the end of each source, one at a time. */
  readonly ended: (source: Source, result: SyncResult) => Promise<void>
  /** How many entries of a source were read so far. */
  readonly read?: (source: Source, entries: number) => void
}

/**
 * Synchronises sources, several at once: one that does not answer leaves the others their turn. What is wrong with one
 * never ends the others.
 * @throws the reason of the signal; DatabaseUnavailable
 */
export type SyncMany = (sources: readonly Source[], options: ManyOptions) => Promise<void>

/** So many are asked for their root at once, over all formats. Reading what is new waits for another turn. */
const ASKED_AT_ONCE = 8

/** Makes what synchronises many; whoever asks, they share one queue. */
export function createSyncMany(sync: Sync): SyncMany {
  const queue = createQueue(ASKED_AT_ONCE)
  return async (sources, { ended, read, ...options }) => {
    let telling: Promise<void> = Promise.resolve()
    const one = async (source: Source): Promise<void> => {
      const result = await sync.run(source, {
        ...options,
        told: entries => {
          options.told?.(entries)
          read?.(source, entries)
        },
      })
      telling = telling.then(() => ended(source, result))
      await telling
    }
    const running = sources.map(source => queue.run({ sizeBytes: 0, signal: options.signal }, () => one(source)))
    // all of them have ended before this does: nothing is written afterwards
    const outcomes = await Promise.allSettled(running)
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
  }
}
