import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDb } from '../../test/support/postgres.ts'
import { createDb, type Db } from './db.ts'
import { DatabaseUnavailable } from './database-unavailable.ts'

let db: Db
let close: () => Promise<void>
beforeAll(async () => {
  ;({ db, close } = await createTestDb())
})
afterAll(() => close())
const END = 'select pg_terminate_backend(pg_backend_pid())'

test('a lost connection is reported as unavailable, not as a fault, and the next statement reconnects', async () => {
  await expect(db.query(END)).rejects.toBeInstanceOf(DatabaseUnavailable)
  await expect(db.tx(tx => tx.query(END))).rejects.toBeInstanceOf(DatabaseUnavailable)
  expect(await db.first('select 1 as one')).toEqual({ one: 1 })
})

test('a server that does not exist is unavailable, too', async () => {
  const nowhere = createDb({ socket: '/nonexistent', database: 'none' })
  await expect(nowhere.query('select 1')).rejects.toBeInstanceOf(DatabaseUnavailable)
  await nowhere.close()
})

test('a statement that is wrong, and a file that is not there, are faults', async () => {
  await expect(db.query('select nothing')).rejects.not.toBeInstanceOf(DatabaseUnavailable)
  const missing = Object.assign(new Error('no such file'), { code: 'ENOENT' })
  await expect(db.tx(() => Promise.reject(missing))).rejects.toBe(missing)
})
