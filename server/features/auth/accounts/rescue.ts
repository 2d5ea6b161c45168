import { fail } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { Audit } from '../../../record/audit.ts'
import { removeFactor } from '../mfa/store.ts'
import { hashPassword } from './passwords.ts'
import { findAccount, listAccounts, setPassword, updateAccount, type Account } from './store.ts'

export interface RescueDeps {
  readonly db: Db
  readonly audit: Pick<Audit, 'owe'>
  readonly random: (bytes: number) => Buffer
}

/** What somebody at the machine itself does for admins who cannot get in. Needs no account, and is in the audit log. */
export interface Rescue {
  /** Admins, also deactivated ones, by name. */
  list(): Promise<readonly Account[]>
  /**
   * Sets a random password, ends every session, lifts a lock and activates the account again.
   * @returns the password @throws user_not_found, no_local_password
   */
  resetPassword(username: string): Promise<string>
  /** For whom the password is enough again. @throws user_not_found, mfa_not_active */
  resetMfa(username: string): Promise<void>
}

/** Nobody has an account of this name. */
const USER = 'system'
// no letter or digit that is mistaken for another
const LETTERS = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789'

/** Four groups of five, 99 bits. */
function newPassword(random: RescueDeps['random']): string {
  const letters: string[] = []
  while (letters.length < 20)
    // the last byte values would make some letters likelier
    for (const byte of random(32)) if (byte < 248) letters.push(LETTERS.charAt(byte % LETTERS.length))
  return (letters.slice(0, 20).join('').match(/.{5}/g) ?? []).join('-')
}

export function createRescue({ db, audit, random }: RescueDeps): Rescue {
  async function findAdmin(tx: Tx, username: string): Promise<Account> {
    const account = await findAccount(tx, username)
    return account?.role === 'admin' ? account : fail('user_not_found', { username })
  }
  return {
    list: async () => (await listAccounts(db)).filter(account => account.role === 'admin'),
    async resetPassword(username) {
      const password = newPassword(random)
      const hash = await hashPassword(password)
      await db.tx(async tx => {
        const { origin, active } = await findAdmin(tx, username)
        if (origin !== 'local') fail('no_local_password', { username })
        if (!active) {
          await updateAccount(tx, username, { active: true })
          const facts = { kind: 'account.changed', username, fields: ['active'] } as const
          await audit.owe(tx, { action: 'USER_UPDATE', result: 'SUCCESS', user: USER, facts })
        }
        await setPassword(tx, { username, hash })
        const facts = { kind: 'password.reset', username, by: 'screen' } as const
        await audit.owe(tx, { action: 'PASSWORD_RESET', result: 'SUCCESS', user: USER, facts })
      })
      return password
    },
    resetMfa: username =>
      db.tx(async tx => {
        await findAdmin(tx, username)
        if (!(await removeFactor(tx, username))) fail('mfa_not_active', {})
        const facts = { kind: 'mfa.reset', username, by: 'screen' } as const
        await audit.owe(tx, { action: 'MFA_RESET', result: 'SUCCESS', user: USER, facts })
      }),
  }
}
