import { printRef, type Codename, type PackageRef } from '../../core/identity.ts'
import type { Manifest } from '../../core/manifest.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable, Tx } from '../../db/db.ts'
import { describedBy, params, seenBy } from './sql.ts'
import { PACKAGE_COLUMNS, PACKAGE_ROWS, rowOf } from './columns.ts'
import { indexDecisions, indexFindings, type Written } from './review-index.ts'

/** The columns that identify a package, in the order `refParams` gives their values. */
const REF = 'format = $1 and codename = $2 and name = $3 and version = $4 and arch = $5'
export const refParams = (ref: PackageRef): string[] => [ref.format, ref.codename, ref.name, ref.version, ref.arch]

/** A row of `package` with its whole manifest. */
export interface Row {
  readonly id: number
  readonly manifest: Omit<Manifest, 'facts' | 'paths'>
  readonly facts: unknown
  readonly paths: string
}

export const fromRow = (row: Row): Manifest => ({
  ...row.manifest,
  facts: row.facts,
  paths: row.paths === '' ? [] : row.paths.split('\n'),
})

/** The manifest of exactly this package, undefined where there is none. */
export async function findManifest(db: Queryable, viewer: Viewer, ref: PackageRef): Promise<Manifest | undefined> {
  const { values, add } = params(...refParams(ref))
  const row = await db.first<Row>(
    `select id, manifest, facts, paths from package where ${REF} and ${seenBy(viewer, add, 'codename')}`,
    values,
  )
  return row && fromRow(row)
}

/** The manifests of these packages by `printRef`, without those that are not there. */
export async function findManifests(db: Queryable, refs: readonly PackageRef[]): Promise<Map<string, Manifest>> {
  const rows = await db.repeat<Row>(
    `
    select p.id, p.manifest, p.facts, p.paths from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
      as wanted (format, codename, name, version, arch)
    cross join lateral (select * from package where format = wanted.format and codename = wanted.codename
      and name = wanted.name and version = wanted.version and arch = wanted.arch offset 0) p`,
    [0, 1, 2, 3, 4].map(n => refs.map(ref => refParams(ref)[n])),
  )
  return new Map(rows.map(fromRow).map(manifest => [printRef(manifest.ref), manifest]))
}

/** Locks the package's row until the transaction ends. */
export async function lockManifest(tx: Tx, ref: PackageRef): Promise<Manifest | undefined> {
  const row = await tx.first<Row>(
    `select id, manifest, facts, paths from package where ${REF} for update`,
    refParams(ref),
  )
  return row && fromRow(row)
}

/**
 * Locks the rows of these packages until the transaction ends, in one order for everybody: two that lock some of the
 * same rows wait for one another. @returns those that are there, by `printRef`
 */
export async function lockManifests(tx: Tx, refs: readonly PackageRef[]): Promise<Map<string, Manifest>> {
  const inOrder = [...refs].sort((a, b) => (printRef(a) < printRef(b) ? -1 : 1))
  const rows = await tx.repeat<Row>(
    `
    select p.id, p.manifest, p.facts, p.paths from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
      as wanted (format, codename, name, version, arch)
    cross join lateral (select * from package where format = wanted.format and codename = wanted.codename
      and name = wanted.name and version = wanted.version and arch = wanted.arch offset 0 for update) p`,
    [0, 1, 2, 3, 4].map(n => inOrder.map(ref => refParams(ref)[n])),
  )
  return new Map(rows.map(fromRow).map(manifest => [printRef(manifest.ref), manifest]))
}

/** Writes the file rows of these, in the order of their files. */
export async function insertFiles(tx: Tx, written: readonly Written[]): Promise<void> {
  const files = written.flatMap(({ id, manifest }) =>
    manifest.files.map(({ path, blob }, n) => ({ id, n, path, ...blob })),
  )
  await tx.repeat(
    `
    insert into package_file (package_id, n, path, sha256, size, md5, sha1, sha512)
    select * from unnest($1::bigint[], $2::int[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[])`,
    [
      files.map(({ id }) => id),
      files.map(({ n }) => n),
      files.map(({ path }) => path),
      files.map(({ sha256 }) => sha256),
      files.map(({ size }) => size),
      files.map(({ md5 }) => md5),
      files.map(({ sha1 }) => sha1),
      files.map(({ sha512 }) => sha512),
    ],
  )
}

