import type { Principal } from '../../../core/access.ts'
import { fail } from '../../../core/errors.ts'
import type { Db } from '../../../db/db.ts'
import type { Clock } from '../../../lib/clock.ts'
import { scopeOf, TOKEN_PREFIX } from '../tokens/api-tokens.ts'
import type { Claims, Tokens } from '../sessions/jwt.ts'
import { hashToken } from '../accounts/passwords.ts'
import { isSpent } from '../sessions/revocations.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { findAccount, type Account } from '../accounts/store.ts'
import { findToken, noteTokenUse, roleToday } from '../tokens/store.ts'

export interface CredentialDeps {
  readonly db: Db
  readonly tokens: Tokens
  readonly sessions: Sessions
  readonly clock: Clock
}

/**
 * The sender of this `Authorization` header. Checked on every request, so deactivated and revoked ones are refused at
 * once. A token for setting up the second factor counts only where `also` allows it. @throws not_authenticated,
 * bad_credential, account_inactive
 */
export type Authenticate = (authorization: string | undefined, also?: 'mfa_setup_token') => Promise<Principal>

const BEARER = /^Bearer +([\w.~+/=-]{1,4096})$/i
const MINUTE_MS = 60_000

/** Reads bearer credentials: sessions, API tokens, and the one for setting up the second factor. */
export function createAuthenticate({ db, tokens, sessions, clock }: CredentialDeps): Authenticate {
  async function byToken(token: string): Promise<Principal> {
    const known = (await findToken(db, hashToken(token))) ?? fail('bad_credential', {})
    const now = clock.now()
    if (known.expires_at !== null && known.expires_at <= now) fail('bad_credential', {})
    // a token may never do more than its owner, who may do nothing now
    if (known.creator_active === false) fail('bad_credential', {})
    // at most once a minute per token: a busy build server must not write a row per request
    if (known.last_used_at === null || now.getTime() - known.last_used_at.getTime() >= MINUTE_MS)
      await noteTokenUse(db, known.id, now)
    const scope = scopeOf(known)
    return {
      kind: 'token',
      name: known.name,
      role: roleToday(known),
      credential: known.id,
      ...(scope === undefined ? {} : { scope }),
      ...(known.uploads_per_minute === null ? {} : { uploadsPerMinute: known.uploads_per_minute }),
    }
  }

  async function accountOf(claims: Claims): Promise<Account> {
    const account = (await findAccount(db, claims.username)) ?? fail('bad_credential', {})
    if (!account.active) fail('account_inactive', {})
    // a password change, a reset or a deactivation ends everything that was opened before, except the session that did
    // it
    if (claims.credentialsAt !== account.credentials_at.getTime() && claims.id !== account.kept_session)
      fail('bad_credential', {})
    return account
  }

  async function bySession(token: string): Promise<Principal> {
    const claims = await tokens.read(token, 'access')
    const account = await accountOf(claims)
    if (await sessions.isEnded(claims.id)) fail('bad_credential', {})
    await sessions.touch(claims.id)
    return { kind: 'user', name: account.username, role: claims.role, credential: claims.id }
  }

  async function bySetupToken(token: string): Promise<Principal> {
    const claims = await tokens.read(token, 'mfa_setup_required')
    const account = await accountOf(claims)
    // it has served its purpose
    if (account.mfa_enabled || (await isSpent(db, claims.id))) fail('bad_credential', {})
    return { kind: 'setup', name: account.username, role: account.role, credential: claims.id }
  }

  return async (authorization, also) => {
    if (authorization === undefined) fail('not_authenticated', {})
    const credential = BEARER.exec(authorization)?.[1] ?? fail('bad_credential', {})
    if (credential.startsWith(TOKEN_PREFIX)) return byToken(credential)
    if (also !== 'mfa_setup_token') return bySession(credential)
    return bySession(credential).catch((error: unknown) =>
      bySetupToken(credential).catch(() => {
        throw error
      }),
    )
  }
}
