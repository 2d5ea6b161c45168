import { inject, expect, test } from 'vitest'
import { createDb } from './db.ts'
import { databaseUnusable } from './explain-failure.ts'

const cluster = inject('postgres')

async function why(url: string): Promise<string> {
  const db = createDb({ url }, { poolSize: 1 })
  const error = await db.query('select 1').then(
    () => undefined,
    (thrown: unknown) => databaseUnusable(url, thrown),
  )
  await db.close()
  return error instanceof Error ? error.message : 'it worked'
}

test('a server that is not there is named with its address and the way out, the password is not', async () => {
  expect(await why('postgres://u:hunter2@127.0.0.1:1/gatehouse')).toBe(
    'The database at 127.0.0.1:1/gatehouse cannot be used: nothing listens there. Start PostgreSQL there, or correct DATABASE_URL.',
  )
})

test('a database that is missing is named with how it is made', async () => {
  const url = `postgres://postgres@localhost/gh_nowhere?host=${encodeURIComponent(cluster.socket)}`
  expect(await why(url)).toBe(
    `The database at ${cluster.socket}/gh_nowhere cannot be used: database "gh_nowhere" does not exist. Create it with createdb, or correct DATABASE_URL.`,
  )
})

test.each([
  ['28P01', 'password authentication failed for user "u"', 'Correct the user name and the password in DATABASE_URL.'],
  ['42501', 'permission denied for schema public', 'Make the user of DATABASE_URL the owner of the database.'],
  [
    '42501',
    'create table "schema_migration" ("id" serial primary key) - permission denied for schema public',
    'used: permission denied for schema public. Make the user of DATABASE_URL the owner of the database.',
  ],
  [
    '',
    'Knex: Timeout acquiring a connection. The pool is probably full. Are you missing a .transacting(trx) call?',
    'Start PostgreSQL there, or correct DATABASE_URL.',
  ],
])('%s has a way out', (code, message, wayOut) => {
  const error = databaseUnusable(
    'postgres://u:hunter2@db.example:5432/gatehouse',
    Object.assign(new Error(message), { code }),
  ) as Error
  expect(error.message).toMatch(/^The database at db\.example:5432\/gatehouse cannot be used: /)
  expect(error.message.endsWith(wayOut)).toBe(true)
  expect(error.message).not.toContain('hunter2')
})

test('a migration that fails is told as it is', () => {
  const error = Object.assign(new Error('column "x" does not exist'), { code: '42703' })
  expect(databaseUnusable('postgres://u@h/d', error)).toBe(error)
})
