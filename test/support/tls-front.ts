import { request as httpRequest } from 'node:http'
import type { Identity } from './authority.ts'
import { listenWithTls, type TlsListener } from './tls-listener.ts'

/** A proxy with TLS in front of a daemon, as nginx is on an appliance. */
export interface TlsFront extends TlsListener {
  /** Passes requests on to another daemon. */
  lead(target: string): void
}

export async function startTlsFront(target: string, identity: Identity): Promise<TlsFront> {
  let to = target
  const listener = await listenWithTls(identity, (incoming, outgoing) => {
    const { hostname, port } = new URL(to)
    const passed = httpRequest(
      {
        hostname,
        port,
        method: incoming.method,
        path: incoming.url,
        headers: { ...incoming.headers, 'connection': 'close', 'x-forwarded-proto': 'https' },
      },
      answer => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
        answer.once('error', () => outgoing.destroy())
      },
    )
    passed.once('error', () => {
      if (outgoing.headersSent) outgoing.destroy()
      else outgoing.writeHead(502).end()
    })
    outgoing.once('close', () => passed.destroy())
    incoming.pipe(passed)
  })
  return {
    ...listener,
    lead: next => {
      to = next
    },
  }
}
