import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { createTestDb } from '../../test/support/postgres.ts'
import { connected } from '../db/connected.ts'
import { createDb, openClient, type DatabaseAddress, type Db } from '../db/db.ts'
import { migrate } from '../db/migrate.ts'
import { swapBack, swapSchemas } from './restore-database.ts'

let db: Db
let address: DatabaseAddress
let close: () => Promise<void>
beforeAll(async () => {
  ;({ db, address, close } = await createTestDb())
})
afterAll(() => close())

/** Those that a restore looks at. */
const RESTORED = ['leader', 'backup', 'backup_target', 'job', 'session', 'password_reset', 'ended_token', 'api_token']

async function makeTables(on: Db, schema: string): Promise<void> {
  for (const table of RESTORED) await on.query(`create table ${schema}.${table} (like public.${table} including all)`)
}

test('a restore forgets neither where snapshots lie, nor which targets are marked, nor what ended', async () => {
  const fresh = 'restore_20260301100000'
  await db.query(`create schema ${fresh}`)
  await makeTables(db, fresh)
  await db.query(`insert into ${fresh}.leader (epoch, holder, since) values (2, '', now())`)
  await db.query(`update public.leader set epoch = 7`)
  await db.query(`insert into ${fresh}.session (id, username, cred, opened_at, seen_at, expires_at, how, ip, agent)
    values ('s1', 'ada', now(), now(), now(), now() + interval '1 hour', 'password', '', '')`)
  await db.query(`insert into ${fresh}.api_token (id, name, role, hash, created_by) values
    ('00000000-0000-4000-8000-000000000001', 'revoked since', 'reader', 'a', 'ada'),
    ('00000000-0000-4000-8000-000000000002', 'still good', 'reader', 'b', 'ada')`)
  await db.query(`insert into public.ended_token (id, until) values
    ('s1', now() + interval '1 hour'), ('00000000-0000-4000-8000-000000000001', 'infinity')`)
  await db.query(
    `insert into public.backup (file_name, created_at, packages, files, encrypted, made_by, place, size)
    values ('gatehouse_backup_20260301_090000@s3', now(), 3, 9, true, 'ada', 's3', 77)`,
  )
  await db.query(
    `insert into public.backup_target (place, address, marked, tried_at) values ('s3', 'https://s3.example/b', true, now())`,
  )
  await connected(
    () => openClient(address),
    client => swapSchemas(client, { fresh, away: 'before_restore_20260301100000', keepsAudit: false }, () => undefined),
  )
  expect(await db.query('select file_name, place, size::int as size from backup')).toEqual([
    { file_name: 'gatehouse_backup_20260301_090000@s3', place: 's3', size: 77 },
  ])
  expect(await db.query('select place, address, marked from backup_target')).toEqual([
    { place: 's3', address: 'https://s3.example/b', marked: true },
  ])
  expect(await db.query('select id from session')).toEqual([])
  expect(await db.query('select name from api_token')).toEqual([{ name: 'still good' }])
  expect(await db.query('select id from ended_token order by id desc')).toMatchObject([{ id: 's1' }, {}])
  // above every leader of before
  expect(await db.first('select epoch::int as epoch from leader')).toEqual({ epoch: 8 })
})

test('a role that owns its database and no more restores, and undoes it', async () => {
  const empty = await createTestDb({ isEmpty: true })
  const role = `owner_${randomBytes(6).toString('hex')}`
  const database = 'database' in empty.address ? empty.address.database : ''
  const its = { url: `postgres:///${database}?host=${encodeURIComponent(inject('postgres').socket)}&user=${role}` }
  await empty.db.query(`create role ${role} login`)
  await empty.db.query(`alter database ${database} owner to ${role}`)
  const own = createDb(its, { poolSize: 1 })
  try {
    await migrate(own)
    // its parts are the superuser's, as on every server where the role is none
    expect(
      await own.first(
        `select pg_get_userbyid(proowner) = current_user as is_ours from pg_proc where proname = 'set_limit'`,
      ),
    ).toEqual({ is_ours: false })
    await own.query(`insert into leader (epoch, holder, since) values (7, '', now()) on conflict do nothing`)
    await own.query('create schema fresh')
    await makeTables(own, 'fresh')
    const tables = async (): Promise<number> =>
      (await own.first<{ n: number }>(`select count(*)::int as n from pg_tables where schemaname = 'public'`))?.n ?? 0
    const before = await tables()
    await connected(
      () => openClient(its),
      async client => {
        await swapSchemas(client, { fresh: 'fresh', away: 'before_restore_1', keepsAudit: false }, () => undefined)
        expect(await tables()).toBe(8)
        await swapBack(client, 'before_restore_1', { keepsAudit: false })
      },
    )
    expect(await tables()).toBe(before)
    expect(
      await own.query(`select nspname from pg_namespace where nspname like 'before%' or nspname = 'fresh'`),
    ).toEqual([])
    await own.query(`select * from package where name ilike '%a%'`)
    await migrate(own)
  } finally {
    await own.close()
    await empty.close()
    await db.query(`drop role ${role}`)
  }
})
