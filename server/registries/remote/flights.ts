import { setTimeout as sleep } from 'node:timers/promises'

/** Work that several callers wait for: one flight a key, whoever asks. It goes on when nobody waits any more. */
export interface Flights {
  /** The flight of this key; `work` begins one where there is none. Its signal aborts when the service stops. */
  join<T>(key: string, work: (signal: AbortSignal) => Promise<T>): Promise<T>
  /** Ends all of them. */
  close(): Promise<void>
}

/** Makes flights of this process. A key always stands for work with the same result. */
export function createFlights(): Flights {
  const flights = new Map<string, Promise<unknown>>()
  const ended = new AbortController()
  return {
    join<T>(key: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
      const flying = flights.get(key)
      if (flying !== undefined) return flying as Promise<T>
      const flight = work(ended.signal).finally(() => flights.delete(key))
      // everybody may have stopped waiting
      flight.catch(() => undefined)
      flights.set(key, flight)
      return flight
    },
    async close() {
      ended.abort(new Error('the service stops'))
      await Promise.allSettled(flights.values())
    },
  }
}

/** What work comes to; undefined where that takes longer than `patienceMs`. */
export async function within<T>(patienceMs: number, work: Promise<T>): Promise<T | undefined> {
  const over = new AbortController()
  const late = sleep(patienceMs, undefined, { signal: over.signal }).catch(() => undefined)
  try {
    return await Promise.race([work, late])
  } finally {
    over.abort()
  }
}
