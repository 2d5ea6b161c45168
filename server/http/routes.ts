import Router from '@koa/router'
import { Type, type TSchema } from '@sinclair/typebox'
import type { Context, Middleware, Next } from 'koa'
import { allows, needRoute, needScope, type Principal, type Role } from '../core/access.ts'
import type { BoundRoute, Input, Limit, RawRequest, Row } from '../core/contract.ts'
import { fail, isRefusal } from '../core/errors.ts'
import type { Viewer } from '../core/viewer.ts'
import type { Log } from '../lib/log.ts'
import { printStep, type Starting } from '../record/starting.ts'
import { bearerOf } from './basic.ts'
import { readJson } from './body.ts'
import { needKnownWords, type KnownWords } from './known-words.ts'
import type { Counted, RateLimits } from './rate-limit.ts'
import { sendReply } from './reply.ts'
import { validate } from './validate.ts'

/**
 * Identifies the sender of this header. A token for setting up the second factor counts only where `also` allows it.
 * @throws not_authenticated, bad_credential, account_inactive
 */
export type Authenticate = (authorization: string | undefined, also?: 'mfa_setup_token') => Promise<Principal>

/** Uploads a minute; 0 for users and tokens that are counted by address. */
export interface UploadLimits {
  readonly per_minute_address: number
  readonly per_minute_user: number
  readonly per_minute_token: number
}

export interface RouteDeps {
  readonly routes: readonly BoundRoute[]
  readonly authenticate: Authenticate
  readonly limits: RateLimits
  /** Codenames that somebody may not see. */
  readonly hiddenFrom: (who: Principal) => Promise<readonly string[]>
  /** What filters may name, for somebody who sees only a part. */
  readonly words: KnownWords
  /** Whether rows of the enterprise edition are allowed now, by edition and licence. */
  readonly enterprise: () => 'all' | 'reads' | 'nothing'
  /** What the start is doing; undefined when it has ended. */
  readonly starting: Pick<Starting, 'now'>
  /** Whether this process does what one process of an installation does alone. */
  readonly leads: () => Promise<boolean>
  /** How many uploads a minute are taken; 0 where the address counts instead. */
  readonly uploadLimits: () => UploadLimits
  readonly log: Log
}

export const API_PREFIX = '/api/v1'

/** `/artifacts/{name}` → `/artifacts/:name`, without the slash at its end: the router accepts both. */
function routerPath(key: string, row: Row): string {
  const path = key
    .slice(key.indexOf(' ') + 1)
    .replace(/\{(\w+)\}/g, ':$1')
    .replace(/(.)\/$/, '$1')
  return row.root === true ? path : `${API_PREFIX}${path}`
}

/** Static segments before parameters, so that `/artifacts/audit/logs` is not read as a version. */
function bySpecificity(a: BoundRoute, b: BoundRoute): number {
  const [left, right] = [a, b].map(({ key, row }) => routerPath(key, row).split('/'))
  for (let n = 0; n < Math.max(left?.length ?? 0, right?.length ?? 0); n++) {
    const difference = Number(left?.[n]?.startsWith(':') ?? false) - Number(right?.[n]?.startsWith(':') ?? false)
    if (difference !== 0) return difference
  }
  return 0
}

const NEEDS: Record<Exclude<Row['access'], 'public'>, string> = {
  'any': 'a login',
  'uploader+': 'uploader, maintainer or admin',
  'auditor+': 'auditor, maintainer or admin',
  'maintainer+': 'maintainer or admin',
  'admin': 'admin',
}

/** A path that names one distribution concerns that one only. @throws outside_scope, outside_distribution */
function limitToken(
  who: Principal,
  { key, row }: Pick<BoundRoute, 'key' | 'row'>,
  { codename }: { readonly codename?: string },
): void {
  const isRead = key.startsWith('GET ') && row.access === 'any'
  needRoute(who, { scoped: row.scoped ?? (codename === undefined ? undefined : 'distribution'), isRead })
  if (codename !== undefined && !isRead) needScope(who, codename)
}

