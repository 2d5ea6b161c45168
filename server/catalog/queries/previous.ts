import type { PackageRef } from '../../core/identity.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { getFormat } from '../../formats/index.ts'
import type { IndexedManifest } from './search.ts'
import { params, seenBy } from './sql.ts'

/**
 * The versions that clients have before these, in their order: of each the newest served one below it, of the same
 * distribution and architecture where there is one.
 */
export async function listPrevious(
  db: Queryable,
  viewer: Viewer,
  refs: readonly PackageRef[],
): Promise<readonly (IndexedManifest | undefined)[]> {
  const { values, add } = params(
    refs.map(({ name }) => name),
    refs.map(({ format }) => format),
    refs.map(({ format, version }) => getFormat(format).versionKey(version)),
    refs.map(({ codename }) => codename),
    refs.map(({ arch }) => arch),
  )
  // `offset 0`: by name first, whatever the statistics of a new table say
  const rows = await db.repeat<{ readonly n: number; readonly manifest: IndexedManifest }>(
    `
    select wanted.n, before.manifest
    from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) with ordinality
      as wanted (name, format, sort_key, codename, arch, n)
    cross join lateral (
      select p.manifest from (select * from package where package.name = wanted.name and package.format = wanted.format offset 0) p
      where p.state = 'published' and p.kind <> 'source' and p.sort_key < wanted.sort_key collate "C"
        and ${seenBy(viewer, add, 'p.codename')}
      order by (p.codename = wanted.codename and p.arch = wanted.arch) desc, (p.codename = wanted.codename) desc,
        (p.arch = wanted.arch) desc, p.sort_key desc, p.id limit 1) before`,
    values,
  )
  const found = new Map(rows.map(({ n, manifest }) => [Number(n), manifest]))
  return refs.map((_, n) => found.get(n + 1))
}

/** As `listPrevious`, of one. */
export async function findPrevious(
  db: Queryable,
  viewer: Viewer,
  ref: PackageRef,
): Promise<IndexedManifest | undefined> {
  return (await listPrevious(db, viewer, [ref]))[0]
}
