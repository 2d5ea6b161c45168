import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server between a client and the daemon, such as a bad mirror or an attacker on the way. */
export interface AlteringProxy {
  readonly url: string
  /** The answer to send instead: undefined for the original, null for 404. */
  alter: ((path: string, bytes: Buffer) => Buffer | null | undefined) | undefined
  close(): Promise<void>
}

/** Fetches everything from `origin`; where `alter` gives other bytes, these are answered. */
export async function startAlteringProxy(origin: () => string): Promise<AlteringProxy> {
  const server = createServer((req, res) => {
    const path = req.url ?? '/'
    void fetch(`${origin()}${path}`)
      .then(async response => {
        const bytes = Buffer.from(await response.arrayBuffer())
        const altered = response.ok ? mirror.alter?.(path, bytes) : undefined
        const body = altered === undefined ? bytes : (altered ?? Buffer.alloc(0))
        res.writeHead(altered === null ? 404 : response.status, { 'Content-Length': body.length })
        res.end(body)
      })
      .catch(() => res.destroy())
  })
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const mirror: AlteringProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    alter: undefined,
    close: () =>
      new Promise(resolve => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
  return mirror
}
