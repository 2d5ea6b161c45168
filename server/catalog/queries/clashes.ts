import { printRef, type PackageRef } from '../../core/identity.ts'
import { differentFile, type Manifest } from '../../core/manifest.ts'
import type { Queryable, Tx } from '../../db/db.ts'
import { FORMATS } from '../../formats/index.ts'
import { fromRow, refParams, type Row } from './store.ts'

const formatOf = ({ format }: Pick<PackageRef, 'format'>): (typeof FORMATS)[number] | undefined =>
  FORMATS.find(({ id }) => id === format)

/**
 * Where a package could clash with another one: at its address, where the format builds it from the version alone, and
 * at the name of its source, whose versions share files. Most packages have no such place.
 */
export function placesOf({ ref, kind }: Pick<Manifest, 'ref' | 'kind'>): readonly string[] {
  const { format, codename, name, version } = ref
  return [
    ...(formatOf(ref)?.neutralSharesAddress === true ? [`${format} ${codename} ${name} ${version}`] : []),
    ...(kind === 'source' ? [`files ${format} ${codename} ${name}`] : []),
  ]
}

/** A file of one source package that another file would be mistaken for. */
export interface FileClash {
  readonly path: string
  readonly ref: PackageRef
  readonly incoming_sha256: string
  readonly existing_sha256: string
}

/** What stands in the way of a package. */
export interface Clash {
  /** A package of another architecture with other files, which clients would find at the same address. */
  readonly rival?: Manifest
  /** A file of another version of the same source with the same name and other bytes. */
  readonly file?: FileClash
}

/** The rivals of these, with other files than theirs, by the `printRef` of those that they stand in the way of. */
export async function findRivals(
  db: Queryable,
  manifests: readonly Pick<Manifest, 'ref' | 'files'>[],
): Promise<ReadonlyMap<string, Manifest>> {
  const asked = manifests.filter(({ ref }) => formatOf(ref)?.neutralSharesAddress === true)
  if (asked.length === 0) return new Map()
  const rows = await db.query<Row & { readonly n: number }>(
    `
    select wanted.n, p.id, p.manifest, p.facts, p.paths
    from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) with ordinality
      as wanted (format, codename, name, version, arch, n)
    join package p on p.format = wanted.format and p.codename = wanted.codename and p.name = wanted.name
      and p.version = wanted.version and p.arch <> wanted.arch`,
    [0, 1, 2, 3, 4].map(n => asked.map(({ ref }) => refParams(ref)[n])),
  )
  const found = rows.flatMap((row): [string, Manifest][] => {
    const [mine, other] = [asked[row.n - 1], fromRow(row)]
    const neutral = formatOf(other.ref)?.archs.neutral ?? []
    return mine !== undefined &&
      [mine.ref.arch, other.ref.arch].some(arch => neutral.includes(arch)) &&
      differentFile(other.files, mine.files) !== undefined
      ? [[printRef(mine.ref), other]]
      : []
  })
  return new Map(found)
}

/** Files of other versions of the same sources that clients would find by the names of these files, by `printRef`. */
async function findOtherBytes(tx: Tx, sources: readonly Manifest[]): Promise<ReadonlyMap<string, FileClash>> {
  if (sources.length === 0) return new Map()
  const mine = sources.flatMap(({ ref, files }) => files.map(({ path, blob }) => ({ ref, path, sha256: blob.sha256 })))
  const rows = await tx.query<PackageRef & Omit<FileClash, 'ref'> & { readonly n: number }>(
    `
    select mine.n, p.format, p.codename, p.name, p.version, p.arch, f.path, mine.sha256 as incoming_sha256, f.sha256 as existing_sha256
    from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) with ordinality
      as mine (format, codename, name, arch, path, sha256, n)
    join package p on p.format = mine.format and p.codename = mine.codename and p.name = mine.name and p.arch = mine.arch
    join package_file f on f.package_id = p.id and f.path = mine.path and f.sha256 <> mine.sha256`,
    [
      mine.map(({ ref }) => ref.format),
      mine.map(({ ref }) => ref.codename),
      mine.map(({ ref }) => ref.name),
      mine.map(({ ref }) => ref.arch),
      mine.map(({ path }) => path),
      mine.map(({ sha256 }) => sha256),
    ],
  )
  return new Map(
    rows.flatMap(({ n, path, incoming_sha256, existing_sha256, ...ref }): [string, FileClash][] => {
      const asked = mine[n - 1]
      return asked === undefined ? [] : [[printRef(asked.ref), { path, incoming_sha256, existing_sha256, ref }]]
    }),
  )
}

/**
 * What stands in the way of these, by their `printRef`; nothing for most. Until the transaction ends, no other can
 * write to their places: of two at the same moment the second finds the first. No two of these may share a place.
 */
export async function lockOutClashes(tx: Tx, manifests: readonly Manifest[]): Promise<ReadonlyMap<string, Clash>> {
  // in one order everywhere, so that two transactions do not wait for each other
  const places = [...new Set(manifests.flatMap(placesOf))].sort()
  if (places.length === 0) return new Map()
  await tx.query('select pg_advisory_xact_lock(hashtextextended(place, 0)) from unnest($1::text[]) as place', [places])
  const rivals = await findRivals(tx, manifests)
  const files = await findOtherBytes(
    tx,
    manifests.filter(({ kind }) => kind === 'source'),
  )
  const clashes = new Map<string, Clash>()
  for (const [ref, rival] of rivals) clashes.set(ref, { rival })
  for (const [ref, file] of files) clashes.set(ref, { ...clashes.get(ref), file })
  return clashes
}
