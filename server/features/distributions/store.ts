import type { Queryable, Tx } from '../../db/db.ts'

/** What the database knows of one distribution. */
export interface DistributionRow {
  readonly codename: string
  readonly description: string | null
  readonly initialized: boolean
  readonly published: number
  readonly pending: number
  readonly quarantined: number
  readonly generation: number | null
  readonly published_at: Date | null
}

/** One row per distribution that was set up, has packages or was published. */
export function listDistributionRows(db: Queryable): Promise<DistributionRow[]> {
  return db.query<DistributionRow>(`
    select codename, d.description, d.codename is not null as initialized,
           coalesce(p.published, 0) as published, coalesce(p.pending, 0) as pending, coalesce(p.quarantined, 0) as quarantined,
           g.n as generation, g.made_at as published_at
    from distribution d
    full join (select codename, count(*) filter (where state = 'published') as published, count(*) filter (where state = 'pending_review') as pending,
                      count(*) filter (where state = 'quarantined') as quarantined from package group by codename) p using (codename)
    full join (select distinct on (codename) codename, n, made_at from generation order by codename, n desc) g using (codename)`)
}

/** Notes that an admin set it up, now or again; a description that is not given stays. */
export async function saveDistribution(tx: Tx, codename: string, description: string | undefined): Promise<void> {
  await tx.query(`insert into distribution (codename, description) values ($1, coalesce($2, ''))
    on conflict (codename) do update set description = coalesce($2, distribution.description)`, [codename, description ?? null])
}

/** Every index entry of the distribution is to be written again. */
export async function markWhollyDirty(tx: Tx, codename: string): Promise<void> {
  await tx.query(`insert into publish_dirty (codename, name) values ($1, '')`, [codename])
}
