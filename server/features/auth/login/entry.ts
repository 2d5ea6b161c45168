import type { LoginWay } from '../../../core/login-way.ts'
import { randomUUID } from 'node:crypto'
import type { From } from '../../../core/request-origin.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { Outbox } from '../../../db/outbox.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Audit } from '../../../record/audit.ts'
import type { Tokens, Use } from '../sessions/jwt.ts'
import type { MfaPolicy } from '../mfa/policy.ts'
import type { AccessToken, Sessions } from '../sessions/sessions.ts'
import { noteLogin, type Account } from '../accounts/store.ts'

/** The result of a login: a session, the question for a code, or the demand to set up the second factor first. */
export type Entered =
  | ({ readonly kind: 'session' } & AccessToken)
  | { readonly kind: 'challenge' | 'setup'; readonly token: string; readonly minutes: number }

/** From where somebody comes, and by which credential. `codesLeft` is known where a recovery code was used up. */
export type Coming = From & { readonly how: LoginWay; readonly codesLeft?: number }

export interface Entry {
  /**
   * Goes on after the first factor, whoever checked it. @returns undefined when the account was locked or changed
   * meanwhile
   */
  enter(account: Account, coming: Coming): Promise<Entered | undefined>
  /**
   * Opens the session and notes the login, in one transaction. @returns undefined as above; then nothing may be kept of
   * `tx`
   */
  admit(tx: Tx, account: Account, coming: Coming): Promise<AccessToken | undefined>
}

export interface EntryDeps {
  readonly db: Db
  readonly audit: Pick<Audit, 'record' | 'owe'>
  readonly outbox: Pick<Outbox, 'nudge'>
  readonly tokens: Tokens
  readonly sessions: Sessions
  readonly policy: MfaPolicy
  readonly clock: Clock
}

const CHALLENGE_MINUTES = 5
export const SETUP_MINUTES = 30

/** The way in after the first factor: the second one, the admin policy, the session. */
export function createEntry({ db, audit, outbox, tokens, sessions, policy, clock }: EntryDeps): Entry {
  const shortLived = (account: Account, use: Use, minutes: number): Promise<string> =>
    tokens.issue({
      use,
      username: account.username,
      role: account.role,
      credentialsAt: account.credentials_at,
      id: randomUUID(),
      expiresAt: new Date(clock.now().getTime() + minutes * 60_000),
    })

  async function admit(tx: Tx, account: Account, coming: Coming): Promise<AccessToken | undefined> {
    if (!(await noteLogin(tx, account, clock.now()))) return undefined
    await audit.owe(tx, {
      action: 'LOGIN',
      result: 'SUCCESS',
      user: account.username,
      facts: {
        kind: 'login',
        how: coming.how,
        ...(coming.codesLeft === undefined ? {} : { codes_left: coming.codesLeft }),
      },
      ip: coming.ip,
    })
    return sessions.open(tx, account, coming)
  }

  return {
    admit,
    async enter(account, coming) {
      const half = (awaits: 'second_factor' | 'set_up'): Promise<void> =>
        audit.record({
          action: 'LOGIN',
          result: 'WARNING',
          user: account.username,
          facts: { kind: 'login', how: coming.how, awaits },
          ip: coming.ip,
        })
      // keep the count of wrong guesses: somebody who knows the password must not restart it for the codes
      if (account.mfa_enabled) {
        await half('second_factor')
        return {
          kind: 'challenge',
          token: await shortLived(account, 'mfa_challenge', CHALLENGE_MINUTES),
          minutes: CHALLENGE_MINUTES,
        }
      }
      if ((await policy.atLogin(account)).kind === 'over') {
        await half('set_up')
        return {
          kind: 'setup',
          token: await shortLived(account, 'mfa_setup_required', SETUP_MINUTES),
          minutes: SETUP_MINUTES,
        }
      }
      const opened = await db.tx(tx => admit(tx, account, coming))
      outbox.nudge()
      return opened === undefined ? undefined : { kind: 'session', ...opened }
    },
  }
}
