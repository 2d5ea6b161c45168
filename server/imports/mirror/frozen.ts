import type { Queryable, Tx } from '../../db/db.ts'

/** A distribution that no mirror and no security update adds to. */
export interface Frozen {
  readonly codename: string
  readonly reason: string
  readonly frozen_by: string
  readonly frozen_at: Date
}

export const listFrozen = (db: Queryable): Promise<Frozen[]> =>
  db.query('select codename, reason, frozen_by, frozen_at from mirror_freeze order by codename')

/** @returns false where nothing changed */
export async function freeze(tx: Tx, { codename, reason, by }: { codename: string; reason: string; by: string }) {
  const rows = await tx.query(
    `insert into mirror_freeze (codename, reason, frozen_by) values ($1, $2, $3)
    on conflict do nothing returning 1 as one`,
    [codename, reason, by],
  )
  return rows.length > 0
}

/** @returns false where nothing changed */
export async function thaw(tx: Tx, codename: string): Promise<boolean> {
  return (await tx.query('delete from mirror_freeze where codename = $1 returning 1 as one', [codename])).length > 0
}
