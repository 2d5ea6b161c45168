import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { freshAddress } from '../support/app.ts'
import { PASSWORD, SECRET, startAccounts, type TestAccounts } from '../support/accounts.ts'
import { ALL_SEEING } from '../../server/core/viewer.ts'

let it: TestAccounts
let admin: string
beforeAll(async () => {
  it = await startAccounts()
})
afterAll(() => it.close())
beforeEach(async () => {
  await it.stock.clear()
  await it.stock.db.query('truncate api_token')
  it.stock.clock.set('2026-03-01T10:00:00Z')
  await it.user('root', 'admin')
  admin = await it.session('root')
})
const ask = (method: string, path: string, token?: string, body?: Record<string, unknown>) =>
  it.app.ask(method, `/api/v1${path}`, { token, headers: freshAddress(), ...(body === undefined ? {} : { body }) })
const me = async (token: string): Promise<number> => (await ask('GET', '/auth/me', token)).status

describe('logging in', () => {
  test('gives a token that says who it is, and notes the login', async () => {
    const answer = await it.login('root', PASSWORD, { 'x-forwarded-for': '198.51.100.9' })
    expect([answer.status, answer.json()]).toEqual([
      200,
      { access_token: expect.any(String) as string, token_type: 'bearer', expires_in: 3600 },
    ])
    const profile = await ask('GET', '/auth/me', String(answer.json().access_token))
    expect(profile.json()).toEqual({
      id: expect.any(Number) as number,
      username: 'root',
      auth_source: 'local',
      role: 'admin',
      roles: ['admin'],
      full_name: null,
      email: null,
      active: true,
      mfa_enabled: false,
      origin: 'local',
      created_at: expect.any(String) as string,
      last_login: '2026-03-01T10:00:00.000Z',
      locked_until: null,
    })
    expect(await it.audited('LOGIN')).toMatchObject([{ user: 'root', result: 'SUCCESS', ip: '198.51.100.9' }])
  })

  test('an unknown user, a wrong password and a locked account cannot be told apart', async () => {
    await it.user('ada', 'reader')
    await it.stock.db.query(`update account set locked_until = '2026-03-01T10:10:00Z' where username = 'ada'`)
    const bodies = []
    for (const [name, password] of [
      ['nobody', PASSWORD],
      ['root', 'wrong'],
      ['ada', PASSWORD],
      ['ROOT', PASSWORD],
      ['a\'b" --', 'x'],
    ] as const) {
      const answer = await it.login(name, password)
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer'])
      bodies.push({ ...answer.json(), request_id: '' })
    }
    expect(new Set(bodies.map(body => JSON.stringify(body))).size).toBe(1)
    expect((await it.audited('LOGIN')).map(({ user, result, detail }) => [user, result, detail])).toEqual([
      ['a\'b" --', 'FAILURE', 'There is no such user.'],
      ['ROOT', 'FAILURE', 'There is no such user.'],
      ['ada', 'FAILURE', 'The account is locked.'],
      ['root', 'FAILURE', 'The password is wrong.'],
      ['nobody', 'FAILURE', 'There is no such user.'],
    ])
  })

  test('five wrong passwords lock for 15 minutes; what is tried meanwhile does not make it longer', async () => {
    for (let n = 0; n < 5; n++) await it.login('root', 'wrong')
    expect((await it.login('root', PASSWORD)).status).toBe(401)
    it.stock.clock.set('2026-03-01T10:14:59Z')
    await it.login('root', 'wrong')
    expect((await it.login('root', PASSWORD)).status).toBe(401)
    it.stock.clock.set('2026-03-01T10:15:00Z')
    expect((await it.login('root', PASSWORD)).status).toBe(200)
    // the count began anew
    for (let n = 0; n < 4; n++) await it.login('root', 'wrong')
    expect((await it.login('root', PASSWORD)).status).toBe(200)
  })

  test('of many guesses at once, those after the lock count for nothing', async () => {
    const statuses = await Promise.all(Array.from({ length: 20 }, () => it.login('root', 'wrong')))
    expect(new Set(statuses.map(({ status }) => status))).toEqual(new Set([401]))
    const row = await it.stock.db.first<{ locked_until: Date }>(
      `select locked_until from account where username = 'root'`,
    )
    expect(row?.locked_until.toISOString()).toBe('2026-03-01T10:15:00.000Z')
  })

  test('only the right password of a deactivated account is answered with its deactivation', async () => {
    await it.stock.db.query(
      `insert into account (username, password_hash, role, active) select 'off', password_hash, 'reader', false from account where username = 'root'`,
    )
    expect((await it.login('off', PASSWORD)).json()).toMatchObject({ code: 'account_inactive' })
    expect((await it.login('off', 'wrong')).json()).toMatchObject({ code: 'bad_password' })
  })

  test('a bcrypt hash from htpasswd works, and nothing past 72 bytes is cut off', async () => {
    await it.stock.db.query(`update account set password_hash = replace(password_hash, '$2b$', '$2y$')`)
    expect((await it.login('root', PASSWORD)).status).toBe(200)
    await it.user('long', 'reader', 'A1'.padEnd(72, 'x'))
    expect((await it.login('long', 'A1'.padEnd(72, 'x'))).status).toBe(200)
    expect((await it.login('long', 'A1'.padEnd(73, 'x'))).status).toBe(401)
  })

  test('the limit counts before any password is looked at', async () => {
    const from = { 'x-forwarded-for': '198.51.100.77' }
    const answers = []
    for (let n = 0; n < 12; n++)
      answers.push((await it.app.ask('POST', '/api/v1/auth/token', { body: { nonsense: true }, headers: from })).status)
    expect(answers).toEqual([...Array<number>(10).fill(422), 429, 429])
    expect((await it.login('root', PASSWORD, from)).status).toBe(429)
    expect(await it.audited('LOGIN')).toEqual([])
  })
})

