/** Work of similar size that runs together; more of it waits in order. */
export interface Lane {
  /** The largest work that goes here, in bytes. */
  readonly upToBytes: number
  readonly atOnce: number
  readonly mostWaiting: number
}

/** Limits how much runs at once, without small work waiting behind large. */
export interface Lanes {
  /**
   * Runs the work when its lane has room. Whoever is aborted while waiting leaves the queue at once.
   * @throws what `full` throws; the signal's reason; what the work throws
   */
  run<T>(about: { readonly sizeBytes: number; readonly signal: AbortSignal }, work: () => Promise<T>): Promise<T>
}

interface Queue extends Lane {
  running: number
  /** In the order of arrival. */
  readonly waiting: Set<() => void>
}

/** Resolves when it is this one's turn; the place is then taken. */
function turn(queue: Queue, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      queue.waiting.delete(enter)
      reject(signal.reason as Error)
    }
    const enter = (): void => {
      queue.waiting.delete(enter)
      signal.removeEventListener('abort', leave)
      resolve()
    }
    queue.waiting.add(enter)
    signal.addEventListener('abort', leave, { once: true })
  })
}

/**
 * @param lanes  by size, the smallest first; the last one takes everything else
 * @param full  called when a lane's queue is too long, with its length; throws
 */
export function createLanes(lanes: readonly Lane[], full: (waiting: number) => never): Lanes {
  const queues = lanes.map((lane): Queue => ({ ...lane, running: 0, waiting: new Set() }))
  return {
    async run({ sizeBytes, signal }, work) {
      signal.throwIfAborted()
      const queue = queues.find(({ upToBytes }) => sizeBytes <= upToBytes) ?? queues.at(-1)
      if (queue === undefined) return work()
      if (queue.running < queue.atOnce) queue.running += 1
      else if (queue.waiting.size < queue.mostWaiting) await turn(queue, signal)
      else full(queue.waiting.size)
      try {
        return await work()
      } finally {
        // the place goes on to the next, or becomes free
        const [next] = queue.waiting
        if (next === undefined) queue.running -= 1
        else next()
      }
    },
  }
}
