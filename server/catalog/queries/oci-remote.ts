import type { Iso } from '../../core/identity.ts'
import type { Queryable } from '../../db/db.ts'
import type { Part } from './oci-lists.ts'
import type { Repository } from './oci.ts'

/** A tag at the upstream of a registry. */
export interface RemoteTag {
  /** What it names there; null: it is there no more. */
  readonly digest: string | null
  /** The digests that clients got by it, the last one first. */
  readonly served: readonly string[]
  readonly checked_at: Date
  readonly tried_at: Date
  readonly said: string | null
  /** It came from another installation, and its upstream said nothing since. */
  readonly is_carried: boolean | null
}

export interface TagKey extends Repository {
  readonly tag: string
}

export function findRemoteTag(db: Queryable, { codename, name, tag }: TagKey): Promise<RemoteTag | undefined> {
  return db.first<RemoteTag>(
    `select digest, served, checked_at, tried_at, said,
      (select n.about ? 'carried_at' from remote_name n where n.codename = t.codename and n.name = t.name) as is_carried
    from oci_remote_tag t where codename = $1 and name = $2 and tag = $3`,
    [codename, name, tag],
  )
}

/** Keeps what the upstream says that a tag names. */
export async function saveRemoteTag(
  db: Queryable,
  { codename, name, tag }: TagKey,
  { digest, now }: { readonly digest: string | null; readonly now: Date },
): Promise<void> {
  await db.query(
    `insert into oci_remote_tag (codename, name, tag, digest, checked_at, tried_at) values ($1, $2, $3, $4, $5, $5)
    on conflict (codename, name, tag) do update set digest = $4, checked_at = $5, tried_at = $5, said = null`,
    [codename, name, tag, digest, now],
  )
}

/** The upstream could not be asked; a tag that nothing is known of stays unknown. */
export async function saveTagFailure(
  db: Queryable,
  { codename, name, tag }: TagKey,
  { now, said }: { readonly now: Date; readonly said: string },
): Promise<void> {
  await db.query('update oci_remote_tag set tried_at = $4, said = $5 where codename = $1 and name = $2 and tag = $3', [
    codename,
    name,
    tag,
    now,
    said,
  ])
}

const MOST_SERVED = 10

/** Clients get this digest by the tag from now on: it is the first one, and nothing changes where it is already. */
export async function saveServed(db: Queryable, { codename, name, tag }: TagKey, digest: string): Promise<void> {
  await db.query(
    `update oci_remote_tag set served = (
      select jsonb_agg(one order by n) from (
        select to_jsonb($4::text) as one, 0::bigint as n
        union all select one, n from jsonb_array_elements(served) with ordinality as e (one, n)
        where one <> to_jsonb($4::text) and n < ${MOST_SERVED}) as kept)
    where codename = $1 and name = $2 and tag = $3 and served->>0 is distinct from $4`,
    [codename, name, tag, digest],
  )
}

/** Notes for people that a repository was asked for, and what the upstream said. @param said  why that failed */
export async function noteAsked(
  db: Queryable,
  { codename, name }: Repository,
  { now, said }: { readonly now: Date; readonly said?: string },
): Promise<void> {
  const values = [codename, name, now, ...(said === undefined ? [] : [said])]
  await db.query(
    said === undefined
      ? `insert into remote_name (codename, name, is_missing, validators, about, revision, checked_at, tried_at)
        values ($1, $2, false, '{}', '{}', '', $3, $3)
        on conflict (codename, name) do update set checked_at = $3, tried_at = $3, said = null,
          about = remote_name.about - 'carried_at'`
      : 'update remote_name set tried_at = $3, said = $4 where codename = $1 and name = $2',
    values,
  )
}

/** A list that an upstream gave. */
export interface RemoteList {
  readonly items: readonly unknown[]
  readonly checked_at: Date
  readonly tried_at: Date
  readonly said: string | null
}

/** The tags of a repository, or what is about the manifest with this digest. */
export interface ListKey extends Repository {
  readonly list: string
}

/** When it was asked for, without what is in it. */
export function findListState(
  db: Queryable,
  { codename, name, list }: ListKey,
): Promise<Omit<RemoteList, 'items'> | undefined> {
  return db.first(
    'select checked_at, tried_at, said from oci_remote_list where codename = $1 and name = $2 and list = $3',
    [codename, name, list],
  )
}

export function findList(db: Queryable, { codename, name, list }: ListKey): Promise<RemoteList | undefined> {
  return db.first(
    'select items, checked_at, tried_at, said from oci_remote_list where codename = $1 and name = $2 and list = $3',
    [codename, name, list],
  )
}

