import type { LoginWay } from '../../../core/login-way.ts'
import { fail } from '../../../core/errors.ts'
import type { From } from '../../../core/request-origin.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { Outbox } from '../../../db/outbox.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Audit } from '../../../record/audit.ts'
import type { AuditFacts, Refusal } from '../../../record/audit-facts.ts'
import type { Directory, DirectoryProfile } from '../../../directory/directory.ts'
import type { Entered, Entry } from './entry.ts'
import type { PasswordCheck } from './password-check.ts'
import { checkPassword } from '../accounts/passwords.ts'
import { findAccount, findSpelling, upsertFromDirectory, type Account } from '../accounts/store.ts'

export interface LoginDeps {
  readonly db: Db
  readonly audit: Pick<Audit, 'record' | 'owe'>
  readonly outbox: Pick<Outbox, 'nudge'>
  readonly passwords: PasswordCheck
  readonly entry: Entry
  readonly clock: Clock
  /** Asked about people without a local password; undefined where there is none, as in the community edition. */
  readonly directory?: Directory | undefined
}

export interface Login {
  /**
   * Answers an unknown user, a wrong password and a locked account alike, in the same time. Only somebody who knows the
   * password is told that the account is deactivated. @throws bad_password, account_inactive, directory_unavailable
   */
  login(given: { readonly username: string; readonly password: string } & From): Promise<Entered>
  /**
   * Signs in a person whom another place vouches for: makes or updates the account; second factor and session are as
   * after a password. `how` is for the audit log. @throws bad_password, or sso_refused where
   * nobody typed one; account_inactive
   */
  vouchedFor(
    profile: DirectoryProfile & { readonly origin: 'ldap' | 'oidc' },
    coming: From & { readonly how: LoginWay },
  ): Promise<Entered>
}

/** Logging in with a password: local accounts first, then the directory. */
export function createLogin({ db, audit, outbox, passwords, entry, clock, directory }: LoginDeps): Login {
  async function refuse(
    username: string,
    ip: string,
    why: Refusal,
    code: 'bad_password' | 'account_inactive' | 'sso_refused' = 'bad_password',
  ): Promise<never> {
    await audit.record({
      action: 'LOGIN',
      result: 'FAILURE',
      user: username.slice(0, 100),
      facts: { kind: 'refused', why },
      ip,
    })
    return fail(code, {})
  }

  async function comeIn(account: Account, coming: From & { readonly how: LoginWay }): Promise<Entered> {
    return (await entry.enter(account, coming)) ?? refuse(account.username, coming.ip, 'locked')
  }

  /** Makes or updates the account; never touches a local account of that name. */
  async function follow(
    tx: Tx,
    profile: DirectoryProfile & { readonly origin: 'ldap' | 'oidc' },
    ip: string,
  ): Promise<Account | undefined> {
    const before = await findAccount(tx, profile.username)
    if (before === undefined) {
      const spelled = await findSpelling(tx, profile.username)
      // a directory ignores case: it is the same person
      if (spelled !== undefined)
        return profile.origin === 'ldap' ? follow(tx, { ...profile, username: spelled }, ip) : undefined
      if (!profile.provision) return undefined
    }
    const account = await upsertFromDirectory(tx, profile)
    if (account === undefined) return undefined
    const note = (action: 'USER_CREATE' | 'USER_ROLE_CHANGE', facts: AuditFacts): Promise<void> =>
      audit.owe(tx, { action, result: 'SUCCESS', user: profile.username, facts, ip })
    const { username, role, origin } = profile
    if (before === undefined) await note('USER_CREATE', { kind: 'account.created', username, role, by: origin })
    else if (before.role !== account.role)
      await note('USER_ROLE_CHANGE', {
        kind: 'role.changed',
        username,
        from_role: before.role,
        to_role: account.role,
        by: origin,
      })
    return account
  }

  async function vouchedFor(
    profile: DirectoryProfile & { readonly origin: 'ldap' | 'oidc' },
    coming: From & { readonly how: LoginWay },
  ): Promise<Entered> {
    const account = await db.tx(tx => follow(tx, profile, coming.ip))
    outbox.nudge()
    if (account === undefined)
      return refuse(
        profile.username,
        coming.ip,
        'no_account',
        profile.origin === 'oidc' ? 'sso_refused' : 'bad_password',
      )
    if (!account.active) return refuse(account.username, coming.ip, 'inactive', 'account_inactive')
    if (account.locked_until !== null && account.locked_until > clock.now())
      return refuse(account.username, coming.ip, 'locked')
    return comeIn(account, coming)
  }

  /** For people without a local password: asks the directory. */
  async function byDirectory(
    asked: Directory,
    { username, password, ...from }: Parameters<Login['login']>[0],
    known: Account | undefined,
  ): Promise<Entered> {
    // hash as well, so that the time does not reveal whether there is a local account
    const [answer] = await Promise.all([asked.authenticate(username, password), checkPassword(password, undefined)])
    if (answer.kind === 'unavailable') {
      await audit.record({
        action: 'LOGIN',
        result: 'FAILURE',
        user: username.slice(0, 100),
        facts: { kind: 'refused', why: 'directory_silent' },
        ip: from.ip,
      })
      return fail('directory_unavailable', {}, new Error(answer.why))
    }
    if (answer.kind === 'refused') {
      // under any spelling or mail address: the guess is at this person's password
      const guessed = answer.username ?? known?.username
      if (guessed !== undefined && (await findAccount(db, guessed))?.origin !== 'local')
        await passwords.countGuess(guessed)
      return refuse(username, from.ip, 'directory_refused')
    }
    return vouchedFor({ ...answer.profile, origin: 'ldap' }, { ...from, how: 'directory_password' })
  }

  return {
    vouchedFor,
    async login(given) {
      const { username, password, ...from } = given
      const account = await findAccount(db, username)
      if (account?.origin !== 'local' && directory?.isEnabled() === true && password !== '')
        return byDirectory(directory, given, account)
      const outcome = await passwords.check(account, password)
      if (account === undefined) return refuse(username, from.ip, 'no_such_user')
      if (outcome !== 'right') return refuse(username, from.ip, outcome === 'locked' ? 'locked' : 'wrong_password')
      if (!account.active) return refuse(username, from.ip, 'inactive', 'account_inactive')
      return comeIn(account, { ...from, how: 'password' })
    },
  }
}
