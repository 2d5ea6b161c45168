/**
 * How long a server is waited for. Times are counted in ticks of a timer, each at most its own length, and only while
 * nothing but the network is waited for: on a machine so busy that this process hardly runs, nothing is refused for it.
 */
export interface Patience {
  readonly tickMs: number
  /** Name, connection and TLS. */
  readonly connectMs: number
  /** From the request to the head of the answer. */
  readonly headersMs: number
  /** Between two chunks of the body. */
  readonly idleMs: number
  /** A body that drips: fewer bytes a second than these, over that much time of waiting. */
  readonly rateMs: number
  readonly bytesPerSecond: number
}

export const PATIENCE: Patience = {
  tickMs: 1000,
  connectMs: 10_000,
  headersMs: 30_000,
  idleMs: 30_000,
  rateMs: 60_000,
  bytesPerSecond: 2048,
}

export type Phase = 'connect' | 'headers' | 'body'

/** Watches one exchange. */
export interface Watch {
  enter(phase: Phase): void
  /** From now on the network is waited for. */
  wait(): void
  /** So many bytes came. Nothing is waited for until `wait`. */
  got(bytes: number): void
  stop(): void
}

const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`

/** @param giveUp  called once, with what was waited for in vain */
export function createWatch(patience: Patience, giveUp: (why: string) => void): Watch {
  const { tickMs, connectMs, headersMs, idleMs, rateMs, bytesPerSecond } = patience
  let phase: Phase = 'connect'
  let isWaiting = true
  let waitedMs = 0
  let rated = { ms: 0, bytes: 0 }
  const limits = {
    connect: [connectMs, 'no connection came about'],
    headers: [headersMs, 'it did not begin to answer'],
    body: [idleMs, 'it stopped in the middle of the file'],
  } as const

  function end(why: string): void {
    clearInterval(timer)
    giveUp(why)
  }
  const timer = setInterval(() => {
    if (!isWaiting) return
    waitedMs += tickMs
    const [limitMs, what] = limits[phase]
    if (waitedMs >= limitMs) return end(`${what} within ${seconds(limitMs)}`)
    if (phase !== 'body') return
    rated.ms += tickMs
    if (rated.ms < rateMs) return
    if (rated.bytes * 1000 < bytesPerSecond * rated.ms)
      return end(`it sends fewer than ${bytesPerSecond} bytes a second`)
    rated = { ms: 0, bytes: 0 }
  }, tickMs)

  return {
    enter(next) {
      phase = next
      waitedMs = 0
      isWaiting = true
    },
    wait() {
      isWaiting = true
    },
    got(bytes) {
      isWaiting = false
      waitedMs = 0
      rated.bytes += bytes
    },
    stop: () => clearInterval(timer),
  }
}
