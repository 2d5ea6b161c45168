import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDb } from '../../test/support/postgres.ts'
import { connected } from './connected.ts'
import { createDb, openClient, type DatabaseAddress, type Db } from './db.ts'
import { DatabaseUnavailable } from './database-unavailable.ts'

let db: Db
let address: DatabaseAddress
let close: () => Promise<void>
beforeAll(async () => {
  ;({ db, address, close } = await createTestDb())
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

test('so is one that takes a connection of its own and is too busy to answer, or ended', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gh-silent-'))
  const silent = createServer(socket => socket.resume()).listen(join(folder, '.s.PGSQL.5432'))
  const dial = (): Promise<void> =>
    connected(
      () => openClient({ socket: folder, database: 'none' }),
      () => Promise.resolve(),
    )
  await expect(dial()).rejects.toBeInstanceOf(DatabaseUnavailable)
  await new Promise(resolve => silent.close(resolve))
  await expect(dial()).rejects.toBeInstanceOf(DatabaseUnavailable)
  await rm(folder, { recursive: true, force: true })
})

test('a process that stands still in a transaction does not keep its rows from the others', async () => {
  await db.query('create table held (id integer primary key)')
  await db.query('insert into held values (1)')
  const still = createDb(address, { silentMs: 300 })
  const held = Promise.withResolvers<void>()
  const taken = Promise.withResolvers<void>()
  const first = still.tx(async tx => {
    await tx.query('select from held for update')
    held.resolve()
    await taken.promise
    await tx.query('delete from held')
  })
  await held.promise
  await db.tx(tx => tx.query('update held set id = 2'))
  taken.resolve()
  await expect(first).rejects.toBeInstanceOf(DatabaseUnavailable)
  expect(await db.query('select id from held')).toEqual([{ id: 2 }])
  await still.close()
})

test('a statement that is wrong, and a file that is not there, are faults', async () => {
  await expect(db.query('select nothing')).rejects.not.toBeInstanceOf(DatabaseUnavailable)
  const missing = Object.assign(new Error('no such file'), { code: 'ENOENT' })
  await expect(db.tx(() => Promise.reject(missing))).rejects.toBe(missing)
})