export async function saveList(
  db: Queryable,
  { codename, name, list }: ListKey,
  { items, now }: { readonly items: readonly unknown[]; readonly now: Date },
): Promise<void> {
  await db.query(
    `insert into oci_remote_list as l (codename, name, list, items, checked_at, tried_at) values ($1, $2, $3, $4, $5, $5)
    on conflict (codename, name, list) do update set checked_at = $5, tried_at = $5, said = null, items = $4`,
    [codename, name, list, JSON.stringify(items), now],
  )
}

/** The upstream could not be asked; a list that was never here stays so. */
export async function saveListFailure(
  db: Queryable,
  { codename, name, list }: ListKey,
  { now, said }: { readonly now: Date; readonly said: string },
): Promise<void> {
  await db.query(
    'update oci_remote_list set tried_at = $4, said = $5 where codename = $1 and name = $2 and list = $3',
    [codename, name, list, now, said],
  )
}

/**
 * Tags of the upstream and those that something here was given out by, in the order of their names. Without those of
 * which clients would get nothing: what they name is known to be hidden or held, and nothing older is served by them.
 */
export async function listRemoteTags(
  db: Queryable,
  { codename, name }: Repository,
  { last, n, now }: Part & { readonly now: Date },
): Promise<readonly string[]> {
  const rows = await db.query<{ tag: string }>(
    `
    with here as (
      select r.tag from oci_remote_tag r where r.codename = $1 and r.name = $2 and exists (
        select from package p where p.format = 'oci' and p.codename = $1 and p.name = $2 and p.state = 'published'
          and r.served @> to_jsonb(p.version))),
    hidden as (
      select r.tag from oci_remote_tag r where r.codename = $1 and r.name = $2 and (
        exists (select from package p where p.format = 'oci' and p.codename = $1 and p.name = $2
          and p.version = r.digest and p.state <> 'published')
        or exists (select from remote_version v where v.codename = $1 and v.name = $2 and v.version = r.digest
          and v.hidden is not null and (v.ripe_at is null or v.ripe_at > $5)
          and not exists (select from package p where p.format = 'oci' and p.codename = $1 and p.name = $2
            and p.version = v.version))))
    select tag collate "C" as tag from (
      select jsonb_array_elements_text(items) as tag from oci_remote_list
        where codename = $1 and name = $2 and list = 'tags'
      union select tag from here) as known
    where tag collate "C" > $3 and (tag in (select tag from here) or tag not in (select tag from hidden))
    order by tag collate "C" limit $4`,
    [codename, name, last, n, now],
  )
  return rows.map(({ tag }) => tag)
}

/** When a manifest of an upstream was seen first, and how old its maker says that it is. */
export interface SeenManifest {
  readonly published_at: Date | null
  readonly seen_at: Date
  readonly facts: Readonly<Record<string, unknown>>
}

export function findSeen(
  db: Queryable,
  { codename, name }: Repository,
  digest: string,
): Promise<SeenManifest | undefined> {
  return db.first<SeenManifest>(
    'select published_at, seen_at, facts from remote_version where codename = $1 and name = $2 and version = $3',
    [codename, name, digest],
  )
}

/** Notes a manifest of an upstream; what was noted of it before stays, also of another upstream. */
export async function noteSeen(
  db: Queryable,
  { codename, name }: Repository,
  seen: {
    readonly digest: string
    readonly arch: string
    readonly publishedAt: Iso | undefined
    readonly facts: Readonly<Record<string, unknown>>
    readonly now: Date
  },
): Promise<void> {
  await db.query(
    `insert into remote_version (codename, name, version, arch, sort_key, published_at, seen_at, facts, is_listed)
    values ($1, $2, $3, $4, $3, $5, $6, $7, true)
    on conflict (codename, name, version, arch) do update set is_listed = true, published_at = excluded.published_at
    where not remote_version.is_listed`,
    [codename, name, seen.digest, seen.arch, seen.publishedAt ?? null, seen.now, JSON.stringify(seen.facts)],
  )
}

/** Keeps why clients do not get a manifest for its age, or that they do. */
export async function saveYouth(
  db: Queryable,
  { codename, name }: Repository,
  digest: string,
  young: { readonly said: string; readonly ripe_at: Date | null } | undefined,
): Promise<void> {
  await db.query(
    `update remote_version set hidden = $4, said = $5, ripe_at = $6 where codename = $1 and name = $2 and version = $3
      and (hidden, said, ripe_at) is distinct from ($4, $5, $6::timestamptz)`,
    [codename, name, digest, young === undefined ? null : 'young', young?.said ?? null, young?.ripe_at ?? null],
  )
}
