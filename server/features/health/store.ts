import type { Queryable } from '../../db/db.ts'

/** How many accounts there are, and how many of them are admins. */
export async function countAccounts(db: Queryable): Promise<{ readonly accounts: number; readonly admins: number }> {
  const row = await db.first<{ accounts: number; admins: number }>(
    `select count(*) as accounts, count(*) filter (where role = 'admin') as admins from account`,
  )
  return row ?? { accounts: 0, admins: 0 }
}
