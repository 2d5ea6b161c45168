import { randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import https from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fail, isRefusal } from '../core/errors.ts'
import { printBytes } from '../lib/limited.ts'
import { createAddressRule } from './addresses.ts'
import { parseTarget } from './target.ts'
import { systemErrorInWords } from '../lib/system-errors.ts'

/** An address as the resolver gives it. */
export interface Resolved {
  readonly address: string
  readonly family: number
}

export interface FetchOptions {
  /** GET by default. Only GET and HEAD follow redirects. */
  readonly method?: 'GET' | 'HEAD' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** Validators of the copy we have: the answer may then be 304, `notModified`. */
  readonly etag?: string | undefined
  readonly lastModified?: string | undefined
  /** Writes the body of a 200 into this file, whole or not at all; `body` is then empty. */
  readonly to?: string
  /** Largest body: 10 MiB by default, 4 GiB with `to`. */
  readonly limitBytes?: number
  /** Time for everything, redirects included: 30 s by default, 30 minutes with `to`. */
  readonly timeoutMs?: number
  /** How many redirects are followed; 5 by default. */
  readonly redirects?: number
  readonly signal?: AbortSignal
  /**
   * Hosts that may lie in a private network for this call, beside those of the setting: an admin configured them by
   * name.
   */
  readonly allow?: string
}

export interface Fetched {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly sizeBytes: number
  /** The address that answered, after redirects. */
  readonly url: string
  readonly notModified: boolean
  readonly etag: string | undefined
  readonly lastModified: string | undefined
}

/**
 * Fetches over HTTP or HTTPS, guarded against server-side request forgery: resolves the name once, checks every
 * address, and connects only to the checked addresses. Checks each redirect in the same way. Any status is an answer.
 * @throws outbound_refused when the guard refuses, outbound_failed when no whole answer came. Messages name the host,
 * never the rest of the URL: the address of a chat tool's webhook is a secret.
 */
export type GuardedFetch = (url: string, options?: FetchOptions) => Promise<Fetched>

export interface GuardedFetchDeps {
  /** All addresses of a name. */
  readonly lookup: (host: string) => Promise<readonly Resolved[]>
  /**
   * Addresses, networks and host names inside the own network that may be reached, separated by commas. Read at every
   * call.
   */
  readonly allow: () => string
  readonly userAgent?: string
}

const MIB = 1024 * 1024
const SENSITIVE = ['authorization', 'cookie', 'proxy-authorization']

interface Attempt {
  readonly url: URL
  readonly addresses: readonly Resolved[]
  readonly options: FetchOptions
  readonly signal: AbortSignal
  readonly userAgent: string
}

/** Answers every lookup with the checked addresses: asking the resolver again could give others. */
function pinned(addresses: readonly Resolved[]): LookupFunction {
  return (_host, { all }, callback) => {
    const [first] = addresses
    if (all === true)
      callback(
        null,
        addresses.map(({ address, family }) => ({ address, family })),
      )
    else callback(null, first?.address ?? '', first?.family)
  }
}

function headersOf({ options, userAgent }: Attempt): Record<string, string> {
  const { etag, lastModified, body, headers = {} } = options
  return {
    'User-Agent': userAgent,
    'Accept': '*/*',
    'Accept-Encoding': 'identity',
    ...(etag === undefined ? {} : { 'If-None-Match': etag }),
    ...(lastModified === undefined ? {} : { 'If-Modified-Since': lastModified }),
    ...(body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }),
    ...headers,
  }
}

/** Sends one request. Resolves when the head of the answer is there. */
function request(attempt: Attempt): Promise<IncomingMessage> {
  const { url, addresses, options, signal } = attempt
  return new Promise((resolve, reject) => {
    const { request: open } = url.protocol === 'https:' ? https : http
    const sent = open(url, {
      method: options.method ?? 'GET',
      headers: headersOf(attempt),
      lookup: pinned(addresses),
      agent: false,
      signal,
    })
    sent.once('response', resolve)
    sent.once('error', reject)
    sent.once('upgrade', (_, socket) => {
      socket.destroy()
      reject(new Error('it answered with another protocol'))
    })
    sent.end(options.body)
  })
}

/** Counts what passes. @throws Error that names the limit, as soon as there is more */
function cap(limitBytes: number): Transform & { seen: number } {
  const counter = Object.assign(
    new Transform({
      transform(chunk: Buffer, _, done) {
        counter.seen += chunk.length
        done(counter.seen > limitBytes ? new Error(`its answer is larger than ${printBytes(limitBytes)}`) : null, chunk)
      },
    }),
    { seen: 0 },
  )
  return counter
}

