import type { Principal } from '../../../core/access.ts'
import { fail } from '../../../core/errors.ts'
import type { From } from '../../../core/request-origin.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { Outbox } from '../../../db/outbox.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { SecretBox } from '../../../lib/secret-box.ts'
import type { Audit, AuditAction } from '../../../record/audit.ts'
import { SETUP_MINUTES, type Entry } from '../login/entry.ts'
import { activate, findFactor, removeFactor, setPending } from './store.ts'
import type { PasswordCheck } from '../login/password-check.ts'
import { countRecoveryCodes, makeRecoveryCodes, replaceRecoveryCodes } from './recovery-codes.ts'
import { spendOnce } from '../sessions/revocations.ts'
import type { AccessToken } from '../sessions/sessions.ts'
import { findAccount, type Account } from '../accounts/store.ts'
import { makeSecret, stepOfCode, type NewSecret } from './totp.ts'

export interface MfaDeps {
  readonly db: Db
  readonly audit: Pick<Audit, 'owe' | 'record'>
  readonly outbox: Pick<Outbox, 'nudge'>
  readonly box: SecretBox
  readonly passwords: PasswordCheck
  readonly entry: Entry
  readonly clock: Clock
  readonly random: (bytes: number) => Buffer
}

/** One's own second factor. API tokens have none. @throws no_account from every method that would change it */
export interface Mfa {
  /** Makes a new secret each time; it does not count until its first code. @throws mfa_active */
  setup(who: Principal): Promise<NewSecret>
  /**
   * Activates the secret. @returns recovery codes, only this once; with a setup token also the session
   * @throws mfa_active, mfa_not_pending, wrong_code, bad_credential
   */
  confirm(
    who: Principal,
    given: From & { readonly code: string },
  ): Promise<{ readonly codes: readonly string[]; readonly session?: AccessToken }>
  /** @throws mfa_not_active, wrong_password */
  disable(who: Principal, given: From & { readonly password: string }): Promise<void>
  /** New recovery codes; every older one stops working. @throws mfa_not_active, wrong_password */
  renewCodes(who: Principal, given: From & { readonly password: string }): Promise<readonly string[]>
  status(who: Principal): Promise<{ readonly enabled: boolean; readonly pending: boolean; readonly codesLeft: number }>
}

/** The second factor of accounts: TOTP by RFC 6238, and recovery codes. */
export function createMfa({ db, audit, outbox, box, passwords, entry, clock, random }: MfaDeps): Mfa {
  async function own(who: Principal): Promise<Account> {
    if (who.kind === 'token') fail('no_account', {})
    return (await findAccount(db, who.name)) ?? fail('bad_credential', {})
  }

  async function changing<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const result = await db.tx(work)
    outbox.nudge()
    return result
  }

  /**
   * The account, when the second factor is active and the password right. Guesses count, also from a logged-in session.
   */
  async function requirePassword(
    who: Principal,
    { password, ip }: From & { readonly password: string },
    action: AuditAction,
  ): Promise<Account> {
    const account = await own(who)
    if (!account.mfa_enabled) fail('mfa_not_active', {})
    if ((await passwords.check(account, password)) === 'right') return account
    await audit.record({
      action,
      result: 'FAILURE',
      user: who.name,
      facts: { kind: 'refused', why: 'wrong_password_or_locked' },
      ip,
    })
    return fail('wrong_password', {})
  }

  return {
    async setup(who) {
      const { username, mfa_enabled: enabled } = await own(who)
      if (enabled) fail('mfa_active', {})
      const made = await makeSecret(username)
      if (!(await setPending(db, username, box.seal(made.secret)))) fail('mfa_active', {})
      return made
    },
    async confirm(who, { code, ...from }) {
      const account = await own(who)
      if (account.mfa_enabled) fail('mfa_active', {})
      const sealed = (await findFactor(db, account.username))?.mfa_pending ?? fail('mfa_not_pending', {})
      const step = stepOfCode(box.open(sealed).toString('utf8'), code, clock.now()) ?? fail('wrong_code', {})
      const codes = makeRecoveryCodes(random)
      return changing(async tx => {
        if (!(await activate(tx, { username: account.username, sealed, step }))) fail('mfa_not_pending', {})
        await replaceRecoveryCodes(tx, account.username, codes)
        await audit.owe(tx, {
          action: 'MFA_ENABLE',
          result: 'SUCCESS',
          user: account.username,
          facts: { kind: 'mfa.enabled' },
          ip: from.ip,
        })
        if (who.kind !== 'setup') return { codes }
        if (!(await spendOnce(tx, who.credential, new Date(clock.now().getTime() + SETUP_MINUTES * 60_000))))
          fail('bad_credential', {})
        const session =
          (await entry.admit(tx, account, { ...from, how: 'password_and_new_factor' })) ?? fail('bad_credential', {})
        return { codes, session }
      })
    },
    async disable(who, given) {
      const { username } = await requirePassword(who, given, 'MFA_DISABLE')
      await changing(async tx => {
        if (!(await removeFactor(tx, username))) fail('mfa_not_active', {})
        await audit.owe(tx, {
          action: 'MFA_DISABLE',
          result: 'SUCCESS',
          user: username,
          facts: { kind: 'mfa.disabled' },
          ip: given.ip,
        })
      })
    },
    async renewCodes(who, given) {
      const { username } = await requirePassword(who, given, 'MFA_RECOVERY_CODES')
      const codes = makeRecoveryCodes(random)
      await changing(async tx => {
        // waits for a request that is switching it off
        if (
          (
            await tx.first<{ active: boolean }>(
              'select mfa_secret is not null as active from account where username = $1 for update',
              [username],
            )
          )?.active !== true
        )
          fail('mfa_not_active', {})
        await replaceRecoveryCodes(tx, username, codes)
        await audit.owe(tx, {
          action: 'MFA_RECOVERY_CODES',
          result: 'SUCCESS',
          user: username,
          facts: { kind: 'mfa.codes_renewed' },
          ip: given.ip,
        })
      })
      return codes
    },
    async status(who) {
      if (who.kind === 'token') return { enabled: false, pending: false, codesLeft: 0 }
      const { username, mfa_enabled: enabled } = await own(who)
      return {
        enabled,
        pending: typeof (await findFactor(db, username))?.mfa_pending === 'string',
        codesLeft: enabled ? await countRecoveryCodes(db, username) : 0,
      }
    },
  }
}
