import { countBlobs, countStates } from '../../catalog/queries/counts.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'

/** How much an installation holds, in all distributions, hidden ones too. */
export interface Size {
  /** Accounts that can sign in. */
  readonly users: number
  /** Of every state. */
  readonly packages: number
  /** Equal package files count once. */
  readonly package_bytes: number
}

export async function readSize(db: Queryable): Promise<Size> {
  const users = await db.first<{ n: number }>('select count(*) as n from account where active')
  const states = await countStates(db, ALL_SEEING)
  const { bytes } = await countBlobs(db, ALL_SEEING)
  return {
    users: users?.n ?? 0,
    packages: Object.values(states).reduce((sum, n) => sum + n, 0),
    package_bytes: bytes,
  }
}
