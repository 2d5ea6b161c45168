import { isIP } from 'node:net'
import { AppError, fail } from '../../core/errors.ts'
import type { RegistryUpstream } from '../../core/registry.ts'
import { hostOf } from '../../outbound/guard.ts'
import { parseTarget } from '../../outbound/target.ts'

/** Where a proxy reads. */
export interface UpstreamWish {
  /** Absent: it stays. */
  readonly url?: string | undefined
  /** Sent with the secret; null: the secret is a token. */
  readonly user?: string | null | undefined
  /** Null takes it away. */
  readonly secret?: string | null | undefined
}

/**
 * What becomes of the secret for the upstream: it stays, is taken away, is this one, or goes because it was given for
 * another server or user.
 */
export type SecretChange =
  { readonly is: 'kept' | 'gone' | 'dropped' } | { readonly is: 'new'; readonly secret: string; readonly url: string }

export interface UpstreamDeps {
  /** Why no request goes to this address now; undefined: one may. */
  readonly refusesAddress: (address: string) => string | undefined
}

/** Names and files are added behind it, and addresses of more than 2,000 characters are not asked. */
const MOST_URL = 1_000

const refuse = (field: string, why: string): never => fail('bad_registry', { field, why })

/** The address of an upstream, without a slash at its end. @throws bad_registry */
function readUrl(text: string, { refusesAddress }: UpstreamDeps): string {
  let url: URL
  try {
    url = parseTarget(text.trim())
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return refuse(
      'upstream.url',
      `${String(error.facts.why)}; write https:// and the address that clients of that registry use`,
    )
  }
  // also an empty query: what is asked for is added behind it
  if (/[?#]/.test(url.href)) refuse('upstream.url', 'it has no ? and no #; leave out what begins there')
  const href = url.href.replace(/\/+$/, '')
  if (href.length > MOST_URL) refuse('upstream.url', `it has at most ${MOST_URL} characters`)
  const host = hostOf(url)
  const why = isIP(host) === 0 ? undefined : refusesAddress(host)
  if (why !== undefined)
    refuse('upstream.url', `${why}; an admin names it in the setting notifications.allow_private_hosts first`)
  return href
}

function readUser(user: string | undefined): string | undefined {
  if (user !== undefined && !/^[^\p{C}:]{1,200}$/u.test(user))
    refuse('upstream.user', 'it has no colon, and 1 to 200 visible characters; for a token leave it out')
  return user
}

/** A header of HTTP takes no line break, and a token no blank: copied ones often end with one. */
function readSecret(secret: string, user: string | undefined): string {
  if (user === undefined && !/^[!-~]+$/.test(secret))
    refuse('upstream.secret', 'a token has only visible ASCII characters and no blank; name the user of a password')
  return /\p{Cc}/u.test(secret)
    ? refuse('upstream.secret', 'it has no control character and no line break, also at its end')
    : secret
}

/**
 * Where a proxy reads after a wish, and what becomes of its secret. A credential is for the server and the user that it
 * was given for: others without a secret of their own lose it.
 * @throws bad_registry
 */
export function readUpstream(
  wish: UpstreamWish,
  before: RegistryUpstream | undefined,
  deps: UpstreamDeps,
): { readonly upstream: RegistryUpstream; readonly secret: SecretChange } {
  const url = readUrl(wish.url ?? before?.url ?? refuse('upstream.url', 'a new one needs it'), deps)
  const isElsewhere = before !== undefined && new URL(before.url).origin !== new URL(url).origin
  const user = readUser(wish.user === undefined && !isElsewhere ? before?.user : (wish.user ?? undefined))
  const upstream = { url, ...(user === undefined ? {} : { user }) }
  if (typeof wish.secret === 'string')
    return { upstream, secret: { is: 'new', url, secret: readSecret(wish.secret, user) } }
  if (wish.secret === null) return { upstream, secret: { is: 'gone' } }
  return { upstream, secret: { is: isElsewhere || user !== before?.user ? 'dropped' : 'kept' } }
}
