import type { Queryable } from './db.ts'

/** Requests counted by all replicas together, a minute from the first of a key. */
export interface RateCounts {
  /** Adds to each key, which stand there once. @returns how many there are now, in the same order */
  add(counts: readonly { readonly key: string; readonly n: number }[]): Promise<number[]>
  /** Forgets those whose minute is over. */
  sweep(): Promise<void>
}

/** In the table `rate_count`. */
export const createRateCounts = (db: Queryable): RateCounts => ({
  add: async counts => {
    const rows = await db.query<{ key: string; n: number }>(
      // in one order everywhere: two of these never wait for each other
      `insert into rate_count (key, n, until)
      select key, n, clock_timestamp() + interval '1 minute' from unnest($1::text[], $2::int[]) as c (key, n) order by key
      on conflict (key) do update set
        n = case when rate_count.until <= clock_timestamp() then 0 else rate_count.n end + excluded.n,
        until = case when rate_count.until <= clock_timestamp() then excluded.until else rate_count.until end
      returning key, n`,
      [counts.map(({ key }) => key), counts.map(({ n }) => n)],
    )
    const found = new Map(rows.map(({ key, n }) => [key, n]))
    return counts.map(({ key }) => found.get(key) ?? 0)
  },
  sweep: async () => {
    await db.query('delete from rate_count where until <= clock_timestamp()')
  },
})
