import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, request, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BoundRoute, Row } from '../../server/core/contract.ts'
import type { Layout } from '../../server/files/layout.ts'
import { FORMATS } from '../../server/formats/index.ts'
import { createApp, type AppDeps } from '../../server/http/app.ts'
import { createRateLimits } from '../../server/http/rate-limit.ts'
import type { Log } from '../../server/lib/log.ts'
import { layoutOf, repositories } from './repositories.ts'

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  json(): Record<string, unknown>
}
export interface Ask {
  readonly headers?: Record<string, string>
  readonly body?: string | Buffer | Record<string, unknown>
  readonly token?: string | undefined
}

/** A listening app. Paths go out as they are written: nothing is normalised on the way. */
export interface TestApp {
  readonly layout: Layout
  readonly port: number
  readonly logged: Record<string, unknown>[]
  readonly counted: string[]
  /** What the list of downloads would say. */
  readonly treeLines: string[]
  ask(method: string, path: string, ask?: Ask): Promise<Answer>
  close(): Promise<void>
}

export function send(
  port: number,
  { method, path, headers = {}, body, token }: Ask & { readonly method: string; readonly path: string },
): Promise<Answer> {
  const json = typeof body === 'object' && !Buffer.isBuffer(body)
  const bytes = body === undefined ? undefined : json ? JSON.stringify(body) : body
  return new Promise((resolve, reject) => {
    const req = request(
      {
        host: '127.0.0.1',
        port,
        method,
        path,
        agent: false,
        headers: {
          ...(json ? { 'content-type': 'application/json' } : {}),
          // Node sends none with DELETE by itself
          ...(method === 'DELETE' && bytes !== undefined ? { 'content-length': String(Buffer.byteLength(bytes)) } : {}),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...headers,
        },
      },
      res => {
        const chunks: Buffer[] = []
        res.on('data', (chunk: Buffer) => chunks.push(chunk))
        res.on('error', reject)
        res.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          resolve({
            status: res.statusCode ?? 0,
            headers: res.headers,
            text,
            json: () => JSON.parse(text) as Record<string, unknown>,
          })
        })
      },
    )
    req.on('error', reject)
    req.end(bytes)
  })
}

function memoryLog(logged: Record<string, unknown>[]): Log {
  const note = (level: string) => (value: unknown, message?: string) => {
    logged.push({ level, message, ...(value as object) })
  }
  return {
    info: note('info'),
    warn: note('warn'),
    error: note('error'),
    debug: note('debug'),
    fatal: note('fatal'),
  } as unknown as Log
}

/** A row of a test, with what its handler returns. */
export function route(
  key: string,
  row: Partial<Row>,
  handle: BoundRoute['handle'] = () => ({ reached: true }),
): BoundRoute {
  return { key, row: { summary: 'a test', access: 'public', reply: {} as never, ...row }, handle }
}

export async function startApp(over: Partial<AppDeps> = {}): Promise<TestApp> {
  const root = await mkdtemp(join(tmpdir(), 'gh-app-'))
  const layout = layoutOf(root)
  const logged: Record<string, unknown>[] = []
  const counted: string[] = []
  const treeLines: string[] = []
  const app = createApp({
    routes: [],
    authenticate: () => Promise.reject(new Error('nobody is expected here')),
    limits: createRateLimits(Date.now),
    uploadLimits: () => ({ per_minute_address: 20, per_minute_user: 0, per_minute_token: 0 }),
    enterprise: () => 'all',
    hiddenFrom: async () => [],
    privateTrees: async () => new Set(),
    starting: { now: () => undefined },
    leads: async () => true,
    production: false,
    version: 'test',
    trustedProxies: ['127.0.0.0/8', '10.0.0.0/8'],
    corsOrigins: [],
    layout,
    repositories,
    formats: FORMATS,
    binaryKey: async () => undefined,
    uiFolder: join(root, 'ui-dist'),
    metrics: {
      request: (method, path, status) => {
        counted.push(`${method} ${path} ${status}`)
      },
    },
    log: memoryLog(logged),
    aside: memoryLog(logged),
    treeLines: { write: line => treeLines.push(line) },
    ...over,
  })
  const server: Server = createServer(app)
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    layout,
    port,
    logged,
    counted,
    treeLines,
    ask: (method, path, ask = {}) => send(port, { method, path, ...ask }),
    close: async () => {
      const closed = new Promise(resolve => {
        server.close(resolve)
      })
      server.closeAllConnections()
      await closed
      await rm(root, { recursive: true, force: true })
    },
  }
}

/** An address that no other call of this run has used: it counts alone. */
export const freshAddress = (): Record<string, string> => ({
  'x-forwarded-for': [...randomBytes(4)].map(byte => (byte % 200) + 20).join('.'),
})
