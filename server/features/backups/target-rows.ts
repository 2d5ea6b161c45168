import type { SnapshotKey } from '../../backup/targets/vault.ts'
import type { Place, Target } from '../../backup/targets/places.ts'
import type { Queryable } from '../../db/db.ts'
import type { TargetView } from './contract.ts'

interface Row {
  readonly place: Place
  readonly address: string
  readonly marked: boolean
  readonly tried_at: Date
  readonly done_at: Date | null
  readonly trouble: string | null
}

/** What is known of the targets that the settings name; of one that was never tried only where it is. */
export async function listTargets(db: Queryable, targets: readonly Target[]): Promise<TargetView[]> {
  const rows = await db.query<Row>('select place, address, marked, tried_at, done_at, trouble from backup_target')
  const views = targets.map(async ({ place, address, warning }) => {
    const row = rows.find(one => one.place === place && one.address === address)
    return {
      place,
      address,
      tried_at: row?.tried_at.toISOString() ?? null,
      done_at: row?.done_at?.toISOString() ?? null,
      trouble: row?.trouble ?? null,
      warning: (await warning()) ?? null,
    }
  })
  return Promise.all(views)
}

/** Whether a target was marked as this installation's. */
export async function isMarked(db: Queryable, { place, address }: Target): Promise<boolean> {
  const row = await db.first('select 1 from backup_target where place = $1 and address = $2 and marked', [
    place,
    address,
  ])
  return row !== undefined
}

/** Notes that a target carries this installation's mark. */
export async function noteMarked(db: Queryable, { place, address }: Target, at: Date): Promise<void> {
  await db.query(
    `insert into backup_target (place, address, marked, tried_at) values ($1, $2, true, $3)
    on conflict (place) do update set address = $2, marked = true, tried_at = $3,
      done_at = case when backup_target.address = $2 then backup_target.done_at end`,
    [place, address, at],
  )
}

/** @param trouble  why it did not work; undefined: it did */
export async function noteTried(
  db: Queryable,
  { place, address }: Target,
  { at, trouble }: { readonly at: Date; readonly trouble: string | undefined },
): Promise<void> {
  await db.query(
    `insert into backup_target (place, address, marked, tried_at, done_at, trouble)
    values ($1, $2, false, $3, case when $4::text is null then $3::timestamptz end, $4)
    on conflict (place) do update set
      address = $2, tried_at = $3, trouble = $4,
      marked = backup_target.marked and backup_target.address = $2,
      done_at = case when $4::text is null then $3::timestamptz
        when backup_target.address = $2 then backup_target.done_at end`,
    [place, address, at, trouble ?? null],
  )
}

export const snapshotFileName = (name: string, place: Place): string => `${name}@${place}`

/** Makes the rows of a place say what was found there: the database may be one that was restored. */
export async function noteFound(
  db: Queryable,
  place: Place,
  found: readonly (Pick<SnapshotKey, 'name' | 'vault'> & { readonly createdAt: string })[],
): Promise<void> {
  const names = found.map(({ name }) => snapshotFileName(name, place))
  await db.query('delete from backup where place = $1 and file_name <> all($2::text[])', [place, names])
  for (const [n, { vault, createdAt }] of found.entries())
    await db.query(
      `insert into backup (file_name, created_at, packages, files, encrypted, made_by, place)
      values ($1, $2, 0, 0, $3, 'unknown', $4) on conflict (file_name) do nothing`,
      [names[n], createdAt, vault !== undefined, place],
    )
}

/** The id of this installation, which its targets carry. */
export async function installationId(db: Queryable): Promise<string> {
  const row = await db.first<{ id: string }>('select id from installation')
  if (row === undefined) throw new Error('the database has no id of the installation')
  return row.id
}
