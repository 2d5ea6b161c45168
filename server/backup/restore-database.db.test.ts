import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDb } from '../../test/support/postgres.ts'
import { connected } from '../db/connected.ts'
import { openClient, type DatabaseAddress, type Db } from '../db/db.ts'
import { swapSchemas } from './restore-database.ts'

let db: Db
let address: DatabaseAddress
let close: () => Promise<void>
beforeAll(async () => {
  ;({ db, address, close } = await createTestDb())
})
afterAll(() => close())

test('a restore forgets neither where snapshots lie, nor which targets are marked', async () => {
  const fresh = 'restore_20260301100000'
  await db.query(`create schema ${fresh}`)
  for (const table of ['leader', 'backup', 'backup_target', 'job'])
    await db.query(`create table ${fresh}.${table} (like public.${table} including all)`)
  await db.query(`insert into ${fresh}.leader (epoch, holder, since) values (2, '', now())`)
  await db.query(`update public.leader set epoch = 7`)
  await db.query(
    `insert into public.backup (file_name, created_at, packages, files, encrypted, made_by, place, size)
    values ('gatehouse_backup_20260301_090000@s3', now(), 3, 9, true, 'ada', 's3', 77)`,
  )
  await db.query(
    `insert into public.backup_target (place, address, marked, tried_at) values ('s3', 'https://s3.example/b', true, now())`,
  )
  await connected(
    () => openClient(address),
    client => swapSchemas(client, fresh, 'before_restore_20260301100000', () => undefined),
  )
  expect(await db.query('select file_name, place, size::int as size from backup')).toEqual([
    { file_name: 'gatehouse_backup_20260301_090000@s3', place: 's3', size: 77 },
  ])
  expect(await db.query('select place, address, marked from backup_target')).toEqual([
    { place: 's3', address: 'https://s3.example/b', marked: true },
  ])
  // above every leader of before
  expect(await db.first('select epoch::int as epoch from leader')).toEqual({ epoch: 8 })
})
