import type { FormatId } from '../../core/identity.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { params, seenBy } from './sql.ts'

/** The newest published version of a name: what clients install. */
export interface NewestServed {
  readonly name: string
  readonly version: string
  readonly arch: string
  /** Of the file as it came: it may carry this repository's signature now. */
  readonly sha256: string
  readonly size: number
  /** Where it came from: `upload`, `source:bookworm`. */
  readonly origin: string
}

export interface NewestOf {
  readonly format: FormatId
  readonly codename: string
  /** Of these architectures alone. */
  readonly archs?: readonly string[]
  /** These names alone. */
  readonly names?: readonly string[]
}

/** The newest published version of each name in a distribution, by name. */
export function listNewestServed(
  db: Queryable,
  viewer: Viewer,
  { format, codename, archs, names }: NewestOf,
): Promise<NewestServed[]> {
  const { values, add } = params(format, codename, archs ?? null, names ?? null)
  return db.query<NewestServed>(
    `
    select n.name, n.version, n.arch, n.origin, coalesce(n.received->>'sha256', n.sha256) as sha256,
      coalesce((n.received->>'size')::bigint, n.size) as size
    from (select distinct on (p.name) p.name, p.version, p.arch, p.sha256, p.size, p.origin,
      p.manifest->'files'->0->'signed'->'received' as received
    from package p
    where p.format = $1 and p.codename = $2 and p.kind = 'binary' and p.state = 'published'
      and ($3::text[] is null or p.arch = any($3)) and ($4::text[] is null or p.name = any($4))
      and ${seenBy(viewer, add, 'p.codename')}
    order by p.name, p.sort_key desc, p.version collate "C" desc) n
    order by n.name`,
    values,
  )
}
