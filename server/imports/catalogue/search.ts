import type { FormatId } from '../../core/identity.ts'
import { fail } from '../../core/errors.ts'
import type { Db, Tx } from '../../db/db.ts'
import { getFormat } from '../../formats/index.ts'
import type { Relations } from '../../formats/relations.ts'
import type { PackageNotes } from '../../formats/upstream.ts'
import { searchNames, type FoundName } from './search-names.ts'

/** One version of a name in one source. */
export interface ListedVersion {
  readonly id: number
  readonly source_id: number
  readonly version: string
  readonly arch: string
  readonly component: string | null
  readonly size: number
  /** RPM: the stream of a module that it belongs to; `hidden` where clients see it only when they ask for that. */
  readonly module: string | null
  readonly hidden: boolean
}

/** The newest version of a name, with all that its index says. */
export interface NewestVersion extends ListedVersion {
  readonly section: string | null
  readonly summary: string
  readonly sha256: string | null
  readonly sha512: string | null
  readonly path: string
  readonly source: string
  readonly relations: Relations
  readonly notes: PackageNotes
}

/** A name with its versions, the newest first. */
export interface SearchHit {
  readonly format: FormatId
  readonly name: string
  readonly newest: NewestVersion
  /** At most 50; `version_count` says how many there are. */
  readonly versions: readonly ListedVersion[]
  readonly version_count: number
}

export interface CatalogueQuery {
  readonly q: string
  readonly limit: number
  readonly format?: FormatId
  /** Absent: all that the catalogue knows. */
  readonly sources?: readonly number[]
}

const MOST_VERSIONS = 50
/** A search that takes longer finds nothing that anybody waits for. */
const MOST_MS = 2_000

interface Row extends ListedVersion {
  readonly name: string
  readonly format: FormatId
}

async function versionsOf(tx: Tx, names: readonly FoundName[], sources: readonly number[] | null): Promise<Row[]> {
  return tx.query<Row>(
    `select p.id, p.name, s.format, p.source_id, p.version, p.arch, p.component, p.size, p.module, p.hidden
    from import_package p join import_source s on s.id = p.source_id
    where p.name = any($1) and ($2::int[] is null or p.source_id = any($2))`,
    [[...new Set(names.map(({ name }) => name))], sources],
  )
}

async function detailsOf(tx: Tx, ids: readonly number[]): Promise<ReadonlyMap<number, NewestVersion>> {
  const rows = await tx.query<NewestVersion>(
    `select id, source_id, version, arch, component, size, module, hidden, section, summary, encode(sha256, 'hex') as sha256,
      encode(sha512, 'hex') as sha512, path, source, relations, notes
    from import_package where id = any($1)`,
    [ids],
  )
  return new Map(rows.map(row => [row.id, row]))
}

/** Newest first, in the format's own order; what clients see before what they do not see. */
function newestFirst(format: FormatId, rows: readonly Row[]): readonly Row[] {
  const { compareVersions } = getFormat(format)
  return rows.toSorted(
    (a, b) => Number(a.hidden) - Number(b.hidden) || compareVersions(b.version, a.version) || a.source_id - b.source_id,
  )
}

/**
 * Searches names and summaries, one hit for each name. @throws search_too_slow where the database is too busy to answer
 */
export async function searchCatalogue(
  db: Db,
  { q, limit, format, sources }: CatalogueQuery,
): Promise<readonly SearchHit[]> {
  try {
    return await db.tx(async tx => {
      // parallel workers and compiled plans make the slowest answers slower
      await tx.query(
        `select set_config('statement_timeout', $1, true), set_config('jit', 'off', true),
          set_config('max_parallel_workers_per_gather', '0', true)`,
        [String(MOST_MS)],
      )
      const found = await searchNames(tx, { q, sources: sources ?? [], isAll: sources === undefined, format, limit })
      if (found.length === 0) return []
      const rows = Map.groupBy(await versionsOf(tx, found, sources ?? null), row => `${row.format} ${row.name}`)
      const grouped = found.flatMap(one => {
        const versions = newestFirst(one.format, rows.get(`${one.format} ${one.name}`) ?? [])
        const [newest] = versions
        return newest === undefined ? [] : [{ one, newest, versions }]
      })
      const details = await detailsOf(
        tx,
        grouped.map(({ newest }) => newest.id),
      )
      return grouped.flatMap(({ one, newest, versions }) => {
        const detail = details.get(newest.id)
        if (detail === undefined) return []
        return [
          {
            format: one.format,
            name: one.name,
            newest: detail,
            versions: versions.slice(0, MOST_VERSIONS).map(({ name: _, format: __, ...version }) => version),
            version_count: versions.length,
          },
        ]
      })
    })
  } catch (error) {
    // query_canceled
    if ((error as { code?: string }).code === '57014') fail('search_too_slow', {}, error)
    throw error
  }
}
