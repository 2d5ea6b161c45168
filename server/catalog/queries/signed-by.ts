import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { params, seenBy } from './sql.ts'

/** How many published packages of each distribution are signed with which key. */
export function countSigned(
  db: Queryable,
  viewer: Viewer,
): Promise<{ readonly codename: string; readonly key: string; readonly packages: number }[]> {
  const { values, add } = params()
  return db.query(
    `
    select codename, file->'signed'->>'key' as key, count(distinct id)::int as packages
    from package, jsonb_array_elements(manifest->'files') as file
    where state = 'published' and file ? 'signed' and ${seenBy(viewer, add, 'codename')} group by 1, 2 order by 1, 2`,
    values,
  )
}
