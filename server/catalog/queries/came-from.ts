import type { Queryable } from '../../db/db.ts'

/** Whether a package that is here, in any state, came from an import source. Reads all manifests. */
export async function cameFrom(db: Queryable, sourceKey: string): Promise<boolean> {
  const found = await db.first<{ is: boolean }>(
    `select exists (select 1 from package where manifest->>'from' = $1) as is`,
    [`source:${sourceKey}`],
  )
  return found?.is === true
}
