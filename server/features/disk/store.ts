import type { DiskLevel } from '../../core/disk.ts'
import type { DiskSample } from '../../core/disk-forecast.ts'
import type { Queryable } from '../../db/db.ts'

/** Keeps one sample an hour: the first. */
export async function addSample(db: Queryable, { at, usedBytes, freeBytes }: DiskSample): Promise<void> {
  await db.query(
    `insert into disk_sample (at, used_bytes, free_bytes) values (date_trunc('hour', $1::timestamptz), $2, $3)
    on conflict do nothing`,
    [at, usedBytes, freeBytes],
  )
}

/** Samples since then, in order of time. */
export async function listSamples(db: Queryable, since: Date): Promise<DiskSample[]> {
  const rows = await db.query<{ at: Date; used: number; free: number }>(
    'select at, used_bytes::float8 as used, free_bytes::float8 as free from disk_sample where at >= $1 order by at',
    [since],
  )
  return rows.map(({ at, used, free }) => ({ at, usedBytes: used, freeBytes: free }))
}

/** The last sample of each day in UTC, in order of time. */
export async function listDays(db: Queryable): Promise<DiskSample[]> {
  const rows = await db.query<{ at: Date; used: number; free: number }>(
    `select distinct on (date_trunc('day', at at time zone 'UTC')) at, used_bytes::float8 as used, free_bytes::float8 as free
    from disk_sample order by date_trunc('day', at at time zone 'UTC'), at desc`,
  )
  return rows.map(({ at, used, free }) => ({ at, usedBytes: used, freeBytes: free }))
}

/** Removes samples from before then. */
export async function pruneSamples(db: Queryable, before: Date): Promise<void> {
  await db.query('delete from disk_sample where at < $1', [before])
}

export interface DiskState {
  /** What people were told last. */
  readonly level: DiskLevel
  readonly given_back_at: Date | null
  readonly given_back_by: string | null
}

/** What is known beside the disk itself. */
export async function readDiskState(db: Queryable): Promise<DiskState> {
  const row = await db.first<DiskState>('select level, given_back_at, given_back_by from disk_state')
  return row ?? { level: 'fine', given_back_at: null, given_back_by: null }
}

/** @returns false when another process has noted a change meanwhile */
export async function noteLevel(tx: Queryable, from: DiskLevel, to: DiskLevel): Promise<boolean> {
  return (
    (await tx.first('update disk_state set level = $2 where level = $1 returning 1 as one', [from, to])) !== undefined
  )
}

/** Notes who gave the reserve back, or with undefined that it is there again. */
export async function noteGivenBack(
  tx: Queryable,
  given: { readonly at: Date; readonly by: string } | undefined,
): Promise<void> {
  await tx.query('update disk_state set given_back_at = $1, given_back_by = $2', [given?.at ?? null, given?.by ?? null])
}
