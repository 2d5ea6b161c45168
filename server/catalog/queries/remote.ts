import type { Codename, FormatId } from '../../core/identity.ts'
import type { State } from '../../core/manifest.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable, Tx } from '../../db/db.ts'
import type { Hidden } from './remote-versions.ts'
import { params, seenBy } from './sql.ts'

/** A version that clients of a proxy do not get. */
export interface HiddenRow {
  readonly name: string
  readonly version: string
  readonly arch: string
  /** `here`: its package is here and waits or was refused. */
  readonly because: Exclude<Hidden, 'unjudged'> | 'here'
  readonly said: string | null
  readonly published_at: Date | null
  readonly seen_at: Date
  readonly ripe_at: Date | null
  /** Of its package here; null where its bytes never came. */
  readonly state: State | null
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
 * As `visibleOf` in registries/remote: what a person approved is served, but for malicious code. What is being judged
 * is not told of: a moment later it is this or that.
 */
const HIDDEN = `(r.hidden = 'malicious' or (p.state is not null and p.state <> 'published')
  or (p.state is null and r.hidden <> 'unjudged' and (r.hidden <> 'young' or r.ripe_at is null or r.ripe_at > $3)))`

/** Versions that clients do not get, those that were seen last first. */
export function listHidden(
  db: Queryable,
  viewer: Viewer,
  { codename, format, now, q, because }: HiddenFilter,
  { skip, most }: { readonly skip: number; readonly most: number },
): Promise<HiddenRow[]> {
  const { values, add } = params(codename, format, now, q ?? null, because ?? null, most, skip)
  return db.query<HiddenRow>(
    `
    select *, count(*) over ()::int as total from (
      select r.name, r.version, r.arch, r.said, r.published_at, r.seen_at, r.ripe_at, p.state,
        case when r.hidden = 'malicious' or p.state is null then r.hidden else 'here' end as because
      from remote_version r left join package p
        on p.format = $2 and p.codename = r.codename and p.name = r.name and p.version = r.version and p.arch = r.arch
      where r.codename = $1 and (r.is_listed or p.state is not null) and ${HIDDEN}
        and ($4::text is null or strpos(lower(r.name), lower($4)) > 0) and ${seenBy(viewer, add, 'r.codename')}) found
    where $5::text is null or because = $5
    order by seen_at desc, name, version collate "C", arch limit $6 offset $7`,
    values,
  )
}

/** How many versions each of these proxies hides. */
export async function countHidden(
  db: Queryable,
  viewer: Viewer,
  codenames: readonly string[],
  now: Date,
): Promise<ReadonlyMap<string, number>> {
  const { values, add } = params([...codenames], null, now)
  const rows = await db.query<{ codename: string; n: number }>(
    `
    select r.codename, count(*)::int as n from remote_version r left join package p
      on p.codename = r.codename and p.name = r.name and p.version = r.version and p.arch = r.arch and $2::text is null
    where r.codename = any($1) and (r.is_listed or p.state is not null) and ${HIDDEN} and ${seenBy(viewer, add, 'r.codename')}
    group by r.codename`,
    values,
  )
  return new Map(rows.map(({ codename, n }) => [codename, n]))
}

/** A name that was asked for through a proxy. */
export interface AskedName {
  readonly name: string
  readonly is_missing: boolean
  readonly checked_at: Date
  readonly tried_at: Date
  readonly said: string | null
  readonly versions: number
  readonly total: number
}

/** The names that somebody asked for, those that the upstream was asked about last first. */
export function listAskedNames(
  db: Queryable,
  viewer: Viewer,
  { codename, q }: { readonly codename: Codename; readonly q?: string | undefined },
  { skip, most }: { readonly skip: number; readonly most: number },
): Promise<AskedName[]> {
  const { values, add } = params(codename, q ?? null, most, skip)
  return db.query<AskedName>(
    `
    select n.name, n.is_missing, n.checked_at, n.tried_at, n.said, count(*) over ()::int as total,
      (select count(*)::int from remote_version r where r.codename = n.codename and r.name = n.name and r.is_listed) as versions
    from remote_name n
    where n.codename = $1 and ($2::text is null or strpos(lower(n.name), lower($2)) > 0) and ${seenBy(viewer, add, 'n.codename')}
    order by n.tried_at desc, n.name limit $3 offset $4`,
    values,
  )
}

/**
 * What an upstream said counts no more: a proxy reads elsewhere now. Versions that are here stay as they came, and when
 * a version was first seen stays known.
 */
export async function forgetUpstream(tx: Tx, codename: Codename): Promise<void> {
  for (const table of ['remote_name', 'oci_remote_list'])
    await tx.query(`delete from ${table} where codename = $1`, [codename])
  // what clients got by a tag is known on; what it names has to be asked before it counts
  await tx.query(
    `update oci_remote_tag set digest = null, checked_at = 'epoch', tried_at = 'epoch', said = null where codename = $1`,
    [codename],
  )
  await tx.query(
    `update remote_version r set is_listed = false, full_document = null, short_document = null
    where codename = $1 and not exists (select from package p where p.codename = r.codename and p.name = r.name
      and p.version = r.version and p.arch = r.arch)`,
    [codename],
  )
  await tx.query('update remote_version set is_listed = false where codename = $1 and is_listed', [codename])
}