async function identify(
  ctx: Context,
  { key, row }: BoundRoute,
  authenticate: Authenticate,
): Promise<Principal | undefined> {
  if (row.access === 'public') return undefined
  const sent = ctx.get('authorization') || undefined
  const who = await (row.also === 'basic'
    ? authenticate(sent === undefined ? undefined : bearerOf(sent))
    : authenticate(sent, row.also))
  ctx.state.who = who
  const role: Role = who.role
  if (!allows(row.access, role)) fail('forbidden', { needs: NEEDS[row.access], role })
  limitToken(who, { key, row }, ctx.params as { readonly codename?: string })
  return who
}

/** By whom an upload is counted: the narrowest that has a limit. */
function countedUpload(
  who: Principal,
  { bucket }: Limit,
  { limits, address }: { readonly limits: UploadLimits; readonly address: string },
): Counted {
  const perMinute = who.kind === 'token' ? (who.uploadsPerMinute ?? limits.per_minute_token) : limits.per_minute_user
  return perMinute > 0
    ? { bucket: `${bucket}-${who.kind}`, perMinute, id: who.kind === 'token' ? who.credential : who.name }
    : { bucket, perMinute: limits.per_minute_address, id: address }
}

/** Counts the request and identifies its sender. @throws rate_limited, and what `identify` throws */
async function admit(
  ctx: Context,
  route: BoundRoute,
  { authenticate, limits, uploadLimits }: RouteDeps,
): Promise<Principal | undefined> {
  const { limit } = route.row
  const address = String(ctx.state.clientIp)
  if (limit === undefined) return identify(ctx, route, authenticate)
  if (limit.settings === undefined) {
    await limits.count(ctx, { ...limit, id: address })
    return identify(ctx, route, authenticate)
  }
  const settings = uploadLimits()
  try {
    const who = await identify(ctx, route, authenticate)
    if (who !== undefined) await limits.count(ctx, countedUpload(who, limit, { limits: settings, address }))
    return who
  } catch (error) {
    // nobody may try credentials without end
    if (!isRefusal(error, 'rate_limited'))
      await limits.count(ctx, { bucket: limit.bucket, perMinute: settings.per_minute_address, id: address })
    throw error
  }
}

function rawOf(ctx: Context): RawRequest {
  const gone = new AbortController()
  ctx.res.once('close', () => {
    if (!ctx.res.writableFinished) gone.abort(new Error('the client went away'))
  })
  return {
    stream: ctx.req,
    headers: ctx.req.headers,
    clientIp: String(ctx.state.clientIp),
    requestId: String(ctx.state.requestId),
    signal: gone.signal,
  }
}

/**
 * The query. An empty text from a form narrows nothing, but only when reading: an empty `?distribution=` must not make
 * a deletion wider.
 */
function queryOf(ctx: Context, schema: TSchema): Record<string, unknown> {
  const members = (schema.properties ?? {}) as Readonly<Record<string, TSchema>>
  const isRead = ctx.method === 'GET' || ctx.method === 'HEAD'
  const isLeftEmpty = ([name, value]: readonly [string, unknown]): boolean =>
    value === '' && (members[name]?.type ?? 'string') === 'string'
  return Object.fromEntries(Object.entries(ctx.query).filter(member => !isRead || !isLeftEmpty(member)))
}

const NOTHING = Type.Object({})

/** The JSON body. A route without one refuses members, so that `DELETE` with a body deletes nothing unasked. */
async function bodyOf({ req, method }: Context, { body, upload, foreign }: Row): Promise<unknown> {
  const isReadElsewhere = upload !== undefined || foreign === true
  if (body === undefined && (isReadElsewhere || method === 'GET' || method === 'HEAD')) return undefined
  const value = validate(body ?? NOTHING, (await readJson(req)) ?? {}, { place: 'body' })
  return body === undefined ? undefined : value
}

