import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** What the watch reads and does; the process's own by default. */
export interface Heap {
  /** Microseconds of CPU since the process began. */
  cpu(): number
  /** Bytes in use. */
  used(): number
  collect(): void
}

const EVERY_MS = 15_000
/** Less than 2 % of a core: nobody waits for an answer. */
const IDLE_US = EVERY_MS * 20
const WORTH = 8 * 1024 * 1024

/** V8's own collection, which no flag of the command line has to bring. */
function createHeap(): Heap {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as (how: object) => void
  return {
    cpu: () => {
      const { user, system } = process.cpuUsage()
      return user + system
    },
    used: () => process.memoryUsage().heapUsed,
    collect: () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
  }
}

/**
 * Gives memory back while nothing is to be done: V8 collects garbage when new objects need room, so what a start or a
 * burst of uploads leaves would stay for hours. A collection takes a tenth of a second. Keeps no process alive.
 */
export function giveBackMemoryWhenIdle(heap: Heap = createHeap()): void {
  let cpu = heap.cpu()
  let kept = 0
  setInterval(() => {
    const spent = heap.cpu() - cpu
    cpu += spent
    if (spent > IDLE_US || heap.used() - kept < WORTH) return
    heap.collect()
    kept = heap.used()
    cpu = heap.cpu()
  }, EVERY_MS).unref()
}
