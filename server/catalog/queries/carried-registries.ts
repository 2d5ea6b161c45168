import type { FormatId, Iso } from '../../core/identity.ts'
import type { Alternatives } from '../../core/relation.ts'
import { ALL_SEEING, type Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { params, seenBy } from './sql.ts'

/** What is carried of registries beside the bytes of their versions. */

/** What is said of a published version that is not in its files. */
export interface CarriedWords {
  readonly id: number
  /** When clients could get it first: at its upstream, or here. */
  readonly published_at: Date
  readonly deprecated: string | null
  readonly yanked: { readonly reason: string; readonly by?: string; readonly at?: string } | null
  /** The tags that it was published with while clients did not get it. */
  readonly wanted_tags: readonly string[] | null
  readonly created_at: Date
  /** Of an index: the digests of the manifests that it names. */
  readonly parts: readonly string[] | null
  /** The digest that it is about. */
  readonly subject: string | null
  /** Clients of a proxy do not get it, although its package is published. */
  readonly is_hidden: boolean
}

/** Of every published version of these registries. What an upstream says of a version counts before what is here. */
export function listCarriedWords(
  db: Queryable,
  viewer: Viewer,
  registries: readonly string[],
): Promise<CarriedWords[]> {
  const { values, add } = params(registries)
  return db.query<CarriedWords>(
    `select p.id, coalesce(r.published_at, p.created_at) as published_at, p.created_at,
      case when r.version is null then p.facts->>'deprecated' else r.facts->>'deprecated' end as deprecated,
      case when r.version is null then p.facts->'yanked' else r.facts->'yanked' end as yanked,
      p.facts->'wantedTags' as wanted_tags,
      case when p.format = 'oci' then jsonb_path_query_array(p.facts, '$.manifests[*].digest') end as parts,
      case when p.format = 'oci' then p.facts->>'subject' end as subject,
      coalesce(r.hidden = 'malicious', false) as is_hidden
    from package p left join remote_version r
      on r.codename = p.codename and r.name = p.name and r.version = p.version and r.arch = p.arch
    where p.state = 'published' and p.codename = any($1::text[]) and ${seenBy(viewer, add, 'p.codename')}`,
    values,
  )
}

/** A tag as it is carried. */
export interface CarriedTagRow {
  readonly format: FormatId
  readonly codename: string
  readonly name: string
  readonly tag: string
  readonly version: string
  readonly at: Date
}

/** The tags of these registries, those of upstreams as they were last said; newest first for each name. */
export function listCarriedTags(
  db: Queryable,
  viewer: Viewer,
  registries: readonly string[],
): Promise<CarriedTagRow[]> {
  const { values, add } = params(registries)
  return db.query<CarriedTagRow>(
    `select format, codename, name, tag, version, set_at as at from tag
      where codename = any($1::text[]) and ${seenBy(viewer, add, 'codename')}
    union all
    select 'npm', n.codename, n.name, t.key, t.value, n.checked_at from remote_name n,
      jsonb_each_text(case when jsonb_typeof(n.about->'tags') = 'object' then n.about->'tags' else '{}' end) t
      where n.codename = any($1::text[]) and ${seenBy(viewer, add, 'n.codename')}
    order by codename, name, at desc, tag`,
    values,
  )
}

/** Every name of a tag that is in use in these registries: also of those whose version is not published. */
export function listTagNames(
  db: Queryable,
  viewer: Viewer,
  registries: readonly string[],
): Promise<Pick<CarriedTagRow, 'format' | 'codename' | 'name' | 'tag'>[]> {
  const { values, add } = params(registries)
  return db.query(
    `select format, codename, name, tag from tag
      where codename = any($1::text[]) and ${seenBy(viewer, add, 'codename')}
    union
    select p.format, p.codename, p.name, t.tag from package p, jsonb_array_elements_text(p.facts->'wantedTags') as t(tag)
      where p.codename = any($1::text[]) and ${seenBy(viewer, add, 'p.codename')}
    union
    select 'npm', n.codename, n.name, t.key from remote_name n,
      jsonb_each_text(case when jsonb_typeof(n.about->'tags') = 'object' then n.about->'tags' else '{}' end) t
      where n.codename = any($1::text[]) and ${seenBy(viewer, add, 'n.codename')}
    order by codename, name, tag`,
    values,
  )
}

/** What published versions of these registries need, by their ids. */
export function listRegistryNeeds(
  db: Queryable,
  ids: readonly number[],
): Promise<{ readonly id: number; readonly depends: readonly Alternatives[] }[]> {
  const { values, add } = params(ids)
  return db.query(
    `select p.id, coalesce(p.manifest->'about'->'depends', '[]') as depends from package p
    where p.id = any($1::bigint[]) and ${seenBy(ALL_SEEING, add, 'p.codename')}`,
    values,
  )
}

/** A mark of a version that came with a bundle. */
export interface BroughtMark {
  readonly format: FormatId
  readonly codename: string
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly deprecated: string | null
  readonly yanked: { readonly reason: string; readonly at?: Iso } | null
}

/** Every tag here, and every mark that no person here set: for the receipt. @param from  who brought marks */
export async function listWordsHere(
  db: Queryable,
  viewer: Viewer,
  from: string,
): Promise<{
  readonly tags: readonly CarriedTagRow[]
  /** Of `tags` those that came in bundles, of hosted registries. */
  readonly brought: readonly Pick<CarriedTagRow, 'format' | 'codename' | 'name' | 'tag'>[]
  readonly marks: readonly BroughtMark[]
}> {
  const given = params(from)
  const marks = await db.query<BroughtMark>(
    `select p.format, p.codename, p.name, p.version, p.arch,
      coalesce(r.facts->>'deprecated', p.facts->>'deprecated') as deprecated,
      coalesce(r.facts->'yanked', p.facts->'yanked') as yanked
    from package p left join remote_version r
      on r.codename = p.codename and r.name = p.name and r.version = p.version and r.arch = p.arch
    where (p.facts->>'deprecatedBy' = $1 or p.facts->'yanked'->>'by' = $1 or r.facts ? 'deprecated' or r.facts ? 'yanked')
      and ${seenBy(viewer, given.add, 'p.codename')}`,
    given.values,
  )
  const own = params(from)
  const brought = await db.query<Pick<CarriedTagRow, 'format' | 'codename' | 'name' | 'tag'>>(
    `select t.format, t.codename, t.name, t.tag from tag t join distribution_definition d on d.codename = t.codename
    where t.set_by = $1 and coalesce(d.definition->'registry'->>'kind', 'hosted') = 'hosted'
      and ${seenBy(viewer, own.add, 't.codename')} order by t.codename, t.name, t.tag`,
    own.values,
  )
  const all = params()
  const rows = await db.query<{ codename: string }>(
    `select distinct codename from package p where ${seenBy(viewer, all.add, 'p.codename')}`,
    all.values,
  )
  return {
    tags: await listCarriedTags(
      db,
      viewer,
      rows.map(({ codename }) => codename),
    ),
    brought,
    marks,
  }
}
