import type { Queryable } from '../../db/db.ts'
import { getFormat } from '../../formats/index.ts'
import type { Relations } from '../../formats/relations.ts'
import type { Candidate } from '../resolve/closure.ts'
import type { Source } from '../source.ts'

interface Row {
  readonly id: number
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly size: number
  readonly source_key: string
  readonly relations: Relations
}

/**
 * Finds packages of these sources for machines of one architecture: every one that has one of the names, or is found
 * under it (`foundUnder`). Those that clients do not see are left out: packages of a module's stream that is no
 * default, and plain packages beside one of the same name in a stream that is. In the order of their sources.
 */
export function candidatesIn(
  db: Queryable,
  { sources, arch }: { readonly sources: readonly Pick<Source, 'id' | 'format'>[]; readonly arch: string },
): (names: readonly string[]) => Promise<readonly Candidate[]> {
  const ids = sources.map(({ id }) => id)
  const archs = [...new Set([arch, ...sources.flatMap(({ format }) => getFormat(format).archs.neutral)])]
  return async names => {
    if (ids.length === 0 || names.length === 0) return []
    const rows = await db.query<Row>(
      `with found as (
        select id from import_package where name = any($1) and source_id = any($2)
        union select package_id from import_capability where name = any($1) and source_id = any($2)),
      seen as (
        select p.* from found join import_package p using (id) where p.arch = any($3) and not p.hidden),
      modular as (
        select distinct m.name from import_package m
        where m.name in (select name from seen) and m.source_id = any($2) and m.module is not null and not m.hidden)
      select p.id, p.name, p.version, p.arch, p.size, s.key as source_key, p.relations
      from seen p join import_source s on s.id = p.source_id
      where p.module is not null or p.name not in (select name from modular)
      order by array_position($2::int[], p.source_id), p.id`,
      [names, ids, archs],
    )
    return rows.map(({ source_key: sourceKey, ...row }) => ({ ...row, sourceKey }))
  }
}
