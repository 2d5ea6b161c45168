import type { PackageRef } from '../../core/identity.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { IndexedManifest } from './search.ts'
import { params, seenBy } from './sql.ts'

/** A package to scan again. */
export interface ScannedPackage {
  readonly id: number
  readonly manifest: IndexedManifest
  readonly facts: unknown
}

/** Served and waiting packages that were not scanned since `before`, in the order of their ids. */
export function listStale(
  db: Queryable,
  viewer: Viewer,
  { before, after, limit }: { readonly before: Date; readonly after: number; readonly limit: number },
): Promise<ScannedPackage[]> {
  const { values, add } = params(before, after, limit)
  return db.query<ScannedPackage>(
    `select id, manifest, facts from package
    where state in ('published', 'pending_review') and (scanned_at is null or scanned_at < $1) and id > $2
      and ${seenBy(viewer, add, 'codename')}
    order by id limit $3`,
    values,
  )
}

/** How many `listStale` would list. */
export async function countStale(
  db: Queryable,
  viewer: Viewer,
  { before, after }: { readonly before: Date; readonly after: number },
): Promise<number> {
  const { values, add } = params(before, after)
  const row = await db.first<{ n: number }>(
    `select count(*) as n from package
    where state in ('published', 'pending_review') and (scanned_at is null or scanned_at < $1) and id > $2
      and ${seenBy(viewer, add, 'codename')}`,
    values,
  )
  return row?.n ?? 0
}

/** Served and waiting packages between two numbers, the newest first. */
export function listNewest(
  db: Queryable,
  viewer: Viewer,
  { before, after, limit }: { readonly before: number; readonly after: number; readonly limit: number },
): Promise<ScannedPackage[]> {
  const { values, add } = params(before, after, limit)
  return db.query<ScannedPackage>(
    `
    select id, manifest, facts from package
    where id < $1 and id > $2 and state in ('published', 'pending_review') and ${seenBy(viewer, add, 'codename')}
    order by id desc limit $3`,
    values,
  )
}

/** How many `listNewest` would list. */
export async function countNewest(
  db: Queryable,
  viewer: Viewer,
  { before, after }: { readonly before: number; readonly after: number },
): Promise<number> {
  const { values, add } = params(before, after)
  const row = await db.first<{ n: number }>(
    `
    select count(*)::int as n from package
    where id < $1 and id > $2 and state in ('published', 'pending_review') and ${seenBy(viewer, add, 'codename')}`,
    values,
  )
  return row?.n ?? 0
}

/** The highest number of a package. */
export async function lastId(db: Queryable): Promise<number> {
  return (await db.first<{ id: number | null }>('select max(id) as id from package'))?.id ?? 0
}

/** Packages that have findings, in the order of their ids. */
export function listWithFindings(
  db: Queryable,
  viewer: Viewer,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<Omit<ScannedPackage, 'facts'>[]> {
  const { values, add } = params(after, limit)
  return db.query<Omit<ScannedPackage, 'facts'>>(
    `select id, manifest from package where findings > 0 and id > $1 and ${seenBy(viewer, add, 'codename')} order by id limit $2`,
    values,
  )
}

/** Packages that depend on an acceptance which has ended, the one that ended first before others. */
export function listReopening(
  db: Queryable,
  viewer: Viewer,
  { now, limit }: { readonly now: Date; readonly limit: number },
): Promise<PackageRef[]> {
  const { values, add } = params(now, limit)
  return db.query<PackageRef>(
    `select format, codename, name, version, arch from package
    where reopens_at <= $1 and ${seenBy(viewer, add, 'codename')} order by reopens_at limit $2`,
    values,
  )
}

/** Notes that these packages were scanned. */
export async function markScanned(
  db: Queryable,
  viewer: Viewer,
  { ids, at }: { readonly ids: readonly number[]; readonly at: Date },
): Promise<void> {
  const { values, add } = params(ids, at)
  await db.query(
    `update package set scanned_at = $2 where id = any($1::bigint[]) and ${seenBy(viewer, add, 'codename')}`,
    values,
  )
}
