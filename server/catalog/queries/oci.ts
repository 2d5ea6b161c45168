import type { Blob, Codename, Sha256 } from '../../core/identity.ts'
import type { Manifest, State } from '../../core/manifest.ts'
import type { Queryable } from '../../db/db.ts'
import { fromRow, type Row } from './store.ts'

/** A repository: a name below a registry. */
export interface Repository {
  readonly codename: Codename
  readonly name: string
}

/** A blob that a repository has. */
export interface KnownBlob {
  readonly blob: Blob
  /** The states of the versions here that name it; empty while none does. */
  readonly states: readonly State[]
}

interface BlobRow {
  readonly sha256: Sha256
  readonly size: number
  readonly md5: string
  readonly sha1: string
  readonly sha512: string
  readonly state: State | null
}

/** The column that a digest is looked up by, and its hex. */
function columnOf(digest: string): readonly [column: 'sha256' | 'sha512', hex: string] {
  const [algorithm, hex = ''] = digest.split(':')
  return [algorithm === 'sha512' ? 'sha512' : 'sha256', hex]
}

/** A row for each state of the versions that name a blob, and one where it arrived by itself. */
function readBlobRows(
  db: Queryable,
  { codename, name }: Repository,
  column: 'sha256' | 'sha512',
  hexes: readonly string[],
): Promise<BlobRow[]> {
  return db.query(
    `
    select f.sha256, f.size, f.md5, f.sha1, f.sha512, p.state from package_file f join package p on p.id = f.package_id
      where f.${column} = any($3::text[]) and f.n > 0 and p.format = 'oci' and p.codename = $1 and p.name = $2
    union
    select sha256, size, md5, sha1, sha512, null from registry_blob
      where ${column} = any($3::text[]) and codename = $1 and name = $2`,
    [codename, name, hexes],
  )
}

const blobOf = ({ state: _, ...blob }: BlobRow): Blob => blob

/** A blob by its digest; undefined where this repository has none. */
export async function findBlob(db: Queryable, repository: Repository, digest: string): Promise<KnownBlob | undefined> {
  const [column, hex] = columnOf(digest)
  const rows = await readBlobRows(db, repository, column, [hex])
  const [first] = rows
  return first && { blob: blobOf(first), states: rows.flatMap(({ state }) => state ?? []) }
}

/** Blobs by their digests, as those are written; without those that this repository does not have. */
export async function findBlobs(
  db: Queryable,
  repository: Repository,
  digests: readonly string[],
): Promise<ReadonlyMap<string, Blob>> {
  const found = new Map<string, Blob>()
  for (const algorithm of ['sha256', 'sha512'] as const) {
    const hexes = digests.map(columnOf).flatMap(([column, hex]) => (column === algorithm ? [hex] : []))
    if (hexes.length === 0) continue
    const rows = await readBlobRows(db, repository, algorithm, hexes)
    for (const row of rows) found.set(`${algorithm}:${row[algorithm]}`, blobOf(row))
  }
  return found
}

/** A blob that any repository of a registry has; whoever reads one of them may read all. */
export async function findBlobIn(db: Queryable, codename: Codename, digest: string): Promise<Blob | undefined> {
  const [column, hex] = columnOf(digest)
  return db.first<Blob>(
    `
    select f.sha256, f.size, f.md5, f.sha1, f.sha512 from package_file f join package p on p.id = f.package_id
      where f.${column} = $2 and f.n > 0 and p.format = 'oci' and p.codename = $1
    union
    select sha256, size, md5, sha1, sha512 from registry_blob where ${column} = $2 and codename = $1
    limit 1`,
    [codename, hex],
  )
}

/** Notes that a repository has a blob; one that it has already counts as new. */
export async function addBlob(db: Queryable, { codename, name }: Repository, blob: Blob, at: Date): Promise<void> {
  await db.query(
    `insert into registry_blob (codename, name, sha256, size, md5, sha1, sha512, added_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (codename, name, sha256) do update set added_at = $8`,
    [codename, name, blob.sha256, blob.size, blob.md5, blob.sha1, blob.sha512, at],
  )
}

/** Forgets that a repository has a blob; what versions name stays theirs. */
export async function removeBlob(db: Queryable, { codename, name }: Repository, digest: Sha256): Promise<void> {
  await db.query('delete from registry_blob where codename = $1 and name = $2 and sha256 = $3', [
    codename,
    name,
    digest,
  ])
}

/** Forgets blobs that arrived before `before` and that no version of their repository names. @returns their digests */
export async function removeUnnamedBlobs(db: Queryable, before: Date): Promise<readonly Sha256[]> {
  const rows = await db.query<{ sha256: Sha256 }>(
    `delete from registry_blob b where b.added_at < $1 and not exists (
      select 1 from package_file f join package p on p.id = f.package_id
      where f.sha256 = b.sha256 and p.format = 'oci' and p.codename = b.codename and p.name = b.name)
    returning b.sha256`,
    [before],
  )
  return [...new Set(rows.map(({ sha256 }) => sha256))]
}

/** Forgets every blob that the repositories of a registry were given. @returns their digests */
export async function removeBlobsOf(db: Queryable, codename: Codename): Promise<readonly Sha256[]> {
  const rows = await db.query<{ sha256: Sha256 }>('delete from registry_blob where codename = $1 returning sha256', [
    codename,
  ])
  return [...new Set(rows.map(({ sha256 }) => sha256))]
}

