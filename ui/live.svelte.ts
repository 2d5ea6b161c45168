import { ApiProblem, open } from './api.ts'
import { readEvents } from './sse.ts'
import type { LiveEvent } from './wire.ts'

/** Seconds between attempts; the last one stays. */
const BACK_OFF = [1, 2, 5, 10, 30] as const
/** Seconds between attempts while the service says that it is back in a moment. */
const SOON = 2
/** A stream without even a heartbeat for this long is dead, whatever the socket says (sleep, a pulled cable). */
const SILENCE_MS = 60_000
/** The stream is doubted at most this often. */
const DOUBT_MS = 10_000

interface Live {
  readonly state: 'connecting' | 'live' | 'offline'
  /** When the connection was lost. */
  readonly since: Date | undefined
  /** When it is tried again. */
  readonly retryAt: Date | undefined
  /** What the service does meanwhile, in its own words; undefined where nothing answers. */
  readonly said?: string | undefined
}

let live = $state.raw<Live>({ state: 'connecting', since: undefined, retryAt: undefined })
const listeners = new Set<(event: LiveEvent | undefined) => void>()
let stop: (() => void) | undefined
let wakeUp: (() => void) | undefined
let endAttempt: (() => void) | undefined
let doubtedAt = 0
let said: string | undefined

export function liveState(): Live {
  return live
}

/** Calls back on every event, and with undefined when a lost connection is back and anything may have happened. */
export function onLive(listener: (event: LiveEvent | undefined) => void): () => void {
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
  }
}

export function tryNow(): void {
  wakeUp?.()
}

/** A request got no answer: the stream may be dead without knowing it, so it is ended and opened again. */
export function doubt(): void {
  // a request that fails while the stream is well must not open it again and again
  if (Date.now() - doubtedAt < DOUBT_MS) return
  doubtedAt = Date.now()
  endAttempt?.()
}

function tell(event: LiveEvent | undefined): void {
  for (const listener of listeners) listener(event)
}

/** One connection, until it ends. Returns the last event id. */
async function follow(lastId: string, signal: AbortSignal, onOpen: () => void): Promise<string> {
  const attempt = new AbortController()
  const end = (): void => attempt.abort()
  signal.addEventListener('abort', end, { once: true })
  endAttempt = end
  let watchdog = setTimeout(end, SILENCE_MS)
  let seen = lastId
  said = undefined
  try {
    const body = await open('GET /dashboard/events', {
      signal: attempt.signal,
      ...(lastId === '' ? {} : { headers: { 'last-event-id': lastId } }),
    })
    for await (const { id, event, data } of readEvents(body, () => {
      clearTimeout(watchdog)
      watchdog = setTimeout(end, SILENCE_MS)
    })) {
      if (event === 'hello') onOpen()
      else {
        if (id !== '') seen = id
        tell(JSON.parse(data) as LiveEvent) // our own server's shape
      }
    }
  } catch (error) {
    // however it ended, the next attempt follows; a 401 ends the session, and that stops us
    if (error instanceof ApiProblem && ['maintenance', 'starting'].includes(error.code)) said = error.message
  } finally {
    clearTimeout(watchdog)
    endAttempt = undefined
    signal.removeEventListener('abort', end)
  }
  return seen
}

async function run(signal: AbortSignal): Promise<void> {
  let lastId = ''
  let attempts = 0
  while (!signal.aborted) {
    lastId = await follow(lastId, signal, () => {
      const lost = live.state === 'offline'
      live = { state: 'live', since: undefined, retryAt: undefined }
      attempts = 0
      if (lost) tell(undefined)
    })
    if (signal.aborted) return
    const seconds = said !== undefined ? SOON : (BACK_OFF[Math.min(attempts++, BACK_OFF.length - 1)] ?? 30)
    live = { state: 'offline', since: live.since ?? new Date(), retryAt: new Date(Date.now() + seconds * 1000), said }
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, seconds * 1000)
      wakeUp = () => {
        clearTimeout(timer)
        resolve()
      }
      signal.addEventListener('abort', wakeUp, { once: true })
    })
    wakeUp = undefined
  }
}

/** Follows the live events until `stopLive`. */
export function startLive(): void {
  if (stop !== undefined) return
  const controller = new AbortController()
  const retry = (): void => tryNow()
  // the browser knows at once what the stream hears late; where the server answers all the same, it is live again
  const lost = (): void => endAttempt?.()
  globalThis.addEventListener('online', retry)
  globalThis.addEventListener('offline', lost)
  stop = () => {
    globalThis.removeEventListener('online', retry)
    globalThis.removeEventListener('offline', lost)
    controller.abort()
  }
  live = { state: 'connecting', since: undefined, retryAt: undefined }
  void run(controller.signal)
}

export function stopLive(): void {
  stop?.()
  stop = undefined
  live = { state: 'connecting', since: undefined, retryAt: undefined }
}
