import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, normalize } from 'node:path'
import { gzipSync } from 'node:zlib'

/** How an answer goes wrong. Each has a line in `FAULTS`. */
export type Fault =
  | 'status'
  | 'redirect'
  | 'hang'
  | 'reset'
  | 'portal'
  | 'endless'
  | 'cut'
  | 'cutChunked'
  | 'cutClose'
  | 'slow'
  | 'stall'
  | 'flip'
  | 'empty'
  | 'noRange'
  | 'badRange'
  | 'encode'
  | 'mislabel'

/** What happens to requests whose path matches. The first rule that is not used up holds. */
export interface Rule {
  readonly match: RegExp | string
  readonly fault?: Fault
  /** So many requests; then the rule is used up. Default: all. */
  readonly times?: number
  /** Answers from another state of the repository. */
  readonly dir?: string
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Of a redirect; `$url` is the address that was asked for. */
  readonly to?: string
  /** Where a cut, a stall or a flip happens, in bytes of the file. Default: in the middle. */
  readonly at?: number
  /** Nothing is answered before this. */
  readonly until?: Promise<unknown>
}

export interface Request {
  readonly path: string
  readonly range: string | undefined
  readonly headers: IncomingMessage['headers']
}

/** A repository over HTTP on this machine, with a slash at its end. */
export interface Upstream {
  readonly url: string
  readonly host: string
  /** Every request, in order. */
  readonly log: readonly Request[]
  /** Takes the place of the rules there were. */
  rules(...rules: readonly Rule[]): void
  /** Serves another folder from now on. */
  serve(dir: string): void
  forget(): void
  close(): Promise<void>
}

interface Reply {
  readonly res: ServerResponse
  readonly rule: Rule
  readonly bytes: Buffer
  /** What the request asked for of them. */
  readonly from: number
  readonly headers: Readonly<Record<string, string>>
  readonly url: string
}

const half = ({ bytes, from, rule }: Reply): number => Math.max(from, rule.at ?? Math.floor(bytes.length / 2))

