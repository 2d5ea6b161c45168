import { listPublishedFiles, listWithheld } from '../catalog/queries/entries.ts'
import type { Codename } from '../core/identity.ts'
import { NO_RELEASE_FIELDS, type ReleaseFields } from '../core/release-fields.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import type { Queryable, Tx } from '../db/db.ts'

export interface Dirty {
  readonly seq: number
  /** Empty: everything is rendered again. */
  readonly name: string
  /** Its number in the order of indexes; null where it is not known, and in marks of earlier releases. */
  readonly id: number | null
  /** Null where it is not known. */
  readonly arch: string | null
  /** Null where it is not known, empty for the first one of the distribution. */
  readonly component: string | null
}

/** Every mark that is visible now. Marks of transactions that commit later stay for the next publication. */
export function readDirty(db: Queryable, codename: Codename): Promise<Dirty[]> {
  return db.query<Dirty>('select seq, name, package_id as id, arch, component from publish_dirty where codename = $1', [
    codename,
  ])
}

/** Whether a tree of this distribution was ever published. */
export async function wasPublished(db: Queryable, codename: Codename): Promise<boolean> {
  return (await db.first('select 1 from generation where codename = $1 limit 1', [codename])) !== undefined
}

/** Whether an admin set this distribution up, or a tree of it was ever published. */
export async function isSetUp(db: Queryable, codename: Codename): Promise<boolean> {
  const row = await db.first(
    'select 1 from distribution where codename = $1 union all select 1 from generation where codename = $1 limit 1',
    [codename],
  )
  return row !== undefined
}

/** Exactly the marks that were read: a range would also take one that was committed meanwhile with a lower number. */
export async function clearDirty(tx: Tx, seqs: readonly number[]): Promise<void> {
  if (seqs.length > 0) await tx.query('delete from publish_dirty where seq = any($1::bigint[])', [seqs])
}

/** Marks a distribution so that its next publication renders everything. */
export async function markAllDirty(db: Queryable, codename: Codename): Promise<void> {
  await db.query(`insert into publish_dirty (codename, name) values ($1, '')`, [codename])
}

/** The Release fields of a distribution. */
export async function readWords(db: Queryable, codename: Codename): Promise<ReleaseFields> {
  const row = await db.first<ReleaseFields>(
    'select not_automatic, but_automatic_upgrades, valid_days from distribution where codename = $1',
    [codename],
  )
  return row ?? NO_RELEASE_FIELDS
}

/** A package file as clients fetch it. */
export interface PoolFile {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly path: string
  readonly sha256: string
  /** Further files of the same version, where it has any. */
  readonly others?: readonly { readonly path: string; readonly sha256: string }[]
}

/** Each file by itself, those of one version after each other. */
export function everyFile(files: readonly PoolFile[]): PoolFile[] {
  return files.flatMap(({ others = [], ...file }) => [file, ...others.map(other => ({ ...file, ...other }))])
}

/** The paths of the matching files, without those that another version still needs: versions may share a file. */
function pathsOf(files: readonly PoolFile[], holds: (file: PoolFile) => boolean): Set<string> {
  const paths = new Set(files.filter(holds).map(file => file.path))
  for (const file of files) if (!holds(file)) paths.delete(file.path)
  return paths
}

/**
 * A distribution that an admin rolled back: it stays as generation `to` was, whatever is published, until it goes
 * forward again to what follows `head`. Marks up to `seq` were looked at since.
 */
export interface Frozen {
  readonly to: number
  readonly head: number
  readonly seq: number
}

/** The rollback of a distribution, undefined when there is none. */
export async function readFrozen(db: Queryable, codename: Codename): Promise<Frozen | undefined> {
  return db.first<Frozen>(
    'select frozen_to as "to", frozen_head as head, frozen_seq as seq from distribution where codename = $1 and frozen_to is not null',
    [codename],
  )
}

/** Notes a rollback; undefined is its end. */
export async function saveFrozen(tx: Queryable, codename: Codename, frozen: Frozen | undefined): Promise<void> {
  await tx.query(
    `insert into distribution (codename, frozen_to, frozen_head, frozen_seq) values ($1, $2, $3, $4)
    on conflict (codename) do update set frozen_to = $2, frozen_head = $3, frozen_seq = $4`,
    [codename, frozen?.to ?? null, frozen?.head ?? null, frozen?.seq ?? null],
  )
}

/** Of these, each by itself, those that are not published any more with these bytes: withheld, deleted, or replaced. */
export async function pathsNotPublished(
  db: Queryable,
  codename: Codename,
  files: readonly PoolFile[],
): Promise<Set<string>> {
  if (files.length === 0) return new Set()
  const names = [...new Set(files.map(file => file.name))]
  const rows = await listPublishedFiles(db, ALL_SEEING, { codename, names })
  const published = new Set(rows.map(row => `${row.name}\u0000${row.version}\u0000${row.arch}\u0000${row.sha256}`))
  return pathsOf(
    files,
    file => !published.has(`${file.name}\u0000${file.version}\u0000${file.arch}\u0000${file.sha256}`),
  )
}

/** Of these, each by itself, those that are still known but must not be served: held, quarantined or rejected since. */
export async function pathsWithheld(
  db: Queryable,
  codename: Codename,
  files: readonly PoolFile[],
): Promise<Set<string>> {
  if (files.length === 0) return new Set()
  const names = [...new Set(files.map(file => file.name))]
  const rows = await listWithheld(db, ALL_SEEING, { codename, names })
  const withheld = new Set(rows.map(row => `${row.name}\u0000${row.version}\u0000${row.arch}`))
  return pathsOf(files, file => withheld.has(`${file.name}\u0000${file.version}\u0000${file.arch}`))
}

export interface GenerationRow {
  readonly codename: Codename
  readonly n: number
  readonly at: Date
  readonly packages: number
  readonly bytes: number
}

/** The last generation of each distribution that was ever published. */
export async function lastGenerations(db: Queryable): Promise<ReadonlyMap<Codename, number>> {
  const rows = await db.query<{ codename: Codename; n: number }>(
    'select codename, max(n) as n from generation group by codename',
  )
  return new Map(rows.map(({ codename, n }) => [codename, n]))
}

/** The number of a new generation: above `floor`, and never given twice, also to one that failed. */
export async function takeNumber(tx: Tx, codename: Codename, floor: number): Promise<number> {
  const row = await tx.first<{ n: number }>(
    `insert into generation_number (codename, n) values ($1, $2 + 1)
    on conflict (codename) do update set n = greatest(generation_number.n, $2) + 1 returning n`,
    [codename, floor],
  )
  if (row === undefined) throw new Error(`there is no number for a generation of ${codename}`)
  return row.n
}

/** Notes a generation that went live. */
export async function recordGeneration(tx: Tx, { codename, n, at, packages, bytes }: GenerationRow): Promise<void> {
  await tx.query(
    `insert into generation (codename, n, made_at, packages, bytes) values ($1, $2, $3, $4, $5)
    on conflict (codename, n) do update set made_at = excluded.made_at, packages = excluded.packages, bytes = excluded.bytes`,
    [codename, n, at, packages, bytes],
  )
}

/** The highest number that was ever published, 0 for none. */
export async function lastGeneration(db: Queryable, codename: Codename): Promise<number> {
  return (
    (await db.first<{ n: number | null }>('select max(n) as n from generation where codename = $1', [codename]))?.n ?? 0
  )
}
