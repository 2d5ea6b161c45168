import type { FormatId, PackageName } from '../../core/identity.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { params, seenBy } from './sql.ts'

/**
 * The versions of these names that one repository serves, each once, in no order. A registry that reads through serves
 * also what its index lists and nobody has asked for yet.
 */
export async function listServedVersions(
  db: Queryable,
  viewer: Viewer,
  {
    format,
    codename,
    names,
  }: { readonly format: FormatId; readonly codename: string; readonly names: readonly string[] },
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { values, add } = params(names, codename, format)
  const rows = await db.query<{ readonly name: string; readonly version: string }>(
    `
    select name, version from package
      where name = any($1::text[]) and codename = $2 and format = $3 and state = 'published' and ${seenBy(viewer, add, 'codename')}
    union
    select r.name, r.version from remote_version r
      where r.name = any($1::text[]) and r.codename = $2 and r.is_listed and ${seenBy(viewer, add, 'r.codename')}
        and (r.hidden is null or (r.hidden = 'young' and r.ripe_at <= now()))
        and not exists (select from package p where p.format = $3 and p.codename = r.codename and p.name = r.name
          and p.version = r.version and p.arch = r.arch and p.state <> 'published')`,
    values,
  )
  return new Map(
    [...Map.groupBy(rows, ({ name }) => name)].map(([name, list]) => [name, list.map(({ version }) => version)]),
  )
}

/** Which of these versions of a name are here and served. */
export async function listPublished(
  db: Queryable,
  viewer: Viewer,
  { format, codename, name }: PackageName,
  versions: readonly string[],
): Promise<ReadonlySet<string>> {
  const { values, add } = params(format, codename, name, versions)
  const rows = await db.query<{ readonly version: string }>(
    `select version from package where format = $1 and codename = $2 and name = $3 and version = any($4::text[])
      and state = 'published' and ${seenBy(viewer, add, 'codename')}`,
    values,
  )
  return new Set(rows.map(({ version }) => version))
}
