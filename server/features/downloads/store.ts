import type { Queryable, Tx } from '../../db/db.ts'
import { clientOf, type Access } from './access-log.ts'
import type { LogState } from './assign.ts'
import type { NamedFile } from './named-file.ts'
import { RECENT, type FileCount, type OtherCount } from './tally.ts'

export const listStates = (db: Queryable, series: string): Promise<LogState[]> =>
  db.query('select id, head, head_bytes, position from download_log where series = $1 order by id', [series])

/** What was read of a file. */
export interface Progress {
  readonly series: string
  readonly head: string
  readonly headBytes: number
  readonly end: number
  readonly at: Date
}

// any number that nothing else uses: what one process counts, no other counts at the same time
const ADVISORY_LOCK = 7_201_843

/**
 * Moves the state of a file from where it was read from to where it was read to.
 * @param from  undefined for a file without a state
 * @returns its id; undefined when another process was faster: then nothing may be counted
 */
export async function advance(tx: Tx, from: LogState | undefined, to: Progress): Promise<number | undefined> {
  await tx.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCK])
  const { series, head, headBytes, end, at } = to
  const row =
    from === undefined
      ? await tx.first<{ id: number }>(
          `insert into download_log (series, head, head_bytes, position, seen_at)
          select $1, $2, $3, $4, $5 where not exists (select 1 from download_log where series = $1 and head = $2 and head_bytes = $3)
          returning id`,
          [series, head, headBytes, end, at],
        )
      : await tx.first<{ id: number }>(
          `update download_log set head = $3, head_bytes = $4, position = $5, seen_at = $6
          where id = $1 and position = $2 returning id`,
          [from.id, from.position, head, headBytes, end, at],
        )
  return row?.id
}

/** The ids of files that are known, by their paths; of paths that always give the same. */
export async function knownFiles(db: Queryable, paths: readonly string[]): Promise<Map<string, number>> {
  const rows = await db.query<{ id: number; path: string }>(
    'select id, path from download_file where path = any($1::text[])',
    [paths],
  )
  return new Map(rows.map(({ id, path }) => [path, id]))
}

export async function addFiles(tx: Tx, files: readonly NamedFile[]): Promise<Map<string, number>> {
  const column = (key: keyof NamedFile): unknown[] => files.map(file => file[key] ?? null)
  const rows = await tx.query<{ id: number; path: string }>(
    `insert into download_file (path, format, codename, name, version, arch)
    select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
    on conflict (path, coalesce(codename, ''), version) do update set path = excluded.path returning id, path`,
    [column('path'), column('format'), column('codename'), column('name'), column('version'), column('arch')],
  )
  return new Map(rows.map(({ id, path }) => [path, id]))
}

/** The network of a column of addresses: of a site, not of a machine. */
export const networkOf = (column: string): string =>
  `network(set_masklen(${column}, case family(${column}) when 4 then 24 else 48 end))::inet`

/** Adds counts. Those of a day whose addresses are shortened are added to their networks. */
export async function addCounts(tx: Tx, counts: readonly FileCount[], ids: ReadonlyMap<string, number>): Promise<void> {
  await tx.query(
    `insert into download_count as c (day, file_id, address, client, downloads, bytes)
    select day, file_id, case when s.day is null then address else ${networkOf('address')} end as at, client, sum(downloads), sum(bytes)
    from unnest($1::date[], $2::bigint[], $3::inet[], $4::text[], $5::bigint[], $6::bigint[])
      as u (day, file_id, address, client, downloads, bytes)
    left join download_shortened s using (day)
    group by day, file_id, at, client
    on conflict (day, file_id, address, client)
    do update set downloads = c.downloads + excluded.downloads, bytes = c.bytes + excluded.bytes`,
    [
      counts.map(({ day }) => day),
      counts.map(({ path }) => ids.get(path)),
      counts.map(({ address }) => address),
      counts.map(({ client }) => client),
      counts.map(({ downloads }) => downloads),
      counts.map(({ bytes }) => bytes),
    ],
  )
}

export async function addOthers(tx: Tx, others: readonly OtherCount[]): Promise<void> {
  await tx.query(
    `insert into download_other as o (day, kind, codename, requests, bytes)
    select * from unnest($1::date[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])
    on conflict (day, kind, codename)
    do update set requests = o.requests + excluded.requests, bytes = o.bytes + excluded.bytes`,
    [
      others.map(({ day }) => day),
      others.map(({ kind }) => kind),
      others.map(({ codename }) => codename),
      others.map(({ requests }) => requests),
      others.map(({ bytes }) => bytes),
    ],
  )
}

/** Adds the last downloads, and keeps the newest of each distribution. */
export async function addRecent(
  tx: Tx,
  recent: readonly (Access & { readonly ip: string })[],
  ids: ReadonlyMap<string, number>,
): Promise<void> {
  await tx.query(
    `insert into download_recent (at, file_id, address, client, bytes, status, user_agent)
    select * from unnest($1::timestamptz[], $2::bigint[], $3::inet[], $4::text[], $5::bigint[], $6::int[], $7::text[])`,
    [
      recent.map(({ hour, rest }) => `${hour}:${rest}Z`),
      recent.map(({ path }) => ids.get(path)),
      recent.map(({ ip }) => ip),
      recent.map(({ agent }) => clientOf(agent)),
      recent.map(({ bytes }) => bytes),
      recent.map(({ status }) => status),
      recent.map(({ agent }) => agent.slice(0, 300)),
    ],
  )
  await tx.query(
    `delete from download_recent where id in (
      select id from (
        select r.id, row_number() over (partition by f.codename order by r.at desc, r.id desc) as place
        from download_recent r join download_file f on f.id = r.file_id) as placed
      where place > $1)`,
    [RECENT],
  )
}

/**
 * The addresses of the oldest day before `before` that still has any become networks. @returns whether there was such a
 * day
 */
export async function shortenOne(tx: Tx, before: string): Promise<boolean> {
  await tx.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCK])
  const oldest = await tx.first<{ day: string | null }>(
    `select to_char(min(c.day), 'YYYY-MM-DD') as day from download_count c
    where c.day < $1::date and not exists (select 1 from download_shortened s where s.day = c.day)`,
    [before],
  )
  const day = oldest?.day ?? undefined
  if (day === undefined) return false
  await tx.query('insert into download_shortened (day) values ($1)', [day])
  await tx.query(
    `with taken as (delete from download_count where day = $1 returning *)
    insert into download_count (day, file_id, address, client, downloads, bytes)
    select day, file_id, ${networkOf('address')}, client, sum(downloads), sum(bytes) from taken group by 1, 2, 3, 4`,
    [day],
  )
  await tx.query(`update download_recent set address = ${networkOf('address')} where at < $1::date + 1`, [day])
  return true
}

/** Forgets what no statistics can show any more, and states of files that are gone. */
export async function forgetBefore(tx: Tx, day: string): Promise<void> {
  for (const table of ['download_count', 'download_other', 'download_shortened'])
    await tx.query(`delete from ${table} where day < $1::date`, [day])
  await tx.query('delete from download_log where seen_at < $1::date', [day])
  await tx.query(
    `delete from download_file f where not exists (select 1 from download_count c where c.file_id = f.id)
      and not exists (select 1 from download_recent r where r.file_id = f.id)`,
  )
}
