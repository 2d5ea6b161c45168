import { randomUUID } from 'node:crypto'
import Koa, { type Context, type Middleware } from 'koa'
import type { Principal } from '../core/access.ts'
import type { BoundRoute } from '../core/contract.ts'
import { fail } from '../core/errors.ts'
import type { Log } from '../lib/log.ts'
import type { Metrics } from '../record/metrics.ts'
import { boundLeftover } from './body.ts'
import { clientIp, createTrust, isProxy } from './client-ip.ts'
import { createConsole } from './console.ts'
import { createDocsPage, createOpenApi } from './openapi.ts'
import { catchProblems } from './problem.ts'
import type { RateLimits } from './rate-limit.ts'
import { createRoutes, type Authenticate } from './routes.ts'
import { createTrees, type TreeDeps } from './trees.ts'

export interface AppDeps {
  readonly routes: readonly BoundRoute[]
  readonly authenticate: Authenticate
  readonly limits: RateLimits
  readonly enterprise: () => 'all' | 'reads' | 'nothing'
  readonly privateTrees: () => Promise<ReadonlySet<string>>
  readonly hiddenFrom: (who: Principal) => Promise<readonly string[]>
  readonly production: boolean
  readonly version: string
  readonly trustedProxies: readonly string[]
  readonly corsOrigins: readonly string[]
  readonly layout: TreeDeps['layout']
  readonly repositories: TreeDeps['repositories']
  readonly formats: TreeDeps['formats']
  readonly binaryKey: () => Promise<Buffer | undefined>
  readonly uiFolder: string
  readonly metrics: Pick<Metrics, 'request'>
  readonly log: Log
}

/** Taken from the caller when it is harmless in a log, else made. */
const requestId: Middleware = async (ctx, next) => {
  const given = ctx.get('x-request-id')
  ctx.state.requestId = /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID()
  ctx.set('X-Request-ID', String(ctx.state.requestId))
  await next()
}

function hardening(production: boolean): Middleware {
  return async (ctx, next) => {
    ctx.set({
      'X-Content-Type-Options': 'nosniff',
      'X-Frame-Options': 'DENY',
      'Referrer-Policy': 'no-referrer',
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Resource-Policy': 'same-origin',
      'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
      'Content-Security-Policy': `default-src 'none'; frame-ancestors 'none'`,
      'Cache-Control': 'no-store',
    })
    if (production && ctx.state.isSecure === true) ctx.set('Strict-Transport-Security', 'max-age=31536000')
    await next()
  }
}

function cors(origins: readonly string[]): Middleware {
  return async (ctx, next) => {
    const origin = ctx.get('origin')
    ctx.vary('Origin')
    if (!origins.includes(origin)) return next()
    ctx.set({
      'Access-Control-Allow-Origin': origin,
      'Access-Control-Expose-Headers': 'X-Request-ID, Retry-After',
      'Cross-Origin-Resource-Policy': 'cross-origin',
    })
    if (ctx.method !== 'OPTIONS' || ctx.get('access-control-request-method') === '') return next()
    ctx.set({
      'Access-Control-Allow-Methods': 'GET, POST, PATCH, PUT, DELETE',
      'Access-Control-Allow-Headers':
        'Authorization, Content-Type, X-Request-ID, X-Setup-Token, X-Checksum-Sha256, Last-Event-ID',
      'Access-Control-Max-Age': '600',
    })
    ctx.status = 204
  }
}

function record(log: Log, metrics: Pick<Metrics, 'request'>): Middleware {
  return async (ctx, next) => {
    const start = process.hrtime.bigint()
    ctx.res.once('close', () => {
      const seconds = Number(process.hrtime.bigint() - start) / 1e9
      const route = String(ctx.state.route ?? 'none')
      // as nginx counts them: the client left before the answer was whole
      const status = ctx.res.writableFinished ? ctx.status : 499
      metrics.request(ctx.method, route, status, seconds)
      const who = (ctx.state.who as { name?: string } | undefined)?.name
      log.info(
        {
          request_id: ctx.state.requestId as string,
          method: ctx.method,
          path: ctx.path,
          status,
          ms: Math.round(seconds * 1000),
          ip: ctx.state.clientIp as string,
          user: who,
        },
        'request',
      )
    })
    await next()
  }
}

function address(trustedProxies: readonly string[]): Middleware {
  const isTrusted = createTrust(trustedProxies)
  return async (ctx, next) => {
    const { remoteAddress } = ctx.req.socket
    ctx.state.clientIp = clientIp(remoteAddress, ctx.get('x-forwarded-for'), isTrusted)
    ctx.state.isSecure = ctx.secure || (isProxy(remoteAddress, isTrusted) && ctx.get('x-forwarded-proto') === 'https')
    await next()
  }
}

/** OpenAPI and its page. In production they answer 404 like unknown paths. */
function documentation({ routes, production, version }: AppDeps): Middleware {
  const document = JSON.stringify(createOpenApi(routes, version))
  const page = createDocsPage(routes)
  return async (ctx, next) => {
    if (production || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return next()
    if (ctx.path === '/openapi.json') {
      ctx.type = 'application/json'
      ctx.body = document
      return
    }
    if (/^\/(docs|redoc)\/?$/.test(ctx.path)) {
      ctx.type = 'text/html; charset=utf-8'
      ctx.body = page
      return
    }
    await next()
  }
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return fail('bad_request', { said: 'The path has a % that does not begin an encoded UTF-8 character.' })
  }
}

const wellFormed: Middleware = async (ctx, next) => {
  if (decoded(ctx.path).includes('\0')) fail('bad_request', { said: 'The path has a zero byte.' })
  await next()
}

const nothingHere = (ctx: Context): never => fail('not_found', { path: ctx.path.slice(0, 200) })

/** The HTTP application. Middleware runs in the order of this list. */
export function createApp(deps: AppDeps): Koa {
  const { log, metrics, production, trustedProxies, corsOrigins, uiFolder } = deps
  const app = new Koa()
  const order: readonly Middleware[] = [
    requestId,
    address(trustedProxies),
    record(log, metrics),
    hardening(production),
    catchProblems(log) as Middleware,
    boundLeftover,
    cors(corsOrigins),
    wellFormed,
    createTrees(deps),
    createRoutes(deps),
    documentation(deps),
    createConsole(uiFolder),
    nothingHere as unknown as Middleware,
  ]
  for (const middleware of order) app.use(middleware)
  app.silent = true // catchProblems logs faults; these are broken connections
  app.on('error', (error: NodeJS.ErrnoException) => {
    if (!['EPIPE', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED'].includes(error.code ?? ''))
      log.warn({ err: error }, 'connection')
  })
  return app
}