async function inputOf(
  ctx: Context,
  row: Row,
  {
    caller,
    words,
  }: {
    readonly caller: { readonly who: Principal; readonly viewer: Viewer } | undefined
    readonly words: RouteDeps['words']
  },
): Promise<Input<string, Row>> {
  const params: unknown =
    row.params === undefined ? ctx.params : validate(row.params, ctx.params, { place: 'path', isText: true })
  const schema = row.query ?? NOTHING
  const query = validate(schema, queryOf(ctx, schema), { place: 'query', isText: true }) as Record<string, unknown>
  if (caller !== undefined) needKnownWords(schema, query, kind => words(kind, caller.viewer))
  const body = await bodyOf(ctx, row)
  return { params, query, body, ...caller, raw: rawOf(ctx) } as unknown as Input<string, Row>
}

/** Whether a stream may go on: the same credential, role and rules would still open it and show the same. */
function goingOn(
  ctx: Context,
  route: BoundRoute,
  { authenticate, hiddenFrom }: RouteDeps,
  viewer: Viewer | undefined,
): (() => Promise<boolean>) | undefined {
  // what somebody began to send is not cut off in the middle
  if (viewer === undefined || !route.key.startsWith('GET ')) return undefined
  return async () => {
    try {
      const who = await identify(ctx, route, authenticate)
      return who !== undefined && (await hiddenFrom(who)).join() === viewer.hidden.join()
    } catch {
      return false
    }
  }
}

function middlewareOf(route: BoundRoute, deps: RouteDeps): Middleware[] {
  const { enterprise, hiddenFrom, words, starting, leads, log } = deps
  const { key, row, handle } = route
  const path = key.slice(key.indexOf(' ') + 1)
  const name = async (ctx: Context, next: Next): Promise<void> => {
    ctx.state.route = row.root === true ? path : `${API_PREFIX}${path}`
    ctx.state.isTool = row.also === 'basic'
    const step = starting.now()
    if (step?.maintenance === true && row.early !== 'always') fail('maintenance', { doing: step.doing })
    if (step !== undefined && row.early === undefined) fail('starting', { doing: printStep(step) })
    await next()
  }
  const answer = async (ctx: Context): Promise<void> => {
    const who = await admit(ctx, route, deps)
    if (row.leader === true && !(await leads())) fail('passive_replica', {})
    const allowed = row.edition === undefined ? 'all' : enterprise()
    // a login may be there to read
    const isRead = key.startsWith('GET ') || row.access === 'public'
    if (allowed === 'nothing' || (allowed === 'reads' && !isRead))
      fail('enterprise_only', { feature: row.edition ?? '' })
    const viewer = who === undefined ? undefined : { hidden: await hiddenFrom(who) }
    const caller = who === undefined || viewer === undefined ? undefined : { who, viewer }
    const input = await inputOf(ctx, row, { caller, words })
    await sendReply(ctx, row, await handle(input), { log, mayGoOn: goingOn(ctx, route, deps, viewer) })
  }
  return [name, answer] as Middleware[]
}

/** The rows as one middleware. Unknown paths go on to the next; a known path with another method answers 405. */
export function createRoutes(deps: RouteDeps): Middleware {
  // paths are case-sensitive, as package names are
  const router = new Router({ sensitive: true })
  for (const route of [...deps.routes].sort(bySpecificity)) {
    const method = route.key.slice(0, route.key.indexOf(' '))
    router.register(
      routerPath(route.key, route.row),
      method === 'GET' ? ['GET', 'HEAD'] : [method],
      middlewareOf(route, deps) as never,
    )
  }
  const dispatch = router.routes() as unknown as Middleware
  return async (ctx, next) => {
    const { path, pathAndMethod } = router.match(ctx.path, ctx.method)
    if (pathAndMethod.length === 0 && path.length > 0) {
      fail('method_not_allowed', {
        method: ctx.method,
        allowed: [...new Set(path.flatMap(layer => layer.methods))].join(', '),
      })
    }
    return dispatch(ctx, next)
  }
}
