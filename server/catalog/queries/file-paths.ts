import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { params, seenBy } from './sql.ts'

/** The package that a published path belongs to. */
export interface FileAt {
  readonly path: string
  readonly format: string
  readonly name: string
  readonly version: string
  readonly arch: string
}

/** The packages of a distribution that have files at these paths. */
export function filesAt(
  db: Queryable,
  viewer: Viewer,
  codename: string,
  paths: readonly string[],
): Promise<readonly FileAt[]> {
  const { values, add } = params(codename, paths)
  return db.query<FileAt>(
    `select f.path, p.format, p.name, p.version, p.arch from package p join package_file f on f.package_id = p.id
    where p.codename = $1 and f.path = any($2::text[]) and ${seenBy(viewer, add, 'p.codename')}`,
    values,
  )
}

/** A served package that nobody fetched. */
export interface Unfetched {
  readonly codename: string
  readonly format: string
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly size: number
  readonly served_since: Date
}

/** The first day of which a log told any request of a registry: one of a web server may have those of trees alone. */
const FIRST_OF_REGISTRIES = `(select min(o.day) from download_other o
  join distribution_definition d on d.codename = o.codename and d.definition->>'kind' = 'registry')`

/**
 * Installable packages that were served before `since` and that nobody has fetched from then on, largest first. Those
 * of registries only where a log told of requests of registries before that day, too.
 * @param trees  the formats whose requests every log tells
 */
export async function listUnfetched(
  db: Queryable,
  viewer: Viewer,
  { since, most, trees }: { readonly since: string; readonly most: number; readonly trees: readonly string[] },
): Promise<{ readonly items: readonly Unfetched[]; readonly total: number; readonly bytes: number }> {
  const { values, add } = params(since, most, trees)
  const rows = await db.query<Unfetched & { total: number; bytes: number }>(
    `select p.codename, p.format, p.name, p.version, p.arch, p.size, p.changed_at as served_since,
      count(*) over () as total, (sum(p.size) over ())::bigint as bytes
    from package p
    where p.state = 'published' and p.kind <> 'source' and p.changed_at < $1::date and ${seenBy(viewer, add, 'p.codename')}
      and (p.format = any($3) or $1::date > ${FIRST_OF_REGISTRIES})
      and not exists (select 1 from download_file f join download_count c on c.file_id = f.id and c.day >= $1::date
        where f.codename = p.codename and f.name = p.name and f.version = p.version and f.arch = p.arch)
    order by p.size desc, p.id limit $2`,
    values,
  )
  return {
    items: rows.map(({ total: _, bytes: __, ...item }) => item),
    total: rows[0]?.total ?? 0,
    bytes: rows[0]?.bytes ?? 0,
  }
}
