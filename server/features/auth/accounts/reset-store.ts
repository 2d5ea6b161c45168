import type { Queryable, Tx } from '../../../db/db.ts'

export interface Receiver {
  readonly username: string
  readonly email: string
}

/** Accounts that may be sent a link: active, with an address and a local password. Several may share an address. */
export function findResetAccounts(
  db: Queryable,
  by: { readonly email?: string | undefined; readonly username?: string | undefined },
): Promise<Receiver[]> {
  return db.query(
    `
    select username, email from account
    where active and origin = 'local' and email <> '' and (lower(email) = lower($1) or username = $2) order by username limit 10`,
    [by.email ?? null, by.username ?? null],
  )
}

export interface NewReset {
  readonly username: string
  readonly hash: string
  readonly now: Date
  readonly until: Date
  readonly most: number
}

/**
 * Keeps a link in place of an older one. @returns false when the account got `most` of them within one lifetime; then
 * the older link stays
 */
export async function keepReset(tx: Tx, { username, hash, now, until, most }: NewReset): Promise<boolean> {
  const windowMs = until.getTime() - now.getTime()
  return (
    (await tx.first(
      `
    insert into password_reset (username, hash, expires_at, asked, since) values ($1, $2, $4, 1, $3)
    on conflict (username) do update set hash = excluded.hash, expires_at = excluded.expires_at,
      asked = case when password_reset.since + $6 * interval '1 millisecond' <= $3 then 1 else password_reset.asked + 1 end,
      since = case when password_reset.since + $6 * interval '1 millisecond' <= $3 then $3 else password_reset.since end
    where password_reset.asked < $5 or password_reset.since + $6 * interval '1 millisecond' <= $3 returning 1`,
      [username, hash, now, until, most, windowMs],
    )) !== undefined
  )
}

/** The owner of this link, while it is good. */
export async function findResetOwner(db: Queryable, hash: string, now: Date): Promise<string | undefined> {
  return (
    await db.first<{ username: string }>(
      `
    select username from password_reset join account using (username) where hash = $1 and expires_at > $2 and active and origin = 'local'`,
      [hash, now],
    )
  )?.username
}

/**
 * Uses the link up. The row stays, to count mails, with a digest that nothing matches. @returns the owner; of two at
 * once one gets a name
 */
export async function takeReset(tx: Tx, hash: string, now: Date): Promise<string | undefined> {
  return (
    await tx.first<{ username: string }>(
      `
    update password_reset set hash = 'used:' || password_reset.username from account
    where password_reset.hash = $1 and password_reset.expires_at > $2 and account.username = password_reset.username and account.active and account.origin = 'local'
    returning password_reset.username`,
      [hash, now],
    )
  )?.username
}
