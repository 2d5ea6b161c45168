import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { ALL_SEEING } from '../../server/core/viewer.ts'
import { accountRoutes } from '../support/account-routes.ts'
import { PASSWORD, SECRET, type TestAccounts } from '../support/accounts.ts'

let it: TestAccounts
let admin: string
const { ask, me } = accountRoutes({
  started: made => {
    it = made
  },
  signedIn: token => {
    admin = token
  },
})

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