/**
 * Writes a manifest over the row of the same reference. Offers and files stay: they follow from the bytes and the
 * identity.
 * @returns the number of the row; undefined where there is none
 */
export async function updateManifest(tx: Tx, manifest: Manifest): Promise<number | undefined> {
  const [row] = await tx.repeat<{ id: number }>(
    `
    update package p set (${PACKAGE_COLUMNS}) = (select ${PACKAGE_COLUMNS} from ${PACKAGE_ROWS})
    where p.format = $2 and p.codename = $3 and p.name = $4 and p.version = $5 and p.arch = $6 returning id`,
    [JSON.stringify([rowOf(manifest)]), ...refParams(manifest.ref)],
  )
  if (row === undefined) return undefined
  await indexFindings(tx, { id: row.id, manifest })
  await indexDecisions(tx, [manifest])
  return row.id
}

/** Updates the file rows of a known version from its manifest on disk, for a rebuild. */
export async function rewriteFiles(tx: Tx, manifest: Manifest): Promise<void> {
  const row = await tx.first<{ id: number }>(`select id from package where ${REF}`, refParams(manifest.ref))
  if (row === undefined) return
  await tx.query('delete from package_file where package_id = $1', [row.id])
  await insertFiles(tx, [{ id: row.id, manifest }])
}

/**
 * Deletes the row. The caller owes the changes to bytes, trees and the manifest file.
 * @returns the number that the row had; undefined where there was none
 */
export async function deleteManifest(tx: Tx, ref: PackageRef): Promise<number | undefined> {
  return (await tx.first<{ id: number }>(`delete from package where ${REF} returning id`, refParams(ref)))?.id
}

const TOLD = ['summary', 'versions', 'latest', 'state', 'newer', 'newer_state', 'updated_at']

/**
 * Updates the list rows of these artifact names from their packages; removes a row with the last of its packages. In
 * the order of names, so that two of these at once wait for one another.
 */
export async function refreshArtifacts(tx: Tx, format: string, names: readonly string[]): Promise<void> {
  await tx.repeat(
    `
    with told as (${describedBy('p.format = $1 and p.name = any($2)')}),
         gone as (delete from artifact where format = $1 and name = any($2) and not exists (select 1 from told where told.name = artifact.name))
    insert into artifact (format, name, ${TOLD.join(', ')}) select format, name, ${TOLD.join(', ')} from told order by name
    on conflict (name, format) do update set ${TOLD.map(column => `${column} = excluded.${column}`).join(', ')}`,
    [format, names],
  )
}

/** A package whose index entries must be written again. */
export interface Mark {
  readonly ref: Pick<PackageRef, 'codename' | 'name' | 'arch'>
  /** The number of its row; null: everything is written again. */
  readonly id: number | null
  /** Empty for the first one, null where it may have been in another before. */
  readonly component: string | null
}

/** Notes that the index entries of these packages must be written again. */
export async function markDirty(tx: Queryable, marks: readonly Mark[]): Promise<void> {
  if (marks.length === 0) return
  await tx.repeat(
    'insert into publish_dirty (codename, name, arch, component, package_id) select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])',
    [
      marks.map(({ ref }) => ref.codename),
      marks.map(({ ref }) => ref.name),
      marks.map(({ ref }) => ref.arch),
      marks.map(({ component }) => component),
      marks.map(({ id }) => id),
    ],
  )
}

/** Of these distributions, those whose clients are kept at an earlier generation until they go forward again. */
export async function listFrozen(db: Queryable, codenames: readonly Codename[]): Promise<readonly Codename[]> {
  const rows = await db.query<{ codename: Codename }>(
    'select codename from distribution where codename = any($1::text[]) and frozen_to is not null',
    [codenames],
  )
  return rows.map(({ codename }) => codename)
}

