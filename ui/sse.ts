import { seen } from './unseen.ts'

/** One Server-Sent Event as it came over the wire; `data` is still text. */
export interface WireEvent {
  readonly id: string
  readonly event: string
  readonly data: string
}

/** Characters of one event: what is longer is no event of Gatehouse. */
const LONGEST = 8_000_000

/**
 * Reads Server-Sent Events from pieces of text, cut anywhere. Throws at an event that has no end.
 * Source: HTML, "9.2.6 Interpreting an event stream". `retry` is ignored: the console has its own back-off.
 */
export function createEventReader(): (piece: string) => WireEvent[] {
  let rest = ''
  let id = ''
  let event = ''
  let data: string[] = []
  let length = 0

  function line(text: string, done: WireEvent[]): void {
    if (text === '') {
      if (data.length > 0) done.push({ id, event: event === '' ? 'message' : event, data: seen(data.join('\n')) })
      event = ''
      data = []
      length = 0
      return
    }
    const colon = text.indexOf(':')
    const field = colon < 0 ? text : text.slice(0, colon)
    const value = colon < 0 ? '' : text.slice(colon + 1).replace(/^ /, '')
    length += text.length
    if (length > LONGEST) throw new Error('the event is too large')
    if (field === 'data') data.push(value)
    else if (field === 'event') event = value
    else if (field === 'id' && !value.includes('\0')) id = value
  }

  return piece => {
    const done: WireEvent[] = []
    rest += piece
    // a lone CR at the end may be half of CRLF: it waits for the next piece
    const lines = rest.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    if (rest.length > LONGEST) throw new Error('the event is too large')
    for (const text of lines) line(text, done)
    return done
  }
}

/**
 * The events of a response body, until it ends. Throws what the network throws. `onBytes` is called for heartbeats too.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void = () => {},
): AsyncGenerator<WireEvent> {
  const read = createEventReader()
  const reader = body.pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      onBytes()
      yield* read(value)
    }
  } finally {
    await reader.cancel().catch(() => {}) // the connection may be gone already, which is what we want
  }
}
