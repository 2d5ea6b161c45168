import { randomUUID } from 'node:crypto'
import type { Db, Queryable } from './db.ts'

/** Keeps replicas from removing files that another one is about to need. */
export interface BlobHolds {
  /** Runs `work` while no other process moves or removes these files. Sorted, each once. */
  hold<T>(digests: readonly string[], work: () => Promise<T>): Promise<T>
  /** Runs `work` on a file that nobody holds, and nobody begins to hold meanwhile. @returns false while it is held */
  alone(digest: string, work: () => Promise<void>): Promise<boolean>
}

/** For one process, whose own lock is enough. */
export const NO_HOLDS: BlobHolds = {
  hold: (_, work) => work(),
  alone: async (_, work) => {
    await work()
    return true
  },
}

const KEY = `hashtextextended('blob ' || digest, 0)`
/** Bytes are put in place and their row is written within seconds. What is older, its process could not take back. */
const LONGEST = '10 minutes'

const isHeld = async (tx: Queryable, digest: string): Promise<boolean> =>
  (await tx.first(
    `select 1 from blob_hold h join replica r on r.id = h.holder
    where h.digest = $1 and h.held_at > clock_timestamp() - interval '${LONGEST}'
      and r.seen_at > clock_timestamp() - interval '30 seconds' limit 1`,
    [digest],
  )) !== undefined

/** In the table `blob_hold`. @param instance  the name of this process */
export function createBlobHolds(db: Db, instance: string): BlobHolds {
  return {
    async hold(digests, work) {
      if (digests.length === 0) return work()
      const token = randomUUID()
      // waits for whoever moves one of them right now; the lock ends with this statement, the row stays
      await db.query(
        `insert into blob_hold (token, digest, holder)
        select $1, digest, $3 from unnest($2::text[]) as d (digest) where pg_advisory_xact_lock(${KEY})::text is not null`,
        [token, digests, instance],
      )
      try {
        return await work()
      } finally {
        // where the database is gone, the row counts for some minutes more
        await db.query('delete from blob_hold where token = $1', [token]).catch(() => undefined)
      }
    },
    alone: (digest, work) =>
      db.tx(async tx => {
        await tx.query(`select pg_advisory_xact_lock(${KEY}) from (select $1::text as digest) as d`, [digest])
        // a statement of its own: it sees what was committed while the one before waited
        if (await isHeld(tx, digest)) return false
        await work()
        return true
      }),
  }
}

/** Forgets those of processes that ended before they could. */
export const forgetHolds = (db: Queryable): Promise<unknown> =>
  db.query(`delete from blob_hold where held_at < clock_timestamp() - interval '1 hour'`)
