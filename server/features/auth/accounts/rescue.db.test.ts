import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDb, type TestDb } from '../../../../test/support/postgres.ts'
import type { AuditFact } from '../../../record/audit.ts'
import { checkPassword } from './passwords.ts'
import { createRescue, type Rescue } from './rescue.ts'
import { findAccount } from './store.ts'

let testDb: TestDb
let rescue: Rescue
const owed: AuditFact[] = []
beforeAll(async () => {
  testDb = await createTestDb()
  const { db } = testDb
  rescue = createRescue({
    db,
    random: randomBytes,
    audit: {
      owe: (_, fact) => {
        owed.push(fact)
        return Promise.resolve()
      },
    },
  })
  await db.query(`
    insert into account (username, password_hash, role, origin, active, mfa_secret, locked_until) values
      ('ada', '!', 'admin', 'local', true, 'sealed', now() + interval '1 hour'), ('bea', '!', 'admin', 'local', false, null, null),
      ('cem', '!', 'admin', 'ldap', true, null, null), ('dan', '!', 'reader', 'local', true, 'sealed', null)`)
})
afterAll(() => testDb.close())

test('names admins alone', async () => {
  expect((await rescue.list()).map(account => account.username)).toEqual(['ada', 'bea', 'cem'])
})

test('an admin who is locked or deactivated gets in with the new password, and no earlier session goes on', async () => {
  for (const username of ['ada', 'bea']) {
    const before = await findAccount(testDb.db, username)
    const password = await rescue.resetPassword(username)
    expect(password).toMatch(/^[A-HJ-NP-Z2-9]{5}(-[A-HJ-NP-Z2-9]{5}){3}$/)
    const after = await findAccount(testDb.db, username)
    expect(after).toMatchObject({ active: true, locked_until: null, kept_session: null })
    expect(await checkPassword(password, after?.password_hash)).toBe(true)
    expect(after?.credentials_at.getTime()).toBeGreaterThan(before?.credentials_at.getTime() ?? Infinity)
  }
  expect(owed.splice(0).map(({ action, user, facts }) => [action, user, facts])).toEqual([
    ['PASSWORD_RESET', 'system', { kind: 'password.reset', username: 'ada', by: 'screen' }],
    ['USER_UPDATE', 'system', { kind: 'account.changed', username: 'bea', fields: ['active'] }],
    ['PASSWORD_RESET', 'system', { kind: 'password.reset', username: 'bea', by: 'screen' }],
  ])
})

test('a second factor is removed', async () => {
  await rescue.resetMfa('ada')
  expect(await findAccount(testDb.db, 'ada')).toMatchObject({ mfa_enabled: false })
  await expect(rescue.resetMfa('ada')).rejects.toMatchObject({ code: 'mfa_not_active' })
  expect(owed.splice(0).map(({ action, facts }) => [action, facts])).toEqual([
    ['MFA_RESET', { kind: 'mfa.reset', username: 'ada', by: 'screen' }],
  ])
})

test('nobody but admins, and no password that is kept elsewhere', async () => {
  await expect(rescue.resetPassword('dan')).rejects.toMatchObject({ code: 'user_not_found' })
  await expect(rescue.resetMfa('dan')).rejects.toMatchObject({ code: 'user_not_found' })
  await expect(rescue.resetPassword('nobody')).rejects.toMatchObject({ code: 'user_not_found' })
  await expect(rescue.resetPassword('cem')).rejects.toMatchObject({ code: 'no_local_password' })
  expect(await findAccount(testDb.db, 'dan')).toMatchObject({ mfa_enabled: true })
  expect(owed).toEqual([])
})
