import type { Queryable, Tx } from '../../../db/db.ts'

/** The second factor as it is kept: secrets are encrypted. */
export interface Factor {
  readonly mfa_secret: string | null
  /** A secret whose first code is not confirmed yet. */
  readonly mfa_pending: string | null
  /** The newest step whose code was accepted. */
  readonly mfa_step: number | null
}

/** The second factor of an account with its sealed secrets, undefined where there is no account. */
export function findFactor(db: Queryable, username: string): Promise<Factor | undefined> {
  return db.first<Factor>('select mfa_secret, mfa_pending, mfa_step from account where username = $1', [username])
}

/** @returns false when a second factor is active already; then nothing is kept */
export async function setPending(db: Queryable, username: string, sealed: string): Promise<boolean> {
  return (
    (await db.first('update account set mfa_pending = $2 where username = $1 and mfa_secret is null returning 1', [
      username,
      sealed,
    ])) !== undefined
  )
}

/**
 * Makes the pending secret the active one. `step` is the step of its first code, which this uses up.
 * @returns false when it is no longer pending
 */
export async function activate(
  tx: Tx,
  { username, sealed, step }: { readonly username: string; readonly sealed: string; readonly step: number },
): Promise<boolean> {
  return (
    (await tx.first(
      `
    update account set mfa_secret = mfa_pending, mfa_pending = null, mfa_step = $3
    where username = $1 and mfa_pending = $2 and mfa_secret is null returning 1`,
      [username, sealed, step],
    )) !== undefined
  )
}

/**
 * Uses up a step and all before it. @returns false when it, or a later one, was used before; of two at once one gets
 * true
 */
export async function takeStep(tx: Tx, username: string, step: number): Promise<boolean> {
  return (
    (await tx.first(
      'update account set mfa_step = $2 where username = $1 and (mfa_step is null or mfa_step < $2) returning 1',
      [username, step],
    )) !== undefined
  )
}

/** Removes the second factor, what was pending and every recovery code. @returns whether one was active */
export async function removeFactor(tx: Tx, username: string): Promise<boolean> {
  const before = await tx.first<{ active: boolean }>(
    'select mfa_secret is not null as active from account where username = $1 for update',
    [username],
  )
  await tx.query('update account set mfa_secret = null, mfa_pending = null, mfa_step = null where username = $1', [
    username,
  ])
  await tx.query('delete from recovery_code where username = $1', [username])
  return before?.active === true
}
