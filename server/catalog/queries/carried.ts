import type { Manifest, State } from '../../core/manifest.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { params, seenBy } from './sql.ts'

/** What is carried to other installations, and what they say is there. */

export interface CarriedRow {
  readonly id: number
  readonly format: string
  readonly codename: string
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly component: string | null
  readonly state: State
  readonly files: Manifest['files']
}

const COLUMNS = `p.id, p.format, p.codename, p.name, p.version, p.arch, p.component, p.state, p.manifest->'files' as files`

/** Everything that is published in these distributions, by codename and name, the newest version of each first. */
export function listCarried(db: Queryable, viewer: Viewer, codenames: readonly string[]): Promise<CarriedRow[]> {
  const { values, add } = params(codenames)
  return db.query<CarriedRow>(
    `select ${COLUMNS} from package p
    where p.state = 'published' and p.codename = any($1::text[]) and ${seenBy(viewer, add, 'p.codename')}
    order by p.codename, p.format, p.name, p.sort_key desc, p.arch, p.id`,
    values,
  )
}

export type StoppedRow = Pick<CarriedRow, 'name' | 'version' | 'state'>

/** What is held, quarantined or rejected in these distributions under these names. */
export function listStopped(
  db: Queryable,
  viewer: Viewer,
  { codenames, names }: { readonly codenames: readonly string[]; readonly names: readonly string[] },
): Promise<StoppedRow[]> {
  const { values, add } = params(codenames, names)
  return db.query<StoppedRow>(
    `select distinct p.name, p.version, p.state from package p
    where p.state <> 'published' and p.codename = any($1::text[]) and p.name = any($2::text[])
      and ${seenBy(viewer, add, 'p.codename')}
    order by p.name, p.version`,
    values,
  )
}

/** Everything that is here in whatever state, versions of a name in their order. */
export function listHere(db: Queryable, viewer: Viewer): Promise<CarriedRow[]> {
  const { values, add } = params()
  return db.query<CarriedRow>(
    `select ${COLUMNS} from package p where ${seenBy(viewer, add, 'p.codename')}
    order by p.codename, p.format, p.name, p.sort_key, p.arch, p.id`,
    values,
  )
}

/** What packages need, by their ids. */
export interface NeedsRow {
  readonly id: number
  readonly depends: Manifest['about']['depends']
  readonly kind: Manifest['kind'] | null
}

export function listNeeds(db: Queryable, viewer: Viewer, ids: readonly number[]): Promise<NeedsRow[]> {
  const { values, add } = params(ids)
  return db.query<NeedsRow>(
    `select p.id, coalesce(p.manifest->'about'->'depends', '[]') as depends, p.manifest->>'kind' as kind
    from package p where p.id = any($1::bigint[]) and ${seenBy(viewer, add, 'p.codename')}`,
    values,
  )
}

/** Versions as columns, in one order. */
export interface Refs {
  readonly formats: readonly string[]
  readonly codenames: readonly string[]
  readonly names: readonly string[]
  readonly versions: readonly string[]
  readonly archs: readonly string[]
}

/** How many of these are not here, or not for this viewer. */
export async function countAbsent(db: Queryable, viewer: Viewer, refs: Refs): Promise<number> {
  const { values, add } = params(refs.formats, refs.codenames, refs.names, refs.versions, refs.archs)
  const row = await db.first<{ n: number }>(
    `select count(*) as n
    from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) as a (format, codename, name, version, arch)
    where not exists (select 1 from package p where p.format = a.format and p.codename = a.codename and p.name = a.name
      and p.version = a.version and p.arch = a.arch and ${seenBy(viewer, add, 'p.codename')})`,
    values,
  )
  return row?.n ?? 0
}