describe('access tokens', () => {
  const sign = (header: object, payload: object, secret = SECRET, hash = 'sha256'): string => {
    const text = [header, payload].map(part => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
    return `${text}.${createHmac(hash, secret).update(text).digest('base64url')}`
  }
  async function claims(): Promise<Record<string, unknown>> {
    return JSON.parse(Buffer.from(admin.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>
  }

  test('carry HS256, a jti, the role and 60 minutes', async () => {
    expect(JSON.parse(Buffer.from(admin.split('.')[0] ?? '', 'base64url').toString())).toEqual({
      alg: 'HS256',
      typ: 'JWT',
    })
    const { sub, role, jti, iat, exp } = await claims()
    expect([sub, role, typeof jti, Number(exp) - Number(iat)]).toEqual(['root', 'admin', 'string', 3600])
    expect(await me(sign({ alg: 'HS256' }, await claims()))).toBe(200)
  })

  test('are refused when any part of them was not issued by this server', async () => {
    const good = await claims()
    const without = (name: string): object => Object.fromEntries(Object.entries(good).filter(([key]) => key !== name))
    const [header = '', payload = '', signature = ''] = admin.split('.')
    const forged = {
      'another secret': sign({ alg: 'HS256' }, good, 'another'),
      'an empty secret': sign({ alg: 'HS256' }, good, ''),
      'no algorithm': `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`,
      'HS512': sign({ alg: 'HS512' }, good, SECRET, 'sha512'),
      'HS256 said, SHA-512 used': sign({ alg: 'HS256' }, good, SECRET, 'sha512'),
      'another payload': `${header}.${Buffer.from(JSON.stringify({ ...good, sub: 'ada' })).toString('base64url')}.${signature}`,
      'a cut signature': admin.slice(0, -2),
      'no signature': `${header}.${payload}.`,
      'an unknown critical header': sign({ alg: 'HS256', crit: ['x'], x: 1 }, good),
      'another issuer': sign({ alg: 'HS256' }, { ...good, iss: 'x' }),
      'another use': sign({ alg: 'HS256' }, { ...good, use: 'mfa_setup_required' }),
      'another scope': sign({ alg: 'HS256' }, { ...good, use: undefined, scope: 'mfa_setup_required' }),
      'an unknown role': sign({ alg: 'HS256' }, { ...good, role: 'root' }),
      'a role that is a list': sign({ alg: 'HS256' }, { ...good, role: ['admin'] }),
      'no such user': sign({ alg: 'HS256' }, { ...good, sub: 'ghost' }),
      'not yet': sign({ alg: 'HS256' }, { ...good, nbf: Number(good.exp) }),
      ...Object.fromEntries(
        ['sub', 'exp', 'iat', 'jti', 'iss', 'role'].map(name => [`no ${name}`, sign({ alg: 'HS256' }, without(name))]),
      ),
      'nothing of the kind': 'aaa.bbb.ccc',
      'an API token that is none': 'svc_',
      'a made-up API token': `svc_${'a'.repeat(43)}`,
      'an endless one': 'a'.repeat(5000),
    }
    for (const [what, token] of Object.entries(forged)) {
      const answer = await ask('GET', '/auth/me', token)
      expect([what, answer.status, answer.headers['www-authenticate'], answer.json().code]).toEqual([
        what,
        401,
        'Bearer',
        'bad_credential',
      ])
    }
  })

  test('other schemes and no credential at all are 401', async () => {
    for (const authorization of [
      '',
      'Basic cm9vdDpy',
      'Bearer',
      'Bearer ',
      admin,
      `Bearer  ${admin} x`,
      `Token ${admin}`,
    ]) {
      const answer = await it.app.ask('GET', '/api/v1/auth/me', {
        headers: authorization === '' ? {} : { authorization },
      })
      expect([authorization, answer.status]).toEqual([authorization, 401])
    }
    expect((await it.app.ask('GET', '/api/v1/auth/me', { headers: { authorization: `bearer ${admin}` } })).status).toBe(
      200,
    )
  })

  test('end after their lifetime', async () => {
    it.stock.clock.set('2026-03-01T10:59:59Z')
    expect(await me(admin)).toBe(200)
    it.stock.clock.set('2026-03-01T11:00:00Z')
    expect(await me(admin)).toBe(401)
  })

  test('end when the account is deactivated, deleted, or made anew under the same name', async () => {
    await it.user('ada', 'uploader')
    const ada = await it.session('ada')
    expect(await me(ada)).toBe(200)
    expect((await ask('PATCH', '/auth/users/ada', admin, { active: false })).status).toBe(200)
    expect((await ask('GET', '/auth/me', ada)).json()).toMatchObject({ code: 'account_inactive' })
    await ask('PATCH', '/auth/users/ada', admin, { active: true })
    expect(await me(ada)).toBe(401)
    const again = await it.session('ada')
    expect((await ask('DELETE', '/auth/users/ada', admin)).status).toBe(200)
    expect(await me(again)).toBe(401)
    await it.user('ada', 'admin')
    expect(await me(again)).toBe(401)
  })
})

describe('passwords', () => {
  const weak: [string, RegExp][] = [
    ['Short1', /8 characters/],
    ['alllowercase1', /upper-case/],
    ['NoDigitsHere', /digit or a special/],
    ['A1'.padEnd(73, 'x'), /72 bytes/],
    [`A1${'ü'.repeat(36)}`, /72 bytes/],
  ]
  test.each(weak)('%s is refused wherever one is set', async (password, why) => {
    for (const [method, path, body] of [
      ['POST', '/auth/users', { username: 'new', password, role: 'reader' }],
      ['POST', '/auth/users/root/reset-password', { new_password: password }],
      ['POST', '/auth/change-password', { current_password: PASSWORD, new_password: password }],
    ] as const) {
      const answer = await ask(method, path, admin, body)
      expect([path, answer.status, answer.json().code]).toEqual([path, 422, 'weak_password'])
      expect(JSON.stringify(answer.json().detail)).toMatch(why)
      expect(answer.text).not.toContain(password)
    }
    expect((await it.login('root', PASSWORD)).status).toBe(200)
  })

  test("changing one's own ends every other session and keeps this one", async () => {
    const other = await it.session('root')
    expect(
      (
        await ask('POST', '/auth/change-password', admin, {
          current_password: 'wrong',
          new_password: 'Another-Horse-2',
        })
      ).json(),
    ).toMatchObject({ code: 'wrong_current_password' })
    expect(await me(other)).toBe(200)
    expect(
      (
        await ask('POST', '/auth/change-password', admin, {
          current_password: PASSWORD,
          new_password: 'Another-Horse-2',
        })
      ).status,
    ).toBe(200)
    expect([await me(admin), await me(other)]).toEqual([200, 401])
    expect([(await it.login('root', PASSWORD)).status, (await it.login('root', 'Another-Horse-2')).status]).toEqual([
      401, 200,
    ])
    expect(await it.audited('PASSWORD_CHANGE')).toMatchObject([
      { result: 'SUCCESS', user: 'root' },
      { result: 'FAILURE', user: 'root' },
    ])
  })

  test("an admin's reset ends every session and unlocks", async () => {
    await it.user('ada', 'reader')
    const ada = await it.session('ada')
    for (let n = 0; n < 5; n++) await it.login('ada', 'wrong')
    expect(
      (await ask('POST', '/auth/users/ada/reset-password', admin, { new_password: 'Another-Horse-2' })).status,
    ).toBe(200)
    expect([await me(ada), (await it.login('ada', 'Another-Horse-2')).status]).toEqual([401, 200])
    expect(
      (await ask('POST', '/auth/users/ghost/reset-password', admin, { new_password: 'Another-Horse-2' })).status,
    ).toBe(404)
    expect(await it.audited('PASSWORD_RESET')).toMatchObject([
      { user: 'root', detail: expect.stringContaining('ada') as string },
    ])
  })

  test('a locked account can be opened by an admin, who sees until when it is locked', async () => {
    await it.user('ada', 'reader')
    const locked = async (): Promise<unknown> =>
      (
        (await ask('GET', '/auth/users', admin)).json() as { users: { username: string; locked_until: unknown }[] }
      ).users
        .filter(({ username }) => username === 'ada')
        .map(user => user.locked_until)
    for (let n = 0; n < 5; n++) await it.login('ada', 'wrong')
    expect(await locked()).toEqual(['2026-03-01T10:15:00.000Z'])
    expect((await it.login('ada', PASSWORD)).status).toBe(401)
    const opened = await ask('POST', '/auth/users/ada/unlock', admin)
    expect([opened.status, opened.json()]).toEqual([
      200,
      { status: 'unlocked', username: 'ada', message: 'The account ada is open again.' },
    ])
    expect(await locked()).toEqual([null])
    expect((await it.login('ada', PASSWORD)).status).toBe(200)
    const again = await ask('POST', '/auth/users/ada/unlock', admin)
    expect([again.status, again.json()]).toEqual([
      200,
      { status: 'not_locked', username: 'ada', message: 'The account ada was not locked.' },
    ])
    expect((await ask('POST', '/auth/users/ghost/unlock', admin)).json()).toMatchObject({ code: 'user_not_found' })
    expect(await it.audited('USER_UNLOCK')).toMatchObject([
      { user: 'root', result: 'SUCCESS', facts: { kind: 'account.unlocked', username: 'ada' } },
    ])
  })

  test('a lock that has run out is shown as none', async () => {
    await it.user('ada', 'reader')
    for (let n = 0; n < 5; n++) await it.login('ada', 'wrong')
    it.stock.clock.set('2026-03-01T10:15:00Z')
    const { users } = (await ask('GET', '/auth/users', admin)).json() as { users: unknown[] }
    expect(users).toMatchObject([
      { username: 'ada', locked_until: null },
      { username: 'root', locked_until: null },
    ])
  })

  test('are in no answer, no audit line and no log line', async () => {
    await ask('POST', '/auth/users', admin, { username: 'eve', password: 'Very-Secret-77', role: 'reader' })
    await it.login('eve', 'Very-Secret-77')
    await it.login('eve', 'Very-Secret-78')
    const users = await ask('GET', '/auth/users', admin)
    const seen =
      users.text +
      JSON.stringify(await it.stock.audit.search(ALL_SEEING, { page: 1, perPage: 100 })) +
      JSON.stringify(it.app.logged)
    expect(seen).toContain('eve')
    for (const secret of ['Very-Secret', '$2b$', 'password_hash', admin]) expect(seen).not.toContain(secret)
  })
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

describe('API tokens', () => {
  const create = async (body: Record<string, unknown>) => await ask('POST', '/auth/api-tokens', admin, body)

  test('are shown once, work with their role, and are kept as a hash', async () => {
    const made = await create({ name: 'ci', role: 'uploader' })
    expect([made.status, made.json()]).toMatchObject([
      201,
      {
        id: expect.any(String) as string,
        name: 'ci',
        role: 'uploader',
        roles: ['uploader'],
        token: expect.stringMatching(/^svc_[\w-]{43}$/) as string,
        prefix: 'svc_',
        expires_at: null,
      },
    ])
    const token = String(made.json().token)
    expect((await ask('GET', '/auth/me', token)).json()).toMatchObject({
      username: 'ci',
      role: 'uploader',
      roles: ['uploader'],
      mfa_enabled: false,
    })
    expect((await ask('GET', '/auth/users', token)).status).toBe(403)
    const list = await ask('GET', '/auth/api-tokens', admin)
    expect(list.json()).toMatchObject({
      tokens: [
        { name: 'ci', role: 'uploader', created_by: 'root', last_used_at: '2026-03-01T10:00:00.000Z', expired: false },
      ],
    })
    expect(list.text).not.toContain(token.slice(4))
    expect(JSON.stringify(await it.stock.db.query('select * from api_token'))).not.toContain(token.slice(4))
    expect(JSON.stringify(it.app.logged) + JSON.stringify(await it.audited('TOKEN_CREATE'))).not.toContain(
      token.slice(4),
    )
  })

  test('end on their day, and at once when they are revoked', async () => {
    const { token, id } = (await create({ name: 'ci', role: 'reader', expires_days: 2 })).json()
    it.stock.clock.set('2026-03-03T09:59:59Z')
    expect(await me(String(token))).toBe(200)
    it.stock.clock.set('2026-03-03T10:00:00Z')
    expect(await me(String(token))).toBe(401)
    it.stock.clock.set('2026-03-01T10:00:00Z')
    expect((await ask('DELETE', `/auth/api-tokens/${String(id)}`, admin)).status).toBe(200)
    expect(await me(String(token))).toBe(401)
    expect((await ask('DELETE', `/auth/api-tokens/${String(id)}`, admin)).status).toBe(404)
    expect((await ask('DELETE', '/auth/api-tokens/nonsense', admin)).status).toBe(404)
  })

  test.each([
    { name: '', role: 'reader' },
    { name: 'x', role: 'reader', expires_days: 0 },
    { name: 'x', role: 'reader', expires_days: 1.5 },
    { name: 'x' },
    { role: 'reader' },
    { name: 'a\nb', role: 'reader' },
  ])('%j is refused', async body => {
    expect((await create(body)).status).toBe(422)
  })

  test.each(['Ada\u202e', 'a\u2028b', 'ci\u200b', 'a\u0085b'])(
    '%j is no name: it would hide or turn round what lists and logs show',
    async name => {
      expect((await create({ name, role: 'reader' })).status).toBe(422)
    },
  )

  test('rest while whoever made them is deactivated, and end when that account is deleted meanwhile', async () => {
    await it.user('mae', 'admin')
    const made = await ask('POST', '/auth/api-tokens', await it.session('mae'), { name: 'of mae', role: 'reader' })
    const token = String(made.json().token)
    expect(await me(token)).toBe(200)
    await ask('PATCH', '/auth/users/mae', admin, { active: false })
    expect(await me(token)).toBe(401)
    await ask('PATCH', '/auth/users/mae', admin, { active: true })
    expect(await me(token)).toBe(200)
    await ask('PATCH', '/auth/users/mae', admin, { active: false })
    await ask('DELETE', '/auth/users/mae', admin)
    expect(await me(token)).toBe(401)
    expect((await ask('GET', '/auth/api-tokens', admin)).json()).toEqual({ tokens: [] })
  })

  test('have no password to change', async () => {
    const { token } = (await create({ name: 'ci', role: 'admin' })).json()
    expect(
      (
        await ask('POST', '/auth/change-password', String(token), {
          current_password: PASSWORD,
          new_password: 'Another-Horse-2',
        })
      ).status,
    ).toBe(400)
  })

  test('note their last use at most once a minute', async () => {
    const { token } = (await create({ name: 'ci', role: 'reader' })).json()
    const used = async (at: string): Promise<unknown> => {
      it.stock.clock.set(at)
      await me(String(token))
      return (
        await it.stock.db.first<{ last_used_at: Date }>('select last_used_at from api_token')
      )?.last_used_at.toISOString()
    }
    expect([
      await used('2026-03-01T10:00:00.000Z'),
      await used('2026-03-01T10:00:59.000Z'),
      await used('2026-03-01T10:01:01.000Z'),
    ]).toEqual(['2026-03-01T10:00:00.000Z', '2026-03-01T10:00:00.000Z', '2026-03-01T10:01:01.000Z'])
  })
})

test('the roles are public', async () => {
  const answer = await ask('GET', '/auth/roles')
  expect(Object.keys(answer.json().roles as object)).toEqual(['reader', 'auditor', 'uploader', 'maintainer', 'admin'])
})
