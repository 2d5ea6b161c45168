import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDb, type TestDb } from '../../test/support/postgres.ts'
import { migrate } from '../db/migrate.ts'
import { openClient } from '../db/db.ts'
import { beginSnapshot, describeDump, dumpTable, type DumpHeader } from './dump.ts'
import { loadDump } from './load.ts'

interface Dump {
  readonly header: DumpHeader
  readonly rows: ReadonlyMap<string, Buffer>
}

const opened = async (of: Pick<TestDb, 'address'>) => {
  const client = openClient(of.address, { queryTimeoutMs: Infinity })
  await client.connect()
  return client
}

async function dump(of: Pick<TestDb, 'address'>, files = async () => {}): Promise<Dump> {
  const [client, locker] = [await opened(of), await opened(of)]
  try {
    await beginSnapshot(client, locker, { log: async () => {}, files })
    const header = await describeDump(client)
    const rows = new Map<string, Buffer>()
    for (const table of header.tables) rows.set(table.name, await buffer(dumpTable(client, table)))
    return { header, rows }
  } finally {
    await client.end()
    await locker.end()
  }
}

/** Loads it in place of what is there. */
async function load(into: TestDb, { header, rows }: Dump): Promise<void> {
  const client = await opened(into)
  try {
    await client.query('begin')
    await loadDump(client, 'fresh', header, async table => Readable.from([rows.get(table) ?? Buffer.alloc(0)]))
    await client.query('alter schema public rename to old')
    await client.query('alter schema fresh rename to public')
    await client.query('commit')
  } finally {
    await client.end()
  }
}

let source: TestDb
beforeAll(async () => {
  source = await createTestDb()
})
afterAll(async () => {
  await source.close()
})

describe('a dump', () => {
  test('leaves out the catalogue of import sources, which is read again, and keeps the sources', async () => {
    const names = (await dump(source)).header.tables.map(({ name }) => name)
    const catalogue = ['import_held', 'import_package', 'import_capability', 'import_name']
    expect(names.filter(name => catalogue.includes(name))).toEqual([])
    expect(names).toEqual(expect.arrayContaining(['import_key', 'import_root', 'import_source']))
  })

  test('loaded into another database is dumped the same again, and its next numbers go on', async () => {
    await source.db.query(
      `insert into backup (file_name, created_at, packages, files, encrypted, made_by, proof_failed)
      select 'odd ' || n, now(), n, n, n % 2 = 0, E'tab\\there \\\\ "quoted" \\n ' || chr(8364), null from generate_series(1, 2500) n`,
    )
    await source.db.query(`insert into outbox (key, not_before) select 'audit', now() from generate_series(1, 7)`)
    const first = await dump(source)
    const target = await createTestDb()
    try {
      await load(target, first)
      const again = await dump(target)
      expect(again.header).toEqual(first.header)
      for (const [table, rows] of first.rows)
        expect(again.rows.get(table)?.toString().split('\n').sort(), table).toEqual(rows.toString().split('\n').sort())
      const [made] = await target.db.query<{ id: number }>(
        `insert into outbox (key, not_before) values ('audit', now()) returning id`,
      )
      expect(made?.id).toBe(8)
    } finally {
      await target.close()
    }
  })

  test('is of one moment: packages cannot change while files are pinned, and rows that come later are not in it', async () => {
    const seen: string[] = []
    let late: Promise<unknown> = Promise.resolve()
    const { header } = await dump(source, async () => {
      late = source.db.query('update package set name = name').then(() => seen.push('changed'))
      await source.db.query(`insert into backup values ('late', now(), 1, 1, false, 'ada')`)
      seen.push('pinned')
    })
    await late
    expect(seen).toEqual(['pinned', 'changed'])
    expect(header.tables.find(({ name }) => name === 'backup')?.rows).toBe(2500)
  })

  test('of an earlier release is brought up to this one; one of a later release is refused', async () => {
    const earlier = await createTestDb({ isEmpty: true })
    const target = await createTestDb()
    try {
      await migrate(earlier.db, '0020-served')
      await earlier.db.query(`insert into account (username, password_hash, role) values ('ada', 'x', 'admin')`)
      const old = await dump(earlier)
      expect(old.header.migrations.at(-1)).toBe('0020-served')
      await load(target, old)
      expect(await target.db.query('select username, id from account')).toEqual([{ username: 'ada', id: 1 }])
      expect(await target.db.query('select name from schema_migration order by id')).toEqual(
        await source.db.query('select name from schema_migration order by id'),
      )
      const later = { ...old, header: { ...old.header, migrations: [...old.header.migrations, '9999-later'] } }
      await expect(load(target, later)).rejects.toThrow('It is of a later release: its database has 9999-later.')
    } finally {
      await earlier.close()
      await target.close()
    }
  })

  test('that lacks rows is refused', async () => {
    const whole = await dump(source)
    const rows = new Map(whole.rows)
    rows.set('outbox', Buffer.alloc(0))
    const target = await createTestDb()
    try {
      await expect(load(target, { header: whole.header, rows })).rejects.toThrow(
        'The backup has 0 rows of outbox and says that it has 7.',
      )
    } finally {
      await target.close()
    }
  })
})
