import type { FormatId, PackageName, PackageRef } from '../../core/identity.ts'
import type { Queryable } from '../../db/db.ts'

/** One version of a repository, whatever its architecture. */
export type About = PackageName & { readonly version: string }

/**
 * Facts of what is about a version: by its own word, or by one of these tags, also where the tag waits. Without what is
 * in quarantine or rejected. Those with a tag come first.
 */
export async function listFactsAbout(
  db: Queryable,
  { format, codename, name, version }: About,
  { tags, most }: { readonly tags: readonly string[]; readonly most: number },
): Promise<readonly unknown[]> {
  const rows = await db.query<{ facts: unknown }>(
    `with tagged as (
      select version from tag where format = $1 and codename = $2 and name = $3 and tag = any($5::text[])
      union select version from registry_waiting_tag where codename = $2 and name = $3 and tag = any($5::text[]))
    select p.facts from package p
      where p.format = $1 and p.codename = $2 and p.name = $3 and p.state in ('published', 'pending_review')
        and (p.facts->>'subject' = $4 or p.version in (select version from tagged))
      order by p.version in (select version from tagged) desc, p.version limit $6`,
    [format, codename, name, version, [...tags], most],
  )
  return rows.map(({ facts }) => facts)
}

/** The versions of the same name that name this one as a part of theirs, without rejected ones; 20 at most. */
export async function listWholesOf(
  db: Queryable,
  { format, codename, name, version }: About,
): Promise<readonly string[]> {
  const rows = await db.query<{ version: string }>(
    `select version from package where format = $1 and codename = $2 and name = $3 and state <> 'rejected'
      and facts->'manifests' @> $4::jsonb order by version limit 20`,
    [format, codename, name, JSON.stringify([{ digest: version }])],
  )
  return rows.map(one => one.version)
}

/** The versions among these that are here, in any state. */
export function listRefsOf(
  db: Queryable,
  { format, codename, name }: PackageName,
  versions: readonly string[],
): Promise<PackageRef[]> {
  return db.query<PackageRef>(
    `select format, name, version, arch, codename from package
      where format = $1 and codename = $2 and name = $3 and version = any($4::text[]) order by version, arch`,
    [format, codename, name, [...versions]],
  )
}

/** The digests that a version names as its parts, as it writes them. */
export async function findPartsOf(
  db: Queryable,
  { format, codename, name, version }: About,
): Promise<readonly string[]> {
  const rows = await db.query<{ digest: string }>(
    `select distinct m->>'digest' as digest from package p cross join jsonb_array_elements(p.facts->'manifests') m
      where p.format = $1 and p.codename = $2 and p.name = $3 and p.version = $4 order by digest`,
    [format, codename, name, version],
  )
  return rows.map(({ digest }) => digest)
}

/** What waits in a registry or is in quarantine there, in the order in which it came. */
export function listHeldIn(
  db: Queryable,
  { format, codename }: { readonly format: FormatId; readonly codename: string },
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<(PackageRef & { readonly id: number; readonly has_parts: boolean })[]> {
  return db.query(
    `select id, format, name, version, arch, codename,
      coalesce(jsonb_array_length(facts->'manifests'), 0) > 0 as has_parts from package
      where format = $1 and codename = $2 and state in ('pending_review', 'quarantined') and id > $3
      order by id limit $4`,
    [format, codename, after, limit],
  )
}
