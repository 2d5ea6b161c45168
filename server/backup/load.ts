import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Client } from 'pg'
import copyStreams from 'pg-copy-streams'
import { migrationsUpTo, type NamedMigration } from '../db/migrate.ts'
import { quoted, type DumpHeader } from './dump.ts'

// as knex makes them
const MIGRATION_TABLES = `
  create table schema_migration (
    id serial primary key, name varchar(255), batch integer, migration_time timestamptz default now());
  create table schema_migration_lock (index serial primary key, is_locked integer);
  insert into schema_migration_lock (is_locked) values (0);`

async function run(client: Client, migrations: readonly NamedMigration[]): Promise<void> {
  for (const { name, up } of migrations) {
    await client.query(up)
    await client.query('insert into schema_migration (name, batch) values ($1, 1)', [name])
  }
}

/** Foreign keys are checked when they are added again: tables need no order then. */
async function withoutForeignKeys(client: Client, schema: string, work: () => Promise<void>): Promise<void> {
  const { rows } = await client.query<{ table: string; name: string; definition: string }>(
    `select conrelid::regclass::text as "table", conname as name, pg_get_constraintdef(oid) as definition
    from pg_constraint where contype = 'f' and connamespace = $1::regnamespace`,
    [schema],
  )
  for (const { table, name } of rows) await client.query(`alter table ${table} drop constraint ${quoted(name)}`)
  await work()
  for (const { table, name, definition } of rows)
    await client.query(`alter table ${table} add constraint ${quoted(name)} ${definition}`)
}

/**
 * Makes the tables of a dump in a schema of its own, fills them, and brings them up to this release. Everything is in
 * the caller's transaction.
 * @param rowsOf  the rows of one table, as `dumpTable` gave them
 * @throws Error where rows are missing or do not fit, and the reason of `signal`
 */
export async function loadDump(
  client: Client,
  schema: string,
  header: DumpHeader,
  rowsOf: (table: string) => Promise<Readable>,
  signal?: AbortSignal,
): Promise<void> {
  const { then, first } = migrationsUpTo(header.migrations)
  // the first migration's: it stays where it is when the schemas change places
  await client.query('create extension if not exists pg_trgm schema public')
  await client.query(`create schema ${quoted(schema)}`)
  await client.query(`set local search_path to ${quoted(schema)}, public`)
  await client.query(MIGRATION_TABLES)
  await run(client, first)
  await withoutForeignKeys(client, schema, async () => {
    for (const { name, columns, rows } of header.tables) {
      // what a migration put in
      await client.query(`delete from ${quoted(name)}`)
      const into = client.query(copyStreams.from(`copy ${quoted(name)} (${columns.map(quoted).join(', ')}) from stdin`))
      await pipeline(await rowsOf(name), into, signal === undefined ? {} : { signal })
      if (into.rowCount !== rows)
        throw new Error(`The backup has ${into.rowCount} rows of ${name} and says that it has ${rows}.`)
    }
  })
  for (const [name, value] of Object.entries(header.sequences))
    if (value !== null)
      await client.query('select setval($1::regclass, $2)', [`${quoted(schema)}.${quoted(name)}`, value])
  await run(client, then)
}
