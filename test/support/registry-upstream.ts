import { createHash } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { Codename } from '../../server/core/identity.ts'
import type { RegistryRules } from '../../server/core/registry.ts'
import type { Distribution } from '../../server/core/repository.ts'
import { hostedRegistry } from './defined-registries.ts'

/** A request as it came. */
export interface SeenRequest {
  readonly method: string
  /** Percent-encoded, as it came. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
}

/** What an upstream answers for a path. */
export interface Served {
  readonly body: string | Buffer
  readonly type?: string
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** It begins, and the rest never comes. */
  readonly hangs?: true
  /** Parts of it are given to who asks for them. */
  readonly ranges?: true
}

/** The bytes that a header Range asks for: `bytes=0-99`, or the last ones by `bytes=-100`. Source: RFC 9110, 14.1.2 */
function partOf(body: Buffer, range = ''): { readonly bytes: Buffer; readonly said: string } | undefined {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(range) ?? []
  if (first === undefined || last === undefined) return undefined
  const from = first === '' ? Math.max(0, body.length - Number(last)) : Number(first)
  const bytes = body.subarray(from, first === '' ? undefined : Number(last) + 1)
  return { bytes, said: `bytes ${from}-${from + bytes.length - 1}/${body.length}` }
}

/** A registry of somebody else: it serves what a test puts into it, with ETags, and keeps what it was asked. */
export interface RegistryUpstream {
  readonly url: string
  /** Oldest first. */
  readonly log: readonly SeenRequest[]
  /** The paths that were asked for since the last `forget`. */
  asked(): readonly string[]
  forget(): void
  /** @param served  made anew for each request where it is a function */
  put(path: string, served: Served | ((seen: SeenRequest) => Served)): void
  remove(path: string): void
  /** From now on everything is answered with this status; undefined: as usual again. */
  fail(status: number | undefined): void
  /** From now on nothing is answered until it is false again. */
  hang(is: boolean): void
  /** Ends the connections of those who wait for an answer. */
  drop(): void
  /** Takes the address from clients, as a cut cable does; `url` answers no more. */
  close(): Promise<void>
}

/** On 127.0.0.1, on a free port. */
export async function startRegistryUpstream(): Promise<RegistryUpstream> {
  const log: SeenRequest[] = []
  const files = new Map<string, Served | ((seen: SeenRequest) => Served)>()
  let [failing, isHanging, from] = [undefined as number | undefined, false, 0]
  const server = createServer((request, response) => {
    const { method = 'GET', url = '/', headers } = request
    const seen: SeenRequest = { method, path: url, headers }
    log.push(seen)
    if (isHanging) return
    if (failing !== undefined) return void response.writeHead(failing).end()
    const kept = files.get(url)
    const file = typeof kept === 'function' ? kept(seen) : kept
    if (file === undefined) return void response.writeHead(404).end('not here')
    const body = Buffer.from(file.body)
    const etag = file.headers?.ETag ?? `"${createHash('md5').update(body).digest('hex')}"`
    const isKnown = headers['if-none-match'] === etag
    const part = file.ranges === true ? partOf(body, headers.range) : undefined
    if (part !== undefined) return void response.writeHead(206, { 'Content-Range': part.said }).end(part.bytes)
    const isPacked = (headers['accept-encoding'] ?? '').includes('gzip') && body.length > 1000
    response.writeHead(isKnown ? 304 : (file.status ?? 200), {
      'ETag': etag,
      'Content-Type': file.type ?? 'application/octet-stream',
      ...(isPacked && !isKnown ? { 'Content-Encoding': 'gzip' } : {}),
      ...file.headers,
    })
    if (file.hangs === true) return void response.write(body)
    response.end(isKnown || method === 'HEAD' ? undefined : isPacked ? gzipSync(body) : body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    log,
    asked: () => log.slice(from).map(({ path }) => path),
    forget: () => void (from = log.length),
    put: (path, served) => void files.set(path, served),
    remove: path => void files.delete(path),
    fail: status => void (failing = status),
    hang: is => void (isHanging = is),
    drop: () => server.closeAllConnections(),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** A registry that reads through to an upstream, as an admin makes one. */
export function proxyRegistry(
  codename: string,
  format: string,
  rules: Omit<RegistryRules, 'kind'> & { readonly url: string },
): Distribution {
  const { url, ...more } = rules
  const registry: RegistryRules = { kind: 'proxy', upstream: { url }, ...more }
  return { ...hostedRegistry(codename as Codename, format), registry }
}
