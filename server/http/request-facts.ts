import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Log } from '../lib/log.ts'
import { createAccessLines } from './access-line.ts'
import type { Metrics } from '../record/metrics.ts'
import { clientIp, createTrust, isProxy } from './client-ip.ts'

/** Taken from the caller when it is harmless in a log, else made. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID()
}

/** Who asks, and whether over TLS, as far as trusted proxies say so. */
export interface Caller {
  readonly ip: string
  readonly isSecure: boolean
}

/** @param trustedProxies  addresses or CIDR blocks */
export function createCallers(trustedProxies: readonly string[]): (request: IncomingMessage) => Caller {
  const isTrusted = createTrust(trustedProxies)
  return ({ socket, headers }) => {
    const { remoteAddress } = socket
    const forwarded = headers['x-forwarded-for']
    return {
      ip: clientIp(remoteAddress, Array.isArray(forwarded) ? forwarded.join(',') : forwarded, isTrusted),
      isSecure: headers['x-forwarded-proto'] === 'https' && isProxy(remoteAddress, isTrusted),
    }
  }
}

/** Headers of every answer, whatever it is about. */
export const HARDENING = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
  'Content-Security-Policy': `default-src 'none'; frame-ancestors 'none'`,
} as const

/** Only over TLS, and in production: a browser remembers it for a year. */
export const ONLY_TLS = { 'Strict-Transport-Security': 'max-age=31536000' } as const

/** A request as the log and the metrics show it; read when its answer has ended. */
export interface Served {
  readonly requestId: string
  readonly method: string
  /** A template, never an address: it is a label of metrics. */
  readonly route: string
  readonly path: string
  readonly status: number
  readonly ip: string
  readonly user: string | undefined
  /** Of a tree: the bytes of the body of a whole answer. */
  readonly tree?: { readonly bytes: number }
}

export interface RecorderDeps {
  readonly log: Log
  /** For requests that would fill the log files and say nothing there. */
  readonly aside: Log
  readonly metrics: Pick<Metrics, 'request'>
  /** Takes one line for each request of a tree. */
  readonly trees: { write(line: string): void }
}

/** Routes that programs ask every few seconds. */
const PROBES: ReadonlySet<string> = new Set(['/health', '/health/live', '/health/ready', '/metrics'])

/** Writes one line and one count for each request, when its answer has ended. */
export function createRecorder({
  log,
  aside,
  metrics,
  trees,
}: RecorderDeps): (request: IncomingMessage, response: ServerResponse, served: () => Served) => void {
  const accessLine = createAccessLines(() => Date.now())
  return (request, response, served) => {
    const start = performance.now()
    response.on('close', () => {
      const ms = performance.now() - start
      const { requestId, method, route, path, status: said, ip, user, tree } = served()
      // as nginx counts them: the client left before the answer was whole
      const status = response.writableFinished ? said : 499
      metrics.request(method, route, status, ms / 1000)
      const facts = { request_id: requestId, method, path, status, ms: Math.round(ms), ip, user }
      if (tree !== undefined) {
        trees.write(accessLine(request, { status, bytes: tree.bytes, ip, user, requestId }))
        aside.debug(facts, 'request') // a second line would cost a tenth of a small answer
      } else if (PROBES.has(route)) aside.info(facts, 'request')
      else log.info(facts, 'request')
    })
  }
}
