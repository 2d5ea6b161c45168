import type { PackageRef } from '../../core/identity.ts'
import type { Queryable } from '../../db/db.ts'

/** What is known here of what a version says of its licence. */
export interface DeclaredRow {
  /** As its package here says it, with the facts of its format; both null where only a document of it is here. */
  readonly license: string | null
  readonly facts: unknown
  /** What its upstream says of it, where its registry reads through to one and its package never came. */
  readonly document: string | null
}

/**
 * Of one version in one registry, in whatever state it is: it is read and not served. Undefined where neither its
 * package nor a document of it is here.
 */
export async function findDeclared(
  db: Queryable,
  { format, codename, name, version, arch }: PackageRef,
): Promise<DeclaredRow | undefined> {
  const [row] = await db.query<DeclaredRow>(
    `
    select p.manifest->'about'->>'license' as license, p.facts, null as document from package p
    where p.format = $1 and p.codename = $2 and p.name = $3 and p.version = $4 and p.arch = $5
    union all
    select null, null, r.full_document from remote_version r
    where r.codename = $2 and r.name = $3 and r.version = $4 and r.arch = $5 and r.full_document is not null
    limit 1`,
    [format, codename, name, version, arch],
  )
  return row
}
