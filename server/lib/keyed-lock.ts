/** Runs one task at a time per key, in the order of the calls. Different keys do not wait for one another. */
export interface KeyedLock {
  run<T>(key: string, work: () => Promise<T>): Promise<T>
  /** Holds all of these keys, which it takes in one order everywhere: two of these never wait for each other. */
  runAll<T>(keys: readonly string[], work: () => Promise<T>): Promise<T>
}

/** Makes a lock for this process only. */
export function createKeyedLock(): KeyedLock {
  const tails = new Map<string, Promise<unknown>>()
  async function run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = tails.get(key) ?? Promise.resolve()
    const mine = before.then(work, work)
    const tail = mine.catch(() => undefined)
    tails.set(key, tail)
    try {
      return await mine
    } finally {
      if (tails.get(key) === tail) tails.delete(key)
    }
  }
  return {
    run,
    runAll: (keys, work) => {
      const sorted = [...new Set(keys)].sort()
      const from = <T>(n: number, last: () => Promise<T>): Promise<T> => {
        const key = sorted[n]
        return key === undefined ? last() : run(key, () => from(n + 1, last))
      }
      return from(0, work)
    },
  }
}
