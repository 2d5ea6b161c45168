import { listNewestServed, type NewestServed } from '../../catalog/queries/newest-served.ts'
import type { Codename, FormatId } from '../../core/identity.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { Format } from '../../formats/format.ts'
import type { Listed } from '../run/plan.ts'

/** A column of published versions, as a row source for `isTheirs`. @param at  where the rows stand, as JSON */
export const servedRows = (at: string): string =>
  `jsonb_to_recordset(${at}::jsonb)
    as here (name text, version text, arch text, sha256 text, size bigint, origin text)`

/**
 * SQL on `servedRows`: whether a version is the distribution's own work, not somebody's build under the same name. It
 * is when it was imported from a source, or when its bytes are what a source lists or an import brought once. What was
 * uploaded or came with a tree or a bundle is looked at by its bytes. APK indexes name no digest of the file: there the
 * size counts. @param sources  ids of the sources of the distribution
 */
export const isTheirs = ({ format, sources }: { format: string; sources: string }): string => `(
  (here.origin like 'source:%' and here.origin <> 'source:adopted' and here.origin not like 'source:bundle-%')
  or exists (select 1 from import_package q
    where q.name = here.name and q.version = here.version and q.arch = here.arch and q.source_id = any(${sources})
      and q.size = here.size and (q.sha256 is null or encode(q.sha256, 'hex') = here.sha256))
  or exists (select 1 from import_item q
    where q.format = ${format} and q.name = here.name and q.version = here.version and q.arch = here.arch
      and q.digests->>'sha256' = here.sha256))`

export interface OwnBuildsOf {
  readonly codename: Codename
  readonly format: FormatId
  readonly sources: readonly number[]
}

/** Which of the packages of a closure would take the place of an own build, by their ids, with the reason. */
export async function barOwnBuilds(
  db: Queryable,
  { codename, format, sources }: OwnBuildsOf,
  packages: readonly Listed[],
  { compareVersions }: Pick<Format, 'compareVersions'>,
): Promise<ReadonlyMap<Listed['id'], string>> {
  const names = packages.map(({ name }) => name)
  const served: readonly NewestServed[] = await listNewestServed(db, ALL_SEEING, { format, codename, names })
  const rows = await db.query<{ name: string; version: string }>(
    `select name, version from ${servedRows('$1')} where not ${isTheirs({ format: '$2', sources: '$3' })}`,
    [JSON.stringify(served), format, sources],
  )
  const own = new Map(rows.map(({ name, version }) => [name, version]))
  return new Map(
    packages.flatMap(({ id, name, version }) => {
      const here = own.get(name)
      return here === undefined || compareVersions(version, here) <= 0
        ? []
        : [[id, `It needs ${name} ${version}, which would take the place of ${here}, an own build.`]]
    }),
  )
}
