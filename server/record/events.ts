import type { Clock } from '../lib/clock.ts'
import { ALONE, type Shared } from '../lib/replica-memory.ts'

/** The events of the live stream: small, without secrets, the same for every role. */
export interface LiveEvent {
  readonly type: 'package.state' | 'publication' | 'engine' | 'settings' | 'upload' | 'job' | 'machine'
  readonly at: string
  readonly data: Readonly<Record<string, unknown>>
}

/** The list in memory behind `GET /dashboard/events`: the last 1,000 events, numbered, so that a client can resume. */
export interface Events {
  emit(event: LiveEvent): void
  /**
   * Yields events after `lastId`, then new ones as they come. Ends when the signal aborts. `new` counts from the call.
   */
  follow(
    lastId: string | undefined,
    signal: AbortSignal,
  ): AsyncIterable<{ readonly id: string; readonly event: LiveEvent }>
}

const KEPT = 1000
/** Events that two replicas have in another order, by clocks that are so far apart, are told again. */
const APART_MS = 5_000

/**
 * Makes the list. Ids are `<start>-<n>-<ms>`. One of another replica, or of before a restart, is unknown by its number:
 * its client gets what is kept from a little before that moment on.
 */
export function createEvents({
  clock,
  kept = KEPT,
  shared = ALONE,
}: {
  readonly clock: Clock
  readonly kept?: number
  readonly shared?: Pick<Shared, 'tell' | 'hear'>
}): Events {
  const life = clock.now().getTime().toString(36)
  const ring: LiveEvent[] = [] // ring[n % kept] is event n
  let next = 0
  const waiting = new Set<() => void>()

  /** The first event since a little before `ms`, as an id has it. */
  function cursorSince(oldest: number, ms: string | undefined): number {
    if (ms === undefined || !/^[0-9a-z]{1,10}$/.test(ms)) return oldest
    const from = parseInt(ms, 36) - APART_MS
    let cursor = oldest
    while (cursor < next && Date.parse(ring[cursor % kept]?.at ?? '') < from) cursor++
    return cursor
  }

  /** The number of the first event that the client has not seen and that is still kept. */
  function cursorAfter(lastId: string | undefined): number {
    const oldest = Math.max(0, next - kept)
    if (lastId === undefined) return next
    const [start, n, ms] = lastId.split('-')
    if (start !== life || n === undefined || !/^\d{1,15}$/.test(n)) return cursorSince(oldest, ms)
    return Number(n) >= next ? next : Math.max(oldest, Number(n) + 1)
  }

  async function* from(
    start: number,
    signal: AbortSignal,
  ): AsyncGenerator<{ readonly id: string; readonly event: LiveEvent }> {
    let wake: (() => void) | undefined
    const leave = (): void => wake?.()
    signal.addEventListener('abort', leave, { once: true })
    try {
      let cursor = start
      while (!signal.aborted) {
        // a client slower than the ring loses the oldest events; no queue grows
        cursor = Math.max(cursor, next - kept)
        const event = cursor < next ? ring[cursor % kept] : undefined
        if (event === undefined) {
          await new Promise<void>(resolve => {
            wake = resolve
            waiting.add(resolve)
          })
          continue
        }
        yield { id: `${life}-${cursor}-${Date.parse(event.at).toString(36)}`, event }
        cursor++
      }
    } finally {
      signal.removeEventListener('abort', leave)
      if (wake !== undefined) waiting.delete(wake)
    }
  }

  function add(event: LiveEvent): void {
    ring[next % kept] = event
    next++
    for (const wake of waiting) wake()
    waiting.clear()
  }
  // a foreign message in the shared memory must not break every stream
  shared.hear('events', event => {
    if (
      typeof event === 'object' &&
      event !== null &&
      'data' in event &&
      typeof event.data === 'object' &&
      event.data !== null
    )
      add(event as LiveEvent)
  })

  return {
    emit: event => {
      add(event)
      shared.tell('events', event)
    },
    follow: (lastId, signal) => from(cursorAfter(lastId), signal),
  }
}
