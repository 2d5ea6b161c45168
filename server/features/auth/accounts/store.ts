import type { Role } from '../../../core/access.ts'
import type { Queryable, Tx } from '../../../db/db.ts'

export interface Account {
  readonly id: number
  readonly username: string
  readonly password_hash: string
  readonly role: Role
  readonly full_name: string | null
  readonly email: string | null
  readonly active: boolean
  readonly created_at: Date
  readonly last_login: Date | null
  readonly locked_until: Date | null
  readonly credentials_at: Date
  /** The session that changed the password: it goes on. */
  readonly kept_session: string | null
  /** Where the password is kept; only a local one is in `password_hash`. */
  readonly origin: 'local' | 'ldap' | 'oidc'
  readonly mfa_enabled: boolean
  /** Start of the time in which this admin may still log in without a second factor. */
  readonly mfa_grace_from: Date | null
}

const COLUMNS = `id, username, password_hash, role, full_name, email, active, created_at, last_login, locked_until, credentials_at, kept_session, origin,
  mfa_secret is not null as mfa_enabled, mfa_grace_from`

// no bcrypt hash: nothing matches it
const NO_PASSWORD = '!'

// later by a millisecond at least: tokens carry no finer time
const NEXT = `greatest(clock_timestamp(), credentials_at + interval '1 millisecond')`

/** By the name exactly as it is written. */
export async function findAccount(db: Queryable, username: string): Promise<Account | undefined> {
  const [account] = await db.repeat<Account>(`select ${COLUMNS} from account where username = $1`, [username])
  return account
}

/** Every account, by name. */
export function listAccounts(db: Queryable): Promise<Account[]> {
  return db.query<Account>(`select ${COLUMNS} from account order by username`)
}

export interface NewAccount {
  readonly username: string
  readonly passwordHash: string
  readonly role: Role
  readonly fullName?: string | undefined
  readonly email?: string | undefined
}

/**
 * The account with this name in any case: people and audit lines must not confuse `Admin` and `admin`. Waits for a
 * request that is making such an account.
 */
export async function findSpelling(tx: Tx, username: string): Promise<string | undefined> {
  await tx.query('select pg_advisory_xact_lock(7201844, hashtext(lower($1)))', [username])
  return (
    await tx.first<{ username: string }>(
      'select username from account where lower(username) = lower($1) order by username = $1 desc limit 1',
      [username],
    )
  )?.username
}

/** @returns undefined when the name is taken */
export function insertAccount(
  tx: Tx,
  { username, passwordHash, role, fullName, email }: NewAccount,
): Promise<Account | undefined> {
  return tx.first<Account>(
    `
    insert into account (username, password_hash, role, full_name, email) values ($1, $2, $3, $4, $5)
    on conflict (username) do nothing returning ${COLUMNS}`,
    [username, passwordHash, role, fullName ?? null, email ?? null],
  )
}

/** What another place says about somebody; such an account has no password here. */
export interface Vouched {
  readonly username: string
  readonly role: Role
  readonly origin: 'ldap' | 'oidc'
  readonly fullName?: string | undefined
  readonly email?: string | undefined
}

/**
 * Makes or updates the account. @returns undefined when the name belongs to an account of another origin, which stays
 * as it is
 */
export function upsertFromDirectory(
  tx: Tx,
  { username, role, origin, fullName, email }: Vouched,
): Promise<Account | undefined> {
  return tx.first<Account>(
    `
    insert into account (username, password_hash, role, full_name, email, origin) values ($1, $2, $3, $4, $5, $6)
    on conflict (username) do update set role = excluded.role, full_name = coalesce(excluded.full_name, account.full_name), email = coalesce(excluded.email, account.email)
    where account.origin = excluded.origin returning ${COLUMNS}`,
    [username, NO_PASSWORD, role, fullName ?? null, email ?? null, origin],
  )
}

export interface AccountChange {
  readonly role?: Role | undefined
  readonly fullName?: string | null | undefined
  readonly email?: string | null | undefined
  readonly active?: boolean | undefined
}

