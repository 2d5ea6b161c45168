import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import https from 'node:https'
import { isIP } from 'node:net'
import { fail, isRefusal } from '../../core/errors.ts'
import { isPublic } from '../addresses.ts'
import { abortable, hostOf, nextUrl, pinned, reasonOf, REDIRECTS, type HostGuard } from '../guard.ts'
import type { Agents } from './agents.ts'
import type { Bucket } from './bucket.ts'
import { NetFault } from './fault.ts'
import { createWatch, type Patience, type Watch } from './patience.ts'

/** The head of an answer, and its body as it comes. A body that is not read has to be discarded. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The address that answered, after redirects. */
  readonly url: URL
  /** @throws NetFault when it is cut, stalls or drips */
  readonly body: AsyncIterable<Buffer>
  discard(): void
}

/** What is asked of a foreign server. */
export interface Question {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** GET by default. */
  readonly method?: 'GET' | 'HEAD'
}

/** Asks once and follows redirects. @throws NetFault, outbound_refused, or the signal's reason */
export type Exchange = (question: Question, signal: AbortSignal) => Promise<Answer>

export interface ExchangeDeps {
  readonly guard: HostGuard
  readonly agents: Agents
  readonly bucket: Bucket
  readonly patience: Patience
  readonly userAgent: string
  /** Addresses of this machine's interfaces. */
  readonly ownAddresses: () => readonly string[]
  /** Those of the private network that may be reached, separated by commas. */
  readonly allow: () => string
}

const MOST_REDIRECTS = 5
/** Inside private networks a failed connection has one sentence, or it would tell which ports are open. */
const INSIDE = 'it did not answer as a server of packages does'

interface Hop extends Required<Question> {
  readonly signal: AbortSignal
  readonly watch: Watch
}

const withoutCredential = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'authorization'))

/** Makes the client that reads repositories of others. */
export function createExchange(deps: ExchangeDeps): Exchange {
  const { guard, agents, bucket, patience, userAgent } = deps

  /** Connecting to oneself is never an import: a service here may trust whoever comes from this machine. */
  function refuseSelf(url: URL, addresses: readonly string[]): void {
    const listed = deps.allow().split(',')
    const own = addresses.find(one => deps.ownAddresses().includes(one) && !listed.some(entry => entry.trim() === one))
    if (own !== undefined) fail('outbound_refused', { host: url.host, why: `${own} is an address of this machine` })
  }

  /** The addresses to connect to; undefined: a proxy resolves the name, and only what needs no resolver is checked. */
  async function check(url: URL, isProxied: boolean): Promise<Awaited<ReturnType<HostGuard>> | undefined> {
    if (isProxied && isIP(hostOf(url)) === 0) return undefined
    const addresses = await guard(url)
    refuseSelf(
      url,
      addresses.map(({ address }) => address),
    )
    return isProxied ? undefined : addresses
  }

  function send({ url, headers, method, signal, watch }: Hop, lookup: ReturnType<typeof pinned> | undefined) {
    const isTls = url.protocol === 'https:'
    return new Promise<IncomingMessage>((resolve, reject) => {
      const sent = (isTls ? https : http).request(url, {
        method,
        headers: { 'user-agent': userAgent, 'accept': '*/*', 'accept-encoding': 'identity', ...headers },
        agent: agents.of(url),
        signal,
        ...(lookup === undefined ? {} : { lookup }),
      })
      sent.once('socket', socket => {
        if (!socket.connecting) return watch.enter('headers')
        socket.once(isTls ? 'secureConnect' : 'connect', () => watch.enter('headers'))
      })
      sent.once('response', resolve)
      sent.once('error', reject)
      sent.once('upgrade', (_, socket) => {
        socket.destroy()
        reject(new Error('it answered with another protocol'))
      })
      sent.end()
    })
  }

  /** A fault of the connection. `isInside`: where details would tell what runs there. */
  function faultOf(url: URL, error: unknown, given: { readonly why: string | undefined; readonly isInside: boolean }) {
    const why = given.isInside ? INSIDE : (given.why ?? reasonOf(error))
    return new NetFault({ host: url.host, why, isPassing: true, isHosts: true, cause: error })
  }

  return async ({ method = 'GET', ...given }, signal) => {
    let { url, headers } = given
    for (let hops = 0; ; hops++) {
      const patient: { why?: string } = {}
      const over = new AbortController()
      const watch = createWatch(patience, why => {
        patient.why = why
        over.abort()
      })
      const both = AbortSignal.any([signal, over.signal])
      let isInside = false
      try {
        const addresses = await abortable(check(url, agents.isProxied(url)), both)
        isInside = addresses?.some(({ address }) => !isPublic(address)) ?? false
        const lookup = addresses === undefined ? undefined : pinned(addresses)
        const message = await send({ url, headers, method, signal: both, watch }, lookup)
        const { statusCode: status = 0, headers: head } = message
        if (!REDIRECTS.has(status) || head.location === undefined) {
          const stop = (): void => {
            watch.stop()
            message.destroy()
          }
          watch.enter('body')
          const body = read(message, { url, signal, watch, bucket, given: patient })
          return { status, headers: head, url, body, discard: stop }
        }
        message.destroy()
        if (hops === MOST_REDIRECTS) throw new NetFault({ host: url.host, why: 'it redirects too often' })
        const next = nextUrl(url, head.location)
        // a credential is for the server that it was given for
        if (next.origin !== url.origin) headers = withoutCredential(headers)
        url = next
        watch.stop()
      } catch (error) {
        watch.stop()
        signal.throwIfAborted()
        if (isRefusal(error) || error instanceof NetFault) throw error
        throw faultOf(url, error, { why: patient.why, isInside })
      }
    }
  }
}

interface Reading {
  readonly url: URL
  readonly signal: AbortSignal
  readonly watch: Watch
  readonly bucket: Bucket
  /** Set when patience is at its end. */
  readonly given: { readonly why?: string }
}

async function* read(message: IncomingMessage, { url, signal, watch, bucket, given }: Reading): AsyncGenerator<Buffer> {
  try {
    watch.wait()
    for await (const chunk of message as AsyncIterable<Buffer>) {
      watch.got(chunk.length)
      await bucket.take(chunk.length, signal)
      yield chunk
      watch.wait()
    }
  } catch (error) {
    signal.throwIfAborted()
    const why = given.why ?? reasonOf(error)
    throw new NetFault({ host: url.host, why, isPassing: true, isHosts: given.why !== undefined, cause: error })
  } finally {
    watch.stop()
    message.destroy()
  }
}
