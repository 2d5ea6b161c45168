import { describe, expect, test } from 'vitest'
import { accountRoutes } from '../support/account-routes.ts'
import { PASSWORD, type TestAccounts } from '../support/accounts.ts'

let it: TestAccounts
let admin: string
const { ask } = accountRoutes({
  started: made => {
    it = made
  },
  signedIn: token => {
    admin = token
  },
})

describe('users', () => {
  test('are created with role or roles, listed without hashes, changed and deleted', async () => {
    const made = await ask('POST', '/auth/users', admin, {
      username: 'ada',
      password: PASSWORD,
      roles: ['uploader'],
      full_name: 'Ada L',
      email: 'ada@example.org',
    })
    expect([made.status, made.json()]).toMatchObject([
      201,
      {
        username: 'ada',
        role: 'uploader',
        roles: ['uploader'],
        full_name: 'Ada L',
        email: 'ada@example.org',
        active: true,
        last_login: null,
      },
    ])
    const changed = await ask('PATCH', '/auth/users/ada', admin, { role: 'maintainer', full_name: null })
    expect([changed.status, changed.json()]).toMatchObject([
      200,
      { role: 'maintainer', full_name: null, email: 'ada@example.org' },
    ])
    expect(
      ((await ask('GET', '/auth/users', admin)).json() as { users: { username: string }[] }).users.map(
        ({ username }) => username,
      ),
    ).toEqual(['ada', 'root'])
    expect((await ask('DELETE', '/auth/users/ada', admin)).status).toBe(200)
    expect((await ask('DELETE', '/auth/users/ada', admin)).status).toBe(404)
    expect(
      (await it.audited('USER_ROLE_CHANGE')).length +
        (await it.audited('USER_CREATE')).length +
        (await it.audited('USER_DELETE')).length,
    ).toBe(3)
  })

  test('a change that changes nothing writes no audit line; another says which fields it changed', async () => {
    await it.user('ada', 'reader')
    for (const body of [{}, { role: 'reader', active: true, full_name: null }])
      expect((await ask('PATCH', '/auth/users/ada', admin, body)).status).toBe(200)
    expect([await it.audited('USER_UPDATE'), await it.audited('USER_ROLE_CHANGE')]).toEqual([[], []])
    await ask('PATCH', '/auth/users/ada', admin, { role: 'reader', full_name: 'Ada', email: 'ada@example.org' })
    expect(await it.audited('USER_UPDATE')).toMatchObject([
      { user: 'root', result: 'SUCCESS', detail: 'ada: full_name, email.' },
    ])
    expect(await it.audited('USER_ROLE_CHANGE')).toEqual([])
  })

  test.each(['', '.hidden', '-flag', 'a b', 'a/b', 'ü', 'x'.repeat(65), 'a\nb', '../x'])(
    '%j is no user name',
    async username => {
      expect((await ask('POST', '/auth/users', admin, { username, password: PASSWORD, role: 'reader' })).status).toBe(
        422,
      )
    },
  )
  test.each(['a', 'Ada.L-1@example.org', '_x', '@x', 'x'.repeat(64)])(
    '%s is a user name, also in a path',
    async username => {
      expect((await ask('POST', '/auth/users', admin, { username, password: PASSWORD, role: 'reader' })).status).toBe(
        201,
      )
      expect(
        (await ask('PATCH', `/auth/users/${encodeURIComponent(username)}`, admin, { full_name: 'x' })).status,
      ).toBe(200)
    },
  )

  test('no two names differ by their case alone, also when both are made at once', async () => {
    for (const username of ['Root', 'ROOT']) {
      const answer = await ask('POST', '/auth/users', admin, { username, password: PASSWORD, role: 'reader' })
      expect([answer.status, answer.json().detail]).toEqual([409, 'The user root exists already.'])
    }
    const twins = await Promise.all(
      ['Ada', 'ada', 'ADA'].map(username =>
        ask('POST', '/auth/users', admin, { username, password: PASSWORD, role: 'reader' }),
      ),
    )
    expect(twins.map(({ status }) => status).sort()).toEqual([201, 409, 409])
    expect((await it.login('Root', PASSWORD)).status).toBe(401)
  })

  test.each([
    ['full_name', 'a\r\nBcc: x@y'],
    ['full_name', 'Ada\u202e'],
    ['full_name', 'A\u200bda'],
    ['email', 'a@b\r\nBcc:x@y'],
    ['email', 'a@b.example, c'],
    ['email', '<x>a@b'],
    ['email', 'a@b@c'],
  ])('a %s that could be read as something else is refused: %j', async (field, value) => {
    const answer = await ask('PATCH', '/auth/users/root', admin, { [field]: value })
    expect([answer.status, answer.json()]).toMatchObject([
      422,
      { detail: [{ loc: ['body', field], msg: expect.stringMatching(/^It must be one /) as string }] },
    ])
  })

  test('a change that holds more than may be changed is refused as a whole', async () => {
    const before = await it.stock.db.query(`select * from account where username = 'root'`)
    const more = {
      username: 'x',
      password: 'X',
      password_hash: 'x',
      origin: 'ldap',
      mfa_enabled: true,
      mfa_secret: 'x',
      credentials_at: 0,
      locked_until: null,
      failed_logins: -100,
      id: 1,
    }
    const refused = await ask('PATCH', '/auth/users/root', admin, { ...more, full_name: 'R' })
    expect(refused.status).toBe(422)
    expect((refused.json().detail as { loc: string[] }[]).map(({ loc }) => loc[1])).toEqual(Object.keys(more))
    expect(await it.stock.db.query(`select * from account where username = 'root'`)).toEqual(before)
    expect((await ask('POST', '/auth/users', admin, { ...more, password: PASSWORD, role: 'reader' })).status).toBe(422)
    const made = await ask('POST', '/auth/users', admin, {
      username: 'ada',
      password: PASSWORD,
      role: 'reader',
    })
    expect(made.json()).toMatchObject({
      username: 'ada',
      role: 'reader',
      active: true,
      origin: 'local',
      mfa_enabled: false,
    })
    expect((await ask('PATCH', '/auth/users/ada', await it.session('ada'), { role: 'admin' })).status).toBe(403)
  })

  test('different roles in the two forms are refused and change nothing; the same role in both is accepted', async () => {
    const two = { role: 'reader', roles: ['admin'] }
    const before = (await ask('GET', '/auth/users', admin)).json()
    for (const [method, path, more] of [
      ['POST', '/auth/users', { username: 'new', password: PASSWORD }],
      ['PATCH', '/auth/users/root', {}],
      ['POST', '/auth/api-tokens', { name: 'ci' }],
    ] as const) {
      const answer = await ask(method, path, admin, { ...more, ...two })
      expect([answer.status, answer.json().code]).toEqual([422, 'two_answers'])
    }
    expect((await ask('GET', '/auth/users', admin)).json()).toEqual(before)
    expect((await ask('GET', '/auth/api-tokens', admin)).json()).toEqual({ tokens: [] })
    expect(
      (
        await ask('POST', '/auth/users', admin, {
          username: 'new',
          password: PASSWORD,
          role: 'reader',
          roles: ['reader'],
        })
      ).json(),
    ).toMatchObject({ role: 'reader' })
  })

  test('a name is taken once; a role is needed and must be one', async () => {
    expect(
      (await ask('POST', '/auth/users', admin, { username: 'root', password: PASSWORD, role: 'reader' })).status,
    ).toBe(409)
    for (const roles of [{}, { role: 'root' }, { roles: [] }, { roles: ['reader', 'admin'] }, { role: null }]) {
      expect((await ask('POST', '/auth/users', admin, { username: 'new', password: PASSWORD, ...roles })).status).toBe(
        422,
      )
    }
  })

  test('a user cannot change the own role or delete the own account, and the attempt changes nothing', async () => {
    await it.user('second', 'admin')
    for (const [method, body, code] of [
      ['PATCH', { role: 'reader' }, 'own_role'],
      ['PATCH', { roles: ['reader'] }, 'own_role'],
      ['PATCH', { active: false }, 'own_account'],
      ['DELETE', undefined, 'own_account'],
    ] as const) {
      const answer = await ask(method, '/auth/users/root', admin, body)
      expect([answer.status, answer.json().code]).toEqual([400, code])
    }
    expect(
      (await ask('PATCH', '/auth/users/root', admin, { role: 'admin', email: 'r@example.org' })).json(),
    ).toMatchObject({ role: 'admin', active: true, email: 'r@example.org' })
  })

  test('the last active admin stays, whoever asks', async () => {
    await it.user('idle', 'admin')
    await it.stock.db.query(`update account set active = false where username = 'idle'`)
    const { token } = await it.apiTokens.create(
      { name: 'root', role: 'admin' },
      { who: { kind: 'user', name: 'root', role: 'admin', credential: '' }, ip: '' },
    )
    for (const [method, body] of [
      ['PATCH', { role: 'reader' }],
      ['PATCH', { active: false }],
      ['DELETE', undefined],
    ] as const) {
      const answer = await ask(method, '/auth/users/root', token, body)
      expect([answer.status, answer.json().code]).toEqual([400, 'last_admin'])
    }
  })

  test('two admins who remove each other at once: one of them stays', async () => {
    await it.user('second', 'admin')
    const second = await it.session('second')
    const answers = await Promise.all([
      ask('PATCH', '/auth/users/second', admin, { role: 'reader' }),
      ask('DELETE', '/auth/users/root', second),
    ])
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(await it.stock.db.query(`select 1 from account where role = 'admin' and active`)).toHaveLength(1)
  })

  test('a demoted admin keeps the role of the session until it ends', async () => {
    await it.user('second', 'admin')
    const second = await it.session('second')
    await ask('PATCH', '/auth/users/second', admin, { role: 'reader' })
    expect((await ask('GET', '/auth/users', second)).status).toBe(200)
    expect((await ask('GET', '/auth/users', await it.session('second'))).status).toBe(403)
  })
})

test('the roles are public', async () => {
  const answer = await ask('GET', '/auth/roles')
  expect(Object.keys(answer.json().roles as object)).toEqual(['reader', 'auditor', 'uploader', 'maintainer', 'admin'])
})
