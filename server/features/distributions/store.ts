import type { State } from '../../core/manifest.ts'
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

/** A published package of a distribution, as promotion and comparison see it. */
export interface Held {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly sort_key: string
  readonly sha256: string
  readonly state: State
}

/** Packages of a distribution by name, newest version first. @param names undefined means all */
export function listHeld(
  db: Queryable,
  {
    codename,
    names,
    states,
  }: { readonly codename: string; readonly names?: readonly string[]; readonly states: readonly State[] },
): Promise<Held[]> {
  return db.query<Held>(
    `
    select name, version, arch, sort_key, sha256, state from package
    where codename = $1 and state = any($2) and ($3::text[] is null or name = any($3)) order by name, sort_key desc, arch`,
    [codename, states, names ?? null],
  )
}
