import { afterAll, beforeAll, expect, test } from 'vitest'
import { createFakeClock } from '../../../../test/support/clock.ts'
import { createTestDb, type TestDb } from '../../../../test/support/postgres.ts'
import type { Db } from '../../../db/db.ts'
import { createAuthenticate } from './credentials.ts'
import { createTokens } from '../sessions/jwt.ts'
import { createRevocations } from '../sessions/revocations.ts'
import { createSessions } from '../sessions/sessions.ts'
import { findAccount } from '../accounts/store.ts'

let testDb: TestDb
beforeAll(async () => {
  testDb = await createTestDb()
})
afterAll(() => testDb.close())

test('a request costs one query; ended sessions are read once a second', async () => {
  const asked: string[] = []
  const note = (sql: string): void => {
    asked.push(/\b(from|into|update) (\w+)/.exec(sql)?.[2] ?? sql)
  }
  const db: Db = {
    ...testDb.db,
    query: (sql, params) => {
      note(sql)
      return testDb.db.query(sql, params)
    },
    repeat: (sql, params) => {
      note(sql)
      return testDb.db.repeat(sql, params)
    },
    first: (sql, params) => {
      note(sql)
      return testDb.db.first(sql, params)
    },
  }
  const clock = createFakeClock()
  const tokens = createTokens({ secret: 'a secret of a test', clock })
  const sessions = createSessions({ db, tokens, clock, minutes: 60, revocations: createRevocations({ db, clock }) })
  const authenticate = createAuthenticate({ db, tokens, sessions, clock })
  await db.query(`insert into account (username, password_hash, role) values ('ada', '', 'reader')`)
  const account = await findAccount(db, 'ada')
  if (account === undefined) throw new Error('there is no ada')
  const { token } = await sessions.open(db, account, { how: 'password', ip: '', agent: '' })
  asked.length = 0
  for (let n = 0; n < 50; n++) await authenticate(`Bearer ${token}`)
  expect(asked.filter(table => table === 'account')).toHaveLength(50)
  expect(asked.filter(table => table !== 'account').sort()).toEqual(['ended_token', 'session'])
  clock.advance(1_000)
  asked.length = 0
  for (let n = 0; n < 50; n++) await authenticate(`Bearer ${token}`)
  expect(asked.filter(table => table !== 'account')).toEqual(['ended_token'])
})

test('while the database cannot list ended sessions, every credential is refused', async () => {
  const clock = createFakeClock()
  const revocations = createRevocations({
    db: { ...testDb.db, query: () => Promise.reject(new Error('the database is gone')) },
    clock,
  })
  await expect(revocations.isRevoked('x')).rejects.toThrow('the database is gone')
})
