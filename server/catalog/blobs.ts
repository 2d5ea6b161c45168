import { setTimeout as wait } from 'node:timers/promises'
import type { Sha256 } from '../core/identity.ts'
import { isKept, type PackageFile, type State } from '../core/manifest.ts'
import { NO_HOLDS, type BlobHolds } from '../db/blob-holds.ts'
import type { Db } from '../db/db.ts'
import type { Outbox } from '../db/outbox.ts'
import type { Pool } from '../files/pool.ts'
import type { SpooledFile } from '../files/spool.ts'
import { createKeyedLock } from '../lib/keyed-lock.ts'
import { isBlobKept, whereBlobBelongs } from './queries/store.ts'

/** The bytes of versions, moved before the commit that needs them there. */
export interface Blobs {
  /** Runs `work` while the sweep keeps these files, from their arrival in the pool to the row that needs them. */
  hold<T>(files: readonly Pick<PackageFile, 'blob'>[], work: () => Promise<T>): Promise<T>
  /** Owes a debt that takes files back out of the pool, in case the commit that needs them never comes. */
  oweWayBack(files: readonly Pick<PackageFile, 'blob'>[]): Promise<void>
  /** Moves new files to where a version of this state has them. */
  place(files: readonly SpooledFile[], state: State): Promise<void>
  /** Out of quarantine. */
  release(files: readonly Pick<PackageFile, 'blob'>[]): Promise<void>
  /** Moves the bytes to where the rows say they belong. */
  settle(digest: Sha256): Promise<void>
}

/** How long a file that another replica holds is waited for. */
const WAIT_MS = 30_000
const LOOK_MS = 100

/** Moves bytes in the pool, in such an order that what is owed repairs a crash at any point. */
export function createBlobs({
  db,
  outbox,
  pool,
  holds = NO_HOLDS,
}: {
  readonly db: Db
  readonly outbox: Outbox
  readonly pool: Pool
  /** Absent: no other process works on the pool. */
  readonly holds?: BlobHolds | undefined
}): Blobs {
  const lock = createKeyedLock()
  const digestsOf = (files: readonly Pick<PackageFile, 'blob'>[]): Sha256[] =>
    [...new Set(files.map(({ blob }) => blob.sha256))].sort()

  /** To where the rows say that it belongs. */
  async function shift(digest: Sha256): Promise<void> {
    const place = await whereBlobBelongs(db, digest)
    if (place === 'nowhere') await pool.remove(digest)
    else if (place === 'quarantine') await pool.confine(digest)
    else await pool.release(digest)
  }

  return {
    hold: (files, work) => {
      const digests = digestsOf(files)
      return lock.runAll(digests, () => holds.hold(digests, work))
    },
    async oweWayBack(files) {
      const digests = digestsOf(files)
      for (const digest of digests) {
        const place = await pool.has(digest)
        // a single file without a row is swept up; of several, some may have moved when another one fails
        if (place === 'quarantine' || (place === 'nowhere' && digests.length > 1)) {
          await outbox.owe(db, `blob:${digest}`)
        }
      }
    },
    async place(files, state) {
      for (const file of files) {
        if (isKept(state)) await pool.add(file)
        else if (!(await isBlobKept(db, file.blob.sha256))) {
          await pool.quarantine(file)
          // a registry may have been given it before
          await pool.confine(file.blob.sha256)
        }
      }
    },
    async release(files) {
      for (const digest of digestsOf(files)) await pool.release(digest)
    },
    settle: digest =>
      lock.run(digest, async () => {
        const until = performance.now() + WAIT_MS
        while (!(await holds.alone(digest, () => shift(digest)))) {
          if (performance.now() > until) throw new Error(`another replica holds ${digest}; tried again later`)
          await wait(LOOK_MS)
        }
      }),
  }
}
