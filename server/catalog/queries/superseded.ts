import type { FormatId } from '../../core/identity.ts'
import type { Alternatives } from '../../core/relation.ts'
import type { Queryable, Tx } from '../../db/db.ts'
import type { VersionOf } from './retention.ts'

/** An imported version beside which a newer one is published. */
export interface Superseded {
  readonly id: number
  readonly format: FormatId
  readonly codename: string
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly size: number
  /** The newer version that was there first. */
  readonly newer: string
  readonly pinned: boolean
  readonly tagged: boolean
  readonly provides: readonly { readonly name: string; readonly version?: string }[]
}

// since when the newer version `o` is published: from its arrival, or from the decision that let it out
const SINCE = `greatest(o.created_at, (o.manifest->'decision'->>'at')::timestamptz)`
const NEWER = `o.codename = p.codename and o.format = p.format and o.name = p.name and o.arch = p.arch
  and o.state = 'published' and (o.sort_key, o.version collate "C") > (p.sort_key, p.version collate "C")`

/**
 * Published versions that came from other repositories and have had a newer published version of their name and
 * architecture beside them since before `before`. Those of a distribution that is rolled back are left out: clients
 * are held at an earlier state of it.
 */
export function listSuperseded(db: Queryable, before: Date): Promise<Superseded[]> {
  return db.query<Superseded>(
    `
    select p.id, p.format, p.codename, p.name, p.version, p.arch, p.size, n.version as newer,
      exists (select 1 from pin where pin.codename = p.codename and pin.name = p.name and pin.version = p.version) as pinned,
      exists (select 1 from tag t where t.codename = p.codename and t.format = p.format and t.name = p.name
        and t.version = p.version) as tagged, p.manifest->'about'->'provides' as provides
    from package p cross join lateral (
      select o.version, ${SINCE} as since from package o where ${NEWER} order by 2, o.id limit 1) n
    where p.state = 'published' and p.origin like 'source:%' and n.since < $1
      and not exists (select 1 from distribution d where d.codename = p.codename and d.frozen_to is not null)
    order by p.codename, p.name, p.arch, p.sort_key`,
    [before],
  )
}

/** Whether it must stay after all: pinned or tagged since, or nothing newer is published any more. */
export async function isNeededAgain(
  tx: Tx,
  { codename, name, version, arch }: VersionOf & { readonly arch: string },
): Promise<boolean> {
  const goes = await tx.first(
    `
    select 1 as one from package p where codename = $1 and name = $2 and version = $3 and arch = $4 and state = 'published'
      and not exists (select 1 from pin where pin.codename = $1 and pin.name = $2 and pin.version = $3)
      and not exists (select 1 from tag t where t.codename = $1 and t.format = p.format and t.name = $2 and t.version = $3)
      and exists (select 1 from package o where ${NEWER})
      and not exists (select 1 from distribution d where d.codename = $1 and d.frozen_to is not null)`,
    [codename, name, version, arch],
  )
  return goes === undefined
}

/** A published package that asks for certain versions of others. */
export interface Dependent {
  readonly id: number
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly depends: readonly Alternatives[]
}

/** Published packages of a distribution with a need that names a version of one of these. */
export function listVersionedNeeds(
  db: Queryable,
  { codename, names }: { readonly codename: string; readonly names: readonly string[] },
): Promise<Dependent[]> {
  return db.query<Dependent>(
    `
    select p.id, p.name, p.version, p.arch, p.manifest->'about'->'depends' as depends from package p
    where p.codename = $1 and p.state = 'published' and exists (
      select 1 from jsonb_array_elements(p.manifest->'about'->'depends') g, jsonb_array_elements(g) a
      where a->>'op' is not null and a->>'name' = any($2))
    order by p.id`,
    [codename, names],
  )
}
