import type { Client } from 'pg'
import type { Sha256 } from '../core/identity.ts'
import { quoted, type DumpHeader } from './dump.ts'

/** Schemas that backups are loaded into, and those that are put aside. */
const FRESH = /^restore_\d{14}$/
const AWAY = /^before_restore_\d{14}$/

/** The schemas of a restore that begins now. */
export function schemaNames(at: Date): { readonly fresh: string; readonly away: string } {
  const stamp = at.toISOString().replace(/\D/g, '').slice(0, 14)
  return { fresh: `restore_${stamp}`, away: `before_restore_${stamp}` }
}

// any number that nothing else uses
const ADVISORY_LOCK = 7_201_844

/** Keeps other restores away until this connection ends. @returns false where one is under way */
export async function claimRestore(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ mine: boolean }>('select pg_try_advisory_lock($1) as mine', [ADVISORY_LOCK])
  return rows[0]?.mine === true
}

/** When the schema of before was put aside, ISO 8601. */
export function awaySince(away: string): string {
  const [, y, mo, d, h, mi, s] = /(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(away) ?? []
  return `${y}-${mo}-${d}T${h}:${mi}:${s}.000Z`
}

export async function schemaExists(client: Client, name: string): Promise<boolean> {
  return (await client.query('select 1 from pg_namespace where nspname = $1', [name])).rowCount === 1
}

/** What is asked of the database for `schemasLike`. */
export const LIST_SCHEMAS = 'select nspname as name from pg_namespace order by 1'

const schemasLike = (pattern: RegExp, rows: readonly { readonly name: string }[]): string[] =>
  rows.flatMap(({ name }) => (pattern.test(name) ? [name] : []))

/** Of these schemas those that are put aside, oldest first. */
export const awayAmong = (rows: readonly { readonly name: string }[]): string[] => schemasLike(AWAY, rows)

/** The schemas that are put aside, oldest first. */
export const listAway = async (client: Client): Promise<string[]> =>
  awayAmong((await client.query<{ name: string }>(LIST_SCHEMAS)).rows)

/** Removes what restores loaded that were never decided. */
export async function dropFresh(client: Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(LIST_SCHEMAS)
  for (const name of schemasLike(FRESH, rows)) await client.query(`drop schema ${quoted(name)} cascade`)
}

/** PostgreSQL's planner knows nothing of tables that were just filled. */
export async function analyze(client: Client, schema: string, { tables }: DumpHeader): Promise<void> {
  for (const { name } of tables) await client.query(`analyze ${quoted(schema)}.${quoted(name)}`)
}

/** The files that packages of a loaded backup have, each once: SHA-256 in hex. */
export async function listBlobs(client: Client, schema: string): Promise<Sha256[]> {
  const { rows } = await client.query<{ sha256: Sha256 }>(`select distinct sha256 from ${quoted(schema)}.package`)
  return rows.map(({ sha256 }) => sha256)
}

/** Whether a schema has a table: a backup of an earlier release may lack it. */
export async function hasTable(client: Client, schema: string, table: string): Promise<boolean> {
  const { rows } = await client.query<{ there: boolean }>('select to_regclass($1) is not null as there', [
    `${quoted(schema)}.${quoted(table)}`,
  ])
  return rows[0]?.there === true
}

/** Adds the rows of `old` that a table does not have, in the columns that both have: one of them may be older. */
async function addRows(client: Client, table: string, old: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select column_name as name from information_schema.columns
    where table_schema = any($1) and table_name = $2 group by 1 having count(*) = 2`,
    [['public', old], table],
  )
  if (rows.length === 0) return
  const columns = rows.map(({ name }) => quoted(name)).join(', ')
  const [into, from] = ['public', old].map(schema => `${quoted(schema)}.${quoted(table)}`)
  await client.query(
    `insert into ${into} (${columns}) overriding system value select ${columns} from ${from} on conflict do nothing`,
  )
}

/** No session or link to a new password of the backup goes on, and no API token that was revoked since then. */
async function keepEnded(client: Client, old: string): Promise<void> {
  await addRows(client, 'ended_token', old)
  for (const table of ['session', 'password_reset'])
    if (await hasTable(client, 'public', table)) await client.query(`delete from public.${table}`)
  if (await hasTable(client, 'public', 'ended_token'))
    await client.query('delete from public.api_token where id::text in (select id from public.ended_token)')
}

/** What is known of the audit files, which stay: their end, what retention removed, and what is still to be written. */
async function keepAudit(client: Client, old: string): Promise<void> {
  for (const table of ['audit_head', 'audit_cut', 'audit_pending']) {
    if (!(await hasTable(client, 'public', table)) || !(await hasTable(client, old, table))) continue
    await client.query(`delete from public.${table}`)
    await addRows(client, table, old)
    if (table !== 'audit_head')
      await client.query(
        `select setval(pg_get_serial_sequence($1, 'id'), greatest(nextval(pg_get_serial_sequence($1, 'id')), nextval(pg_get_serial_sequence($2, 'id'))))`,
        [`public.${table}`, `${quoted(old)}.${table}`],
      )
  }
}

/** What must not be forgotten with the database that goes, from `old` to `public`. */
async function carryOver(client: Client, old: string, keepsAudit: boolean): Promise<void> {
  // a process that stood still meanwhile must not have the number of a later leader
  if (await hasTable(client, old, 'leader'))
    await client.query(
      `update public.leader set epoch = greatest(epoch, (select epoch from ${quoted(old)}.leader)) + 1`,
    )
  // archives and targets are not restored
  for (const table of ['backup', 'backup_target']) await addRows(client, table, old)
  await keepEnded(client, old)
  if (keepsAudit) await keepAudit(client, old)
  // one that was under way in that moment is not to begin again
  await client.query(
    `update public.job set state = 'cancelled', cancelled_by = 'system', finished_at = clock_timestamp(), runner = null,
      lease_until = null
    where state in ('queued', 'running') and kind in ('backup', 'backup-drill', 'restore')`,
  )
}

/**
 * Moves what is ours from one schema to another. What an extension brought stays: its parts may be the superuser's, and
 * then nobody else may move it.
 */
async function moveAll(client: Client, from: string, to: string): Promise<void> {
  const { rows } = await client.query<{ type: string; identity: string }>(
    `select part.type, part.identity from (
      select 'pg_class'::regclass::oid as classid, oid from pg_class
        where relnamespace = $1::regnamespace and relkind in ('r', 'p', 'v', 'm', 'S')
          -- a sequence of a column goes with its table
          and not (relkind = 'S' and exists (select from pg_depend
            where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype in ('a', 'i')))
      union all select 'pg_proc'::regclass::oid, oid from pg_proc where pronamespace = $1::regnamespace
      union all select 'pg_type'::regclass::oid, oid from pg_type
        where typnamespace = $1::regnamespace and typtype in ('d', 'e')
    ) own, pg_identify_object(own.classid, own.oid, 0) part
    where not exists (select from pg_depend
      where pg_depend.classid = own.classid and objid = own.oid and deptype = 'e')`,
    [quoted(from)],
  )
  for (const { type, identity } of rows) await client.query(`alter ${type} ${identity} set schema ${quoted(to)}`)
}

/** What is in `public` goes to `away`, a new schema, and what is in `fresh` takes its place. */
async function exchange(client: Client, fresh: string, away: string): Promise<void> {
  await client.query(`create schema ${quoted(away)}`)
  await moveAll(client, 'public', away)
  await moveAll(client, fresh, 'public')
  await client.query(`drop schema ${quoted(fresh)}`)
}

async function transaction(client: Client, work: () => Promise<void>): Promise<void> {
  await client.query('begin')
  try {
    await work()
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

/** The tables of `fresh` take the place of those of now, which go to `away`; all of it or nothing. */
export const swapSchemas = (
  client: Client,
  { fresh, away, keepsAudit }: { readonly fresh: string; readonly away: string; readonly keepsAudit: boolean },
  last: () => void,
): Promise<void> =>
  transaction(client, async () => {
    await exchange(client, fresh, away)
    await carryOver(client, away, keepsAudit)
    last()
  })

/** The tables of `away` come back, and those of now go; all of it or nothing. */
export const swapBack = (
  client: Client,
  away: string,
  { keepsAudit }: { readonly keepsAudit: boolean },
): Promise<void> =>
  transaction(client, async () => {
    const gone = 'restore_undone'
    await exchange(client, away, gone)
    // a backup of an earlier release brought tables of its own, which the next start brings up to this one
    if (await hasTable(client, 'public', 'job')) await carryOver(client, gone, keepsAudit)
    await client.query(`drop schema ${quoted(gone)} cascade`)
  })

/** Ends the sessions of processes that stood still while the others stopped. */
export async function endOtherSessions(client: Client): Promise<void> {
  await client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and usename = current_user and pid <> pg_backend_pid()`,
  )
}
