import { fail } from '../core/errors.ts'
import type { Queryable } from '../db/db.ts'
import type { Found } from './find-version.ts'

/** Of these names, those with the same person behind them as behind `who`: a user, or an API token and its owner. */
export async function namesOfPerson(db: Queryable, names: readonly string[], who: string): Promise<Set<string>> {
  const rows = await db.query<{ name: string }>(
    `
    with me as (select $2::text as person union select created_by from api_token where name = $2)
    select distinct n.name from unnest($1::text[]) as n (name)
    where n.name in (select person from me)
      or exists (select 1 from api_token t where t.name = n.name and t.created_by in (select person from me))`,
    [names, who],
  )
  return new Set(rows.map(({ name }) => name))
}

/** Whether one person is behind both names: a user, or an API token and its owner. */
export async function isOnePerson(db: Queryable, one: string, other: string): Promise<boolean> {
  return (await namesOfPerson(db, [one], other)).has(one)
}

/** @throws four_eyes when who decides is who uploaded the package */
export async function needFourEyes(db: Queryable, { ref, uploadedBy }: Found, who: string): Promise<void> {
  if (await isOnePerson(db, uploadedBy, who)) fail('four_eyes', { name: ref.name, version: ref.version })
}
