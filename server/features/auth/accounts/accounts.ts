import { ROLES, type Principal, type Role } from '../../../core/access.ts'
import type { RawRequest } from '../../../core/contract.ts'
import { fail } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Audit, AuditAction } from '../../../record/audit.ts'
import type { AuditFacts } from '../../../record/audit-facts.ts'
import type { Outbox } from '../../../db/outbox.ts'
import { removeFactor } from '../mfa/store.ts'
import { deleteToken, listTokensOf, lowerToken, roleToday } from '../tokens/store.ts'
import { hashPassword } from './passwords.ts'
import {
  deleteAccount,
  findAccount,
  findSpelling,
  insertAccount,
  lockAdmins,
  setPassword,
  unlockAccount,
  updateAccount,
  type Account,
  type AccountChange,
} from './store.ts'

/** The actor and their address, for the audit line. */
export interface By {
  readonly who: Principal
  readonly ip: string
}

/** The sender of a request and their address. */
export function byOf({ who, raw }: { readonly who: Principal; readonly raw: Pick<RawRequest, 'clientIp'> }): By {
  return { who, ip: raw.clientIp }
}

export interface AccountDeps {
  readonly db: Db
  readonly audit: Audit
  readonly outbox: Pick<Outbox, 'nudge'>
  readonly clock: Clock
}

interface Roled {
  readonly role?: Role
  readonly roles?: readonly Role[]
}

/** `role`, or its older form `roles` with one entry; undefined without either. @throws two_answers where they differ */
export function findRole({ role, roles }: Roled): Role | undefined {
  const older = roles?.[0]
  if (role !== undefined && older !== undefined && role !== older)
    fail('two_answers', { field: 'role', said: role, other: 'roles', other_said: older })
  return role ?? older
}

/** The role that must be there. @throws missing_role, two_answers */
export function roleOf(body: Roled): Role {
  return findRole(body) ?? fail('missing_role', { roles: ROLES.join(', '), field: 'role' })
}

export interface Accounts {
  create(
    account: {
      readonly username: string
      readonly password: string
      readonly role: Role
      readonly fullName?: string | undefined
      readonly email?: string | undefined
    },
    by: By,
  ): Promise<Account>
  change(username: string, change: AccountChange, by: By): Promise<Account>
  remove(username: string, by: By): Promise<void>
  resetPassword(username: string, password: string, by: By): Promise<void>
  /**
   * For a user without phone and recovery codes: the password is enough again. @throws user_not_found, own_mfa,
   * mfa_not_active
   */
  resetMfa(username: string, by: By): Promise<void>
  /** @returns false where the account was not locked @throws user_not_found */
  unlock(username: string, by: By): Promise<boolean>
}

/** Admins' changes to accounts. Each and its audit line are one transaction; what changes nothing writes no line. */
export function createAccounts({ db, audit, outbox, clock }: AccountDeps): Accounts {
  async function changing<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const result = await db.tx(work)
    outbox.nudge()
    return result
  }

  const note = (tx: Tx, action: AuditAction, facts: AuditFacts, { who, ip }: By): Promise<void> =>
    audit.owe(tx, { action, result: 'SUCCESS', user: who.name, facts, ip })

  /** @throws last_admin when `username` is the last account that could change anything */
  async function keepAnAdmin(tx: Tx, username: string): Promise<void> {
    const admins = await lockAdmins(tx)
    if (admins.length === 1 && admins[0] === username) fail('last_admin', { username })
  }

  return {
    async create({ username, password, role, fullName, email }, by) {
      const passwordHash = await hashPassword(password)
      return changing(async tx => {
        const taken = await findSpelling(tx, username)
        if (taken !== undefined) fail('user_exists', { username: taken })
        const account =
          (await insertAccount(tx, { username, passwordHash, role, fullName, email })) ??
          fail('user_exists', { username })
        await note(tx, 'USER_CREATE', { kind: 'account.created', username, role, by: 'admin' }, by)
        return account
      })
    },
    change: (username, change, by) =>
      changing(async tx => {
        const isSelf = by.who.kind === 'user' && by.who.name === username
        if (isSelf && change.role !== undefined) {
          const own = await findAccount(tx, username)
          if (own !== undefined && own.role !== change.role) fail('own_role', { username })
        }
        if (isSelf && change.active === false) fail('own_account', { username })
        if (change.active === false || (change.role !== undefined && change.role !== 'admin'))
          await keepAnAdmin(tx, username)
        const before = (await findAccount(tx, username)) ?? fail('user_not_found', { username })
        const after = (await updateAccount(tx, username, change)) ?? fail('user_not_found', { username })
        const fields = (['full_name', 'email', 'active'] as const).filter(field => before[field] !== after[field])
        if (before.role !== after.role)
          await note(
            tx,
            'USER_ROLE_CHANGE',
            { kind: 'role.changed', username, from_role: before.role, to_role: after.role, by: 'admin' },
            by,
          )
        if (fields.length > 0) await note(tx, 'USER_UPDATE', { kind: 'account.changed', username, fields }, by)
        return after
      }),
    remove: (username, by) =>
      changing(async tx => {
        if (by.who.kind === 'user' && by.who.name === username) fail('own_account', { username })
        await keepAnAdmin(tx, username)
        if ((await findAccount(tx, username)) === undefined) fail('user_not_found', { username })
        // no creator limits them any more: they keep what they may do today
        for (const token of await listTokensOf(tx, username)) {
          if (token.creator_active === false) await deleteToken(tx, token.id)
          else if (roleToday(token) !== token.role) await lowerToken(tx, token.id, roleToday(token))
        }
        await deleteAccount(tx, username)
        await note(tx, 'USER_DELETE', { kind: 'account.removed', username }, by)
      }),
    async resetPassword(username, password, by) {
      const hash = await hashPassword(password, 'new_password')
      await changing(async tx => {
        const account = (await findAccount(tx, username)) ?? fail('user_not_found', { username })
        if (account.origin !== 'local') fail('no_local_password', { username })
        await setPassword(tx, { username, hash })
        await note(tx, 'PASSWORD_RESET', { kind: 'password.reset', username, by: 'admin' }, by)
      })
    },
    resetMfa: (username, by) =>
      changing(async tx => {
        // a borrowed session must not get around the password
        if (by.who.kind === 'user' && by.who.name === username) fail('own_mfa', {})
        if ((await findAccount(tx, username)) === undefined) fail('user_not_found', { username })
        if (!(await removeFactor(tx, username))) fail('mfa_not_active', {})
        await note(tx, 'MFA_RESET', { kind: 'mfa.reset', username }, by)
      }),
    unlock: (username, by) =>
      changing(async tx => {
        if ((await findAccount(tx, username)) === undefined) fail('user_not_found', { username })
        if (!(await unlockAccount(tx, username, clock.now()))) return false
        await note(tx, 'USER_UNLOCK', { kind: 'account.unlocked', username }, by)
        return true
      }),
  }
}
