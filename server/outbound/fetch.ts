import { randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import https from 'node:https'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fail, isRefusal } from '../core/errors.ts'
import { printBytes } from '../lib/limited.ts'
import { abortable, createHostGuard, nextUrl, pinned, reasonOf, REDIRECTS } from './guard.ts'
import type { HostGuardDeps, Resolved } from './guard.ts'
import { parseTarget } from './target.ts'

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

export interface GuardedFetchDeps extends HostGuardDeps {
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

function without(headers: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name.toLowerCase())))
}

/** Makes the HTTP client for everything but repositories of others, which `exchange/` reads. */
export function createGuardedFetch({ lookup, allow, userAgent = 'Gatehouse' }: GuardedFetchDeps): GuardedFetch {
  const check = createHostGuard({ lookup, allow })

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
      return fail(
        'outbound_failed',
        { host: url.host, why: overdue.aborted ? 'it took too long' : reasonOf(error) },
        error,
      )
    }
  }
}
