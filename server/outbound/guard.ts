import { isIP, type LookupFunction } from 'node:net'
import { fail } from '../core/errors.ts'
import { systemErrorInWords } from '../lib/system-errors.ts'
import { createAddressRule } from './addresses.ts'
import { parseTarget } from './target.ts'

/** An address as the resolver gives it. */
export interface Resolved {
  readonly address: string
  readonly family: number
}

export interface HostGuardDeps {
  /** All addresses of a name. */
  readonly lookup: (host: string) => Promise<readonly Resolved[]>
  /**
   * Addresses, networks and host names inside the own network that may be reached, separated by commas. Read at every
   * call.
   */
  readonly allow: () => string
}

/**
 * Resolves the host of an address once and checks every answer. Connect to exactly these: asking again could give
 * others. @throws outbound_refused, or the resolver's error
 */
export type HostGuard = (url: URL, alsoAllowed?: string) => Promise<readonly Resolved[]>

export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '')

/** Guards against requests that somebody makes this service send into networks of its own. */
export function createHostGuard({ lookup, allow }: HostGuardDeps): HostGuard {
  return async (url, alsoAllowed = '') => {
    const host = hostOf(url)
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
}

/** Answers every lookup with the checked addresses: asking the resolver again could give others. */
export function pinned(addresses: readonly Resolved[]): LookupFunction {
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

export const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Where a redirect leads, checked as text. Its addresses are checked when it is fetched. @throws outbound_refused */
export function nextUrl(from: URL, location: string): URL {
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

/** A failed connection in words, without an address: Node's messages repeat it. */
export function reasonOf(error: unknown): string {
  const words = systemErrorInWords(error)
  if (words !== undefined) return words
  const { code = '', message } = error as NodeJS.ErrnoException
  return code.startsWith('HPE_') ? 'what it answered is not HTTP' : message
}

/** A resolver cannot be interrupted, but its caller can stop waiting. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason as Error)
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}
