import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Directory, DirectoryAnswer } from '../../server/directory/directory.ts'
import { freshAddress, type Answer } from '../support/app.ts'
import { PASSWORD, startAccounts, type TestAccounts } from '../support/accounts.ts'

const START = Date.parse('2026-03-01T10:00:00Z')

let it: TestAccounts
let root: string
beforeAll(async () => {
  it = await startAccounts()
})
afterAll(() => it.close())
beforeEach(async () => {
  await it.stock.clear()
  at(0)
  await it.user('root', 'admin')
  root = await it.session('root')
})
const at = (minutes: number): void => it.stock.clock.set(new Date(START + minutes * 60_000).toISOString())
const call = (
  service: TestAccounts,
  method: string,
  path: string,
  token?: string,
  body?: Record<string, unknown>,
): Promise<Answer> =>
  service.app.ask(method, `/api/v1${path}`, {
    token,
    headers: { ...freshAddress(), 'user-agent': 'curl/8' },
    ...(body === undefined ? {} : { body }),
  })
const ask = (method: string, path: string, token?: string, body?: Record<string, unknown>): Promise<Answer> =>
  call(it, method, path, token, body)
const works = async (token: string, service = it): Promise<number> =>
  (await call(service, 'GET', '/auth/me', token)).status
const said = (answer: Answer): [number, unknown] => [answer.status, answer.json().code]
const listed = async (token: string): Promise<Record<string, unknown>[]> =>
  (await ask('GET', '/auth/sessions', token)).json().sessions as Record<string, unknown>[]
const logIn = async (username = 'root'): Promise<string> =>
  String((await ask('POST', '/auth/token', undefined, { username, password: PASSWORD })).json().access_token)

