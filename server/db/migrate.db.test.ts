import { expect, test } from 'vitest'
import { createTestDb } from '../../test/support/postgres.ts'
import { migrate, schemaVersion } from './migrate.ts'

test('a database of a later release is refused and left as it is', async () => {
  const { db, close } = await createTestDb()
  try {
    await db.query(`insert into schema_migration (name, batch, migration_time) values ('9999-of-tomorrow', 99, now())`)
    await expect(migrate(db)).rejects.toThrow(
      /^The database is of a later release: it has 9999-of-tomorrow\. Start that release, or restore a backup made before it\.$/,
    )
    expect(await schemaVersion(db)).toBe('9999-of-tomorrow')
  } finally {
    await close()
  }
})
