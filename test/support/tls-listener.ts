import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Identity } from './authority.ts'

/** A server with TLS on a free port of this machine. */
export interface TlsListener {
  /** `https://127.0.0.1:PORT` */
  readonly origin: string
  readonly port: number
  /** `GET /health`, in the order they came. */
  readonly asked: string[]
  /** Shows another certificate from now on, to new connections and to those that are open. */
  show(identity: Identity): void
  /** Ends the open connections; a stream of events notices. */
  cut(): void
  close(): Promise<void>
}

export async function listenWithTls({ cert, key }: Identity, answer: RequestListener): Promise<TlsListener> {
  const asked: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer({ cert, key }, (incoming, outgoing) => {
    asked.push(`${incoming.method} ${incoming.url}`)
    answer(incoming, outgoing)
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    origin: `https://127.0.0.1:${port}`,
    port,
    asked,
    cut,
    show: next => {
      server.setSecureContext({ cert: next.cert, key: next.key })
      cut()
    },
    close: async () => {
      cut()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
