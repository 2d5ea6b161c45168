import type { Codename } from '../../core/identity.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { params, seenBy } from './sql.ts'

/** How many published packages are built for a module (`ModularityLabel`). */
export async function countModular(db: Queryable, viewer: Viewer, codename: Codename): Promise<number> {
  const { values, add } = params(codename)
  const row = await db.first<{ count: number }>(
    `select count(*)::int as count from package where codename = $1 and state = 'published'
      and facts ? 'modularity' and ${seenBy(viewer, add, 'codename')}`,
    values,
  )
  return row?.count ?? 0
}
