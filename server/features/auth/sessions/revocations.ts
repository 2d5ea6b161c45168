import type { Db, Queryable } from '../../../db/db.ts'
import { cached } from '../../../lib/cached.ts'
import type { Clock } from '../../../lib/clock.ts'
import { ALONE, type Shared } from '../../../lib/replica-memory.ts'

/**
 * Sessions that were ended early. Asked on every request, so an answer costs no query. Replicas with one database know
 * of an end elsewhere within a second, and at once with a shared Redis.
 */
export interface Revocations {
  /** Ends these for good, also over a restart. `until` is when the last of their tokens would have expired. */
  revoke(ids: readonly string[], until: Date): Promise<void>
  /** @throws when the database does not answer: a revoked token must never pass because of that */
  isRevoked(id: string): Promise<boolean>
}

const FRESH_MS = 1_000

/**
 * In the table `ended_token`, and in memory as it was read a second ago. What this process revokes is known to it at
 * once.
 */
export function createRevocations({
  db,
  clock,
  shared = ALONE,
}: {
  readonly db: Db
  readonly clock: Clock
  readonly shared?: Pick<Shared, 'tell' | 'hear'>
}): Revocations {
  const own = new Map<string, Date>()
  // only ever adds: whatever Redis answers, the database still refuses
  shared.hear('revoked', message => {
    const { ids, until } = message as { ids: string[]; until: string }
    for (const id of ids) own.set(id, new Date(until))
  })
  const known = cached({
    clock,
    ms: FRESH_MS,
    read: async () => {
      const now = clock.now()
      for (const [id, until] of own) if (until <= now) own.delete(id)
      return new Set(
        (await db.query<{ id: string }>('select id from ended_token where until > $1', [now])).map(row => row.id),
      )
    },
  })
  return {
    async revoke(ids, until) {
      await db.query('insert into ended_token (id, until) select unnest($1::text[]), $2 on conflict do nothing', [
        ids,
        until,
      ])
      for (const id of ids) own.set(id, until)
      shared.tell('revoked', { ids, until: until.toISOString() })
    },
    isRevoked: async id => own.has(id) || (await known()).has(id),
  }
}

/** Deletes what has expired by now: a part at a time, and nothing that another process is deleting. */
export async function forgetEnded(tx: Queryable, now: Date): Promise<void> {
  await tx.query(
    'delete from ended_token where id in (select id from ended_token where until <= $1 limit 1000 for update skip locked)',
    [now],
  )
}

/**
 * Uses up a token that is good once. @returns false when it was used before: of two at once, one gets true, the other
 * waits for that transaction's end
 */
export async function spendOnce(tx: Queryable, id: string, until: Date): Promise<boolean> {
  return (
    (await tx.first('insert into ended_token (id, until) values ($1, $2) on conflict do nothing returning 1', [
      id,
      until,
    ])) !== undefined
  )
}

/** @returns whether a token that is good once was used, or a session was ended */
export async function isSpent(db: Queryable, id: string): Promise<boolean> {
  return (await db.first('select 1 from ended_token where id = $1', [id])) !== undefined
}
