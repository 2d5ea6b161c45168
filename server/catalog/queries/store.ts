import { printRef, type PackageRef } from '../../core/identity.ts'
import type { Manifest, PackageFile } from '../../core/manifest.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable, Tx } from '../../db/db.ts'
import { getFormat } from '../../formats/index.ts'
import { describedBy, params, seenBy } from './sql.ts'
import { indexDecisions, indexFindings, REVIEW_COLUMNS, reviewColumns } from './review-index.ts'

/** The columns that identify a package, in the order `refParams` gives their values. */
const REF = 'format = $1 and codename = $2 and name = $3 and version = $4 and arch = $5'
export const refParams = (ref: PackageRef): string[] => [ref.format, ref.codename, ref.name, ref.version, ref.arch]

interface Row {
  readonly id: number
  readonly manifest: Omit<Manifest, 'facts' | 'paths'>
  readonly facts: unknown
  readonly paths: string
}

const fromRow = (row: Row): Manifest => ({
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
  const rows = await db.query<Row>(
    `
    select p.id, p.manifest, p.facts, p.paths from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
      as wanted (format, codename, name, version, arch)
    join package p using (format, codename, name, version, arch)`,
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

/** The package of another architecture that clients would find at this one's address. */
export async function findRival(db: Queryable, ref: PackageRef): Promise<Manifest | undefined> {
  const { neutralSharesAddress, archs } = getFormat(ref.format)
  if (neutralSharesAddress !== true) return undefined
  const row = await db.first<Row>(
    'select id, manifest, facts, paths from package where format = $1 and codename = $2 and name = $3 and version = $4 and arch <> $5 and (arch = any($6) or $5 = any($6)) limit 1',
    [...refParams(ref), archs.neutral],
  )
  return row && fromRow(row)
}

/** As `findRival`, before an insert: of two at the same moment the second sees the first. */
export async function lockOutRivals(tx: Tx, ref: PackageRef): Promise<Manifest | undefined> {
  if (getFormat(ref.format).neutralSharesAddress !== true) return undefined
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `${ref.format} ${ref.codename} ${ref.name} ${ref.version}`,
  ])
  return findRival(tx, ref)
}

/** A file of one source package that another file would be mistaken for. */
export interface FileClash {
  readonly path: string
  readonly ref: PackageRef
  readonly incoming_sha256: string
  readonly existing_sha256: string
}

/**
 * A file of another version of the same source with the name of one of these and other bytes. Versions share their
 * upstream tarball, and clients find it by its name alone. Of two inserts at the same moment the second sees the first.
 */
export async function lockOutOtherBytes(tx: Tx, { ref, files }: Manifest): Promise<FileClash | undefined> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `files ${ref.format} ${ref.codename} ${ref.name}`,
  ])
  const row = await tx.first<PackageRef & { path: string; incoming_sha256: string; existing_sha256: string }>(
    `
    select p.format, p.codename, p.name, p.version, p.arch, f.path, mine.sha256 as incoming_sha256, f.sha256 as existing_sha256
    from package p join package_file f on f.package_id = p.id
    join unnest($5::text[], $6::text[]) as mine (path, sha256) on mine.path = f.path and mine.sha256 <> f.sha256
    where p.format = $1 and p.codename = $2 and p.name = $3 and p.arch = $4 limit 1`,
    [ref.format, ref.codename, ref.name, ref.arch, files.map(file => file.path), files.map(file => file.blob.sha256)],
  )
  if (row === undefined) return undefined
  const { path, incoming_sha256, existing_sha256, ...other } = row
  return { path, incoming_sha256, existing_sha256, ref: other }
}

/** The values of the columns after the identity, in the order of INSERT and UPDATE below. */
export function columns(manifest: Manifest): unknown[] {
  const { facts, paths, ...rest } = manifest
  return [
    getFormat(manifest.ref.format).versionKey(manifest.ref.version),
    manifest.files[0].blob.sha256,
    manifest.files[0].blob.size,
    manifest.about.summary,
    manifest.state,
    manifest.worst ?? null,
    manifest.findings.length,
    manifest.reports.some(report => report.outcome === 'warned' || report.outcome === 'unavailable'),
    manifest.by,
    manifest.from,
    manifest.at,
    manifest.changed_at,
    JSON.stringify(rest),
    JSON.stringify(facts),
    paths.join('\n'),
    manifest.component ?? null,
    manifest.kind ?? 'binary',
    ...reviewColumns(manifest),
  ]
}

