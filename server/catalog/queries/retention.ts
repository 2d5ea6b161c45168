import type { Viewer } from '../../core/viewer.ts'
import type { Queryable, Tx } from '../../db/db.ts'
import { params, seenBy } from './sql.ts'

export interface Surplus {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly size: number
  readonly pinned: boolean
}

/** One version, however many architectures it has. */
export interface VersionOf {
  readonly codename: string
  readonly name: string
  readonly version: string
}

/**
 * Locks the version against deletion until the transaction ends. @returns false where there is none
 */
export async function lockVersion(tx: Tx, viewer: Viewer, { codename, name, version }: VersionOf): Promise<boolean> {
  const { values, add } = params(codename, name, version)
  const rows = await tx.query(
    `select 1 as one from package where codename = $1 and name = $2 and version = $3 and ${seenBy(viewer, add, 'codename')}
    order by arch for update`,
    values,
  )
  return rows.length > 0
}

/** True while it is pinned, or among the newest `keep` published of its name and architecture. */
export async function isKept(
  tx: Tx,
  viewer: Viewer,
  { codename, name, version, arch, keep }: VersionOf & { readonly arch: string; readonly keep: number },
): Promise<boolean> {
  const { values, add } = params(codename, name, version, arch, keep)
  const surplus = await tx.first(
    `
    select 1 as one from package p where codename = $1 and name = $2 and version = $3 and arch = $4 and ${seenBy(viewer, add, 'codename')}
      and not exists (select 1 from pin where codename = $1 and name = $2 and version = $3)
      and (select count(*) from package o where o.codename = $1 and o.name = $2 and o.arch = $4 and o.state = 'published' and (o.sort_key, o.version collate "C") > (p.sort_key, p.version collate "C")) >= $5`,
    values,
  )
  return surplus === undefined
}

/**
 * Published versions beyond the newest `keep` of their name and architecture, by the format's own order. Held,
 * quarantined and rejected ones do not count and are never among them.
 */
export function listSurplus(
  db: Queryable,
  viewer: Viewer,
  { codename, keep }: { readonly codename: string; readonly keep: number },
): Promise<Surplus[]> {
  const { values, add } = params(codename, keep)
  return db.query<Surplus>(
    `
    select p.name, p.version, p.arch, p.size, pin.version is not null as pinned
    from (select name, version, arch, size, row_number() over (partition by name, arch order by sort_key desc, version collate "C" desc) as nth
          from package where codename = $1 and state = 'published' and ${seenBy(viewer, add, 'codename')}) p
    left join pin on pin.codename = $1 and pin.name = p.name and pin.version = p.version
    where p.nth > $2 order by p.name, p.arch, p.nth`,
    values,
  )
}