describe("one's own sessions", () => {
  test('are listed with their origin, newest first, without those of others', async () => {
    await it.user('ada', 'reader')
    await it.session('ada')
    at(1)
    const answer = await it.app.ask('POST', '/api/v1/auth/token', {
      body: { username: 'root', password: PASSWORD },
      headers: { 'x-forwarded-for': '198.51.100.7', 'user-agent': 'Firefox' },
    })
    const token = String(answer.json().access_token)
    at(3)
    expect(await listed(token)).toEqual([
      {
        id: expect.any(String) as string,
        opened_at: '2026-03-01T10:01:00.000Z',
        last_seen_at: '2026-03-01T10:03:00.000Z',
        expires_at: '2026-03-01T11:01:00.000Z',
        how: 'password',
        ip: '198.51.100.7',
        user_agent: 'Firefox',
        current: true,
      },
      {
        id: expect.any(String) as string,
        opened_at: '2026-03-01T10:00:00.000Z',
        last_seen_at: '2026-03-01T10:00:00.000Z',
        expires_at: '2026-03-01T11:00:00.000Z',
        how: 'single_sign_on',
        ip: '192.0.2.1',
        user_agent: 'test',
        current: false,
      },
    ])
    at(60)
    expect((await listed(token)).map(({ current }) => current)).toEqual([true])
  })

  test('one of them is ended at once and for good, also over a restart', async () => {
    const other = await logIn()
    const id = (await listed(root)).find(({ current }) => current === false)?.id as string
    expect(await works(other)).toBe(200)
    expect((await ask('DELETE', `/auth/sessions/${id}`, root)).status).toBe(200)
    expect(said(await ask('GET', '/auth/me', other))).toEqual([401, 'bad_credential'])
    expect((await ask('POST', '/auth/refresh', other)).status).toBe(401)
    expect(await listed(root)).toHaveLength(1)
    const again = await it.restarted()
    expect([await works(other, again), await works(root, again)]).toEqual([401, 200])
    await again.close()
    expect(said(await ask('DELETE', `/auth/sessions/${id}`, root))).toEqual([404, 'session_not_found'])
    expect((await it.audited('SESSION_END'))[0]).toMatchObject({ user: 'root', result: 'SUCCESS' })
  })

  test('a session ended in one replica is ended in another within a second', async () => {
    const replica = await it.restarted()
    expect(await works(root, replica)).toBe(200)
    await ask('POST', '/auth/logout', root)
    it.stock.clock.set(new Date(START + 1_000).toISOString())
    expect(await works(root, replica)).toBe(401)
    await replica.close()
  })

  test("a user cannot end another user's, and an admin's list shows only the admin's own", async () => {
    await it.user('ada', 'reader')
    const ada = await it.session('ada')
    const [mine] = await listed(ada)
    expect(said(await ask('DELETE', `/auth/sessions/${String(mine?.id)}`, root))).toEqual([404, 'session_not_found'])
    expect(await works(ada)).toBe(200)
    expect(await listed(root)).toHaveLength(1)
  })

  test('an admin sees those of one user, ends one or all, and the audit log names both', async () => {
    await it.user('ada', 'reader')
    const [first, second, third] = [await logIn('ada'), await logIn('ada'), await logIn('ada')]
    const of = async (name: string) =>
      (await ask('GET', `/auth/users/${name}/sessions`, root)).json().sessions as Record<string, unknown>[]
    const newest = (await listed(third)).find(({ current }) => current)?.id as string
    expect((await of('ada')).map(({ current, how }) => [current, how])).toEqual(
      [1, 2, 3].map(() => [false, 'password']),
    )
    expect((await ask('DELETE', `/auth/users/ada/sessions/${newest}`, root)).status).toBe(200)
    expect([await works(first), await works(second), await works(third)]).toEqual([200, 200, 401])
    expect(said(await ask('DELETE', `/auth/users/ada/sessions/${newest}`, root))).toEqual([
      404,
      'user_session_not_found',
    ])
    const all = await ask('DELETE', '/auth/users/ada/sessions', root)
    expect([all.status, all.json()]).toEqual([200, { message: '2 sessions of ada have ended.', ended: 2 }])
    expect([await works(first), await works(second), await works(root)]).toEqual([401, 401, 200])
    expect(await of('ada')).toEqual([])
    expect((await it.audited('SESSION_END')).slice(0, 2).map(({ user, detail }) => [user, detail])).toEqual([
      ['root', '2 sessions of ada, by an admin.'],
      ['root', 'One of ada, by an admin.'],
    ])
    // one's own: the session that asks goes on
    await logIn()
    expect((await ask('DELETE', '/auth/users/root/sessions', root)).json().ended).toBe(1)
    expect(await works(root)).toBe(200)
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/sessions'],
      ['DELETE', '/sessions'],
      ['DELETE', '/sessions/x'],
    ] as const)
      expect(said(await ask(method, `/auth/users/nobody${path}`, root))).toEqual([404, 'user_not_found'])
    expect((await ask('GET', '/auth/users/ada', root)).json()).toMatchObject({
      username: 'ada',
      role: 'reader',
      mfa_enabled: false,
      recovery_codes_remaining: 0,
    })
  })

  test.each(['nonsense', '../../x', '%00', `${'9'.repeat(3_000)}`])('%s is no session', async id => {
    expect([400, 404]).toContain((await ask('DELETE', `/auth/sessions/${encodeURIComponent(id)}`, root)).status)
    expect(await works(root)).toBe(200)
  })

  test('all others end together', async () => {
    const others = [await logIn(), await logIn()]
    const answer = await ask('DELETE', '/auth/sessions', root)
    expect([answer.status, answer.json().ended]).toEqual([200, 2])
    expect([await works(root), ...(await Promise.all(others.map(token => works(token))))]).toEqual([200, 401, 401])
    expect((await ask('DELETE', '/auth/sessions', root)).json().ended).toBe(0)
  })

  test('logging out ends the current session only', async () => {
    const other = await logIn()
    expect((await ask('POST', '/auth/logout', root)).status).toBe(200)
    expect([await works(root), await works(other)]).toEqual([401, 200])
    expect((await ask('POST', '/auth/logout', root)).status).toBe(401)
  })

  test('a new password ends the others, and removes them from the list', async () => {
    const other = await logIn()
    await ask('POST', '/auth/change-password', root, { current_password: PASSWORD, new_password: 'Another-Horse-2' })
    expect([await works(root), await works(other)]).toEqual([200, 401])
    expect((await listed(root)).map(({ current }) => current)).toEqual([true])
  })

  test('an API token has none', async () => {
    const token = String((await ask('POST', '/auth/api-tokens', root, { name: 'ci', role: 'admin' })).json().token)
    expect(await listed(token)).toEqual([])
    for (const [method, path] of [
      ['POST', '/auth/logout'],
      ['POST', '/auth/refresh'],
      ['DELETE', '/auth/sessions'],
      ['DELETE', '/auth/sessions/x'],
    ] as const) {
      expect(said(await ask(method, path, token))).toEqual([400, 'no_account'])
    }
    expect(await works(token)).toBe(200)
  })

  test('ended sessions are removed', async () => {
    const other = await logIn()
    await ask('POST', '/auth/logout', other)
    at(13 * 60)
    const fresh = await logIn()
    await ask('POST', '/auth/logout', fresh)
    expect(await it.stock.db.query('select 1 from session')).toHaveLength(1)
    expect(await it.stock.db.query('select 1 from ended_token')).toHaveLength(1)
  })
})