/** Changes the given fields. Deactivating an account also ends its sessions, for when it is activated again. */
export function updateAccount(
  tx: Tx,
  username: string,
  { role, fullName, email, active }: AccountChange,
): Promise<Account | undefined> {
  return tx.first<Account>(
    `
    update account set role = coalesce($2, role), full_name = case when $3 then $4 else full_name end, email = case when $5 then $6 else email end,
      active = coalesce($7, active), credentials_at = case when $7 = false then ${NEXT} else credentials_at end,
      kept_session = case when $7 = false then null else kept_session end
    where username = $1 returning ${COLUMNS}`,
    [
      username,
      role ?? null,
      fullName !== undefined,
      fullName ?? null,
      email !== undefined,
      email ?? null,
      active ?? null,
    ],
  )
}

/**
 * Deletes the account, and its name from access rules: the next user of that name inherits nothing. A name that no
 * account can have takes its place, since a rule with empty lists is open to everybody.
 */
export async function deleteAccount(tx: Tx, username: string): Promise<void> {
  const gone = `${username} (deleted)`
  await tx.query('update access_group set members = array_replace(members, $1, $2) where $1 = any(members)', [
    username,
    gone,
  ])
  await tx.query('update distribution_access set users = array_replace(users, $1, $2) where $1 = any(users)', [
    username,
    gone,
  ])
  await tx.query('delete from account where username = $1', [username])
}

/** A new password ends every session that was opened with the old one, except `keep`, and lifts a lock. */
export async function setPassword(
  db: Queryable,
  { username, hash, keep }: { readonly username: string; readonly hash: string; readonly keep?: string },
): Promise<void> {
  await db.query(
    `
    update account set password_hash = $2, credentials_at = ${NEXT}, kept_session = $3, failed_logins = 0, locked_until = null
    where username = $1`,
    [username, hash, keep ?? null],
  )
}

/** Opens an account that wrong passwords locked, and begins their count anew. @returns false where it was not locked */
export async function unlockAccount(tx: Tx, username: string, at: Date): Promise<boolean> {
  return (
    (await tx.first(
      'update account set failed_logins = 0, locked_until = null where username = $1 and locked_until > $2 returning 1',
      [username, at],
    )) !== undefined
  )
}

/** Active admins, locked until the transaction ends, so that two cannot remove one another at once. */
export async function lockAdmins(tx: Tx): Promise<string[]> {
  return (
    await tx.query<{ username: string }>(
      `select username from account where role = 'admin' and active order by username for update`,
    )
  ).map(row => row.username)
}

export interface Failure {
  readonly username: string
  readonly limit: number
  readonly at: Date
  readonly lockUntil: Date
}

/**
 * Counts a wrong password. The one that reaches `limit` locks the account and starts a new count. Nothing counts while
 * it is locked, so that failed logins of others cannot lock an account for ever.
 */
export async function countFailure(db: Queryable, { username, limit, at, lockUntil }: Failure): Promise<void> {
  await db.query(
    `
    update account set failed_logins = case when failed_logins + 1 >= $2 then 0 else failed_logins + 1 end,
      locked_until = case when failed_logins + 1 >= $2 then $3::timestamptz end
    where username = $1 and (locked_until is null or locked_until <= $4)`,
    [username, limit, lockUntil, at],
  )
}

/**
 * Records a login, unless the account was locked, deactivated or given another password since it was read: of many
 * guesses at once, those after the lock do not count. @returns whether it was recorded
 */
export async function noteLogin(db: Queryable, { username, password_hash: hash }: Account, at: Date): Promise<boolean> {
  return (
    (await db.first(
      `
    update account set failed_logins = 0, locked_until = null, last_login = $2
    where username = $1 and password_hash = $3 and active and (locked_until is null or locked_until <= $2) returning 1`,
      [username, at, hash],
    )) !== undefined
  )
}

/**
 * Whether the account may still log in with what was read of it a moment ago: not locked, deactivated or given another
 * password since.
 */
export async function isOpen(db: Queryable, { username, password_hash: hash }: Account, at: Date): Promise<boolean> {
  return (
    (await db.first(
      'select 1 from account where username = $1 and password_hash = $3 and active and (locked_until is null or locked_until <= $2)',
      [username, at, hash],
    )) !== undefined
  )
}
