import type { Tx } from '../../db/db.ts'

/** Notes that an admin set it up, now or again; a description that is not given stays. */
export async function saveDistribution(tx: Tx, codename: string, description: string | undefined): Promise<void> {
  await tx.query(
    `insert into distribution (codename, description) values ($1, coalesce($2, ''))
    on conflict (codename) do update set description = coalesce($2, distribution.description)`,
    [codename, description ?? null],
  )
}

/** Every index entry of the distribution is to be written again. */
export async function markWhollyDirty(tx: Tx, codename: string): Promise<void> {
  await tx.query(`insert into publish_dirty (codename, name) values ($1, '')`, [codename])
}