async function insertFiles(tx: Tx, packageId: number, { files }: Manifest): Promise<void> {
  const column = <T>(read: (file: PackageFile) => T): T[] => files.map(read)
  await tx.query(
    `
    insert into package_file (package_id, n, path, sha256, size, md5, sha1, sha512)
    select $1, f.n - 1, f.path, f.sha256, f.size, f.md5, f.sha1, f.sha512
    from unnest($2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[]) with ordinality as f (path, sha256, size, md5, sha1, sha512, n)`,
    [
      packageId,
      column(({ path }) => path),
      column(({ blob }) => blob.sha256),
      column(({ blob }) => blob.size),
      column(({ blob }) => blob.md5),
      column(({ blob }) => blob.sha1),
      column(({ blob }) => blob.sha512),
    ],
  )
}

/** The columns of `refParams` and `columns`, in their order. */
export const PACKAGE_COLUMNS = `format, codename, name, version, arch, sort_key, sha256, size, summary, state, worst, findings, warned,
  uploaded_by, origin, created_at, changed_at, manifest, facts, paths, component, kind, ${REVIEW_COLUMNS.join(', ')}`
const REVIEW_PARAMS = REVIEW_COLUMNS.map((_, n) => `$${23 + n}`)
const REVIEW_SET = REVIEW_COLUMNS.map((column, n) => `${column} = $${23 + n}`)

/** The rows for the review beside a package's own. Most packages have neither findings nor decisions. */
export async function writeReview(tx: Tx, packageId: number, manifest: Manifest, isNew: boolean): Promise<void> {
  if (!isNew || manifest.findings.length > 0) await indexFindings(tx, packageId, manifest)
  await indexDecisions(tx, manifest.ref, manifest.review?.history ?? [])
}

/** @returns false when the identity exists already in this distribution; then nothing is written */
export async function insertManifest(tx: Tx, manifest: Manifest): Promise<boolean> {
  const row = await tx.first<{ id: number }>(
    `
    insert into package (${PACKAGE_COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, ${REVIEW_PARAMS.join(', ')})
    on conflict (format, codename, name, version, arch) do nothing returning id`,
    [...refParams(manifest.ref), ...columns(manifest)],
  )
  if (row === undefined) return false
  const offers = manifest.about.provides
  await tx.query(
    'insert into package_offer (package_id, provides, version) select $1, name, version from unnest($2::text[], $3::text[]) as offer (name, version)',
    [row.id, offers.map(offer => offer.name), offers.map(offer => offer.version ?? null)],
  )
  await insertFiles(tx, row.id, manifest)
  await writeReview(tx, row.id, manifest, true)
  return true
}

/**
 * Writes a manifest over the row of the same reference. Offers and files stay: they follow from the bytes and the
 * identity.
 */
export async function updateManifest(tx: Tx, manifest: Manifest): Promise<void> {
  const row = await tx.first<{ id: number }>(
    `
    update package set sort_key = $6, sha256 = $7, size = $8, summary = $9, state = $10, worst = $11, findings = $12, warned = $13,
      uploaded_by = $14, origin = $15, created_at = $16, changed_at = $17, manifest = $18, facts = $19, paths = $20, component = $21, kind = $22,
      ${REVIEW_SET.join(', ')}
    where ${REF} returning id`,
    [...refParams(manifest.ref), ...columns(manifest)],
  )
  if (row !== undefined) await writeReview(tx, row.id, manifest, false)
}

/** Updates the file rows of a known version from its manifest on disk, for a rebuild. */
export async function rewriteFiles(tx: Tx, manifest: Manifest): Promise<void> {
  const row = await tx.first<{ id: number }>(`select id from package where ${REF}`, refParams(manifest.ref))
  if (row === undefined) return
  await tx.query('delete from package_file where package_id = $1', [row.id])
  await insertFiles(tx, row.id, manifest)
}

