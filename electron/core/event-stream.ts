import type { IncomingMessage } from 'node:http'
import { createEventReader, type WireEvent } from '../../ui/sse.ts'
import type { Ask } from './pinned-client.ts'

/** Seconds between attempts; the last one stays. */
const BACK_OFF = [1, 2, 5, 10, 30] as const
/** A stream without even a heartbeat for this long is dead, whatever the socket says. */
const SILENCE_MS = 60_000

export interface EventStream {
  /** Connects at once: the computer woke up, or the network is back. */
  wake(): void
  stop(): void
}

interface Needs {
  readonly path: string
  /** The token of now; undefined while nobody is signed in, and then nothing is asked. */
  readonly token: () => Promise<string | undefined>
  readonly request: (ask: Ask) => Promise<IncomingMessage>
  readonly told: (event: WireEvent) => void
  /** The server refused the token. */
  readonly refused: (token: string) => void
}

/** Follows a stream of events for ever: reads from the last one on after each end, with growing pauses between. */
export function followEvents({ path, token, request, told, refused }: Needs): EventStream {
  const end = new AbortController()
  let attempts = 0
  let lastId = ''
  let wakeUp: (() => void) | undefined
  let endAttempt: (() => void) | undefined

  async function read(credential: string): Promise<void> {
    const attempt = new AbortController()
    endAttempt = () => attempt.abort()
    const answer = await request({
      method: 'GET',
      path,
      headers: {
        accept: 'text/event-stream',
        authorization: `Bearer ${credential}`,
        ...(lastId === '' ? {} : { 'last-event-id': lastId }),
      },
      signal: AbortSignal.any([attempt.signal, end.signal]),
      silenceMs: SILENCE_MS,
    })
    if (answer.statusCode !== 200) {
      answer.resume()
      if (answer.statusCode === 401) refused(credential)
      return
    }
    const events = createEventReader()
    answer.setEncoding('utf8')
    for await (const piece of answer as AsyncIterable<string>)
      for (const event of events(piece)) {
        attempts = 0
        // it goes back as a header
        if (/^[\x21-\x7e]{1,200}$/.test(event.id)) lastId = event.id
        told(event)
      }
  }
  const pause = (): Promise<void> =>
    new Promise(resolve => {
      const timer = setTimeout(resolve, 1000 * (BACK_OFF[Math.min(attempts++, BACK_OFF.length - 1)] ?? 30))
      wakeUp = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  async function run(): Promise<void> {
    while (!end.signal.aborted) {
      const credential = await token()
      // whatever ended it, the next attempt follows; the state of the connection is told by the watch
      if (credential !== undefined) await read(credential).catch(() => undefined)
      endAttempt = undefined
      if (!end.signal.aborted) await pause()
    }
  }
  void run()
  return {
    wake: () => {
      attempts = 0
      endAttempt?.()
      wakeUp?.()
    },
    stop: () => {
      end.abort()
      wakeUp?.()
    },
  }
}
