import type { Codename } from '../../core/identity.ts'
import type { State } from '../../core/manifest.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { params, seenBy } from './sql.ts'

/** A name in one Maven registry: `org.example:lib`. */
export interface MavenName {
  readonly codename: Codename
  readonly name: string
}

/** One version, without what it holds. */
export interface VersionRow {
  readonly version: string
  readonly state: State
  readonly changed_at: Date
}

/** Every version of a name in any state, oldest first in Maven's order. */
export function listVersionRows(db: Queryable, viewer: Viewer, { codename, name }: MavenName): Promise<VersionRow[]> {
  const { values, add } = params(codename, name)
  return db.query<VersionRow>(
    `select version, state, changed_at from package
    where format = 'maven' and codename = $1 and name = $2 and ${seenBy(viewer, add, 'codename')}
    order by sort_key, version collate "C"`,
    values,
  )
}

/** A file of a build. */
export interface BuildFileRow extends VersionRow {
  readonly path: string
}

/** The files of published versions of a name that begin so, oldest first. @param begin  `1.0-` */
export function listBuildFiles(
  db: Queryable,
  viewer: Viewer,
  { codename, name, begin }: MavenName & { readonly begin: string },
): Promise<BuildFileRow[]> {
  const { values, add } = params(codename, name, begin)
  return db.query<BuildFileRow>(
    `select p.version, p.state, p.changed_at, f.path from package p join package_file f on f.package_id = p.id
    where p.format = 'maven' and p.codename = $1 and p.name = $2 and starts_with(p.version, $3)
      and p.state = 'published' and ${seenBy(viewer, add, 'p.codename')}
    order by p.sort_key, f.n`,
    values,
  )
}

/** A plugin of a group, as its newest published version says it. */
export interface PluginRow {
  readonly name: string
  readonly summary: string
  readonly prefix: string
}

export function listPlugins(
  db: Queryable,
  viewer: Viewer,
  { codename, group }: Pick<MavenName, 'codename'> & { readonly group: string },
): Promise<PluginRow[]> {
  const { values, add } = params(codename, `${group}:`)
  return db.query<PluginRow>(
    `select distinct on (name) name, summary, facts->>'prefix' as prefix from package
    where format = 'maven' and codename = $1 and state = 'published' and starts_with(name, $2)
      and facts->>'packaging' = 'maven-plugin' and facts->>'prefix' is not null
      and ${seenBy(viewer, add, 'codename')}
    order by name, sort_key desc`,
    values,
  )
}
