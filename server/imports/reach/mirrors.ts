import type { RelPath } from '../../core/identity.ts'
import type { Breaker } from '../../outbound/exchange/breaker.ts'
import type { Answer, Exchange } from '../../outbound/exchange/exchange.ts'
import { NetFault, refuseAll } from '../../outbound/exchange/fault.ts'

/** The servers that hold the same files: base addresses, the one to ask first in front. */
export interface Mirrors {
  readonly bases: readonly URL[]
  /** How a path is written behind a base. */
  readonly encode: (path: RelPath) => string
}

export interface AskOptions {
  readonly signal: AbortSignal
  /** Bytes that are there already. */
  readonly from?: number
  /** Asks caches to look again. */
  readonly fresh?: boolean
}

/** A file that is coming. */
export interface Coming {
  readonly base: URL
  /** Where it begins: what was asked for, or 0 where the server gives no ranges. */
  readonly from: number
  readonly chunks: AsyncIterable<Buffer>
  /** Tells this state of the file from others: empty where the server does not say. */
  readonly validator: string
}

export interface AskDeps {
  readonly exchange: Exchange
  readonly breaker: Breaker
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

/**
 * Asks one after the other. @returns undefined where the file does not exist
 * @throws outbound_failed, outbound_refused
 */
export type Ask = (mirrors: Mirrors, path: RelPath, options: AskOptions) => Promise<Coming | undefined>

const TRIES = 3
const MISSING: ReadonlySet<number> = new Set([404, 410])
/** What a server is waited for that says how long; beyond it the next mirror is asked. */
const LONGEST_WAIT_MS = 60_000

/** Seconds, or a date. Source: RFC 9110, 10.2.3 */
function retryAfterMs(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : new Date(text).getTime() - Date.now()
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}

/** Where a 206 begins; undefined when it does not say. */
function beginOf(answer: Answer): number | undefined {
  const [, begin] = /^bytes (\d+)-\d+\//.exec(answer.headers['content-range'] ?? '') ?? []
  return begin === undefined ? undefined : Number(begin)
}

/** What a login page of a network answers to everything. No file of a repository begins so. */
const isWebPage = (first: Buffer): boolean =>
  /^[\s\uFEFF]*<(!doctype html|html)\b/i.test(first.toString('utf8', 0, 200))

/** Reads the first chunk, to know what it is before anybody gets it. */
async function peek({ body, url }: Answer): Promise<AsyncIterable<Buffer>> {
  const rest = body[Symbol.asyncIterator]()
  const first = await rest.next()
  if (first.done !== true && isWebPage(first.value)) {
    await rest.return?.()
    throw new NetFault({
      host: url.host,
      why: 'it answered with a web page, perhaps the login page of a network; open the address in a browser',
    })
  }
  return (async function* () {
    try {
      if (first.done === true) return
      yield first.value
      for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value
    } finally {
      await rest.return?.()
    }
  })()
}

/** Makes what asks for files: bounded repetition, the next mirror, and no requests to hosts that rest. */
export function createAsk({ exchange, breaker, sleep }: AskDeps): Ask {
  async function once(base: URL, url: URL, { from = 0, fresh = false, signal }: AskOptions) {
    const asked = {
      ...(from === 0 ? {} : { range: `bytes=${from}-` }),
      ...(fresh ? { 'cache-control': 'no-cache', 'pragma': 'no-cache' } : {}),
    }
    const answer = await exchange({ url, headers: asked }, signal)
    const { status, headers } = answer
    const host = answer.url.host
    if (status === 200 || (status === 206 && beginOf(answer) === from)) {
      const validator = headers.etag ?? headers['last-modified'] ?? ''
      return { base, from: status === 200 ? 0 : from, chunks: await peek(answer), validator }
    }
    answer.discard()
    if (MISSING.has(status)) return undefined
    // ranges that are not what was asked for: whole, then
    if (from !== 0 && (status === 206 || status === 416)) return 'whole' as const
    const isPassing = status === 429 || status >= 500
    throw new NetFault({
      host,
      why: `it answered ${status}`,
      isPassing,
      isHosts: status >= 500,
      retryAfterMs: retryAfterMs(headers['retry-after']),
    })
  }

  async function patiently(base: URL, url: URL, options: AskOptions): Promise<Coming | undefined> {
    let asked = options
    for (let tried = 1; ; tried++) {
      const until = breaker.restsUntil(url.host)
      if (until !== undefined)
        throw new NetFault({
          host: url.host,
          why: `it failed several times and is asked again at ${until.toISOString()}`,
        })
      try {
        const found = await once(base, url, asked)
        breaker.worked(url.host)
        if (found !== 'whole') return found
        asked = { ...asked, from: 0 }
      } catch (error) {
        if (!(error instanceof NetFault)) throw error
        if (error.isHosts) breaker.failed(url.host)
        const waitMs = error.retryAfterMs ?? 1000 * 3 ** (tried - 1)
        if (!error.isPassing || tried === TRIES || waitMs > LONGEST_WAIT_MS) throw error
        if (breaker.restsUntil(url.host) !== undefined) throw error
        await sleep(waitMs, options.signal)
      }
    }
  }

  return async ({ bases, encode }, path, options) => {
    const faults: NetFault[] = []
    let isMissing = false
    for (const base of bases) {
      try {
        const found = await patiently(base, new URL(encode(path), base), options)
        if (found !== undefined) return found
        // a mirror that lacks it proves nothing while the one before it could not be asked
        isMissing ||= faults.length === 0
      } catch (error) {
        if (!(error instanceof NetFault)) throw error
        faults.push(error)
      }
    }
    return isMissing ? undefined : refuseAll(faults)
  }
}

const RESUMES = 3

/**
 * The bytes of a file from `from` on. What breaks off goes on where it stopped, at the same server or at a mirror.
 * @param first  the answer to the first question
 * @throws outbound_failed
 */
export async function* readOn(
  ask: Ask,
  file: { readonly mirrors: Mirrors; readonly path: RelPath; readonly first: Coming; readonly from: number },
  options: AskOptions & { readonly onMirror: (base: URL) => void },
): AsyncGenerator<Buffer> {
  let coming = file.first
  let at = file.from
  for (let resumes = 0; ; resumes++) {
    let skip = at - coming.from
    options.onMirror(coming.base)
    try {
      for await (const chunk of coming.chunks) {
        const fresh = chunk.subarray(Math.min(skip, chunk.length))
        skip -= chunk.length - fresh.length
        at += fresh.length
        if (fresh.length > 0) yield fresh
      }
      return
    } catch (error) {
      if (!(error instanceof NetFault)) throw error
      if (resumes === RESUMES) refuseAll([error])
      const { bases } = file.mirrors
      const turned = [coming.base, ...bases.filter(base => base !== coming.base)]
      const next = await ask({ ...file.mirrors, bases: turned }, file.path, { ...options, from: at })
      const hasChanged = next !== undefined && next.base === coming.base && next.validator !== coming.validator
      if (next === undefined || hasChanged)
        return refuseAll([new NetFault({ host: error.host, why: 'the file changed while it was read' })])
      coming = next
    }
  }
}
