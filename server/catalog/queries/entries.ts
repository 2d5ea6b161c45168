import type { OfferedPackage } from '../../core/advisories.ts'
import type { Blob, Codename, FormatId } from '../../core/identity.ts'
import type { PackageFile, PackageKind } from '../../core/manifest.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Db, Queryable } from '../../db/db.ts'
import type { PublishedEntry } from '../../formats/tree.ts'
import { params, seenBy } from './sql.ts'

/** A file of a package, with what is said of the package. */
interface EntryRow extends Blob {
  readonly id: number
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly sort_key: string
  readonly source: string
  readonly facts: unknown
  readonly path: string
}

export interface EntryQuery {
  readonly codename: Codename
  readonly format: FormatId
  readonly archs: readonly string[]
  /** Absent: all of them. `first` is the one that packages are in that name none. */
  readonly component?: { readonly name: string; readonly first: string }
  /** By default those that are installed. */
  readonly kind?: PackageKind
  readonly from: string
  readonly to: string | undefined
  /** Of the range, only these names. */
  readonly names?: readonly string[] | undefined
}

const PAGE = 2_000
/** As text, so that the index of what is not installed is found by it. */
const KIND: Record<PackageKind, string> = {
  binary: `kind = 'binary'`,
  source: `kind = 'source'`,
  debug: `kind = 'debug'`,
}
/** Between two pages others get their turn: what is done with each of these takes longer than reading it. */
const OFFERED_PAGE = 500

/** Published packages of a range of names, in the order of names, versions and architectures; read page by page. */
export async function* readEntries(
  db: Queryable,
  viewer: Viewer,
  { codename, format, archs, component, kind = 'binary', from, to, names }: EntryQuery,
): AsyncGenerator<PublishedEntry> {
  let after: readonly [string, string, string] = [from, '', '']
  for (;;) {
    const { values, add } = params(
      ...[codename, format, archs, ...after],
      ...[to ?? null, component?.name ?? null, component?.first ?? null, names ?? null],
    )
    // manifests are large and lie apart: what is asked for here has columns of its own
    const rows = await db.query<EntryRow>(
      `
      select p.*, f.path, f.sha256, f.size, f.md5, f.sha1, f.sha512
      from (
        select id, name, version, arch, sort_key, source, facts
        from package where codename = $1 and format = $2 and state = 'published' and arch = any($3) and ${KIND[kind]}
          and (name, sort_key, arch) > ($4, $5, $6) and ($7::text is null or name < $7)
          and ($8::text is null or coalesce(component, $9) = $8) and ($10::text[] is null or name = any($10))
          and ${seenBy(viewer, add, 'codename')}
        order by name, sort_key, arch limit ${PAGE}) p
      cross join lateral (select * from package_file where package_id = p.id offset 0) f
      order by p.name, p.sort_key, p.arch, p.id, f.n`,
      values,
    )
    const entries = [...Map.groupBy(rows, row => row.id).values()].map(entryOf)
    yield* entries
    const last = rows.at(-1)
    if (last === undefined || entries.length < PAGE) return
    after = [last.name, last.sort_key, last.arch]
  }
}

/** @param rows  of one package, its first file first */
function entryOf(rows: readonly EntryRow[]): PublishedEntry {
  const files = rows.map(({ path, sha256, size, md5, sha1, sha512 }) => ({
    path,
    blob: { sha256, size, md5, sha1, sha512 },
  }))
  const [[{ name, version, arch, source, facts, sort_key: sortKey }], [{ blob }, ...others]] = [rows, files] as [
    [EntryRow],
    [PackageFile, ...PackageFile[]],
  ]
  return { name, version, arch, source, facts, sortKey, blob, ...(others.length === 0 ? {} : { others }) }
}

/** Every published package with the source it was built from, in the order of names; read page by page. */
export async function* readOffered(
  db: Queryable,
  viewer: Viewer,
  { codename, format, archs }: Pick<EntryQuery, 'codename' | 'format' | 'archs'>,
): AsyncGenerator<OfferedPackage> {
  let after: readonly [string, string, string] = ['', '', '']
  for (;;) {
    const { values, add } = params(codename, format, archs, ...after)
    const rows = await db.query<OfferedPackage & { readonly sort_key: string }>(
      `
      select name, version, arch, sort_key, source, source_version
      from package where codename = $1 and format = $2 and state = 'published' and arch = any($3) and (name, sort_key, arch) > ($4, $5, $6)
        and ${seenBy(viewer, add, 'codename')}
      order by name, sort_key, arch limit ${OFFERED_PAGE}`,
      values,
    )
    for (const { sort_key: _, ...row } of rows) yield row
    const last = rows.at(-1)
    if (last === undefined || rows.length < OFFERED_PAGE) return
    after = [last.name, last.sort_key, last.arch]
  }
}

/** One architecture of a version. */
export interface Built {
  readonly name: string
  readonly version: string
  readonly arch: string
}

/** The files of published packages of these names, each by its bytes. */
export function listPublishedFiles(
  db: Queryable,
  viewer: Viewer,
  { codename, names }: { readonly codename: Codename; readonly names: readonly string[] },
): Promise<(Built & { readonly sha256: string })[]> {
  const { values, add } = params(codename, names)
  return db.query(
    `
    select p.name, p.version, p.arch, f.sha256 from package p join package_file f on f.package_id = p.id
    where p.codename = $1 and p.state = 'published' and p.name = any($2) and ${seenBy(viewer, add, 'p.codename')}`,
    values,
  )
}

/** What must not be served of these names: held, quarantined or rejected. */
export function listWithheld(
  db: Queryable,
  viewer: Viewer,
  { codename, names }: { readonly codename: Codename; readonly names: readonly string[] },
): Promise<Built[]> {
  const { values, add } = params(codename, names)
  return db.query<Built>(
    `
    select name, version, arch from package
    where codename = $1 and state <> 'published' and name = any($2) and ${seenBy(viewer, add, 'codename')}`,
    values,
  )
}

const LINES = 5_000

/**
 * Every file with the packages it is in, in the order of paths: `usr/bin/hello`, `['utils/hello']`. Sorted and joined
 * by the database.
 */
export async function readContents(
  db: Db,
  viewer: Viewer,
  { codename, format, archs, component }: Pick<EntryQuery, 'codename' | 'format' | 'archs' | 'component'>,
  each: (lines: readonly string[]) => Promise<void>,
): Promise<void> {
  const { values, add } = params(codename, format, archs, component?.name ?? null, component?.first ?? null)
  await db.tx(async tx => {
    await tx.query(
      `declare contents cursor for
      select file || E'\\t' || string_agg(distinct owner, ',' order by owner) as line
      from (select unnest(string_to_array(paths, E'\\n')) as file, coalesce(manifest->'about'->>'section' || '/', '') || name as owner
            from package where codename = $1 and format = $2 and state = 'published' and arch = any($3) and kind = 'binary' and paths <> ''
              and ($4::text is null or coalesce(component, $5) = $4) and ${seenBy(viewer, add, 'codename')}) as owned
      group by file order by file collate "C"`,
      values,
    )
    for (;;) {
      const rows = await tx.query<{ line: string }>(`fetch ${LINES} from contents`)
      if (rows.length === 0) return
      await each(rows.map(row => row.line))
    }
  })
}
