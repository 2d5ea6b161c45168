import { ROLE_CARDS } from '../../../core/access.ts'
import type { Handlers } from '../../../core/contract.ts'
import { fail } from '../../../core/errors.ts'
import type { Db } from '../../../db/db.ts'
import type { Clock } from '../../../lib/clock.ts'
import { byOf, findRole, roleOf, type Accounts } from './accounts.ts'
import type { accounts } from './contract.ts'
import type { ChangePassword } from './password-change.ts'
import type { PasswordReset } from './reset.ts'
import { countRecoveryCodes } from '../mfa/recovery-codes.ts'
import { findAccount, listAccounts } from './store.ts'
import { userView } from './view.ts'

export interface AccountHandlerDeps {
  readonly db: Db
  readonly clock: Clock
  readonly changePassword: ChangePassword
  readonly reset: PasswordReset
  readonly accounts: Accounts
}

export const accountHandlers: Handlers<typeof accounts, AccountHandlerDeps> = {
  'POST /auth/change-password': async ({ changePassword }, { body, who, raw }) => {
    await changePassword(who, { current: body.current_password, next: body.new_password, ip: raw.clientIp })
    return { message: 'The password is changed. Other sessions have ended.' }
  },
  'POST /auth/forgot-password': async ({ reset }, { body: { email, username }, raw }) => {
    if (email === undefined && username === undefined) fail('missing_field', { field: 'email' })
    await reset.ask({ email, username, ip: raw.clientIp })
    return { message: 'If there is an account with a mail address, a link is on its way. It is good for 30 minutes.' }
  },
  'POST /auth/reset-password': async ({ reset }, { body: { token, new_password }, raw }) => {
    await reset.reset({ token, password: new_password, ip: raw.clientIp })
    return { message: 'The password is set. Every session has ended; log in with the new one.' }
  },
  'GET /auth/roles': () => ({ roles: ROLE_CARDS }),
  'GET /auth/users': async ({ db, clock }) => {
    const now = clock.now()
    return { users: (await listAccounts(db)).map(account => userView(account, now)) }
  },
  'POST /auth/users': async ({ accounts, clock }, input) => {
    const { username, password, full_name, email } = input.body
    return userView(
      await accounts.create(
        { username, password, role: roleOf(input.body), fullName: full_name ?? undefined, email: email ?? undefined },
        byOf(input),
      ),
      clock.now(),
    )
  },
  'GET /auth/users/{username}': async ({ db, clock }, { params: { username } }) => {
    const account = (await findAccount(db, username)) ?? fail('user_not_found', { username })
    return {
      ...userView(account, clock.now()),
      recovery_codes_remaining: account.mfa_enabled ? await countRecoveryCodes(db, username) : 0,
    }
  },
  'PATCH /auth/users/{username}': async ({ accounts, clock }, input) => {
    const { full_name, email, active } = input.body
    return userView(
      await accounts.change(
        input.params.username,
        { role: findRole(input.body), fullName: full_name, email, active },
        byOf(input),
      ),
      clock.now(),
    )
  },
  'DELETE /auth/users/{username}': async ({ accounts }, input) => {
    await accounts.remove(input.params.username, byOf(input))
    const { username } = input.params
    return { status: 'deleted', username, message: `The user ${username} is deleted.` }
  },
  'POST /auth/users/{username}/reset-password': async ({ accounts }, input) => {
    await accounts.resetPassword(input.params.username, input.body.new_password, byOf(input))
    const { username } = input.params
    return { status: 'password_set', username, message: `The password of ${username} is set. Its sessions have ended.` }
  },
  'POST /auth/users/{username}/unlock': async ({ accounts }, input) => {
    const { username } = input.params
    return (await accounts.unlock(username, byOf(input)))
      ? { status: 'unlocked', username, message: `The account ${username} is open again.` }
      : { status: 'not_locked', username, message: `The account ${username} was not locked.` }
  },
}
