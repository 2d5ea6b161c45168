import type { FormatId } from '../core/identity.ts'
import type { State } from '../core/manifest.ts'
import type { Queryable } from '../db/db.ts'
import type { Format } from '../formats/format.ts'

/** A package with a file that something needs by its path. */
export interface FileOffer {
  /** As the need names it. */
  readonly provides: string
  readonly name: string
  readonly version: string
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
export async function listFileOffers(
  db: Queryable,
  { format, fileOf, codename, names }: FileNeeds,
): Promise<FileOffer[]> {
  const wanted = names.flatMap(name => {
    const path = fileOf?.(name)
    return path === undefined ? [] : [{ name, path }]
  })
  if (wanted.length === 0) return []
  return db.query<FileOffer>(
    `
    select need.name as provides, p.name, p.version, p.state
    from unnest($1::text[], $2::text[]) as need (name, path)
    join package p on p.codename = $3 and p.format = $4 and strpos(E'\\n' || p.paths || E'\\n', E'\\n' || need.path || E'\\n') > 0
    order by p.sort_key desc, p.id`,
    [wanted.map(({ name }) => name), wanted.map(({ path }) => path), codename, format],
  )
}
