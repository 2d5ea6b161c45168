import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { IndexedManifest } from './search.ts'
import { params, seenBy } from './sql.ts'
import type { VersionPlace } from './versions.ts'

/** What is served; fixed before a bill is printed. */
export interface Served {
  readonly id: number
  readonly sha256: string
  readonly changed_at: Date
}

/** Everything published, in the order of codename, name and version; or the first `limit` of it. */
export function listServed(
  db: Queryable,
  viewer: Viewer,
  { codename, limit }: { readonly codename?: string | undefined; readonly limit?: number | undefined },
): Promise<Served[]> {
  const { values, add } = params(codename ?? null, limit ?? null)
  return db.query<Served>(
    `
    select id, sha256, changed_at from package where state = 'published' and ($1::text is null or codename = $1) and ${seenBy(viewer, add, 'codename')}
    order by codename, name, sort_key, arch, id limit $2`,
    values,
  )
}

/** How many packages are served, in one distribution or in all. */
export async function countServed(db: Queryable, viewer: Viewer, codename: string | undefined): Promise<number> {
  const { values, add } = params(codename ?? null)
  const row = await db.first<{ total: number }>(
    `select count(*) as total from package where state = 'published' and ($1::text is null or codename = $1) and ${seenBy(viewer, add, 'codename')}`,
    values,
  )
  return row?.total ?? 0
}

/** These packages, in the given order, without those deleted meanwhile. */
export async function readPackages(db: Queryable, viewer: Viewer, ids: readonly number[]): Promise<IndexedManifest[]> {
  const { values, add } = params(ids)
  const rows = await db.query<{ readonly manifest: IndexedManifest }>(
    `
    select p.manifest from unnest($1::bigint[]) with ordinality as wanted (id, n) join package p using (id)
    where ${seenBy(viewer, add, 'p.codename')} order by wanted.n`,
    values,
  )
  return rows.map(({ manifest }) => manifest)
}

/** One package of a name and version: published before others, in the order of every list. */
export async function findPackage(
  db: Queryable,
  viewer: Viewer,
  { name, version, arch, distribution }: VersionPlace,
): Promise<IndexedManifest | undefined> {
  const { values, add } = params(name, version, arch ?? null, distribution ?? null)
  const row = await db.first<{ readonly manifest: IndexedManifest }>(
    `
    select p.manifest from package p
    where p.name = $1 and p.version = $2 and ($3::text is null or p.arch = $3) and ($4::text is null or p.codename = $4)
      and ${seenBy(viewer, add, 'p.codename')}
    order by (p.state = 'published') desc, p.codename, p.arch, p.id limit 1`,
    values,
  )
  return row?.manifest
}