/** Deletes the row. The caller owes the changes to bytes, trees and the manifest file. */
export async function deleteManifest(tx: Tx, ref: PackageRef): Promise<void> {
  await tx.query(`delete from package where ${REF}`, refParams(ref))
}

const TOLD = ['summary', 'versions', 'latest', 'state', 'newer', 'newer_state', 'updated_at']

/**
 * Updates the list rows of these artifact names from their packages; removes a row with the last of its packages. In
 * the order of names, so that two of these at once wait for one another.
 */
export async function refreshArtifacts(tx: Tx, format: string, names: readonly string[]): Promise<void> {
  await tx.query(
    `
    with told as (${describedBy('p.format = $1 and p.name = any($2)')}),
         gone as (delete from artifact where format = $1 and name = any($2) and not exists (select 1 from told where told.name = artifact.name))
    insert into artifact (format, name, ${TOLD.join(', ')}) select format, name, ${TOLD.join(', ')} from told order by name
    on conflict (name, format) do update set ${TOLD.map(column => `${column} = excluded.${column}`).join(', ')}`,
    [format, names],
  )
}

/** As `refreshArtifacts`, of one name. */
export async function refreshArtifact(tx: Tx, { format, name }: Pick<PackageRef, 'format' | 'name'>): Promise<void> {
  await refreshArtifacts(tx, format, [name])
}

/**
 * A name whose index entries must be written again. `component` is empty for the first one, null where it may have been
 * in another before.
 */
export interface Mark {
  readonly ref: Pick<PackageRef, 'codename' | 'name' | 'arch'>
  readonly component: string | null
}

/** Notes that the index entries of these names must be written again. */
export async function markAllDirty(tx: Queryable, marks: readonly Mark[]): Promise<void> {
  if (marks.length === 0) return
  await tx.query(
    'insert into publish_dirty (codename, name, arch, component) select * from unnest($1::text[], $2::text[], $3::text[], $4::text[])',
    [
      marks.map(({ ref }) => ref.codename),
      marks.map(({ ref }) => ref.name),
      marks.map(({ ref }) => ref.arch),
      marks.map(({ component }) => component),
    ],
  )
}

/** As `markAllDirty`, of one name. */
export async function markDirty(tx: Queryable, ref: PackageRef, component: string | null): Promise<void> {
  await markAllDirty(tx, [{ ref, component }])
}

/** Whether clients are kept at an earlier generation, so that publications wait until the distribution goes forward. */
export async function isFrozen(db: Queryable, codename: string): Promise<boolean> {
  return (
    (await db.first('select 1 from distribution where codename = $1 and frozen_to is not null', [codename])) !==
    undefined
  )
}

/**
 * Where the bytes belong: in the pool while anything may serve them, in quarantine while only refused packages have
 * them.
 */
export async function whereBlobBelongs(db: Queryable, sha256: string): Promise<'pool' | 'quarantine' | 'nowhere'> {
  const rows = await db.query<{ kept: boolean }>(
    `select distinct p.state in ('published', 'pending_review') as kept from package_file f join package p on p.id = f.package_id where f.sha256 = $1`,
    [sha256],
  )
  if (rows.length === 0) return 'nowhere'
  return rows.some(row => row.kept) ? 'pool' : 'quarantine'
}

/** Whether any version has these bytes. */
export async function isBlobNeeded(db: Queryable, sha256: string): Promise<boolean> {
  return (await db.first('select 1 from package_file where sha256 = $1 limit 1', [sha256])) !== undefined
}

/** When the package's row was changed last; locks it until the transaction ends. */
export async function lockChangedAt(tx: Tx, ref: PackageRef): Promise<Date | undefined> {
  const row = await tx.first<{ changed_at: Date }>(
    `select changed_at from package where ${REF} for update`,
    refParams(ref),
  )
  return row?.changed_at
}

/** Whether the manifest file of this package is owed. */
export async function hasWaitingManifest(
  db: Queryable,
  { format, codename, name, version, arch }: PackageRef,
): Promise<boolean> {
  const row = await db.first(
    `select 1 from outbox where key like 'manifest:%' and substr(key, 10)::jsonb @> $1::jsonb limit 1`,
    [JSON.stringify({ format, codename, name, version, arch })],
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