async function readBody(
  answer: IncomingMessage,
  { to, limitBytes = to === undefined ? 10 * MIB : 4096 * MIB }: FetchOptions,
  signal: AbortSignal,
): Promise<{ body: Buffer; sizeBytes: number }> {
  if (Number(answer.headers['content-length'] ?? 0) > limitBytes)
    throw new Error(`its answer is larger than ${printBytes(limitBytes)}`)
  const counter = cap(limitBytes)
  if (to !== undefined && answer.statusCode === 200) {
    const part = `${to}.${randomBytes(6).toString('hex')}.part`
    try {
      await pipeline(answer, counter, createWriteStream(part, { flags: 'wx', flush: true }), { signal })
      await rename(part, to)
    } catch (error) {
      await rm(part, { force: true })
      throw error
    }
    return { body: Buffer.alloc(0), sizeBytes: counter.seen }
  }
  const chunks: Buffer[] = []
  await pipeline(
    answer,
    counter,
    async source => {
      for await (const chunk of source) chunks.push(chunk as Buffer)
    },
    { signal },
  )
  return { body: Buffer.concat(chunks), sizeBytes: counter.seen }
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** Where a redirect leads, checked as text. Its addresses are checked when it is fetched. */
function nextUrl(from: URL, location: string): URL {
  const absolute = /^[a-z][a-z\d+.-]*:/i.test(location)
    ? location
    : /^[/\\]{2}/.test(location)
      ? `${from.protocol}${location}`
      : new URL(location, from).href
  const next = parseTarget(absolute)
  if (from.protocol === 'https:' && next.protocol === 'http:')
    fail('outbound_refused', { host: next.host, why: 'the redirect leads from HTTPS to HTTP' })
  return next
}

function without(headers: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name.toLowerCase())))
}

/** A failed connection in words, without an address: Node's messages repeat it. */
function reasonOf(error: unknown, isOverdue: boolean): string {
  if (isOverdue) return 'it took too long'
  const words = systemErrorInWords(error)
  if (words !== undefined) return words
  const { code = '', message } = error as NodeJS.ErrnoException
  return code.startsWith('HPE_') ? 'what it answered is not HTTP' : message
}

/** Makes the only HTTP client of this service for other hosts. */
export function createGuardedFetch({ lookup, allow, userAgent = 'Gatehouse' }: GuardedFetchDeps): GuardedFetch {
  async function check(url: URL, alsoAllowed: string): Promise<readonly Resolved[]> {
    const host = url.hostname.replace(/^\[|\]$/g, '')
    const addresses = isIP(host) === 0 ? await lookup(host) : [{ address: host, family: isIP(host) }]
    if (addresses.length === 0) throw Object.assign(new Error('no address'), { code: 'ENOTFOUND' })
    const rule = createAddressRule(`${allow()},${alsoAllowed}`)
    // one bad address among good ones is a trick, or a name for another machine inside
    for (const { address } of addresses) {
      const why = rule.refusal(address, host)
      if (why !== undefined) fail('outbound_refused', { host: url.host, why })
    }
    return addresses
  }

  async function follow(url: URL, options: FetchOptions, signal: AbortSignal): Promise<Fetched> {
    const addresses = await abortable(check(url, options.allow ?? ''), signal)
    const answer = await request({ url, addresses, options, signal, userAgent })
    const { statusCode: status = 0, headers } = answer
    const left = options.redirects ?? 5
    if (REDIRECTS.has(status) && headers.location !== undefined && options.method !== 'POST') {
      answer.destroy()
      if (left === 0) fail('outbound_refused', { host: url.host, why: 'it redirects too often' })
      const next = nextUrl(url, headers.location)
      const kept = next.origin === url.origin ? (options.headers ?? {}) : without(options.headers ?? {}, SENSITIVE)
      return follow(next, { ...options, headers: kept, redirects: left - 1 }, signal)
    }
    const { body, sizeBytes } = await readBody(answer, options, signal)
    return {
      status,
      headers,
      body,
      sizeBytes,
      url: url.href,
      notModified: status === 304,
      etag: headers.etag,
      lastModified: headers['last-modified'],
    }
  }

  return async (text, options = {}) => {
    const url = parseTarget(text)
    const overdue = AbortSignal.timeout(options.timeoutMs ?? (options.to === undefined ? 30_000 : 30 * 60_000))
    const signal = options.signal === undefined ? overdue : AbortSignal.any([overdue, options.signal])
    try {
      return await follow(url, options, signal)
    } catch (error) {
      if (isRefusal(error)) throw error
      return fail('outbound_failed', { host: url.host, why: reasonOf(error, overdue.aborted) }, error)
    }
  }
}

/** A resolver cannot be interrupted, but its caller can stop waiting. */
function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason as Error)
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}
