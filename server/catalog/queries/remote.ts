import type { Codename, FormatId } from '../../core/identity.ts'
import type { State } from '../../core/manifest.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable, Tx } from '../../db/db.ts'
import type { Unanswered } from './remote-unanswered.ts'
import type { Hidden } from './remote-versions.ts'
import { params, seenBy } from './sql.ts'

/** A version that clients of a proxy do not get. */
export interface HiddenRow {
  readonly name: string
  readonly version: string
  readonly arch: string
  /** `here`: its package is here and waits or was refused. */
  readonly because: Hidden | 'here'
  readonly said: string | null
  readonly published_at: Date | null
  /** When it was here for the first time, be it only in an index. */
  readonly seen_at: Date
  readonly ripe_at: Date | null
  /** Of its package here; null where its bytes never came. */
  readonly state: State | null
  /** One that holds, and does not let this version through. */
  readonly waiver: { readonly reason: string; readonly given_by: string; readonly expires_at: string } | null
  readonly total: number
}

/** What is looked for among the hidden versions. */
export interface HiddenFilter {
  readonly codename: Codename
  readonly format: FormatId
  readonly now: Date
  /** Only names with this in them, whatever the case. */
  readonly q?: string | undefined
  readonly because?: string | undefined
}

/**
 * As `visibleOf` in registries/remote: what a person approved is served, but for malicious code; what a waiver lets
 * through is judged so when it is asked for. Two parts, each with an index of its own: few versions are hidden.
 * @param registries  rows `(codename, format)` @param now  a place of the statement
 */
const hiddenOf = (registries: string, now: string): string => `
  select r.codename, r.name, r.version, r.arch, r.hidden as because, r.said, r.published_at, r.seen_at, r.ripe_at, r.sort_key,
    p.state
  from (${registries}) of join remote_version r on r.codename = of.codename and r.hidden is not null
  left join package p on p.format = of.format and p.codename = r.codename and p.name = r.name and p.version = r.version
    and p.arch = r.arch
  left join registry_waiver w on w.codename = r.codename and w.name = r.name and w.version = r.version and w.expires_at > ${now}
  where r.hidden = 'malicious' and (r.is_listed or p.state is not null)
    or p.state is null and r.is_listed and r.hidden <> 'malicious'
      and (r.hidden <> 'young' or r.ripe_at is null or r.ripe_at > ${now})
      and (w.version is null or r.hidden = 'unjudged')
  union all
  select p.codename, p.name, p.version, p.arch, 'here', null, r.published_at, coalesce(r.seen_at, p.created_at), null, p.sort_key,
    p.state
  from (${registries}) of join package p on p.format = of.format and p.codename = of.codename and p.state <> 'published'
  left join remote_version r on r.codename = p.codename and r.name = p.name and r.version = p.version and r.arch = p.arch
  where r.hidden is distinct from 'malicious'`

/** Versions that clients do not get, the newest first. */
export function listHidden(
  db: Queryable,
  viewer: Viewer,
  { codename, format, now, q, because }: HiddenFilter,
  { skip, most }: { readonly skip: number; readonly most: number },
): Promise<HiddenRow[]> {
  const { values, add } = params(codename, format, now, q ?? null, because ?? null, most, skip)
  return db.query<HiddenRow>(
    `
    select found.*, (select jsonb_build_object('reason', w.reason, 'given_by', w.given_by, 'expires_at', w.expires_at)
        from registry_waiver w where w.codename = $1 and w.name = found.name and w.version = found.version
          and w.expires_at > $3) as waiver
    from (
      select h.*, count(*) over ()::int as total
      from (${hiddenOf('select $1::text as codename, $2::text as format', '$3')}) h
      where ($4::text is null or strpos(lower(h.name), lower($4)) > 0) and ($5::text is null or h.because = $5)
        and ${seenBy(viewer, add, 'h.codename')}
      order by coalesce(h.published_at, h.seen_at) desc, h.name, h.sort_key desc, h.version collate "C" desc, h.arch
      limit $6 offset $7) found
    order by coalesce(found.published_at, found.seen_at) desc, found.name, found.sort_key desc,
      found.version collate "C" desc, found.arch`,
    values,
  )
}

/** How many versions each of these proxies hides; those that hide none are left out. */
export async function countHidden(
  db: Queryable,
  viewer: Viewer,
  proxies: readonly { readonly codename: Codename; readonly format: FormatId }[],
  now: Date,
): Promise<ReadonlyMap<string, number>> {
  if (proxies.length === 0) return new Map()
  const { values, add } = params(
    proxies.map(({ codename }) => codename),
    proxies.map(({ format }) => format),
    now,
  )
  const registries = 'select * from unnest($1::text[], $2::text[]) as given (codename, format)'
  const rows = await db.query<{ codename: string; n: number }>(
    `select h.codename, count(*)::int as n from (${hiddenOf(registries, '$3')}) h
    where ${seenBy(viewer, add, 'h.codename')} group by h.codename`,
    values,
  )
  return new Map(rows.map(({ codename, n }) => [codename, n]))
}

