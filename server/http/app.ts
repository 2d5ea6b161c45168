import type { RequestListener } from 'node:http'
import Koa, { type Context, type Middleware } from 'koa'
import type { Principal } from '../core/access.ts'
import type { BoundRoute } from '../core/contract.ts'
import { fail } from '../core/errors.ts'
import type { Repositories } from '../core/repository.ts'
import type { Log } from '../lib/log.ts'
import { inRequest } from '../lib/request-scope.ts'
import type { Metrics } from '../record/metrics.ts'
import type { Starting } from '../record/starting.ts'
import { boundLeftover, readBeforeClosing } from './body.ts'
import { createConsole } from './console.ts'
import { createDocsPage, createOpenApi } from './openapi.ts'
import { catchProblems } from './problem.ts'
import { createKeptFiles, type KeptFiles } from './kept-files.ts'
import { createKnownWords } from './known-words.ts'
import { createKeptTrees, type TreeAddress } from './kept-trees.ts'
import type { RateLimits } from './rate-limit.ts'
import { createCallers, createRecorder, HARDENING, ONLY_TLS, requestIdOf, type RecorderDeps } from './request-facts.ts'
import { createRoutes, type Authenticate, type RouteDeps } from './routes.ts'
import { createRegistries, type RegistryMountDeps } from './registries.ts'
import { createTrees, type TreeDeps } from './trees.ts'

export interface AppDeps {
  readonly routes: readonly BoundRoute[]
  readonly authenticate: Authenticate
  readonly limits: RateLimits
  readonly uploadLimits: RouteDeps['uploadLimits']
  readonly enterprise: () => 'all' | 'reads' | 'nothing'
  readonly privateTrees: () => Promise<ReadonlySet<string>>
  readonly hiddenFrom: (who: Principal) => Promise<readonly string[]>
  /** What clients of registries speak; absent: none are served. */
  readonly registries?: Pick<RegistryMountDeps, 'protocols' | 'groups' | 'address' | 'hiddenFrom' | 'layout'>
  readonly production: boolean
  readonly version: string
  readonly trustedProxies: readonly string[]
  readonly corsOrigins: readonly string[]
  readonly layout: TreeDeps['layout']
  readonly repositories: Pick<Repositories, 'find' | 'all' | 'registries' | 'seenBy'>
  readonly formats: TreeDeps['formats']
  readonly binaryKey: () => Promise<Buffer | undefined>
  readonly uiFolder: string
  readonly starting: Pick<Starting, 'now'>
  /** Whether this process does what one process of an installation does alone. */
  readonly leads: () => Promise<boolean>
  readonly metrics: Pick<Metrics, 'request'>
  readonly log: Log
  readonly aside: Log
  readonly treeLines: RecorderDeps['trees']
}

const requestId: Middleware = async (ctx, next) => {
  ctx.state.requestId = requestIdOf(ctx.req)
  ctx.set('X-Request-ID', String(ctx.state.requestId))
  await inRequest(String(ctx.state.requestId), next)
}

function hardening(production: boolean): Middleware {
  return async (ctx, next) => {
    ctx.set({ ...HARDENING, 'Cache-Control': 'no-store' })
    if (production && ctx.state.isSecure === true) ctx.set(ONLY_TLS)
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

/** The body's size, of a GET that was answered with a file or a part of it. */
function bodyBytes({ method, status, res }: Context): number {
  return method === 'GET' && (status === 200 || status === 206) ? Number(res.getHeader('content-length') ?? 0) : 0
}

function recordWith(record: ReturnType<typeof createRecorder>): Middleware {
  return async (ctx, next) => {
    record(ctx.req, ctx.res, () => ({
      requestId: ctx.state.requestId as string,
      method: ctx.method,
      route: String(ctx.state.route ?? 'none'),
      path: ctx.path,
      status: ctx.status,
      ip: ctx.state.clientIp as string,
      user: (ctx.state.who as { name?: string } | undefined)?.name,
      ...(ctx.state.isTree === true ? { tree: { bytes: bodyBytes(ctx) } } : {}),
    }))
    await next()
  }
}

function address(callerOf: ReturnType<typeof createCallers>): Middleware {
  return async (ctx, next) => {
    const { ip, isSecure } = callerOf(ctx.req)
    ctx.state.clientIp = ip
    ctx.state.isSecure = isSecure
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

/** What both ways through this file share. */
interface Shared {
  readonly kept: KeptFiles<TreeAddress>
  readonly callerOf: ReturnType<typeof createCallers>
  readonly record: ReturnType<typeof createRecorder>
}

/** Middleware runs in the order of this list. */
function createKoa(deps: AppDeps, { kept, callerOf, record }: Shared): Koa {
  const { log, production, corsOrigins, uiFolder, registries } = deps
  const app = new Koa()
  const order: readonly Middleware[] = [
    requestId,
    address(callerOf),
    recordWith(record),
    hardening(production),
    readBeforeClosing,
    catchProblems(log) as Middleware,
    boundLeftover,
    cors(corsOrigins),
    wellFormed,
    createTrees({ ...deps, kept }),
    ...(registries === undefined ? [] : [createRegistries({ ...deps, ...registries })]),
    createRoutes({
      ...deps,
      words: createKnownWords(
        deps.repositories,
        deps.formats.map(({ id }) => id),
      ),
    }),
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

/** The HTTP application. Files of public trees that are in memory are answered ahead of Koa. */
export function createApp(deps: AppDeps): RequestListener {
  const shared: Shared = {
    kept: createKeptFiles(),
    callerOf: createCallers(deps.trustedProxies),
    record: createRecorder({ ...deps, trees: deps.treeLines }),
  }
  const koa = createKoa(deps, shared).callback()
  const keptTrees = createKeptTrees({ ...deps, ...shared })
  return (request, response) => {
    const answered = keptTrees(request, response)
    if (answered === true) return
    // the database does not say which trees are private: Koa's way answers that
    if (answered === false) void koa(request, response)
    else void answered.catch(() => false).then(done => (done ? undefined : koa(request, response)))
  }
}
