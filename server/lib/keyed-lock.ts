/** Runs one task at a time per key, in the order of the calls. Different keys do not wait for one another. */
export interface KeyedLock {
  run<T>(key: string, work: () => Promise<T>): Promise<T>
}

/** Makes a lock for this process only. */
export function createKeyedLock(): KeyedLock {
  const tails = new Map<string, Promise<unknown>>()
  return {
    async run<T>(key: string, work: () => Promise<T>): Promise<T> {
      const before = tails.get(key) ?? Promise.resolve()
      const mine = before.then(work, work)
      const tail = mine.catch(() => undefined)
      tails.set(key, tail)
      try {
        return await mine
      } finally {
        if (tails.get(key) === tail) tails.delete(key)
      }
    },
  }
}
