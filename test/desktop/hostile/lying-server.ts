import type { RequestListener } from 'node:http'
import type { Identity } from '../../support/authority.ts'
import { listenWithTls, type TlsListener } from '../../support/tls-listener.ts'

export type Lie = RequestListener

/** A server with TLS that answers whatever it is told, as an appliance that somebody took over could. */
export interface LyingServer extends TlsListener {
  /** What it answers from now on. */
  say(lie: Lie): void
}

/** A report as an appliance gives it. */
export const HEALTHY = { status: 'healthy', version: '1.0.0', uptime: 1, checks: {}, background: {} }
export const json =
  (body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Lie =>
  (_, outgoing) => {
    outgoing.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  }

export async function startLyingServer(identity: Identity): Promise<LyingServer> {
  let lie: Lie = json(HEALTHY)
  const listener = await listenWithTls(identity, (incoming, outgoing) => lie(incoming, outgoing))
  return {
    ...listener,
    say: next => {
      lie = next
    },
  }
}
