import type { PackageRef } from '../../core/identity.ts'
import type { State } from '../../core/manifest.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { NameFilter } from './names.ts'
import { params, seenBy } from './sql.ts'

/** A package that a name and a version may mean. */
export type Candidate = PackageRef & {
  readonly id: number
  readonly state: State
  readonly uploaded_by: string
}

/** A version, and where it lies when that is not clear. */
export interface VersionPlace {
  readonly name: string
  readonly version: string
  readonly distribution?: string | undefined
  readonly arch?: string | undefined
}

/** Every matching package, published ones first. @param most  how many; undefined means all */
export function listCandidates(
  db: Queryable,
  viewer: Viewer,
  { name, version, distribution, arch, most }: VersionPlace & { readonly most?: number | undefined },
): Promise<Candidate[]> {
  const { values, add } = params(name, version, distribution ?? null, arch ?? null, most ?? null)
  return db.query<Candidate>(
    `
    select id, format, codename, name, version, arch, state, uploaded_by from package
    where name = $1 and version = $2 and ($3::text is null or codename = $3) and ($4::text is null or arch = $4)
      and ${seenBy(viewer, add, 'codename')}
    order by (state = 'published') desc, codename, arch limit $5`,
    values,
  )
}

/** Whether there is any version of this name. */
export async function isKnown(db: Queryable, viewer: Viewer, name: string): Promise<boolean> {
  const { values, add } = params(name)
  const row = await db.first(
    `select 1 from package where name = $1 and ${seenBy(viewer, add, 'codename')} limit 1`,
    values,
  )
  return row !== undefined
}

/** The versions that a deletion selects, oldest first: if it is interrupted, the newest remain. */
export function listNamed(
  db: Queryable,
  viewer: Viewer,
  { name, version, distribution, arch }: NameFilter,
): Promise<PackageRef[]> {
  const { values, add } = params(name, version ?? null, distribution ?? null, arch ?? null)
  return db.query<PackageRef>(
    `
    select format, codename, name, version, arch from package
    where name = $1 and ($2::text is null or version = $2) and ($3::text is null or codename = $3) and ($4::text is null or arch = $4)
      and ${seenBy(viewer, add, 'codename')}
    order by sort_key, codename, arch`,
    values,
  )
}
