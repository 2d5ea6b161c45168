import type { Codename } from '../../core/identity.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { params, seenBy } from './sql.ts'

/**
 * What became of the question for a name that nothing is known of: its upstream failed; it, or this service, refused;
 * it has no such name; nobody asked it, since the name belongs to the house.
 */
export type Unanswered = 'failed' | 'refused' | 'missing' | 'reserved'

/** Of one registry: who asks for what is not there can ask for much. */
export const MOST_UNANSWERED = 10_000

/** Notes for people that a name was asked for, unless its upstream ever said something of it. At most once a minute. */
export async function noteUnanswered(
  db: Queryable,
  { codename, name }: { readonly codename: Codename; readonly name: string },
  { outcome, said, now }: { readonly outcome: Unanswered; readonly said?: string; readonly now: Date },
): Promise<void> {
  const noted = await db.query(
    `insert into remote_unanswered as u (codename, name, outcome, said, tried_at)
    select $1, $2, $3, $4, $5 where not exists (select from remote_name where codename = $1 and name = $2)
    on conflict (codename, name) do update set outcome = excluded.outcome, said = excluded.said, tried_at = excluded.tried_at
      where u.outcome <> excluded.outcome or u.tried_at < excluded.tried_at - interval '1 minute'
    returning 1 as one`,
    [codename, name, outcome, said ?? null, now],
  )
  if (noted.length > 0)
    await db.query(
      `delete from remote_unanswered where codename = $1 and tried_at < (select tried_at from remote_unanswered
        where codename = $1 order by tried_at desc offset ${MOST_UNANSWERED - 1} limit 1)`,
      [codename],
    )
}

/** Names that were asked for and belonged to the house then. */
export async function listReservedAsked(db: Queryable, viewer: Viewer, codename: Codename): Promise<readonly string[]> {
  const { values, add } = params(codename)
  const rows = await db.query<{ name: string }>(
    `select u.name from remote_unanswered u where u.codename = $1 and u.outcome = 'reserved'
      and ${seenBy(viewer, add, 'u.codename')}`,
    values,
  )
  return rows.map(({ name }) => name)
}
