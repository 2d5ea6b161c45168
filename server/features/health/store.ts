import type { Queryable } from '../../db/db.ts'

interface Accounts {
  readonly accounts: number
  readonly admins: number
  /** The database's time, in milliseconds of Unix time. */
  readonly now: number
}

/** How many accounts there are, how many of them are admins, and what time it is there. */
export async function countAccounts(db: Queryable): Promise<Accounts> {
  const row = await db.first<Accounts>(
    `select count(*) as accounts, count(*) filter (where role = 'admin') as admins,
            (extract(epoch from clock_timestamp()) * 1000)::float8 as now from account`,
  )
  if (row === undefined) throw new Error('a count without a group has one row')
  return row
}
