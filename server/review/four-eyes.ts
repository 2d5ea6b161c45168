import { fail } from '../core/errors.ts'
import type { Queryable } from '../db/db.ts'
import type { Found } from './find-version.ts'

/** Whether one person is behind both names: a user, or an API token and its owner. */
export async function isOnePerson(db: Queryable, one: string, other: string): Promise<boolean> {
  const behind = (place: string): string =>
    `(select ${place}::text as person union select created_by from api_token where name = ${place})`
  return (
    (await db.first(`select 1 from ${behind('$1')} as a join ${behind('$2')} as b using (person) limit 1`, [
      one,
      other,
    ])) !== undefined
  )
}

/** @throws four_eyes when who decides is who uploaded the package */
export async function needFourEyes(db: Queryable, { ref, uploadedBy }: Found, who: string): Promise<void> {
  if (await isOnePerson(db, uploadedBy, who)) fail('four_eyes', { name: ref.name, version: ref.version })
}
