import type { FormatId } from '../../core/identity.ts'
import { createLanes, type Lanes } from '../../lib/lanes.ts'
import type { Source } from '../source.ts'
import type { SyncResult } from './outcome.ts'
import type { Sync, SyncOptions } from './sync.ts'

export interface ManyOptions extends SyncOptions {
  /** Called at the end of each source, one at a time. */
  readonly ended: (source: Source, result: SyncResult) => Promise<void>
  /** How many entries of a source were read so far. */
  readonly read?: (source: Source, entries: number) => void
}

/**
 * Synchronises sources, of each format as many at once as fit in memory, whoever asks. What is wrong with one never
 * ends the others.
 * @throws the reason of the signal; DatabaseUnavailable
 */
export type SyncMany = (sources: readonly Source[], options: ManyOptions) => Promise<void>

/** @param atOnce  how many sources of a format are read at once */
export function createSyncMany(sync: Sync, atOnce: (format: FormatId) => number): SyncMany {
  const lanes = new Map<FormatId, Lanes>()
  const laneOf = (format: FormatId): Lanes => {
    const known =
      lanes.get(format) ??
      createLanes([{ upToBytes: Infinity, atOnce: atOnce(format), mostWaiting: Infinity }], waiting => {
        throw new Error(`${waiting} sources wait in a queue without an end`)
      })
    lanes.set(format, known)
    return known
  }
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
    const running = sources.map(source =>
      laneOf(source.format).run({ sizeBytes: 0, signal: options.signal }, () => one(source)),
    )
    // all of them have ended before this does: nothing is written afterwards
    const outcomes = await Promise.allSettled(running)
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
  }
}
