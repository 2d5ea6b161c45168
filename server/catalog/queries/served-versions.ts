import type { FormatId } from '../../core/identity.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { params, seenBy } from './sql.ts'

/** The versions of these names that one repository serves, each once, in no order. */
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
    select distinct name, version from package
    where name = any($1::text[]) and codename = $2 and format = $3 and state = 'published' and ${seenBy(viewer, add, 'codename')}`,
    values,
  )
  return new Map(
    [...Map.groupBy(rows, ({ name }) => name)].map(([name, list]) => [name, list.map(({ version }) => version)]),
  )
}
