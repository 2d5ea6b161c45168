import type { FormatId } from '../../core/identity.ts'
import { createLanes, type Lanes } from '../../lib/lanes.ts'

/** Does work when it is its turn. @throws the reason of the signal; what the work throws */
export type Turns<Key> = <T>(key: Key, signal: AbortSignal, work: () => Promise<T>) => Promise<T>

/** A queue without an end: so many run at once, the rest waits in order. */
export function createQueue(atOnce: number): Lanes {
  return createLanes([{ upToBytes: Infinity, atOnce, mostWaiting: Infinity }], waiting => {
    throw new Error(`${waiting} wait in a queue without an end`)
  })
}

/** Whose indexes are read: of each format as many sources at once as fit in memory. */
export function createReadingTurns(atOnce: (format: FormatId) => number): Turns<FormatId> {
  const queues = new Map<FormatId, Lanes>()
  return (format, signal, work) => {
    const queue = queues.get(format) ?? createQueue(atOnce(format))
    queues.set(format, queue)
    return queue.run({ sizeBytes: 0, signal }, work)
  }
}
