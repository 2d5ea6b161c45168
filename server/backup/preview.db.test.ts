import { tmpdir } from 'node:os'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDb, type TestDb } from '../../test/support/postgres.ts'
import type { About } from './archive-manifest.ts'
import { previewBackup, type Preview } from './preview.ts'

let it: TestDb
let migrations: string[]
beforeAll(async () => {
  it = await createTestDb()
  await it.db.query(`insert into account (username, password_hash, role) values ('ada', 'x', 'admin')`)
  migrations = (await it.db.query<{ name: string }>('select name from schema_migration order by id')).map(
    ({ name }) => name,
  )
})
afterAll(() => it.close())

async function preview(about: Partial<About>, { sizeBytes = 1_000, isEnterprise = true } = {}): Promise<Preview> {
  const whole: About = {
    ...{ name: 'gatehouse_backup_20260301_100000', created_at: '2026-03-01T10:00:00.000Z', version: '0.2.0' },
    ...{ has_secrets: false, packages: 7 },
    database: { migrations, tables: [{ name: 'package', columns: [], rows: 7 }], sequences: {} },
    ...about,
  }
  const source = {
    about: () => Promise.resolve(whole),
    sizeBytes: () => Promise.resolve(sizeBytes),
    read: () => Promise.reject(new Error('it was read')),
  }
  const here = { db: it.db, root: tmpdir(), isEnterprise: () => isEnterprise }
  return previewBackup(here, source, { passphrase: '', signal: new AbortController().signal })
}
const ofSchema = (names: readonly string[]): Partial<About> => ({
  database: { migrations: names, tables: [], sequences: {} },
})

test('numbers of the backup stand beside those of now', async () => {
  const { parts, refused, notes } = await preview({})
  expect(parts).toContainEqual({ part: 'versions', now: 0, backup: 7 })
  expect(parts).toContainEqual({ part: 'accounts', now: 1, backup: 0 })
  expect([refused, notes]).toEqual([null, []])
})

test('an older schema is migrated, a newer one refused', async () => {
  const older = await preview(ofSchema(migrations.slice(0, -2)))
  expect([older.schema.is, older.refused]).toEqual(['older', null])
  const newer = await preview(ofSchema([...migrations, '9999-later']))
  expect([newer.schema, newer.refused]).toEqual([
    { now: migrations.at(-1), backup: '9999-later', is: 'newer' },
    expect.stringContaining('It is of a later release'),
  ])
})

test('one that does not fit on the disk is refused', async () => {
  const { refused, needs_mb } = await preview({}, { sizeBytes: 1e18 })
  expect(refused).toContain('Make room, then restore again.')
  expect(needs_mb).toBeGreaterThan(1e12)
})

test('a lower edition here is said, and is no refusal', async () => {
  const { refused, notes } = await preview({ enterprise: true }, { isEnterprise: false })
  expect([refused, notes]).toEqual([null, [expect.stringContaining('stays locked')]])
  expect((await preview({ enterprise: false }, { isEnterprise: false })).notes).toEqual([])
})
