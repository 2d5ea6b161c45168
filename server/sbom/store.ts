import type { IndexedManifest } from '../catalog/search.ts'
import type { Queryable } from '../db/db.ts'
import { CANDIDATE_LINES } from './lockfiles.ts'
import type { VersionPlace } from '../catalog/queries/versions.ts'

/** What is served; fixed before a bill is printed. */
export interface Served {
  readonly id: number
  readonly sha256: string
  readonly changed_at: Date
}

/** Everything published, in the order of codename, name and version; or the first `limit` of it. */
export function listServed(
  db: Queryable,
  { codename, limit }: { readonly codename?: string | undefined; readonly limit?: number | undefined },
): Promise<Served[]> {
  return db.query<Served>(
    `
    select id, sha256, changed_at from package where state = 'published' and ($1::text is null or codename = $1)
    order by codename, name, sort_key, arch, id limit $2`,
    [codename ?? null, limit ?? null],
  )
}

/** How many packages are served, in one distribution or in all. */
export async function countServed(db: Queryable, codename: string | undefined): Promise<number> {
  const row = await db.first<{ total: number }>(
    `select count(*) as total from package where state = 'published' and ($1::text is null or codename = $1)`,
    [codename ?? null],
  )
  return row?.total ?? 0
}

/** A package as a bill shows it. `carries` says whether one of its paths may name components. */
export interface Stored {
  readonly manifest: IndexedManifest
  readonly carries: boolean
}

/** These packages, in the given order, without those deleted meanwhile. */
export function readPackages(db: Queryable, ids: readonly number[]): Promise<Stored[]> {
  return db.query<Stored>(
    `
    select p.manifest, p.paths ~ $2 as carries from unnest($1::bigint[]) with ordinality as wanted (id, n) join package p using (id) order by wanted.n`,
    [ids, CANDIDATE_LINES],
  )
}

/** The one package for a name and version: published before others, in the order of every list. */
export function findPackage(
  db: Queryable,
  { name, version, arch, distribution }: VersionPlace,
): Promise<Stored | undefined> {
  return db.first<Stored>(
    `
    select p.manifest, p.paths ~ $5 as carries from package p
    where p.name = $1 and p.version = $2 and ($3::text is null or p.arch = $3) and ($4::text is null or p.codename = $4)
    order by (p.state = 'published') desc, p.codename, p.arch, p.id limit 1`,
    [name, version, arch ?? null, distribution ?? null, CANDIDATE_LINES],
  )
}

/** Whether there is any version of this name. */
export async function isKnown(db: Queryable, name: string): Promise<boolean> {
  return (await db.first('select 1 from package where name = $1 limit 1', [name])) !== undefined
}