function head({ res, from, bytes, headers }: Reply, more: Readonly<Record<string, string>> = {}): void {
  const range = from === 0 ? {} : { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` }
  res.writeHead(from === 0 ? 200 : 206, { ...headers, ...range, ...more })
}
const length = ({ bytes, from }: Reply): Record<string, string> => ({ 'content-length': String(bytes.length - from) })

/** Sends what there is and breaks the connection. */
function breakOff(reply: Reply, more: Record<string, string>): void {
  head(reply, more)
  reply.res.write(reply.bytes.subarray(reply.from, half(reply)), () => reply.res.destroy())
}

function drip(reply: Reply): void {
  head(reply, length(reply))
  let at = reply.from
  const timer = setInterval(() => {
    reply.res.write(reply.bytes.subarray(at, (at += 16)))
    if (at >= reply.bytes.length) reply.res.end()
  }, 5)
  reply.res.on('close', () => clearInterval(timer))
}

function pour(reply: Reply): void {
  head(reply)
  const block = Buffer.alloc(65_536, 'x')
  const more = (): void => {
    while (!reply.res.destroyed && reply.res.write(block));
  }
  reply.res.on('drain', more)
  reply.res.write(reply.bytes)
  more()
}

function whole(
  reply: Reply,
  bytes: Buffer = reply.bytes.subarray(reply.from),
  more: Record<string, string> = {},
): void {
  head(reply, { 'content-length': String(bytes.length), ...more })
  reply.res.end(bytes)
}

const FAULTS: Readonly<Record<Fault, (reply: Reply) => void>> = {
  status: ({ res, rule }) => res.writeHead(rule.status ?? 503, rule.headers).end('no'),
  redirect: ({ res, rule, url }) =>
    res.writeHead(rule.status ?? 302, { location: (rule.to ?? '$url').replaceAll('$url', url) }).end(),
  hang: () => undefined,
  reset: ({ res }) => void res.socket?.resetAndDestroy(),
  portal: ({ res }) =>
    res.writeHead(200, { 'content-type': 'text/html' }).end('<!DOCTYPE html><html><h1>Please log in</h1></html>'),
  endless: pour,
  cut: reply => breakOff(reply, length(reply)),
  cutChunked: reply => breakOff(reply, {}),
  cutClose: reply => {
    reply.res.useChunkedEncodingByDefault = false
    head(reply, { connection: 'close' })
    reply.res.end(reply.bytes.subarray(reply.from, half(reply)))
  },
  slow: drip,
  stall: reply => {
    head(reply, length(reply))
    reply.res.write(reply.bytes.subarray(reply.from, half(reply)))
  },
  flip: reply => {
    const bytes = Buffer.from(reply.bytes)
    const at = Math.min(reply.rule.at ?? Math.floor(bytes.length / 2), bytes.length - 1)
    bytes[at] = (bytes[at] ?? 0) ^ 1
    whole(reply, bytes.subarray(reply.from))
  },
  empty: reply => whole({ ...reply, from: 0 }, Buffer.alloc(0)),
  noRange: reply => whole({ ...reply, from: 0 }),
  badRange: reply => {
    if (reply.from === 0) return whole(reply)
    const { bytes } = reply
    reply.res.writeHead(206, { 'content-range': `bytes 1-${bytes.length - 1}/${bytes.length}` }).end(bytes.subarray(1))
  },
  encode: reply => whole({ ...reply, from: 0 }, gzipSync(reply.bytes), { 'content-encoding': 'gzip' }),
  mislabel: reply => whole(reply, undefined, { 'content-encoding': 'gzip' }),
}

const matches = ({ match }: Rule, path: string): boolean =>
  typeof match === 'string' ? path.endsWith(match) : match.test(path)

/** @param options.validators  false: neither ETag nor Last-Modified, as some mirrors */
export async function serveUpstream(
  folder: string,
  { validators = true }: { readonly validators?: boolean } = {},
): Promise<Upstream> {
  let dir = folder
  let rules: { readonly rule: Rule; left: number }[] = []
  const log: Request[] = []

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = `http://${req.headers.host ?? ''}${req.url ?? ''}`
    const path = normalize(decodeURIComponent(new URL(url).pathname)).slice(1)
    log.push({ path, range: req.headers.range, headers: req.headers })
    const used = rules.find(({ rule, left }) => left > 0 && matches(rule, path))
    if (used !== undefined) used.left--
    const rule = used?.rule ?? { match: '' }
    await rule.until
    const file = join(rule.dir ?? dir, path)
    const bytes = await readFile(file).catch(() => undefined)
    if (bytes === undefined && !['status', 'redirect', 'hang', 'reset', 'portal'].includes(rule.fault ?? ''))
      return void res.writeHead(404).end('not here')
    const headers: Record<string, string> = { ...rule.headers }
    if (validators && bytes !== undefined) {
      headers['etag'] = `"${createHash('md5').update(bytes).digest('hex')}"`
      headers['last-modified'] = (await stat(file)).mtime.toUTCString()
    }
    const from = Number(/^bytes=(\d+)-$/.exec(req.headers.range ?? '')?.[1] ?? 0)
    if (bytes !== undefined && from > 0 && from >= bytes.length && rule.fault !== 'noRange')
      return void res.writeHead(416, { 'content-range': `bytes */${bytes.length}` }).end()
    const reply: Reply = { res, rule, bytes: bytes ?? Buffer.alloc(0), from, headers, url }
    if (rule.fault === undefined) whole(reply)
    else FAULTS[rule.fault](reply)
  }

  const server = createServer((req, res) => {
    answer(req, res).catch(() => res.destroy())
  })
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `http://${host}/`,
    host,
    log,
    rules: (...next) => void (rules = next.map(rule => ({ rule, left: rule.times ?? Infinity }))),
    serve: next => void (dir = next),
    forget: () => void log.splice(0),
    close: () =>
      new Promise(resolve => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
