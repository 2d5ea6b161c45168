import type { PackageName } from '../../core/identity.ts'
import type { Manifest, State } from '../../core/manifest.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { params, seenBy } from './sql.ts'

const OF = 'format = $1 and codename = $2 and name = $3'

/** One version of a name, without its document. */
export interface VersionRow {
  readonly version: string
  readonly state: State
  readonly created_at: Date
  readonly deprecated: string | null
  /** The tags that it was published with, where clients did not see it then. */
  readonly wanted_tags: string[] | null
  /** Why it is not served is read from this; null where it is. */
  readonly held: Pick<Manifest, 'ref' | 'state' | 'reports' | 'findings' | 'review' | 'decision'> | null
}

/** One version with its part of a document about the name, as text: nothing of it is parsed to be joined. */
export interface DocumentRow extends VersionRow {
  readonly sha1: string
  readonly sha512: string
  /** The JSON text of the format's facts in the form that was asked for; null where the version is not served. */
  readonly document: string | null
  readonly file_count: number
  readonly unpacked_size: number
  /** Paths of files beside the first. */
  readonly beside: string[]
}

const VERSION = `version, state, created_at, facts ->> 'deprecated' as deprecated, facts -> 'wantedTags' as wanted_tags,
      case when state <> 'published' then manifest - 'files' - 'about' end as held`

/** Every version of a name in any state, oldest first by the order of the format. */
export function listVersions(
  db: Queryable,
  viewer: Viewer,
  { format, codename, name }: PackageName,
): Promise<VersionRow[]> {
  const { values, add } = params(format, codename, name)
  return db.repeat<VersionRow>(
    `
    select ${VERSION}
    from package where ${OF} and ${seenBy(viewer, add, 'codename')} order by sort_key, version collate "C"`,
    values,
  )
}

/** What is read of the documents of a name. */
export interface DocumentsWanted {
  readonly form: 'full' | 'short'
  /** Of one version; of all where it is absent. */
  readonly version?: string
}

/** The same with their documents in one form, of all versions or of one. */
export function listDocuments(
  db: Queryable,
  viewer: Viewer,
  { format, codename, name, form, version }: PackageName & DocumentsWanted,
): Promise<DocumentRow[]> {
  const { values, add } = params(format, codename, name, form)
  const only = version === undefined ? '' : `and version = ${add(version)}`
  return db.repeat<DocumentRow>(
    `
    select ${VERSION},
      manifest #>> '{files,0,blob,sha1}' as sha1, manifest #>> '{files,0,blob,sha512}' as sha512,
      case when state = 'published' then facts ->> $4::text end as document,
      (facts ->> 'fileCount')::int as file_count, (facts ->> 'unpackedSize')::bigint as unpacked_size,
      array(select one ->> 'path' from jsonb_array_elements(manifest -> 'files') with ordinality as f(one, n) where n > 1) as beside
    from package where ${OF} ${only} and ${seenBy(viewer, add, 'codename')} order by sort_key, version collate "C"`,
    values,
  )
}

/** What a document about a name follows from, as short texts. */
export interface DocumentMark {
  /**
   * Another one at each change of a row, also at two within one moment: each gives it another `xmin`. Good for this
   * database alone. Source: PostgreSQL, 5.6 "System Columns"
   */
  readonly rows: string
  /** The same in a database that was restored: from when versions and tags were changed. */
  readonly changes: string
}

/**
 * Other versions, states, tags or facts of a name make another mark. Undefined where there is no such name.
 */
export async function readDocumentMark(
  db: Queryable,
  viewer: Viewer,
  { format, codename, name }: PackageName,
): Promise<DocumentMark | undefined> {
  const { values, add } = params(format, codename, name)
  const [row] = await db.repeat<{ rows: string | null; changes: string | null; tags: string | null }>(
    `
    select v.rows, v.changes, t.tags from (
      select md5(string_agg(concat_ws(' ', version, arch, state, xmin), ',' order by sort_key, version collate "C", arch)) as rows,
        md5(string_agg(concat_ws(' ', version, arch, state, extract(epoch from changed_at)), ','
          order by sort_key, version collate "C", arch)) as changes
      from package where ${OF} and ${seenBy(viewer, add, 'codename')}) v,
      (select md5(string_agg(tag || ' ' || version || ' ' || extract(epoch from set_at), ',' order by tag)) as tags
      from tag where ${OF}) t`,
    values,
  )
  const { rows = null, changes = null, tags = '' } = row ?? {}
  return rows === null || changes === null
    ? undefined
    : { rows: `${rows}${tags ?? ''}`, changes: `${changes}${tags ?? ''}` }
}

/** The newest served version of a name, as a search tells of it. */
export interface FoundRow {
  readonly name: string
  readonly version: string
  readonly summary: string
  readonly created_at: Date
  readonly homepage: string | null
  readonly keywords: string[]
}

const KEYWORDS = `array(select jsonb_array_elements_text(coalesce(facts -> 'keywords', '[]')))`

/** Where a name is. */
export type FoundName = Pick<PackageName, 'codename' | 'name'>

/**
 * The names that have a served version with these words in it: exact names first, then in the order of the registries
 * and of code points.
 * @param search.words  must all be in the name, the summary or the keywords of the newest one; none: everything
 */
export function searchServed(
  db: Queryable,
  viewer: Viewer,
  search: {
    readonly format: PackageName['format']
    readonly codenames: readonly string[]
    readonly words: readonly string[]
  },
): Promise<FoundName[]> {
  const { format, codenames, words } = search
  const { values, add } = params(format, [...codenames], [...words], words.join(' '))
  return db.query<FoundName>(
    `
    select codename, name from (
      select distinct on (codename, name) codename, name, summary, ${KEYWORDS} as keywords
      from package where format = $1 and codename = any($2::text[]) and state = 'published' and ${seenBy(viewer, add, 'codename')}
      order by codename, name, sort_key desc) newest
    where not exists (select from unnest($3::text[]) as word
      where strpos(lower(name || ' ' || summary || ' ' || array_to_string(keywords, ' ')), lower(word)) = 0)
    order by name <> $4, array_position($2::text[], codename), name`,
    values,
  )
}

/** The newest served version of each of these names, in their order. */
export function describeServed(
  db: Queryable,
  viewer: Viewer,
  { format, names }: { readonly format: PackageName['format']; readonly names: readonly FoundName[] },
): Promise<FoundRow[]> {
  const { values, add } = params(
    format,
    names.map(({ codename }) => codename),
    names.map(({ name }) => name),
  )
  return db.query<FoundRow>(
    `
    select newest.* from unnest($2::text[], $3::text[]) with ordinality as found (codename, name, at)
    cross join lateral (
      select name, version, summary, created_at, manifest #>> '{about,homepage}' as homepage, ${KEYWORDS} as keywords
      from package p where p.format = $1 and p.codename = found.codename and p.name = found.name
        and p.state = 'published' and ${seenBy(viewer, add, 'p.codename')}
      order by p.sort_key desc limit 1) newest
    order by found.at`,
    values,
  )
}
