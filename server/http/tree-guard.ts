import type { Context } from 'koa'
import type { Principal } from '../core/access.ts'
import { DISTRIBUTIONS, findDistribution } from '../core/distributions.ts'
import { isRefusal } from '../core/errors.ts'

export interface TreeGuardDeps {
  /** Distributions whose tree asks for a credential. */
  readonly privateTrees: () => Promise<ReadonlySet<string>>
  /** @throws an AppError of 401 */
  readonly authenticate: (authorization: string | undefined) => Promise<Principal>
  readonly hiddenFrom: (who: Principal) => Promise<readonly string[]>
}

/** `open`: nobody is asked. `ask`: a credential is needed. `absent`: whoever asks may not see it. */
export type Admission = 'open' | 'allowed' | 'ask' | 'absent'

/**
 * The distributions a path may belong to: the one it names, or every APT one for the pool that reprepro keeps for all
 * of them.
 */
function codenamesOf(segments: readonly string[]): readonly string[] {
  const named = segments
    .slice(0, 2)
    .map(segment => segment.replace(/@\d+$/, ''))
    .filter(segment => findDistribution(segment) !== undefined)
  if (named.length > 0) return named
  return segments[0] === 'pool' ? DISTRIBUTIONS.filter(one => one.family === 'apt').map(one => one.codename) : []
}

/**
 * What apt's auth.conf, dnf and apk send: the token is the password, and the name is not looked at. Source: RFC 7617,
 * 2.
 */
function bearerOf(authorization: string): string | undefined {
  const [, scheme = '', value = ''] = /^(\S+)\s+(\S+)$/.exec(authorization) ?? []
  if (/^bearer$/i.test(scheme)) return authorization
  if (!/^basic$/i.test(scheme)) return undefined
  const [, password = ''] = /^[^:]*:(.*)$/s.exec(Buffer.from(value, 'base64').toString('utf8')) ?? []
  return password === '' ? undefined : `Bearer ${password}`
}

/** Keeps private trees to those who may see them. */
export function createTreeGuard({
  privateTrees,
  authenticate,
  hiddenFrom,
}: TreeGuardDeps): (ctx: Context, segments: readonly string[]) => Promise<Admission> {
  return async (ctx, segments) => {
    const closed = await privateTrees()
    const asked = codenamesOf(segments).filter(codename => closed.has(codename))
    if (asked.length === 0) return 'open'
    const credential = bearerOf(ctx.get('authorization'))
    if (credential === undefined) return 'ask'
    let who: Principal
    try {
      who = await authenticate(credential)
    } catch (error) {
      if (isRefusal(error)) return 'ask'
      throw error
    }
    ctx.state.who = who
    const hidden = await hiddenFrom(who)
    const mayRead = (codename: string): boolean =>
      !hidden.includes(codename) &&
      who.scope?.uploadOnly !== true &&
      (who.scope?.distributions?.includes(codename) ?? true)
    return asked.every(mayRead) ? 'allowed' : 'absent'
  }
}
