import { createHash } from 'node:crypto'
import dns from 'node:dns'
import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAddressRule } from '../../outbound/addresses.ts'
import { systemErrorInWords } from '../../lib/system-errors.ts'
import { encode, queryOf, sign, type S3Keys } from './s3-sign.ts'
import { TargetTrouble } from './target-store.ts'

// Written here, since s3mini 1.0.2 repeats nothing, signs no bodies, takes a completion that S3 answers with an error
// for done and cannot be told to stop, and the SDK of AWS is 22 MB.

/** A bucket, and how it is reached. */
export interface S3Place extends S3Keys {
  /** `https://s3.example`, without the bucket. */
  readonly endpoint: string
  readonly bucket: string
  /** Certificates of its authority, in PEM; undefined: those of the system. */
  readonly ca?: string | undefined
  /** Addresses and hosts of the private network that may be reached, beside the endpoint itself; commas between. */
  readonly allow?: string
}

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** Empty: the bucket itself. */
  readonly key: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer
  readonly signal: AbortSignal
}

/** Speaks to one bucket. */
export interface S3Client {
  readonly address: string
  /**
   * Sends a request, again where that may help. Every request here may be repeated.
   * @returns the answer with its body unread: 2xx, or 404
   * @throws TargetTrouble for every other answer, and where there was none
   */
  send(request: S3Request): Promise<IncomingMessage>
  close(): void
}

/** Before each further attempt, in ms. */
const WAITS = [300, 1_000, 3_000, 8_000]
/** A connection on which nothing moves for twice this long is given up: a slow one is not. */
const IDLE_MS = 60_000
const MAX_ERROR = 64 * 1024
const AGAIN = new Set([408, 429, 500, 502, 503, 504])

export const textOf = async (answer: IncomingMessage): Promise<string> => {
  let text = ''
  for await (const chunk of answer as AsyncIterable<Buffer>) if (text.length < MAX_ERROR * 256) text += chunk.toString()
  return text
}

/** What stands in an element of an answer, decoded; undefined where there is none. */
export function element(xml: string, name: string): string | undefined {
  const found = new RegExp(`<${name}(?: [^>]*)?>([^<]*)</${name}>`).exec(xml)?.[1]
  const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
  return found?.replace(/&(amp|lt|gt|quot|apos);/g, (_, entity: string) => ENTITIES[entity] ?? '')
}

/** What S3's own words for a refusal mean for whoever set it up. */
const REFUSALS: Readonly<Record<string, string>> = {
  AccessDenied: 'its access key may not do that: it needs to list, read, write and delete',
  InvalidAccessKeyId: 'it does not know the access key',
  SignatureDoesNotMatch: 'the secret key is not the one of the access key, or the region is another one',
  NoSuchBucket: 'it has no such bucket',
  RequestTimeTooSkewed: 'its clock and the one of this machine differ by more than 15 minutes',
  PermanentRedirect: 'the bucket is in another region',
  AuthorizationHeaderMalformed: 'the bucket is in another region',
  QuotaExceeded: 'the quota is used up',
  EntityTooLarge: 'it takes no file as large as this',
}

function refusal(address: string, status: number, xml: string, region: string | undefined): TargetTrouble {
  const code = element(xml, 'Code')?.slice(0, 60)
  const words = code === undefined ? undefined : REFUSALS[code]
  const where = region === undefined ? '' : ` (${region.slice(0, 40)})`
  const said = `${status}${code === undefined ? '' : ` ${code}`}`
  return new TargetTrouble(`${address} answers ${said}${words === undefined ? '' : `: ${words}${where}`}.`, {
    isPassing: AGAIN.has(status) || code === 'RequestTimeout' || code === 'InternalError' || code === 'SlowDown',
  })
}

/** Looks a name up, and answers only with addresses that this service may reach. */
function guardedLookup(allow: string): LookupFunction {
  const rule = createAddressRule(allow)
  return (host, options, callback) => {
    dns.lookup(host, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, '')
      const why = addresses.map(({ address }) => rule.refusal(address, host)).find(reason => reason !== undefined)
      if (why !== undefined)
        return callback(
          new TargetTrouble(
            `${host} is not asked: ${why}. An admin can allow it in notifications.allow_private_hosts.`,
          ),
          '',
        )
      const [first] = addresses
      if (options.all === true) callback(null, addresses)
      else callback(null, first?.address ?? '', first?.family)
    })
  }
}