describe('refreshing', () => {
  const refresh = async (token: string): Promise<string> =>
    String((await ask('POST', '/auth/refresh', token)).json().access_token)

  test('prolongs the same session with the role as it is now', async () => {
    await it.user('mae', 'admin')
    const mae = await it.session('mae')
    await ask('PATCH', '/auth/users/mae', root, { role: 'reader' })
    expect((await ask('GET', '/auth/users', mae)).status).toBe(200)
    at(50)
    const answer = await ask('POST', '/auth/refresh', mae)
    expect([answer.status, answer.json()]).toEqual([
      200,
      { access_token: expect.any(String) as string, token_type: 'bearer', expires_in: 3600 },
    ])
    const next = String(answer.json().access_token)
    expect((await ask('GET', '/auth/users', next)).status).toBe(403)
    expect(await listed(next)).toHaveLength(1)
    at(60)
    expect([await works(mae), await works(next)]).toEqual([401, 200])
    // ended together, whichever token asks
    await ask('POST', '/auth/logout', next)
    expect(await works(next)).toBe(401)
  })

  test('ends 12 hours after the login, and an expired token cannot be refreshed', async () => {
    let token = root
    for (let minute = 50; minute < 720; minute += 50) {
      at(minute)
      token = await refresh(token)
    }
    at(719)
    const last = await ask('POST', '/auth/refresh', token)
    expect([last.status, last.json().expires_in]).toEqual([200, 60])
    at(720)
    expect((await ask('POST', '/auth/refresh', String(last.json().access_token))).status).toBe(401)
  })

  test('a revoked session stays ended beyond every token it ever had', async () => {
    at(30)
    const next = await refresh(root)
    await ask('POST', '/auth/logout', root)
    for (const minute of [30, 59, 60, 89]) {
      at(minute)
      expect([minute, await works(next)]).toEqual([minute, 401])
    }
  })

  test('the session that changed the password can be refreshed', async () => {
    await ask('POST', '/auth/change-password', root, { current_password: PASSWORD, new_password: 'Another-Horse-2' })
    const next = await refresh(root)
    expect([await works(next), (await listed(next)).length]).toEqual([200, 1])
  })
})

