import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'

/** HOST and PORT. */
export interface Address {
  readonly host: string
  readonly port: number
}

/** The HTTP server around the application. */
export interface Listener {
  /** @returns the URL to show: a wildcard address is shown as localhost. @throws when the address is taken */
  open(): Promise<string>
  /** Requests from now on are answered by another application. */
  serve(handle: RequestListener): void
  /** Cuts live streams. Gives requests under way time: to finish where they change something, else to be answered. */
  settle(): Promise<void>
  /** Accepts no new request, cuts live streams, gives uploads time to finish. */
  close(): Promise<void>
}

const PATIENCE_MS = 20_000
const TURN_MS = 10
/** How long a client may send nothing of what it announced, or read nothing of what it requested. */
const IDLE_MS = 120_000

const isLive = (res: ServerResponse): boolean =>
  res.req.method === 'GET' && String(res.getHeader('content-type')).startsWith('text/event-stream')

/** Cuts a connection that stands still. While a large package is examined, nothing moves in either direction. */
function onIdle(this: ServerResponse): void {
  const { complete, socket } = this.req
  if (!complete || socket.writableLength > 0) socket.destroy()
}

/** Why nothing can listen there, with the way out. */
function unusable(host: string, port: number, error: NodeJS.ErrnoException): Error {
  const said: Partial<Record<string, string>> = {
    EADDRINUSE: `${host}:${port} is in use. Set PORT to another port, or stop what listens there.`,
    EADDRNOTAVAIL: `HOST=${host} is no address of this machine. Set HOST to one it has, 0.0.0.0 for all of them, or 127.0.0.1 for this machine alone.`,
    EACCES: `PORT=${port} needs more rights than this user has. Set PORT to 1024 or more, with a proxy in front, or give the right with setcap or systemd.`,
    ENOTFOUND: `HOST=${host} has no address. Set HOST to an address of this machine.`,
  }
  return new Error(said[error.code ?? ''] ?? `Nothing can listen on ${host}:${port}: ${error.message}`, {
    cause: error,
  })
}

/**
 * Takes the address for a moment, so that a used port is reported before a database is made and trees are repaired.
 * @throws with the way out
 */
export function needAddress({ host, port }: Address): Promise<void> {
  const trial = createServer()
  return new Promise((resolve, reject) => {
    trial.once('error', (error: NodeJS.ErrnoException) => reject(unusable(host, port, error)))
    trial.listen(port, host, () => trial.close(() => resolve()))
  })
}

/** Errors of requests that Node refuses before there is a request to answer. */
const UNREADABLE: Readonly<Record<string, readonly [line: string, detail: string]>> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    'The headers of the request are larger than 16 KiB. Send fewer of them, or a shorter address.',
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The headers of the request took longer than 30 s. Send it again.'],
}

/** Answers what is no HTTP in the same form as every other error. */
function refuseUnreadable({ code = '' }: NodeJS.ErrnoException, socket: Duplex): void {
  const [line, detail] = UNREADABLE[code] ?? [
    '400 Bad Request',
    'The request is not HTTP that can be read: its length or its framing is wrong. Send it again; no file of it was kept that is not whole.',
  ]
  const body = JSON.stringify({ detail, code: 'bad_request' })
  socket.end(
    `HTTP/1.1 ${line}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}

/**
 * How long a connection without a request stays open. A proxy must close its own earlier: it sends a request into one
 * that is being closed here, and may not send an upload a second time.
 */
export const KEEP_ALIVE_MS = 75_000

/** @param idleMs  for tests, instead of two minutes */
export function createListener(handle: RequestListener, { host, port }: Address, idleMs = IDLE_MS): Listener {
  const server = createServer()
  server.timeout = idleMs
  server.requestTimeout = 0 // Node's five minutes would cut a large upload over a slow line
  server.headersTimeout = 30_000
  server.keepAliveTimeout = KEEP_ALIVE_MS
  const open = new Set<ServerResponse>()
  // one function for all answers: a new one for each costs as much as a small file
  function onClose(this: ServerResponse): void {
    open.delete(this)
  }
  server.on('request', (_, res: ServerResponse) => {
    open.add(res)
    res.on('timeout', onIdle)
    res.on('close', onClose)
    // when stopping: a client that stays connected and keeps asking must not hold us up
    if (!server.listening) res.shouldKeepAlive = false
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const isAnswering = [...open].some(({ req, headersSent }) => req.socket === socket && headersSent)
    if (isAnswering || !socket.writable || error.code === 'ECONNRESET') socket.destroy()
    else refuseUnreadable(error, socket)
  })
  let current = handle
  // after the line above, which must come before the headers of the answer
  server.on('request', (req, res) => current(req, res))
  let url: string | undefined
  // files go on to their ends; what reads the database has done so when its answer begins
  async function answered(res: ServerResponse): Promise<void> {
    for (let n = 0; n * TURN_MS < PATIENCE_MS && !res.headersSent && !res.closed; n++) await pause(TURN_MS)
  }
  const isChanging = ({ req }: ServerResponse): boolean => req.method !== 'GET' && req.method !== 'HEAD'
  return {
    serve: next => {
      current = next
    },
    async settle() {
      for (const res of open) if (isLive(res)) res.req.socket.destroy()
      const changing = [...open].filter(isChanging)
      const reading = [...open].filter(res => !isChanging(res))
      const patience = new Promise<void>(resolve => setTimeout(resolve, PATIENCE_MS).unref())
      const ended = changing.map(res => new Promise(resolve => res.once('close', resolve)))
      await Promise.race([patience, Promise.all([...ended, ...reading.map(answered)])])
    },
    open: () =>
      new Promise((resolve, reject) => {
        if (url !== undefined) return resolve(url)
        server.once('error', (error: NodeJS.ErrnoException) => reject(unusable(host, port, error)))
        server.listen(port, host, () => {
          const { address, family, port: bound } = server.address() as AddressInfo
          const shown =
            address === '0.0.0.0' || address === '::' ? 'localhost' : family === 'IPv6' ? `[${address}]` : address
          resolve((url = `http://${shown}:${bound}`))
        })
      }),
    close: async () => {
      if (!server.listening) return
      const closed = new Promise(resolve => server.close(resolve))
      const patience = setTimeout(() => server.closeAllConnections(), PATIENCE_MS)
      // a live stream does not end by itself
      for (const res of open) {
        if (isLive(res)) res.req.socket.destroy()
        // otherwise we would wait for its idle connection
        else if (!res.headersSent) res.shouldKeepAlive = false
      }
      server.closeIdleConnections()
      await closed
      clearTimeout(patience)
    },
  }
}