/** Gives a connection up once nothing moved on it for two periods: a busy process may miss one. */
function giveUpWhenIdle(request: http.ClientRequest): void {
  let seen = -1
  request.setTimeout(IDLE_MS, () => {
    const { socket } = request
    const moved = (socket?.bytesRead ?? 0) + (socket?.bytesWritten ?? 0)
    if (moved === seen) request.destroy(Object.assign(new Error('nothing moved'), { code: 'ETIMEDOUT' }))
    seen = moved
  })
}

export interface S3ClientDeps {
  readonly now?: () => Date
  /** Waits between attempts. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>
}

export function createS3Client(
  place: S3Place,
  { now = () => new Date(), wait = (ms, signal) => sleep(ms, undefined, { signal }) }: S3ClientDeps = {},
): S3Client {
  const endpoint = new URL(place.endpoint)
  const { request: open, Agent } = endpoint.protocol === 'https:' ? https : http
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  const hostname = endpoint.hostname.replace(/^\[|\]$/g, '')
  const lookup = guardedLookup(`${place.allow ?? ''},${hostname}`)
  const base = `${endpoint.pathname.replace(/\/$/, '')}/${encode(place.bucket)}`
  const address = `${endpoint.origin}${base}`

  function once({ method, key, query = {}, headers = {}, body, signal }: S3Request): Promise<IncomingMessage> {
    const path = key === '' ? base : `${base}/${key.split('/').map(encode).join('/')}`
    const size = body?.length ?? 0
    const payloadSha256 = createHash('sha256')
      .update(body ?? '')
      .digest('hex')
    const own = { host: endpoint.host, ...headers }
    const signed = sign({ method, path, query, headers: own, payloadSha256 }, place, now())
    return new Promise((resolve, reject) => {
      const sent = open({
        protocol: endpoint.protocol,
        hostname,
        port: endpoint.port,
        method,
        path: Object.keys(query).length === 0 ? path : `${path}?${queryOf(query)}`,
        headers: { ...own, ...signed, ...(method === 'PUT' || method === 'POST' ? { 'content-length': size } : {}) },
        agent,
        signal,
        ...(isIP(hostname) === 0 ? { lookup } : {}),
        ...(place.ca === undefined ? {} : { ca: place.ca }),
      })
      giveUpWhenIdle(sent)
      sent.once('response', resolve)
      sent.once('error', reject)
      sent.end(body)
    })
  }

  /** @throws TargetTrouble, and the reason of the signal */
  async function attempt(request: S3Request): Promise<IncomingMessage> {
    try {
      const answer = await once(request)
      const { statusCode: status = 0, headers } = answer
      if ((status >= 200 && status < 300) || status === 206) return answer
      const xml = request.method === 'HEAD' ? '' : await textOf(answer)
      if (request.method === 'HEAD') answer.resume()
      if (status === 404 && element(xml, 'Code') !== 'NoSuchBucket')
        return Object.assign(answer, { told: element(xml, 'Code') })
      throw refusal(address, status, xml, headers['x-amz-bucket-region'] as string | undefined)
    } catch (error) {
      request.signal.throwIfAborted()
      if (error instanceof TargetTrouble) throw error
      const words = systemErrorInWords(error)
      throw new TargetTrouble(`${address}: ${words ?? 'it gave no answer that is HTTP'}.`, {
        cause: error,
        isPassing: true,
      })
    }
  }

  return {
    address,
    send: async request => {
      for (const ms of WAITS)
        try {
          return await attempt(request)
        } catch (error) {
          if (!(error instanceof TargetTrouble) || !error.isPassing) throw error
          await wait(ms * (0.75 + Math.random() / 2), request.signal)
        }
      return attempt(request)
    },
    close: () => agent.destroy(),
  }
}
