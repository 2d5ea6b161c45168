import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { ArtifactRow, IndexedManifest } from './search.ts'
import { describedBy, params, seenBy, SERVED_FIRST, type AddParam } from './sql.ts'

export interface NameFilter {
  readonly name: string
  readonly version?: string | undefined
  readonly distribution?: string | undefined
  readonly arch?: string | undefined
}

/** The packages `p` that a name filter means. */
function meant(viewer: Viewer, add: AddParam, { name, version, distribution, arch }: NameFilter): string {
  const all = [`p.name = ${add(name)}`, seenBy(viewer, add, 'p.codename')]
  if (version !== undefined) all.push(`p.version = ${add(version)}`)
  if (distribution !== undefined) all.push(`p.codename = ${add(distribution)}`)
  if (arch !== undefined) all.push(`p.arch = ${add(arch)}`)
  return all.join(' and ')
}

/** The package that speaks for what is meant: served before others, installed before its source, the newest. */
export async function findLatest(db: Queryable, viewer: Viewer, of: NameFilter): Promise<IndexedManifest | undefined> {
  const { values, add } = params()
  const row = await db.first<{ manifest: IndexedManifest }>(
    `select p.manifest from package p where ${meant(viewer, add, of)} order by ${SERVED_FIRST} limit 1`,
    values,
  )
  return row?.manifest
}

/** What a name says of itself in each format, by those of its packages that are meant. */
export function listTold(db: Queryable, viewer: Viewer, of: NameFilter): Promise<ArtifactRow[]> {
  const { values, add } = params()
  return db.query<ArtifactRow>(describedBy(meant(viewer, add, of)), values)
}

/**
 * The manifests of one name, newest version first; of one version published before others, and what is installed
 * before its source; at most `most`.
 */
export async function manifestsOf(
  db: Queryable,
  viewer: Viewer,
  { most, ...of }: NameFilter & { readonly most: number },
): Promise<readonly IndexedManifest[]> {
  const { values, add } = params(most)
  const rows = await db.query<{ manifest: IndexedManifest }>(
    `
    select p.manifest from package p where ${meant(viewer, add, of)}
    order by p.sort_key desc, (p.state = 'published') desc, (p.kind = 'binary') desc, p.codename, p.arch, p.id limit $1`,
    values,
  )
  return rows.map(row => row.manifest)
}
