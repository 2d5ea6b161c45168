import type { Readable } from 'node:stream'
import type { Client } from 'pg'
import copyStreams from 'pg-copy-streams'
import { AUDIT_LOCK } from '../record/audit-file.ts'

/** A table as a backup keeps it. `columns` are those that are not computed. */
export interface DumpedTable {
  readonly name: string
  readonly columns: readonly string[]
  readonly rows: number
}

/** What a dump says of itself. */
export interface DumpHeader {
  /** Names of the migrations that had run, in their order. */
  readonly migrations: readonly string[]
  readonly tables: readonly DumpedTable[]
  /** The last value of each sequence; null for one that was never asked. */
  readonly sequences: Readonly<Record<string, number | null>>
}

/** Knex's own, which a migration makes again. */
const OF_MIGRATIONS = ['schema_migration', 'schema_migration_lock']
/** The catalogue of import sources, which the next synchronisation reads again. */
const DERIVED = ['import_held', 'import_package', 'import_capability', 'import_name']
/** What is of this minute, and of the processes that run. */
const OF_NOW = ['rate_count', 'replica_message', 'blob_hold']

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

async function listTables(client: Client): Promise<Omit<DumpedTable, 'rows'>[]> {
  const { rows } = await client.query<{ name: string; columns: string[] }>(
    `select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attnum > 0
      and not a.attisdropped and a.attgenerated = '' and c.relname <> all($1)
    group by c.relname order by c.relname`,
    [[...OF_MIGRATIONS, ...DERIVED, ...OF_NOW]],
  )
  return rows
}

/** What is done with files in the moment that a look is of. */
export interface Meanwhile {
  /** Nobody adds to the audit log, nor removes of it what the look does not know to be removed. */
  readonly log: () => Promise<void>
  /** After that, packages cannot change. */
  readonly files: () => Promise<void>
}

/**
 * Begins a look at the database that does not change any more, while packages cannot change either: what `meanwhile`
 * does with their files fits the rows. The look ends with the client's transaction.
 */
export async function beginSnapshot(client: Client, locker: Client, meanwhile: Meanwhile): Promise<void> {
  await locker.query('begin')
  try {
    // waits for changes that are under way; reading goes on
    await locker.query('lock table package in share mode')
    await locker.query('savepoint log')
    await locker.query('select pg_advisory_xact_lock_shared($1)', [AUDIT_LOCK])
    await client.query('begin transaction isolation level repeatable read read only')
    await client.query('select 1 from schema_migration') // the look begins with the first statement
    await meanwhile.log()
    await locker.query('rollback to savepoint log') // which gives that lock back: lines may be written again
    await meanwhile.files()
  } finally {
    await locker.query('rollback')
  }
}

/** The tables of the look with their numbers of rows. */
export async function describeDump(client: Client): Promise<DumpHeader> {
  const tables: DumpedTable[] = []
  for (const table of await listTables(client)) {
    const { rows } = await client.query<{ n: string }>(`select count(*) as n from ${quoted(table.name)}`)
    tables.push({ ...table, rows: Number(rows[0]?.n ?? 0) })
  }
  const ran = await client.query<{ name: string }>('select name from schema_migration order by id')
  const sequences = await client.query<{ name: string; value: string | null }>(
    `select sequencename as name, last_value as value from pg_sequences where schemaname = 'public' order by 1`,
  )
  return {
    migrations: ran.rows.map(({ name }) => name),
    tables,
    sequences: Object.fromEntries(
      sequences.rows
        .filter(({ name }) => !OF_MIGRATIONS.some(table => name.startsWith(table)))
        .map(({ name, value }) => [name, value === null ? null : Number(value)]),
    ),
  }
}

/** The rows of one table in PostgreSQL's text format of COPY. */
export function dumpTable(client: Client, { name, columns }: Omit<DumpedTable, 'rows'>): Readable {
  const list = columns.map(quoted).join(', ')
  return client.query(copyStreams.to(`copy (select ${list} from ${quoted(name)}) to stdout`))
}
