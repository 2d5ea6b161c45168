import { fail } from '../../../core/errors.ts'
import type { Db } from '../../../db/db.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Directory } from '../../../directory/directory.ts'
import { checkPassword } from '../accounts/passwords.ts'
import { countFailure, isOpen, type Account } from '../accounts/store.ts'

const WRONG_IN_A_ROW = 5
const LOCK_MS = 15 * 60_000

export interface PasswordCheck {
  /**
   * Takes the same time whether the account exists or not. Counts wrong ones; the fifth locks the account, and no
   * answer is `right` while it is locked. @throws directory_unavailable
   */
  check(account: Account | undefined, password: string): Promise<'right' | 'wrong' | 'locked'>
  /** A guess at a code counts like one at the password. */
  countGuess(username: string): Promise<void>
}

export interface PasswordCheckDeps {
  readonly db: Db
  readonly clock: Clock
  readonly directory?: Directory | undefined
}

/** Compares passwords with the account's own hash or, where the account comes from a directory, there. */
export function createPasswordCheck({ db, clock, directory }: PasswordCheckDeps): PasswordCheck {
  async function matches(account: Account | undefined, password: string): Promise<boolean> {
    if (account === undefined || account.origin === 'local') return checkPassword(password, account?.password_hash)
    const asked =
      account.origin === 'ldap' && directory?.isEnabled() === true
        ? directory.authenticate(account.username, password)
        : ({ kind: 'refused' } as const)
    const [answer] = await Promise.all([asked, checkPassword(password, undefined)])
    if (answer.kind === 'unavailable') fail('directory_unavailable', {}, new Error(answer.why))
    return answer.kind === 'ok' && answer.profile.username.toLowerCase() === account.username.toLowerCase()
  }

  async function countGuess(username: string): Promise<void> {
    const at = clock.now()
    await countFailure(db, { username, limit: WRONG_IN_A_ROW, at, lockUntil: new Date(at.getTime() + LOCK_MS) })
  }

  return {
    countGuess,
    async check(account, password) {
      const asked = clock.now()
      const isRight = await matches(account, password)
      if (account === undefined) return 'wrong'
      if (account.locked_until !== null && account.locked_until > asked) return 'locked'
      if (!isRight) {
        await countGuess(account.username)
        return 'wrong'
      }
      // of many guesses at once, those after the lock do not count
      return !account.active || (await isOpen(db, account, clock.now())) ? 'right' : 'locked'
    },
  }
}
