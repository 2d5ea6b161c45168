import type { Principal } from '../../../core/access.ts'
import { fail } from '../../../core/errors.ts'
import type { Db } from '../../../db/db.ts'
import type { Outbox } from '../../../db/outbox.ts'
import type { Audit } from '../../../record/audit.ts'
import type { PasswordCheck } from '../login/password-check.ts'
import { hashPassword } from './passwords.ts'
import { findAccount, setPassword } from './store.ts'

export interface PasswordChangeDeps {
  readonly db: Db
  readonly audit: Pick<Audit, 'record' | 'owe'>
  readonly outbox: Pick<Outbox, 'nudge'>
  readonly passwords: PasswordCheck
}

/**
 * Sets one's own password and ends every other session; the caller's own goes on. @throws wrong_current_password,
 * weak_password, no_password, no_local_password
 */
export type ChangePassword = (
  who: Principal,
  given: { readonly current: string; readonly next: string; readonly ip: string },
) => Promise<void>

export function createPasswordChange({ db, audit, outbox, passwords }: PasswordChangeDeps): ChangePassword {
  return async (who, { current, next, ip }) => {
    if (who.kind !== 'user') fail('no_password', {})
    const account = (await findAccount(db, who.name)) ?? fail('bad_credential', {})
    if (account.origin !== 'local') fail('no_local_password', { username: who.name })
    if ((await passwords.check(account, current)) !== 'right') {
      await audit.record({
        action: 'PASSWORD_CHANGE',
        result: 'FAILURE',
        user: who.name,
        facts: { kind: 'refused', why: 'wrong_current_password_or_locked' },
        ip,
      })
      fail('wrong_current_password', {})
    }
    const hash = await hashPassword(next, 'new_password')
    await db.tx(async tx => {
      await setPassword(tx, { username: who.name, hash, keep: who.credential })
      await audit.owe(tx, {
        action: 'PASSWORD_CHANGE',
        result: 'SUCCESS',
        user: who.name,
        facts: { kind: 'password.changed' },
        ip,
      })
    })
    outbox.nudge()
  }
}
