import { unfinishedName } from './atomic.ts'
import { workOnDisk, type Fault, type Lasting, type Move, type Order, type Orders, type Write } from './disk-work.ts'
import { createWorkers } from './workers.ts'

const IDLE_MS = 5_000

interface Asked<One extends Order> {
  readonly order: One
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

const workers = createWorkers<Orders, readonly Fault[]>({ body: workOnDisk, size: 1, idleMs: IDLE_MS })

function send(orders: Orders): Promise<readonly Fault[]> {
  const job = workers.job()
  job.send(orders)
  return job.answer
}

/** Orders of one moment go in one message, which costs as much as one of them. */
function together<One extends Order>(ordersOf: (orders: readonly One[]) => Orders): (order: One) => Promise<void> {
  let asked: Asked<One>[] = []
  async function flush(): Promise<void> {
    const these = asked
    asked = []
    try {
      const faults = await send(ordersOf(these.map(({ order }) => order)))
      for (const [n, { resolve, reject }] of these.entries()) {
        const fault = faults[n]
        if (fault === undefined) resolve()
        else reject(Object.assign(new Error(fault.message), { code: fault.code }))
      }
    } catch (error) {
      for (const { reject } of these) reject(error as Error)
    }
  }
  return order =>
    new Promise((resolve, reject) => {
      asked.push({ order, resolve, reject })
      if (asked.length === 1) setImmediate(() => void flush())
    })
}

const write = together<Write>(orders => ({ write: orders }))
const last = together<Lasting>(orders => ({ last: orders }))

/** Writes a new file. A power cut may take it away again. @throws EEXIST when there is one */
export const writeNew = (to: string, bytes: string | Uint8Array, mode: number): Promise<void> =>
  write({ kind: 'write', to, bytes, mode })

/**
 * As `writeAtomic`: readers see the old bytes or the new ones, also after a power cut. Those that come together are
 * made durable together.
 */
export const replaceTogether = (to: string, bytes: string | Uint8Array, mode = 0o644): Promise<void> =>
  last({ kind: 'replace', to, part: unfinishedName(to), bytes, mode })

/** Moves a file and makes its folder; durable, bytes and name. Those that come together are made durable together. */
export const moveTogether = (move: Move): Promise<void> => last({ kind: 'move', ...move })