describe('a directory', () => {
  let answers: Record<string, DirectoryAnswer | undefined>
  let asked: string[]
  let enabled: boolean
  let service: TestAccounts
  const directory: Directory = {
    isEnabled: () => enabled,
    authenticate: async (username, password) => {
      asked.push(username)
      const answer = answers[username] ?? answers['*'] ?? { kind: 'refused' }
      return answer.kind === 'ok' && password !== PASSWORD ? { kind: 'refused' } : answer
    },
  }
  const person = (username: string, over: object = {}): DirectoryAnswer => ({
    kind: 'ok',
    profile: { username, role: 'uploader', fullName: 'Ada L.', email: 'ada@example.test', provision: true, ...over },
  })
  const login = (username: string, password = PASSWORD): Promise<Answer> =>
    call(service, 'POST', '/auth/token', undefined, { username, password })
  beforeAll(async () => {
    service = await startAccounts({ directory })
  })
  afterAll(() => service.close())
  beforeEach(async () => {
    await service.stock.clear()
    await service.user('root', 'admin')
    answers = {}
    asked = []
    enabled = true
  })

  test('is asked about users without an account here; the first login makes one', async () => {
    answers = { ada: person('ada') }
    const answer = await login('ada')
    expect([answer.status, answer.json()]).toMatchObject([200, { token_type: 'bearer' }])
    expect((await call(service, 'GET', '/auth/me', String(answer.json().access_token))).json()).toMatchObject({
      username: 'ada',
      role: 'uploader',
      full_name: 'Ada L.',
      email: 'ada@example.test',
      origin: 'ldap',
    })
    expect(await service.audited('USER_CREATE')).toMatchObject([
      { user: 'ada', detail: 'ada, uploader, at the first login from ldap.' },
    ])
    expect((await service.audited('LOGIN'))[0]).toMatchObject({
      user: 'ada',
      result: 'SUCCESS',
      detail: 'With a directory password.',
    })
  })

  test('is never asked about a local account, whose wrong password stays wrong', async () => {
    answers = { root: person('root', { role: 'admin' }) }
    await service.stock.db.query(
      `update account set password_hash = '$2b$04$abcdefghijklmnopqrstuuAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'`,
    )
    expect(said(await login('root'))).toEqual([401, 'bad_password'])
    expect(asked).toEqual([])
  })

  test('cannot answer with the name of a local account', async () => {
    answers = { ROOT: person('root', { role: 'reader' }) }
    expect(said(await login('ROOT'))).toEqual([401, 'bad_password'])
    expect(await service.stock.db.first('select role, origin from account')).toEqual({ role: 'admin', origin: 'local' })
  })

  test('locks the account whose password is guessed, under any spelling or address; not a local account of that name', async () => {
    answers = { 'ada': person('ada'), 'ADA': person('ada'), 'ada@example.test': person('ada'), 'Root': person('root') }
    expect((await login('ada')).status).toBe(200)
    for (const name of Object.keys(answers))
      answers[name] = { kind: 'refused', username: name === 'Root' ? 'root' : 'ada' }
    for (const name of ['ADA', 'ada@example.test', 'ADA', 'ada', 'ada@example.test'])
      expect((await login(name, 'wrong')).status).toBe(401)
    for (let n = 0; n < 5; n++) expect((await login('Root', 'wrong')).status).toBe(401)
    answers = { ada: person('ada'), ADA: person('ada') }
    expect([said(await login('ada')), said(await login('ADA')), (await login('root')).status]).toEqual([
      [401, 'bad_password'],
      [401, 'bad_password'],
      200,
    ])
  })

  test('that writes a name otherwise than before means the same person', async () => {
    answers = { ada: person('ada') }
    await login('ada')
    answers = { ada: person('Ada', { role: 'reader' }) }
    const answer = await login('ada')
    expect((await call(service, 'GET', '/auth/me', String(answer.json().access_token))).json()).toMatchObject({
      username: 'ada',
      role: 'reader',
    })
    expect(await service.stock.db.query('select username from account order by username')).toEqual([
      { username: 'ada' },
      { username: 'root' },
    ])
  })

  test('sets the role again at each login, with an audit line', async () => {
    answers = { ada: person('ada') }
    await login('ada')
    answers = { ada: person('ada', { role: 'reader', fullName: undefined }) }
    const answer = await login('ada')
    expect((await call(service, 'GET', '/auth/me', String(answer.json().access_token))).json()).toMatchObject({
      role: 'reader',
      full_name: 'Ada L.',
    })
    expect(await service.audited('USER_ROLE_CHANGE')).toMatchObject([
      { user: 'ada', detail: 'ada: uploader → reader, from ldap.' },
    ])
  })

  test('that is down refuses its users with 503, and local accounts log in', async () => {
    answers = { ada: person('ada') }
    await login('ada')
    answers = { '*': { kind: 'unavailable', why: 'connect ECONNREFUSED' } }
    for (const name of ['ada', 'stranger']) expect(said(await login(name))).toEqual([503, 'directory_unavailable'])
    expect((await login('ada')).text).not.toContain('ECONNREFUSED')
    expect((await login('root')).status).toBe(200)
    // an outage is nobody's wrong password
    expect(await service.stock.db.query('select 1 from account where failed_logins > 0')).toEqual([])
  })

  test('refuses like a wrong password, and five times locks the account', async () => {
    answers = { ada: person('ada') }
    await login('ada')
    for (let n = 0; n < 5; n++) expect(said(await login('ada', 'wrong'))).toEqual([401, 'bad_password'])
    expect(said(await login('ada'))).toEqual([401, 'bad_password'])
    expect(said(await login('ghost'))).toEqual([401, 'bad_password'])
  })

  test('switched off, or without making accounts, lets only those in who have one', async () => {
    answers = { ada: person('ada', { provision: false }) }
    expect(said(await login('ada'))).toEqual([401, 'bad_password'])
    answers = { ada: person('ada') }
    await login('ada')
    answers = { ada: person('ada', { provision: false }) }
    expect((await login('ada')).status).toBe(200)
    enabled = false
    expect(said(await login('ada'))).toEqual([401, 'bad_password'])
  })

  test('a deactivated account is refused, and its password cannot be changed here', async () => {
    answers = { ada: person('ada') }
    const ada = String((await login('ada')).json().access_token)
    const admin = await service.session('root')
    expect(
      said(
        await call(service, 'POST', '/auth/change-password', ada, {
          current_password: PASSWORD,
          new_password: 'Another-Horse-2',
        }),
      ),
    ).toEqual([400, 'no_local_password'])
    expect(
      said(await call(service, 'POST', '/auth/users/ada/reset-password', admin, { new_password: 'Another-Horse-2' })),
    ).toEqual([400, 'no_local_password'])
    await call(service, 'PATCH', '/auth/users/ada', admin, { active: false })
    expect(said(await login('ada'))).toEqual([401, 'account_inactive'])
  })
})
