import { Agent, request as httpsRequest } from 'node:https'
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Refusal } from './refusal.ts'
import { mistrustIn, tlsOptions, type Mistrust, type Trust } from './trust.ts'

export interface Ask {
  readonly method: string
  /** From the first slash on, with its query. */
  readonly path: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: Readable | Uint8Array | undefined
  readonly signal?: AbortSignal | undefined
  /** How long nothing may come before the request fails; 0 waits for ever, for streams of events. */
  readonly silenceMs?: number
}

/** The one way from the desktop program to an appliance: verified by Node against what this appliance is trusted by. */
export interface PinnedClient {
  /** @throws Untrusted when the wrong one answers; Error when nobody does */
  request(ask: Ask): Promise<IncomingMessage>
  /** Ends what is open, and whatever is asked later. */
  close(): void
}

/** The certificate of who answered is not good for this appliance. Nothing was sent to it. */
export class Untrusted extends Error {
  readonly why: Mistrust

  constructor(why: Mistrust, cause: unknown) {
    super(`the certificate is not trusted: ${why}`, { cause })
    this.name = 'Untrusted'
    this.why = why
  }
}

const SILENCE_MS = 60_000

/** @param system  the certificates of this computer, for an appliance that they vouch for */
export function createPinnedClient(origin: string, trust: Trust, system: () => string[]): PinnedClient {
  const { hostname, port } = new URL(origin)
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const agent = new Agent({
    ...tlsOptions(trust, system),
    keepAlive: true,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
  })
  let isClosed = false

  function send({ method, path, headers = {}, body, signal, silenceMs = SILENCE_MS }: Ask): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const request = httpsRequest(
        {
          agent,
          host,
          port: port === '' ? 443 : Number(port),
          method,
          path,
          headers,
          ...(signal === undefined ? {} : { signal }),
        },
        resolve,
      )
      request.setTimeout(silenceMs, () => request.destroy(new Error(`no word for ${silenceMs / 1000} s`)))
      request.once('error', error => {
        const why = mistrustIn(error)
        reject(why === undefined ? error : new Untrusted(why, error))
      })
      if (body === undefined) request.end()
      else if (body instanceof Readable)
        // the request says what went wrong, also when the file could not be read
        pipeline(body, request).catch((error: unknown) => request.destroy(error as Error))
      else request.end(body)
    })
  }
  return {
    request: ask => {
      if (isClosed)
        return Promise.reject(new Refusal('closed', 'This appliance was removed or is trusted anew; ask again.'))
      return send(ask)
    },
    close: () => {
      isClosed = true
      agent.destroy()
    },
  }
}

const LARGEST_JSON = 8_000_000

/** The JSON of an answer. @throws Error when it is none, or far too large */
export async function readJson(answer: IncomingMessage): Promise<unknown> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of answer as AsyncIterable<Buffer>) {
    size += piece.length
    if (size > LARGEST_JSON) {
      answer.destroy()
      throw new Error('the answer is too large')
    }
    pieces.push(piece)
  }
  return JSON.parse(Buffer.concat(pieces).toString()) as unknown
}

/** A header's one value. */
export function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}
