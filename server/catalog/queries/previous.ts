import type { PackageRef } from '../../core/identity.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { getFormat } from '../../formats/index.ts'
import type { IndexedManifest } from './search.ts'
import { params, seenBy } from './sql.ts'

/**
 * The version that clients have before this one: the newest served one below it, of the same distribution and
 * architecture where there is one.
 */
export async function findPrevious(
  db: Queryable,
  viewer: Viewer,
  { format, name, version, arch, codename }: PackageRef,
): Promise<IndexedManifest | undefined> {
  const { values, add } = params(name, format, getFormat(format).versionKey(version), codename, arch)
  const row = await db.first<{ manifest: IndexedManifest }>(
    `
    select p.manifest from package p
    where p.name = $1 and p.format = $2 and p.state = 'published' and p.kind <> 'source' and p.sort_key < $3 collate "C"
      and ${seenBy(viewer, add, 'p.codename')}
    order by (p.codename = $4 and p.arch = $5) desc, (p.codename = $4) desc, (p.arch = $5) desc, p.sort_key desc, p.id limit 1`,
    values,
  )
  return row?.manifest
}
