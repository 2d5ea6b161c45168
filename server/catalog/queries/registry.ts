import type { Codename, FormatId } from '../../core/identity.ts'
import type { State } from '../../core/manifest.ts'
import type { SaidMark } from '../../core/mark.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { params, seenBy } from './sql.ts'

/** The names of a registry. */
export interface NamesFilter {
  readonly format: FormatId
  readonly codename: Codename
  /** Only names that have a version in one of these; absent: in any. */
  readonly states?: readonly State[] | undefined
  /** Only names with this in them, whatever the case. */
  readonly q?: string | undefined
}

/** One name, with how many of its versions are in which state. */
export interface NameRow {
  readonly name: string
  /** One of several files, as for each platform, is one. */
  readonly versions: number
  /** Versions of which clients get something, and those of which something is held: one may be both. */
  readonly published: number
  readonly held: number
  /** Of all versions: archives, and what lies beside them. */
  readonly files: number
  /** Of all files of all versions, in bytes; a file that two versions share counts for each. */
  readonly size: number
  readonly changed_at: Date
}

/** What the files of a package `p` come to. */
const FILES_OF = `select count(*) as files, coalesce(sum(size), 0) as size from package_file where package_id = p.id`

const ONLY = `($3::text[] is null or state = any($3)) and ($4::text is null or strpos(lower(name), lower($4)) > 0)`

/**
 * The names of a registry in the order of their code points, at most `most` behind `after`, or behind the first `skip`.
 */
export function listNamesOf(
  db: Queryable,
  viewer: Viewer,
  { format, codename, states, q }: NamesFilter,
  {
    after = '',
    skip = 0,
    most,
  }: { readonly after?: string | undefined; readonly skip?: number; readonly most: number },
): Promise<NameRow[]> {
  const { values, add } = params(format, codename, states ?? null, q ?? null, after, most, skip)
  return db.repeat<NameRow>(
    `
    select p.name, count(distinct p.version)::int as versions,
      (count(distinct p.version) filter (where p.state = 'published'))::int as published,
      (count(distinct p.version) filter (where p.state <> 'published'))::int as held,
      sum(f.files)::int as files, sum(f.size)::bigint as size, max(p.changed_at) as changed_at
    from package p cross join lateral (${FILES_OF}) f join (
      select distinct name from package where format = $1 and codename = $2 and name > $5 and ${ONLY}
        and ${seenBy(viewer, add, 'codename')} order by name limit $6 offset $7) as named on named.name = p.name
    where p.format = $1 and p.codename = $2 and ${seenBy(viewer, add, 'p.codename')}
    group by p.name order by p.name`,
    values,
  )
}

/** The names of a registry alone, in the order of their code points, at most `most` behind `after`. */
export async function listBareNames(
  db: Queryable,
  viewer: Viewer,
  {
    format,
    codename,
    after,
    most,
  }: Pick<NamesFilter, 'format' | 'codename'> & { readonly after: string; readonly most: number },
): Promise<string[]> {
  const { values, add } = params(format, codename, after, most)
  const rows = await db.repeat<{ name: string }>(
    `select distinct name from package where format = $1 and codename = $2 and name > $3
      and ${seenBy(viewer, add, 'codename')} order by name limit $4`,
    values,
  )
  return rows.map(({ name }) => name)
}

/** A version without what its format says of it. */
export interface ShortVersion {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly state: State
  /** Of all its files, in bytes. */
  readonly size: number
  readonly uploaded_by: string
  readonly at: Date
  /** Null where nobody says to leave it. */
  readonly mark: SaidMark | null
}

/** The versions of these names, newest first, at most `most` of each. */
export function listShortVersions(
  db: Queryable,
  viewer: Viewer,
  {
    codename,
    format,
    names,
    version,
    most,
  }: Pick<NamesFilter, 'codename' | 'format'> & {
    readonly names: readonly string[]
    readonly version?: string
    readonly most: number
  },
): Promise<ShortVersion[]> {
  const { values, add } = params(format, codename, [...names], version ?? null, most)
  return db.repeat<ShortVersion>(
    `
    select name, version, arch, state, uploaded_by, created_at as at, mark,
      (select coalesce(sum(f.size), 0) from package_file f where f.package_id = p.id)::bigint as size
    from (select id, name, version, arch, state, uploaded_by, created_at, mark,
            row_number() over (partition by name order by sort_key desc, version collate "C" desc, arch) as nth
          from package where format = $1 and codename = $2 and name = any($3) and ($4::text is null or version = $4)
            and ${seenBy(viewer, add, 'codename')}) p
    where nth <= $5 order by name, nth`,
    values,
  )
}

/** How many names `listNamesOf` has in all. */
export async function countNamesOf(
  db: Queryable,
  viewer: Viewer,
  { format, codename, states, q }: NamesFilter,
): Promise<number> {
  const { values, add } = params(format, codename, states ?? null, q ?? null)
  const row = await db.first<{ n: number }>(
    `select count(distinct name)::int as n from package where format = $1 and codename = $2 and ${ONLY}
      and ${seenBy(viewer, add, 'codename')}`,
    values,
  )
  return row?.n ?? 0
}

/** Each registry's names, versions, files and bytes, for those that have any. */
export interface RegistrySums {
  readonly codename: string
  readonly names: number
  readonly versions: number
  readonly held: number
  readonly files: number
  readonly size: number
}

export function sumRegistries(db: Queryable, viewer: Viewer, codenames: readonly string[]): Promise<RegistrySums[]> {
  const { values, add } = params([...codenames])
  return db.query<RegistrySums>(
    `
    select codename, count(distinct name)::int as names, count(distinct (name, version))::int as versions,
      (count(distinct (name, version)) filter (where state <> 'published'))::int as held,
      sum(f.files)::int as files, sum(f.size)::bigint as size
    from package p cross join lateral (${FILES_OF}) f
    where codename = any($1) and ${seenBy(viewer, add, 'codename')} group by codename`,
    values,
  )
}
