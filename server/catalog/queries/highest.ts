import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { params, seenBy } from './sql.ts'

/** The highest version of a name and architecture in one state. */
export interface HighestRow {
  readonly name: string
  readonly arch: string
  readonly state: 'published' | 'pending_review'
  readonly version: string
  readonly source: string | null
  readonly source_version: string | null
}

/** For each of these names the highest version that is served in a distribution, and the highest that is held there. */
export function listHighest(
  db: Queryable,
  viewer: Viewer,
  { codename, names }: { readonly codename: string; readonly names: readonly string[] },
): Promise<HighestRow[]> {
  const { values, add } = params(codename, names)
  return db.query<HighestRow>(
    `
    select distinct on (p.name, p.arch, p.state) p.name, p.arch, p.state, p.version, p.source, p.source_version
    from package p
    where p.codename = $1 and p.name = any($2::text[]) and p.kind = 'binary' and p.state in ('published', 'pending_review')
      and ${seenBy(viewer, add, 'p.codename')}
    order by p.name, p.arch, p.state, p.sort_key desc, p.version collate "C" desc`,
    values,
  )
}

/** What changes whenever packages of a distribution come, go or change their state: by codename. */
export async function readMarks(
  db: Queryable,
  viewer: Viewer,
  codenames: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { values, add } = params(codenames)
  const rows = await db.query<{ codename: string; n: number; newest: Date }>(
    `
    select p.codename, count(*) as n, max(p.changed_at) as newest from package p
    where p.codename = any($1::text[]) and ${seenBy(viewer, add, 'p.codename')} group by p.codename`,
    values,
  )
  return new Map(rows.map(({ codename, n, newest }) => [codename, `${n}@${newest.getTime()}`]))
}