/** A manifest by its digest, in any state; `paths` are left out. */
export async function findByDigest(
  db: Queryable,
  { codename, name }: Repository,
  digest: string,
): Promise<Manifest | undefined> {
  const [column, hex] = columnOf(digest)
  const row = await db.first<Row>(
    column === 'sha256'
      ? `select id, manifest, facts, '' as paths from package
        where format = 'oci' and codename = $1 and name = $2 and version = $3`
      : `select p.id, p.manifest, p.facts, '' as paths from package_file f join package p on p.id = f.package_id
        where p.format = 'oci' and p.codename = $1 and p.name = $2 and f.n = 0 and f.sha512 = $3`,
    [codename, name, column === 'sha256' ? digest : hex],
  )
  return row && fromRow(row)
}

/** What an answer with a manifest says of it. */
export interface ManifestHead {
  readonly version: string
  readonly state: State
  readonly mediaType: string
  readonly sha256: Sha256
  readonly size: number
}

/** The head of a manifest by its digest, in any state. */
export async function findHead(
  db: Queryable,
  { codename, name }: Repository,
  digest: string,
): Promise<ManifestHead | undefined> {
  const [column, hex] = columnOf(digest)
  return db.first<ManifestHead>(
    `select p.version, p.state, p.facts->>'media_type' as "mediaType", f.sha256, f.size
    from package p join package_file f on f.package_id = p.id and f.n = 0
    where p.format = 'oci' and p.codename = $1 and p.name = $2 and ${column === 'sha256' ? 'p.version' : 'f.sha512'} = $3`,
    [codename, name, column === 'sha256' ? digest : hex],
  )
}

/** The states of these versions, by version; those that are not here are left out. */
export async function readStates(
  db: Queryable,
  { codename, name }: Repository,
  versions: readonly string[],
): Promise<ReadonlyMap<string, State>> {
  const rows = await db.query<{ digest: string; state: State }>(
    `select p.version as digest, p.state from package p
      where p.format = 'oci' and p.codename = $1 and p.name = $2 and p.version = any($3::text[])
    union all
    select 'sha512:' || f.sha512, p.state from package_file f join package p on p.id = f.package_id
      where p.format = 'oci' and p.codename = $1 and p.name = $2 and f.n = 0 and 'sha512:' || f.sha512 = any($3::text[])`,
    [codename, name, versions],
  )
  return new Map(rows.map(({ digest, state }) => [digest, state]))
}

/** Whether a repository has any version, in whatever state. */
export async function hasVersions(db: Queryable, { codename, name }: Repository): Promise<boolean> {
  const row = await db.first(`select 1 from package where format = 'oci' and codename = $1 and name = $2 limit 1`, [
    codename,
    name,
  ])
  return row !== undefined
}

/** A manifest that an index names. */
export interface NamedManifest {
  /** As the index writes it. */
  readonly digest: string
  readonly version: string
  /** `linux/arm64`, where the index says it. */
  readonly platform: string | null
}

/** A manifest that an index names, and that is here and not served; undefined where there is none. */
export function findHeldPart(
  db: Queryable,
  { codename, name }: Repository,
  index: string,
): Promise<NamedManifest | undefined> {
  return db.first<NamedManifest>(
    `select m->>'digest' as digest, p.version,
      (m->'platform'->>'os') || '/' || (m->'platform'->>'architecture') as platform
    from package i cross join jsonb_array_elements(i.facts->'manifests') m
    join package_file f on f.n = 0 and m->>'digest' in ('sha256:' || f.sha256, 'sha512:' || f.sha512)
    join package p on p.id = f.package_id
    where i.format = 'oci' and i.codename = $1 and i.name = $2 and i.version = $3
      and p.format = 'oci' and p.codename = $1 and p.name = $2 and p.state <> 'published'
    order by m->>'digest' limit 1`,
    [codename, name, index],
  )
}

/** Whether something that is served names this manifest as a part of it. */
export async function isPartOfServed(db: Queryable, { codename, name }: Repository, digest: string): Promise<boolean> {
  const row = await db.first(
    `select 1 from package where format = 'oci' and codename = $1 and name = $2 and state = 'published'
      and facts->'manifests' @> $3::jsonb limit 1`,
    [codename, name, JSON.stringify([{ digest }])],
  )
  return row !== undefined
}

/** How many other versions of a registry have each of these blobs; 0 is left out. */
export async function countSharing(
  db: Queryable,
  { codename, name }: Repository,
  { version, blobs }: { readonly version: string; readonly blobs: readonly Sha256[] },
): Promise<ReadonlyMap<Sha256, number>> {
  const rows = await db.query<{ sha256: Sha256; count: number }>(
    `select f.sha256, count(distinct p.id)::int as count from package_file f join package p on p.id = f.package_id
      where f.sha256 = any($4::text[]) and f.n > 0 and p.format = 'oci' and p.codename = $1
        and not (p.name = $2 and p.version = $3) group by f.sha256`,
    [codename, name, version, blobs],
  )
  return new Map(rows.map(({ sha256, count }) => [sha256, count]))
}

/** State and architecture of manifests that are here, by their digests as those are written. */
export async function listNamed(
  db: Queryable,
  { codename, name }: Repository,
  digests: readonly string[],
): Promise<ReadonlyMap<string, { readonly state: State; readonly arch: string }>> {
  const rows = await db.query<{ digest: string; state: State; arch: string }>(
    `select d.digest, p.state, p.arch from unnest($3::text[]) d(digest)
      join package p on p.format = 'oci' and p.codename = $1 and p.name = $2
      join package_file f on f.package_id = p.id and f.n = 0
        and d.digest in ('sha256:' || f.sha256, 'sha512:' || f.sha512)`,
    [codename, name, [...new Set(digests)]],
  )
  return new Map(rows.map(({ digest, state, arch }) => [digest, { state, arch }]))
}
