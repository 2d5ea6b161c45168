import type { FormatId } from '../../core/identity.ts'
import type { State } from '../../core/manifest.ts'
import type { Reach } from '../../core/relation.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { Format } from '../../formats/format.ts'
import { params, seenBy } from './sql.ts'

/** A package with a file that something needs by its path. */
export interface FileProvider {
  /** As the need names it. */
  readonly provides: string
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly state: State
}

export interface FileNeeds {
  readonly format: FormatId
  readonly fileOf: Format['fileOf'] | undefined
  readonly codename: string
  readonly names: readonly string[]
}

/**
 * Packages of one distribution with one of the files that these needs name, newest first. Reads every file list of the
 * distribution; reads nothing when no need is a file, which is the usual case.
 */
export async function listFileProviders(
  db: Queryable,
  viewer: Viewer,
  { format, fileOf, codename, names }: FileNeeds,
): Promise<FileProvider[]> {
  const wanted = names.flatMap(name => {
    const path = fileOf?.(name)
    return path === undefined ? [] : [{ name, path }]
  })
  if (wanted.length === 0) return []
  const { values, add } = params(
    wanted.map(({ name }) => name),
    wanted.map(({ path }) => path),
    codename,
    format,
  )
  return db.query<FileProvider>(
    `
    select need.name as provides, p.name, p.version, p.arch, p.state
    from unnest($1::text[], $2::text[]) as need (name, path)
    join package p on p.codename = $3 and p.format = $4 and strpos(E'\\n' || p.paths || E'\\n', E'\\n' || need.path || E'\\n') > 0
    where ${seenBy(viewer, add, 'p.codename')}
    order by p.sort_key desc, p.id`,
    values,
  )
}

/** One name that a package offers; `provided_version` null for an unversioned virtual name. */
export interface Provider {
  readonly provides: string
  readonly provided_version: string | null
  /** Of the package that offers it. */
  readonly provided_arch: string
  readonly reach: Reach | undefined
  readonly name: string
  readonly version: string
  readonly state: State
}

/** The names that are needed, and the distribution where they are looked up. */
export interface NameNeeds {
  readonly format: Pick<Format, 'id' | 'multiArch'>
  readonly codename: string
  readonly names: readonly string[]
}

/** Facts are read only where the format says something of architectures by them: those of some are long. */
const FACTS = 'case when $4::boolean then p.facts end as facts'
const withReach =
  ({ multiArch }: NameNeeds['format']) =>
  <Row extends { readonly facts: unknown }>({
    facts,
    ...row
  }: Row): Omit<Row, 'facts'> & { reach: Reach | undefined } => ({
    ...row,
    reach: facts === null ? undefined : multiArch?.reachOf(facts),
  })

/** Everything in one distribution that offers one of these names; the newest first. */
export async function listProviders(
  db: Queryable,
  viewer: Viewer,
  { format, codename, names }: NameNeeds,
): Promise<Provider[]> {
  const { values, add } = params(names, codename, format.id, format.multiArch !== undefined)
  const rows = await db.query<Omit<Provider, 'reach'> & { readonly facts: unknown }>(
    `
    select o.provides, o.version as provided_version, p.arch as provided_arch, p.name, p.version, p.state, ${FACTS}
    from package_offer o join package p on p.id = o.package_id
    where o.provides = any($1::text[]) and p.codename = $2 and p.format = $3 and ${seenBy(viewer, add, 'p.codename')}
    order by p.sort_key desc, p.id`,
    values,
  )
  return rows.map(withReach(format))
}

/** One name that served packages offer, for one architecture; `version` null for an unversioned virtual name. */
export interface ServedProvide {
  readonly provides: string
  readonly version: string | null
  readonly arch: string
  readonly reach: Reach | undefined
}

/** What published packages of one distribution offer under these names. One index scan a name. */
export async function listServedProvides(
  db: Queryable,
  viewer: Viewer,
  { format, codename, names }: NameNeeds,
): Promise<ServedProvide[]> {
  const { values, add } = params(names, codename, format.id, format.multiArch !== undefined)
  // `offset 0`: by name, then by id. In new tables, of which PostgreSQL has no statistics yet, it would otherwise walk
  // through all that is served
  const rows = await db.repeat<Omit<ServedProvide, 'reach'> & { readonly facts: unknown }>(
    `
    select distinct o.provides, o.version, p.arch, ${FACTS}
    from unnest($1::text[]) as wanted
      cross join lateral (select * from package_offer where provides = wanted offset 0) o
      cross join lateral (select * from package where id = o.package_id offset 0) p
    where p.codename = $2 and p.format = $3 and p.state = 'published' and ${seenBy(viewer, add, 'p.codename')}`,
    values,
  )
  return rows.map(withReach(format))
}
