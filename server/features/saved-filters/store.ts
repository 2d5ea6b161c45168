import type { Queryable, Tx } from '../../db/db.ts'
import type { FilteredScreen } from './contract.ts'

/** A filter that somebody keeps. */
export interface SavedFilter {
  readonly id: string
  readonly screen: FilteredScreen
  readonly name: string
  readonly query: Readonly<Record<string, string>>
  readonly created_at: Date
}

const COLUMNS = 'id, screen, name, query, created_at'

export async function listFilters(db: Queryable, username: string): Promise<readonly SavedFilter[]> {
  return db.query<SavedFilter>(`select ${COLUMNS} from saved_filter where username = $1 order by screen, lower(name)`, [
    username,
  ])
}

/** Changes of one person's filters wait for one another until `tx` ends. */
export async function lockPerson(tx: Tx, username: string): Promise<void> {
  await tx.query('select 1 from account where username = $1 for update', [username])
}

export async function insertFilter(
  tx: Tx,
  { username, screen, name, query }: Pick<SavedFilter, 'screen' | 'name' | 'query'> & { readonly username: string },
): Promise<SavedFilter> {
  const [row] = await tx.query<SavedFilter>(
    `insert into saved_filter (username, screen, name, query) values ($1, $2, $3, $4) returning ${COLUMNS}`,
    [username, screen, name, JSON.stringify(query)],
  )
  if (row === undefined) throw new Error('an insert returns its row')
  return row
}

export async function updateFilter(tx: Tx, { id, name, query }: SavedFilter): Promise<void> {
  await tx.query('update saved_filter set name = $2, query = $3 where id = $1', [id, name, JSON.stringify(query)])
}

/** @returns whether it was there, and this person's */
export async function deleteFilter(db: Queryable, username: string, id: string): Promise<boolean> {
  const gone = await db.query('delete from saved_filter where username = $1 and id::text = $2 returning id', [
    username,
    id,
  ])
  return gone.length > 0
}
