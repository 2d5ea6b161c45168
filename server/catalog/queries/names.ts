import type { SaidMark } from '../../core/mark.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { SPEAKING, type ArtifactRow, type IndexedManifest, type MarkedManifest, type SpeakingRow } from './search.ts'
import { describedBy, params, seenBy, SERVED_FIRST, type AddParam } from './sql.ts'

const NEWEST_FIRST = `p.sort_key desc, (p.state = 'published') desc, (p.kind = 'binary') desc, p.codename, p.arch, p.id`

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

interface MarkedRow {
  readonly manifest: IndexedManifest
  readonly mark: SaidMark | null
}
const withMark = ({ manifest, mark }: MarkedRow): MarkedManifest => ({ ...manifest, mark })

/** The package that speaks for what is meant: served before others, installed before its source, the newest. */
export async function findLatest(db: Queryable, viewer: Viewer, of: NameFilter): Promise<MarkedManifest | undefined> {
  const { values, add } = params()
  const row = await db.first<MarkedRow>(
    `select p.manifest, p.mark from package p where ${meant(viewer, add, of)} order by ${SERVED_FIRST} limit 1`,
    values,
  )
  return row && withMark(row)
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
): Promise<readonly MarkedManifest[]> {
  const { values, add } = params(most)
  const rows = await db.query<MarkedRow>(
    `
    select p.manifest, p.mark from package p where ${meant(viewer, add, of)} order by ${NEWEST_FIRST} limit $1`,
    values,
  )
  return rows.map(withMark)
}

/** The packages that are meant, newest version first; at most `most`. */
export function listSpeaking(
  db: Queryable,
  viewer: Viewer,
  { most, ...of }: NameFilter & { readonly most: number },
): Promise<SpeakingRow[]> {
  const { values, add } = params(most)
  return db.query<SpeakingRow>(
    `select ${SPEAKING} from package p where ${meant(viewer, add, of)} order by ${NEWEST_FIRST} limit $1`,
    values,
  )
}

const NAMES_AT_ONCE = 300

/** The packages of each name, newest version first, in the order of names; read some names at a time. */
export async function* readSpeaking(db: Queryable, viewer: Viewer): AsyncGenerator<readonly SpeakingRow[]> {
  for (let after = ''; ;) {
    const { values, add } = params(after, NAMES_AT_ONCE)
    const rows = await db.query<SpeakingRow>(
      `
      select ${SPEAKING} from package p where ${seenBy(viewer, add, 'p.codename')}
        and p.name in (select distinct name from package where name > $1 order by name limit $2)
      order by p.name, ${NEWEST_FIRST}`,
      values,
    )
    yield* Map.groupBy(rows, row => row.name).values()
    const last = await db.first<{ name: string | null }>(
      'select max(name) as name from (select distinct name from package where name > $1 order by name limit $2) as names_read',
      [after, NAMES_AT_ONCE],
    )
    if (last?.name === undefined || last.name === null) return
    after = last.name
  }
}
