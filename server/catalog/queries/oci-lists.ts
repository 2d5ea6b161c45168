import type { Iso } from '../../core/identity.ts'
import type { State } from '../../core/manifest.ts'
import type { Queryable } from '../../db/db.ts'
import type { Repository } from './oci.ts'

/** A part of a sorted list: what follows `last`, at most `n`. */
export interface Part {
  readonly last: string
  readonly n: number
}

/** Tags of published versions, in the order of their names. */
export async function listTags(
  db: Queryable,
  { codename, name }: Repository,
  { last, n }: Part,
): Promise<readonly string[]> {
  const rows = await db.query<{ tag: string }>(
    `select t.tag from tag t where t.format = 'oci' and t.codename = $1 and t.name = $2 and t.tag > $3
      and exists (select 1 from package p where p.format = 'oci' and p.codename = t.codename and p.name = t.name
        and p.version = t.version and p.state = 'published')
    order by t.tag limit $4`,
    [codename, name, last, n],
  )
  return rows.map(({ tag }) => tag)
}

/** `registry/name` of what is published in these registries, in that order. */
export async function listRepositories(
  db: Queryable,
  codenames: readonly string[],
  { last, n }: Part,
): Promise<readonly string[]> {
  const rows = await db.query<{ path: string }>(
    `select distinct (codename || '/' || name) collate "C" as path from package
    where format = 'oci' and state = 'published' and codename = any($1::text[]) and (codename || '/' || name) collate "C" > $2
    order by path limit $3`,
    [codenames, last, n],
  )
  return rows.map(({ path }) => path)
}

/** Published manifests that are about a digest, in the order of their own. */
export async function listReferrers(
  db: Queryable,
  { codename, name }: Repository,
  { subject, last, n }: Part & { readonly subject: string },
): Promise<readonly { readonly version: string; readonly size: number; readonly facts: unknown }[]> {
  return db.query(
    `select version, size, facts from package where format = 'oci' and codename = $1 and name = $2
      and facts->>'subject' = $3 and state = 'published' and version > $4 order by version limit $5`,
    [codename, name, subject, last, n],
  )
}

/** A tag that moves when its version is published. */
export interface WaitingTag {
  readonly tag: string
  readonly version: string
  readonly by: string
}

/** Notes a tag that waits, in the place of one before it. */
export async function putWaitingTag(
  db: Queryable,
  { codename, name }: Repository,
  { tag, version, by, at }: WaitingTag & { readonly at: Iso },
): Promise<void> {
  await db.query(
    `insert into registry_waiting_tag (codename, name, tag, version, set_by, set_at) values ($1, $2, $3, $4, $5, $6)
    on conflict (codename, name, tag) do update set version = $4, set_by = $5, set_at = $6`,
    [codename, name, tag, version, by, at],
  )
}

/** @param version  absent: whatever it waits for */
export async function removeWaitingTag(
  db: Queryable,
  { codename, name }: Repository,
  { tag, version }: { readonly tag: string; readonly version?: string },
): Promise<void> {
  await db.query(
    `delete from registry_waiting_tag where codename = $1 and name = $2 and tag = $3 and ($4::text is null or version = $4)`,
    [codename, name, tag, version ?? null],
  )
}

/**
 * Takes a tag from those that wait, unless it waits for another version by now or was set after that push.
 * @returns whether it was taken
 */
export async function takeWaitingTag(
  tx: Queryable,
  { codename, name }: Repository,
  { tag, version }: Pick<WaitingTag, 'tag' | 'version'>,
): Promise<boolean> {
  const rows = await tx.query(
    `delete from registry_waiting_tag w where w.codename = $1 and w.name = $2 and w.tag = $3 and w.version = $4
      and not exists (select 1 from tag t where t.format = 'oci' and t.codename = w.codename and t.name = w.name
        and t.tag = w.tag and t.set_at > w.set_at)
    returning w.tag`,
    [codename, name, tag, version],
  )
  return rows.length > 0
}

/**
 * The tags that wait in a repository, with the state of their version; null: it was deleted. `overruled`: the tag was
 * set after that push.
 */
export function listWaitingTags(
  db: Queryable,
  { codename, name }: Repository,
): Promise<(WaitingTag & { readonly state: State | null; readonly overruled: boolean })[]> {
  return db.query(
    `select w.tag, w.version, w.set_by as by, (select p.state from package p where p.format = 'oci'
      and p.codename = w.codename and p.name = w.name and p.version = w.version limit 1) as state,
      coalesce(t.set_at > w.set_at, false) as overruled
    from registry_waiting_tag w
    left join tag t on t.format = 'oci' and t.codename = w.codename and t.name = w.name and t.tag = w.tag
    where w.codename = $1 and w.name = $2 order by w.tag`,
    [codename, name],
  )
}
