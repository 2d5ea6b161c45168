import { printRef, type PackageRef } from '../../core/identity.ts'
import type { Manifest } from '../../core/manifest.ts'
import type { Tx } from '../../db/db.ts'
import { columns, PACKAGE_COLUMNS, refParams, writeReview } from './store.ts'

/** A row of a table whose packages have several. */
type Rows<Row> = readonly { readonly id: number; readonly row: Row }[]

function rowsOf<Row>(
  written: readonly { readonly id: number; readonly manifest: Manifest }[],
  read: (manifest: Manifest) => readonly Row[],
): Rows<Row> {
  return written.flatMap(({ id, manifest }) => read(manifest).map(row => ({ id, row })))
}

async function insertPackages(tx: Tx, manifests: readonly Manifest[]): Promise<Map<string, number>> {
  const values: unknown[] = []
  const places = manifests.map(manifest => {
    const row = [...refParams(manifest.ref), ...columns(manifest)]
    return `(${row.map(value => `$${values.push(value)}`).join(', ')})`
  })
  const rows = await tx.query<PackageRef & { readonly id: number }>(
    `insert into package (${PACKAGE_COLUMNS}) values ${places.join(', ')}
    on conflict (format, codename, name, version, arch) do nothing returning id, format, codename, name, version, arch`,
    values,
  )
  return new Map(rows.map(row => [printRef(row), row.id]))
}

/**
 * As `insertManifest`, several in one statement for each table: at most 2,000 of them, each of another identity.
 * @returns those that were not there yet; the others are left as they are
 */
export async function insertManifests(tx: Tx, manifests: readonly Manifest[]): Promise<readonly Manifest[]> {
  if (manifests.length === 0) return []
  const ids = await insertPackages(tx, manifests)
  const written = manifests.flatMap(manifest => {
    const id = ids.get(printRef(manifest.ref))
    return id === undefined ? [] : [{ id, manifest }]
  })
  const offers = rowsOf(written, ({ about }) => about.provides)
  await tx.query(
    'insert into package_offer (package_id, provides, version) select * from unnest($1::bigint[], $2::text[], $3::text[])',
    [offers.map(({ id }) => id), offers.map(({ row }) => row.name), offers.map(({ row }) => row.version ?? null)],
  )
  const files = rowsOf(written, manifest => manifest.files.map((file, n) => ({ n, path: file.path, ...file.blob })))
  await tx.query(
    `insert into package_file (package_id, n, path, sha256, size, md5, sha1, sha512)
    select * from unnest($1::bigint[], $2::int[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[])`,
    [
      files.map(({ id }) => id),
      files.map(({ row }) => row.n),
      files.map(({ row }) => row.path),
      files.map(({ row }) => row.sha256),
      files.map(({ row }) => row.size),
      files.map(({ row }) => row.md5),
      files.map(({ row }) => row.sha1),
      files.map(({ row }) => row.sha512),
    ],
  )
  for (const { id, manifest } of written)
    if (manifest.findings.length > 0 || (manifest.review?.history ?? []).length > 0)
      await writeReview(tx, id, manifest, true)
  return written.map(({ manifest }) => manifest)
}

/** As `markDirty` for many, where they may have been in another component before. */
export async function markManyDirty(tx: Tx, refs: readonly PackageRef[]): Promise<void> {
  await tx.query(
    'insert into publish_dirty (codename, name, arch) select * from unnest($1::text[], $2::text[], $3::text[])',
    [refs.map(ref => ref.codename), refs.map(ref => ref.name), refs.map(ref => ref.arch)],
  )
}
