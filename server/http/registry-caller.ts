import type { Context } from 'koa'
import { allows, needScope, type Principal } from '../core/access.ts'
import { fail, isRefusal } from '../core/errors.ts'
import type { Distribution } from '../core/repository.ts'
import type { Caller, Intent, RegistryProtocol } from '../registries/protocol.ts'
import { bearerOf } from './basic.ts'
import type { RateLimits } from './rate-limit.ts'
import type { Authenticate, UploadLimits } from './routes.ts'

export interface CallerDeps {
  readonly authenticate: Authenticate
  readonly hiddenFrom: (who: Principal | undefined) => Promise<readonly string[]>
  readonly privateTrees: () => Promise<ReadonlySet<string>>
  readonly limits: Pick<RateLimits, 'count'>
  readonly uploadLimits: () => UploadLimits
}

/** Wrong credentials a minute from one address: nobody may try them without end. */
const FAILURES = 60
/** Publishing one version takes many requests: an image has two or three for each layer. */
const REQUESTS_PER_UPLOAD = 50

/**
 * Whoever asks: a bearer token, a token as the password of HTTP Basic, the access token of a user, or nobody.
 * @throws bad_credential and what else `authenticate` throws; rate_limited
 */
export async function identify(
  ctx: Context,
  protocol: Pick<RegistryProtocol, 'unwrap'>,
  { authenticate, limits }: Pick<CallerDeps, 'authenticate' | 'limits'>,
): Promise<Principal | undefined> {
  const sent = ctx.get('authorization')
  if (sent === '') return undefined
  try {
    const behind = await protocol.unwrap?.(sent)
    if (behind === 'anonymous') return undefined
    const credential = bearerOf(behind ?? sent) ?? fail('bad_credential', {})
    const who = await authenticate(credential)
    ctx.state.who = who
    return who
  } catch (error) {
    if (isRefusal(error))
      await limits.count(ctx, { bucket: 'registry-credentials', perMinute: FAILURES, id: String(ctx.state.clientIp) })
    throw error
  }
}

/**
 * Refuses who may not read the registry: one that is hidden from a caller is like one that never was.
 * @throws private_tree where a credential would help, registry_not_found
 */
export function needReader(
  who: Principal | undefined,
  { codename }: Pick<Distribution, 'codename'>,
  { hidden, closed }: { readonly hidden: readonly string[]; readonly closed: ReadonlySet<string> },
): void {
  const isClosed = closed.has(codename)
  if (who === undefined) {
    if (isClosed || hidden.includes(codename)) fail('private_tree', {})
    return
  }
  const isOutside = isClosed && who.scope?.distributions?.includes(codename) === false
  if (hidden.includes(codename) || isOutside) fail('registry_not_found', { name: codename })
}

/** The same as a question. */
export function mayRead(...of: Parameters<typeof needReader>): boolean {
  try {
    needReader(...of)
    return true
  } catch (error) {
    if (isRefusal(error)) return false
    throw error
  }
}

/** @throws not_authenticated, forbidden, outside_scope, outside_distribution */
function needIntent(who: Principal | undefined, intent: Intent, codename: string | undefined): void {
  if (intent === 'read') return
  if (who === undefined) return fail('not_authenticated', {})
  const access = intent === 'write' ? 'uploader+' : 'maintainer+'
  if (!allows(access, who.role))
    fail('forbidden', {
      needs: intent === 'write' ? 'uploader, maintainer or admin' : 'maintainer or admin',
      role: who.role,
    })
  if (intent === 'manage' && who.scope?.uploadOnly === true)
    fail('outside_scope', { limits: `uploads to ${who.scope.distributions?.join(', ') ?? 'any distribution'}` })
  if (codename !== undefined) needScope(who, codename)
}

/** The caller of one request. */
export function callerOf(
  { who, ip, hidden }: { readonly who: Principal | undefined; readonly ip: string; readonly hidden: readonly string[] },
  registry: Pick<Distribution, 'codename'> | undefined,
): Caller {
  return { who, ip, viewer: { hidden }, need: intent => needIntent(who, intent, registry?.codename) }
}

/** Counts a request that may write, by whom uploads are counted. @throws rate_limited */
export async function countWrite(
  ctx: Context,
  who: Principal | undefined,
  { limits, uploadLimits }: Pick<CallerDeps, 'limits' | 'uploadLimits'>,
): Promise<void> {
  const settings = uploadLimits()
  const own =
    who === undefined
      ? 0
      : who.kind === 'token'
        ? (who.uploadsPerMinute ?? settings.per_minute_token)
        : settings.per_minute_user
  const isOwn = own > 0 && who !== undefined
  await limits.count(ctx, {
    bucket: isOwn ? `registry-${who.kind}` : 'registry',
    perMinute: (isOwn ? own : settings.per_minute_address) * REQUESTS_PER_UPLOAD,
    id: isOwn ? (who.kind === 'token' ? who.credential : who.name) : String(ctx.state.clientIp),
  })
}
