import type { PackageRef } from '../../core/identity.ts'
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

/** A package as a bill shows it. `carries` says whether one of its paths may name components. */
export interface Stored {
  readonly manifest: IndexedManifest
  readonly carries: boolean
}

/** These packages, in the given order, without those deleted meanwhile. */
export function readPackages(
  db: Queryable,
  viewer: Viewer,
  { ids, candidates }: { readonly ids: readonly number[]; readonly candidates: string },
): Promise<Stored[]> {
  const { values, add } = params(ids, candidates)
  return db.query<Stored>(
    `
    select p.manifest, p.paths ~ $2 as carries from unnest($1::bigint[]) with ordinality as wanted (id, n) join package p using (id)
    where ${seenBy(viewer, add, 'p.codename')} order by wanted.n`,
    values,
  )
}

/** One package of a name and version: published before others, in the order of every list. */
export function findPackage(
  db: Queryable,
  viewer: Viewer,
  { name, version, arch, distribution, candidates }: VersionPlace & { readonly candidates: string },
): Promise<Stored | undefined> {
  const { values, add } = params(name, version, arch ?? null, distribution ?? null, candidates)
  return db.first<Stored>(
    `
    select p.manifest, p.paths ~ $5 as carries from package p
    where p.name = $1 and p.version = $2 and ($3::text is null or p.arch = $3) and ($4::text is null or p.codename = $4)
      and ${seenBy(viewer, add, 'p.codename')}
    order by (p.state = 'published') desc, p.codename, p.arch, p.id limit 1`,
    values,
  )
}

/** Whether any path of a package matches. */
export async function mayCarry(
  db: Queryable,
  viewer: Viewer,
  { format, codename, name, version, arch, candidates }: PackageRef & { readonly candidates: string },
): Promise<boolean> {
  const { values, add } = params(format, codename, name, version, arch, candidates)
  const row = await db.first<{ carries: boolean }>(
    `select paths ~ $6 as carries from package
    where format = $1 and codename = $2 and name = $3 and version = $4 and arch = $5 and ${seenBy(viewer, add, 'codename')}`,
    values,
  )
  return row?.carries ?? false
}
