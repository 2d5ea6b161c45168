import type { Principal } from '../../core/access.ts'
import { fail } from '../../core/errors.ts'
import type { Db } from '../../db/db.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Audit } from '../../record/audit.ts'
import type { Tokens } from './jwt.ts'
import { checkPassword, hashPassword, hashToken } from './passwords.ts'
import { countFailure, findAccount, findToken, noteLogin, noteTokenUse, setPassword, type Account } from './store.ts'

export const TOKEN_PREFIX = 'svc_'
const WRONG_PASSWORDS = 5
const LOCK_MS = 15 * 60_000

export interface LoginDeps { readonly db: Db; readonly audit: Pick<Audit, 'record' | 'owe'>; readonly tokens: Tokens; readonly clock: Clock }

export interface Login {
  /**
   * Answers an unknown user, a wrong password and a locked account alike, in the same time. Only who knows the password of a
   * deactivated account is told that it is deactivated. @throws bad_password, account_inactive
   */
  login(given: { readonly username: string; readonly password: string; readonly ip: string }): Promise<string>
  /** Who sends this header. Asked on every request: what was switched off or revoked is refused at once. */
  authenticate(authorization: string | undefined): Promise<Principal>
  /** Ends every other session; the caller's own goes on. @throws wrong_current_password, weak_password, no_password */
  changePassword(who: Principal, given: { readonly current: string; readonly next: string; readonly ip: string }): Promise<void>
}

export function createLogin({ db, audit, tokens, clock }: LoginDeps): Login {
  async function refuse(username: string, ip: string, why: string, code: 'bad_password' | 'account_inactive' = 'bad_password'): Promise<never> {
    await audit.record({ action: 'LOGIN', result: 'FAILURE', user: username.slice(0, 100), detail: why, ip })
    return fail(code, {})
  }

  async function byToken(token: string): Promise<Principal> {
    const known = await findToken(db, hashToken(token)) ?? fail('bad_credential', {})
    const now = clock.now()
    if (known.expires_at !== null && known.expires_at <= now) fail('bad_credential', {})
    await noteTokenUse(db, known.id, now)
    return { kind: 'token', name: known.name, role: known.role, credential: known.id }
  }

  async function bySession(token: string): Promise<Principal> {
    const claims = await tokens.read(token)
    const account = await findAccount(db, claims.username) ?? fail('bad_credential', {})
    if (!account.active) fail('account_inactive', {})
    // a password change, a reset or a deactivation ends every session that was opened before
    if (claims.credentialsAt !== account.credentials_at.getTime() && claims.id !== account.kept_session) fail('bad_credential', {})
    return { kind: 'user', name: account.username, role: claims.role, credential: claims.id }
  }

  async function verify({ username, password, ip }: Parameters<Login['login']>[0]): Promise<Account> {
    const account = await findAccount(db, username)
    const now = clock.now()
    const matches = await checkPassword(password, account?.password_hash)
    if (account === undefined) return refuse(username, ip, 'There is no such user.')
    if (account.locked_until !== null && account.locked_until > now) return refuse(username, ip, 'The account is locked.')
    if (!matches) {
      const at = clock.now()
      await countFailure(db, { username, limit: WRONG_PASSWORDS, at, lockUntil: new Date(at.getTime() + LOCK_MS) })
      return refuse(username, ip, 'The password is wrong.')
    }
    if (!account.active) return refuse(username, ip, 'The account is deactivated.', 'account_inactive')
    if (!await noteLogin(db, account, clock.now())) return refuse(username, ip, 'The account is locked.')
    return account
  }

  return {
    async login(given) {
      const account = await verify(given)
      await audit.record({ action: 'LOGIN', result: 'SUCCESS', user: account.username, detail: 'With a password.', ip: given.ip })
      return tokens.issue({ username: account.username, role: account.role, credentialsAt: account.credentials_at })
    },
    async authenticate(authorization) {
      if (authorization === undefined) fail('not_authenticated', {})
      const credential = /^Bearer +([\w.~+/=-]{1,4096})$/i.exec(authorization)?.[1] ?? fail('bad_credential', {})
      return credential.startsWith(TOKEN_PREFIX) ? byToken(credential) : bySession(credential)
    },
    async changePassword(who, { current, next, ip }) {
      if (who.kind !== 'user') fail('no_password', {})
      const account = await findAccount(db, who.name) ?? fail('bad_credential', {})
      if (!await checkPassword(current, account.password_hash)) {
        await audit.record({ action: 'PASSWORD_CHANGE', result: 'FAILURE', user: who.name, detail: 'The current password is wrong.', ip })
        fail('wrong_current_password', {})
      }
      const hash = await hashPassword(next, 'new_password')
      await db.tx(async tx => {
        await setPassword(tx, { username: who.name, hash, keep: who.credential })
        await audit.owe(tx, { action: 'PASSWORD_CHANGE', result: 'SUCCESS', user: who.name, detail: 'Other sessions ended.', ip })
      })
    },
  }
}
