import type { PackageName } from '../../core/identity.ts'
import type { Manifest } from '../../core/manifest.ts'
import type { Tag } from '../../core/tag.ts'
import { ALL_SEEING, type Viewer } from '../../core/viewer.ts'
import type { Queryable, Tx } from '../../db/db.ts'
import { params, seenBy } from './sql.ts'

const OF = 'format = $1 and codename = $2 and name = $3'
const ofParams = ({ format, codename, name }: PackageName): string[] => [format, codename, name]

interface Row {
  readonly tag: string
  readonly version: string
  readonly set_by: string
  readonly set_at: Date
}
const fromRow = ({ tag, version, set_by, set_at }: Row): Tag => ({
  tag,
  version,
  by: set_by,
  at: set_at.toISOString(),
})

/** Locks the tags of a package until the transaction ends: no other transaction moves them or deletes a version. */
export async function lockTags(tx: Tx, of: PackageName): Promise<void> {
  const { format, codename, name } = of
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`tags ${format} ${codename} ${name}`])
}

/** The tags of one package, in the order of their names. */
export async function readTags(db: Queryable, viewer: Viewer, of: PackageName): Promise<Tag[]> {
  const { values, add } = params(...ofParams(of))
  const rows = await db.query<Row>(
    `select tag, version, set_by, set_at from tag where ${OF} and ${seenBy(viewer, add, 'codename')} order by tag`,
    values,
  )
  return rows.map(fromRow)
}

/** One tag of a package. */
export async function readTag(db: Queryable, viewer: Viewer, of: PackageName, tag: string): Promise<Tag | undefined> {
  const { values, add } = params(...ofParams(of), tag)
  const row = await db.first<Row>(
    `select tag, version, set_by, set_at from tag where ${OF} and tag = $4 and ${seenBy(viewer, add, 'codename')}`,
    values,
  )
  return row && fromRow(row)
}

/** The tags of these packages, by name and tag. */
export async function listTagsOf(
  db: Queryable,
  viewer: Viewer,
  { format, codename, names }: Omit<PackageName, 'name'> & { readonly names: readonly string[] },
): Promise<(Tag & { readonly name: string })[]> {
  const { values, add } = params(format, codename, [...names])
  const rows = await db.query<Row & { readonly name: string }>(
    `select name, tag, version, set_by, set_at from tag
    where format = $1 and codename = $2 and name = any($3) and ${seenBy(viewer, add, 'codename')} order by name, tag`,
    values,
  )
  return rows.map(row => ({ name: row.name, ...fromRow(row) }))
}

/** Every package that has tags. */
export function listTagged(db: Queryable): Promise<PackageName[]> {
  return db.query<PackageName>('select distinct format, codename, name from tag')
}

/** Every tag. */
export function listAllTags(
  db: Queryable,
  viewer: Viewer,
): Promise<(PackageName & { readonly tag: string; readonly version: string })[]> {
  const { values, add } = params()
  return db.query(
    `select format, codename, name, tag, version from tag where ${seenBy(viewer, add, 'codename')}`,
    values,
  )
}

export async function writeTag(tx: Tx, of: PackageName, { tag, version, by, at }: Tag): Promise<void> {
  await tx.query(
    `insert into tag (format, codename, name, tag, version, set_by, set_at) values ($1, $2, $3, $4, $5, $6, $7)
    on conflict (codename, name, tag, format) do update set version = $5, set_by = $6, set_at = $7`,
    [...ofParams(of), tag, version, by, at],
  )
}

/** Replaces the tags of a package by these; drops those of versions that are not here. */
export async function replaceTags(tx: Tx, of: PackageName, tags: readonly Tag[]): Promise<void> {
  await tx.query(`delete from tag where ${OF}`, ofParams(of))
  for (const tag of tags)
    if ((await findVersion(tx, ALL_SEEING, { ...of, version: tag.version })) !== undefined) await writeTag(tx, of, tag)
}

export async function deleteTag(tx: Tx, of: PackageName, tag: string): Promise<void> {
  await tx.query(`delete from tag where ${OF} and tag = $4`, [...ofParams(of), tag])
}

/** Removes the tags of this version. @returns the removed ones */
export async function deleteTagsOf(tx: Tx, of: PackageName & { readonly version: string }): Promise<Tag[]> {
  const rows = await tx.query<Row>(
    `delete from tag where ${OF} and version = $4 returning tag, version, set_by, set_at`,
    [...ofParams(of), of.version],
  )
  return rows.map(fromRow)
}

/** Any architecture of a version, without the format's facts and the paths. */
export async function findVersion(
  db: Queryable,
  viewer: Viewer,
  of: PackageName & { readonly version: string },
): Promise<Manifest | undefined> {
  const { values, add } = params(...ofParams(of), of.version)
  const row = await db.first<{ manifest: Omit<Manifest, 'facts' | 'paths'>; facts: unknown }>(
    `select manifest, facts from package where ${OF} and version = $4 and ${seenBy(viewer, add, 'codename')} order by arch limit 1`,
    values,
  )
  return row && { ...row.manifest, facts: row.facts, paths: [] }
}