/** A name that was asked for through a proxy. */
export interface AskedName {
  readonly name: string
  /** `answered`, or why the upstream said nothing when it was asked last. */
  readonly outcome: 'answered' | Unanswered
  /** Null where it never said anything. */
  readonly checked_at: Date | null
  readonly tried_at: Date
  readonly said: string | null
  readonly versions: number
  readonly total: number
}

/** What is looked for among the names that were asked for. */
export interface AskedFilter {
  readonly codename: Codename
  /** Only names with this in them, whatever the case. */
  readonly q?: string | undefined
  /** Names that belong to the house and that the caller may not read of. */
  readonly unseen: readonly string[]
}

/** @param codename, unseen  places of the statement */
const askedOf = (codename: string, unseen: string): string => `
  select n.codename, n.name, case when n.said is not null then 'failed' when n.is_missing then 'missing' else 'answered' end as outcome,
    n.checked_at, n.tried_at, n.said
  from remote_name n where n.codename = ${codename}
  union all
  select u.codename, u.name, u.outcome, null, u.tried_at, u.said from remote_unanswered u
  where u.codename = ${codename} and not (u.outcome = 'reserved' and u.name = any(${unseen}::text[]))
    and not exists (select from remote_name n where n.codename = u.codename and n.name = u.name)`

/** All of them, without what is known of them. */
export async function listAskedNamesOnly(
  db: Queryable,
  viewer: Viewer,
  { codename, q, unseen }: AskedFilter,
): Promise<readonly string[]> {
  const { values, add } = params(codename, q ?? null, unseen)
  const rows = await db.query<{ name: string }>(
    `select n.name from (${askedOf('$1', '$3')}) n
    where ($2::text is null or strpos(lower(n.name), lower($2)) > 0) and ${seenBy(viewer, add, 'n.codename')}`,
    values,
  )
  return rows.map(({ name }) => name)
}

/**
 * The names that somebody asked for, those that the upstream was asked about last first.
 * @param filter.names  only these
 */
export function listAskedNames(
  db: Queryable,
  viewer: Viewer,
  { codename, q, unseen, names }: AskedFilter & { readonly names?: readonly string[] | undefined },
  { skip, most }: { readonly skip: number; readonly most: number },
): Promise<AskedName[]> {
  const { values, add } = params(codename, q ?? null, most, skip, names ?? null, unseen)
  return db.query<AskedName>(
    `
    select n.name, n.outcome, n.checked_at, n.tried_at, n.said, count(*) over ()::int as total,
      (select count(*)::int from remote_version r where r.codename = n.codename and r.name = n.name and r.is_listed) as versions
    from (${askedOf('$1', '$6')}) n
    where ($2::text is null or strpos(lower(n.name), lower($2)) > 0)
      and ($5::text[] is null or n.name = any($5)) and ${seenBy(viewer, add, 'n.codename')}
    order by n.tried_at desc, n.name limit $3 offset $4`,
    values,
  )
}

/**
 * What an upstream said counts no more: a proxy reads elsewhere now. Versions that are here stay as they came, and when
 * a version was first seen stays known.
 */
export async function forgetUpstream(tx: Tx, codename: Codename): Promise<void> {
  for (const table of ['remote_name', 'remote_unanswered', 'oci_remote_list'])
    await tx.query(`delete from ${table} where codename = $1`, [codename])
  // what clients got by a tag is known on; what it names has to be asked before it counts
  await tx.query(
    `update oci_remote_tag set digest = null, checked_at = 'epoch', tried_at = 'epoch', said = null where codename = $1`,
    [codename],
  )
  await tx.query(
    `update remote_version r set is_listed = false, published_at = null, full_document = null, short_document = null
    where codename = $1 and not exists (select from package p where p.codename = r.codename and p.name = r.name
      and p.version = r.version and p.arch = r.arch)`,
    [codename],
  )
  await tx.query('update remote_version set is_listed = false where codename = $1 and is_listed', [codename])
}

/** What is known of a version of an upstream; undefined: nothing yet. */
export function findKnownVersion(
  db: Queryable,
  { codename, name, version }: { readonly codename: Codename; readonly name: string; readonly version: string },
): Promise<{ readonly is_malicious: boolean } | undefined> {
  return db.first(
    `select bool_or(hidden is not distinct from 'malicious') as is_malicious from remote_version
    where codename = $1 and name = $2 and version = $3 group by version`,
    [codename, name, version],
  )
}

/** How an upstream writes the version with this key. */
export async function findSpelling(
  db: Queryable,
  { codename, name, key }: { readonly codename: Codename; readonly name: string; readonly key: string },
): Promise<string | undefined> {
  const row = await db.first<{ version: string }>(
    'select version from remote_version where codename = $1 and name = $2 and sort_key = $3 order by version limit 1',
    [codename, name, key],
  )
  return row?.version
}
