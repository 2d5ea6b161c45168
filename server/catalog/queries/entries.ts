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
}

/** Published packages of a range of numbers: from `from` up to, not including, `to`; undefined is the end. */
export interface EntryRange extends EntryQuery {
  readonly from: number
  readonly to: number | undefined
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

/** A published package by its number, which grows with each that comes. */
export interface Numbered {
  readonly id: number
  readonly name: string
  readonly version: string
  readonly arch: string
}

const IN_INDEX = (
  kind: PackageKind,
): string => `codename = $1 and format = $2 and state = 'published' and arch = any($3)
          and ($4::text is null or coalesce(component, $5) = $4) and ${KIND[kind]}`

const valuesOf = ({ codename, format, archs, component }: EntryQuery): readonly unknown[] => [
  ...[codename, format, archs],
  ...[component?.name ?? null, component?.first ?? null],
]

/** Which packages are in the range, in the order in which they came. */
export function listEntries(db: Queryable, viewer: Viewer, range: EntryRange): Promise<Numbered[]> {
  const { values, add } = params(...valuesOf(range), range.from, range.to ?? null)
  return db.query<Numbered>(
    `
    select id, name, version, arch from package
    where ${IN_INDEX(range.kind ?? 'binary')} and id >= $6 and ($7::bigint is null or id < $7) and ${seenBy(viewer, add, 'codename')}
    order by id`,
    values,
  )
}

/** These packages of the index, in the order in which they came; read page by page. */
export async function* readEntries(
  db: Queryable,
  viewer: Viewer,
  query: EntryQuery,
  ids: readonly number[],
): AsyncGenerator<PublishedEntry & Pick<Numbered, 'id'>> {
  for (let at = 0; at < ids.length; at += PAGE) {
    const { values, add } = params(...valuesOf(query), ids.slice(at, at + PAGE))
    // manifests are large and lie apart: what is asked for here has columns of its own
    const rows = await db.query<EntryRow>(
      `
      select p.*, f.path, f.sha256, f.size, f.md5, f.sha1, f.sha512
      from (
        select id, name, version, arch, sort_key, source, facts
        from package where ${IN_INDEX(query.kind ?? 'binary')} and id = any($6) and ${seenBy(viewer, add, 'codename')} offset 0) p
      cross join lateral (select * from package_file where package_id = p.id offset 0) f
      order by p.id, f.n`,
      values,
    )
    yield* [...Map.groupBy(rows, row => row.id).values()].map(entryOf)
  }
}

/** @param rows  of one package, its first file first */
function entryOf(rows: readonly EntryRow[]): PublishedEntry & Pick<Numbered, 'id'> {
  const files = rows.map(({ path, sha256, size, md5, sha1, sha512 }) => ({
    path,
    blob: { sha256, size, md5, sha1, sha512 },
  }))
  const [[{ id, name, version, arch, source, facts, sort_key: sortKey }], [{ blob }, ...others]] = [rows, files] as [
    [EntryRow],
    [PackageFile, ...PackageFile[]],
  ]
  return { id, name, version, arch, source, facts, sortKey, blob, ...(others.length === 0 ? {} : { others }) }
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