/**
 * Where the bytes belong: in the pool while anything may serve them or waits for them, in quarantine while only refused
 * packages have them.
 */
export async function whereBlobBelongs(db: Queryable, sha256: string): Promise<'pool' | 'quarantine' | 'nowhere'> {
  const rows = await db.query<{ kept: boolean }>(
    `select distinct p.state in ('published', 'pending_review') as kept from package_file f join package p on p.id = f.package_id where f.sha256 = $1`,
    [sha256],
  )
  if (rows.length === 0) return (await isBlobAwaited(db, sha256)) ? 'pool' : 'nowhere'
  return rows.some(row => row.kept) ? 'pool' : 'quarantine'
}

/** Whether a version that is served or waits has these bytes. */
export async function isBlobKept(db: Queryable, sha256: string): Promise<boolean> {
  const row = await db.first(
    `select 1 from package_file f join package p on p.id = f.package_id
      where f.sha256 = $1 and p.state in ('published', 'pending_review') limit 1`,
    [sha256],
  )
  return row !== undefined
}

/** Whether a registry was given these bytes for a version that is to come. */
async function isBlobAwaited(db: Queryable, sha256: string): Promise<boolean> {
  return (await db.first('select 1 from registry_blob where sha256 = $1 limit 1', [sha256])) !== undefined
}

/** The digests of all blobs that registries were given. */
export async function listAwaitedBlobs(db: Queryable): Promise<ReadonlySet<string>> {
  const rows = await db.query<{ sha256: string }>('select distinct sha256 from registry_blob')
  return new Set(rows.map(({ sha256 }) => sha256))
}

/** Whether any version has these bytes, or may have them soon. */
export async function isBlobNeeded(db: Queryable, sha256: string): Promise<boolean> {
  const row = await db.first('select 1 from package_file where sha256 = $1 limit 1', [sha256])
  return row !== undefined || isBlobAwaited(db, sha256)
}

/** When the package's row was changed last; locks it until the transaction ends. */
export async function lockChangedAt(tx: Tx, ref: PackageRef): Promise<Date | undefined> {
  const row = await tx.first<{ changed_at: Date }>(
    `select changed_at from package where ${REF} for update`,
    refParams(ref),
  )
  return row?.changed_at
}

/** Which packages the rows of these numbers are, in their order. */
export function listRefsBetween(
  db: Queryable,
  { from, to, limit }: { readonly from: number; readonly to: number; readonly limit: number },
): Promise<(PackageRef & { readonly id: number })[]> {
  return db.repeat(
    'select id, format, codename, name, version, arch from package where id between $1 and $2 order by id limit $3',
    [from, to, limit],
  )
}

/** Whether the manifest file of this package is owed. */
export async function hasWaitingManifest(
  db: Queryable,
  { format, codename, name, version, arch }: PackageRef,
): Promise<boolean> {
  const row = await db.first(
    `
    select 1 from outbox where key like 'manifest:%' and substr(key, 10)::jsonb @> $1::jsonb
    union all
    select 1 from package p join outbox o on o.key like 'manifests:%'
      and p.id between split_part(substr(o.key, 11), '-', 1)::bigint and split_part(o.key, '-', 2)::bigint
    where p.format = $2 and p.codename = $3 and p.name = $4 and p.version = $5 and p.arch = $6
    limit 1`,
    [JSON.stringify({ format, codename, name, version, arch }), format, codename, name, version, arch],
  )
  return row !== undefined
}

/** A version as a rebuild compares it. */
export interface ListedRef extends PackageRef {
  readonly component: string | null
  readonly state: string
  readonly changed_at: Date
  /** The SHA-256 of its files, in their order. */
  readonly blobs: readonly string[]
}

/** Every version in the index. */
export function listRefs(db: Queryable): Promise<ListedRef[]> {
  return db.query(`
    select format, codename, name, version, arch, component, state, changed_at,
      array(select sha256 from package_file where package_id = id order by n) as blobs
    from package`)
}
