import { generateKeyPair } from 'jose'
import { createServer, type AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { composeSso } from '../../server/features/sso/compose.ts'
import { createSecretBox } from '../../server/lib/secret-box.ts'
import { createGuardedFetch } from '../../server/outbound/fetch.ts'
import { addressWith } from '../support/app-address.ts'
import { PASSWORD, SECRET, startAccounts, type TestAccounts } from '../support/accounts.ts'
import { freshAddress, type Answer } from '../support/app.ts'
import {
  CLIENT,
  createBrowser,
  startForgedProvider,
  startProvider,
  type Browser,
  type ForgedProvider,
  type Person,
  type TestProvider,
} from '../support/oidc.ts'
import { createStock, type Stock } from '../support/test-catalog.ts'

const ADA: Person = {
  sub: 'ada-1',
  preferred_username: 'ada',
  name: 'Ada L',
  email: 'ada@example.org',
  email_verified: true,
  groups: ['staff', 'repo-maintainers'],
}

let stock: Stock
let it: TestAccounts
let provider: TestProvider
let forged: ForgedProvider
let base: string
let warned: string[]
let root: string

beforeAll(async () => {
  stock = await createStock()
  const { db, clock, audit } = stock
  const settings = { now: () => it.settings.now() } as TestAccounts['settings']
  const fetch = createGuardedFetch({
    lookup: async () => [{ address: '127.0.0.1', family: 4 }],
    allow: () => it.settings.now().notifications.allow_private_hosts,
  })
  const log = {
    warn: (facts: { why: string }) => {
      warned.push(facts.why)
    },
  } as never
  const { routes } = composeSso({
    db,
    box: createSecretBox(SECRET),
    clock,
    settings,
    address: addressWith(settings),
    audit,
    log,
    fetch,
    production: false,
    directory: {} as never,
    isAllowed: () => true,
    vouchedFor: (...given) => it.auth.vouchedFor(...given),
  })
  it = await startAccounts({ stock, routes })
  base = `http://127.0.0.1:${it.app.port}`
  provider = await startProvider(`${base}/api/v1/auth/oidc/callback`)
  forged = await startForgedProvider()
})
afterAll(async () => {
  await Promise.all([provider.close(), forged.close()])
  await it.close()
  await stock.close()
})
beforeEach(async () => {
  warned = []
  await stock.clear()
  stock.clock.set('2026-03-01T10:00:00Z')
  await stock.db.query('truncate sso_step, sso_identity')
  await it.user('root', 'admin')
  root = await it.session('root')
  provider.person = ADA
  await it.settings.patch({
    app_url: base,
    notifications: { allow_private_hosts: '127.0.0.1' },
    oidc: {
      enabled: true,
      issuer: provider.issuer,
      client_id: CLIENT.id,
      client_secret: CLIENT.secret,
      scopes: 'openid profile email groups',
      username_claim: 'preferred_username',
      role_claim: 'groups',
      group_admin: 'repo-admins',
      group_maintainer: 'repo-maintainers',
      group_uploader: '',
      group_auditor: '',
      group_reader: '',
      default_role: 'reader',
      auto_provision: true,
    },
  })
})

const set = async (oidc: Record<string, unknown>): Promise<void> => {
  await it.settings.patch({ oidc })
}
const newBrowser = (): Browser => createBrowser(freshAddress)
const isCallback = (url: string): boolean => url.startsWith(`${base}/api/v1/auth/oidc/callback`)
const isConsole = (url: string): boolean => url.startsWith(`${base}/#`)
/** What the console reads from its own address. */
const said = (url: string): Record<string, string> => Object.fromEntries(new URLSearchParams(url.split('?')[1] ?? ''))

const begin = (browser: Browser): Promise<string> => browser.follow(`${base}/api/v1/auth/oidc/login`, isCallback)
const arrive = async (browser: Browser): Promise<Record<string, string>> =>
  said(await browser.follow(await begin(browser), isConsole))
const exchange = (browser: Browser, code: string): Promise<Answer> =>
  it.app.ask('POST', '/api/v1/auth/oidc/exchange', {
    body: { code },
    headers: { cookie: browser.cookieHeader(base), ...freshAddress() },
  })
async function logIn(person: Person = ADA): Promise<Answer> {
  provider.person = person
  const browser = newBrowser()
  const { sso = '' } = await arrive(browser)
  return exchange(browser, sso)
}
async function profile(person: Person = ADA): Promise<Record<string, unknown>> {
  const answer = await logIn(person)
  expect([answer.status, answer.json().code]).toEqual([200, undefined])
  return (await it.app.ask('GET', '/api/v1/auth/me', { token: String(answer.json().access_token) })).json()
}
const users = async (): Promise<string[]> =>
  (await stock.db.query<{ username: string }>('select username from account order by 1')).map(
    ({ username }) => username,
  )

describe('a login', () => {
  test('makes the account with name, address and role, and opens a session', async () => {
    expect(await profile()).toMatchObject({
      username: 'ada',
      role: 'maintainer',
      full_name: 'Ada L',
      email: 'ada@example.org',
      origin: 'oidc',
    })
    expect(await it.audited('LOGIN')).toMatchObject([
      { result: 'SUCCESS', user: 'ada', detail: 'With single sign-on.' },
    ])
    expect(await it.audited('USER_CREATE')).toHaveLength(1)
  })

  test('goes out with PKCE, state and nonce, and a cookie that scripts and other sites do not get', async () => {
    const { status, location, setCookie, text } = await newBrowser().get(`${base}/api/v1/auth/oidc/login`)
    expect([status, text]).toEqual([302, ''])
    const url = new URL(location)
    expect(url.origin).toBe(provider.issuer)
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: CLIENT.id,
      redirect_uri: `${base}/api/v1/auth/oidc/callback`,
      scope: 'openid profile email groups',
      response_type: 'code',
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/) as string,
      state: expect.stringMatching(/^[\w-]{43}$/) as string,
      nonce: expect.stringMatching(/^[\w-]{43}$/) as string,
    })
    expect(setCookie).toEqual([
      expect.stringMatching(/^gatehouse_sso=[\w-]{43}; Path=\/; Max-Age=660; HttpOnly; SameSite=Lax$/) as string,
    ])
    const rows = JSON.stringify(await stock.db.query('select * from sso_step'))
    for (const secret of [
      url.searchParams.get('state') ?? '',
      url.searchParams.get('nonce') ?? '',
      setCookie[0]?.slice(14, 57) ?? '',
    ])
      expect(rows).not.toContain(secret)
  })

  test('over HTTPS, the cookie is for HTTPS and this host alone', async () => {
    await it.settings.patch({ app_url: 'https://repo.example.org/' })
    const { setCookie, location } = await newBrowser().get(`${base}/api/v1/auth/oidc/login?again=1`)
    expect(setCookie).toEqual([
      expect.stringMatching(
        /^__Host-gatehouse_sso=[\w-]{43}; Path=\/; Max-Age=660; HttpOnly; SameSite=Lax; Secure$/,
      ) as string,
    ])
    expect(new URL(location).searchParams.get('redirect_uri')).toBe(
      'https://repo.example.org/api/v1/auth/oidc/callback',
    )
  })

  test('while app_url is not set, people come back to the address that they called', async () => {
    await it.settings.patch({ app_url: '' })
    const other = base.replace('127.0.0.1', 'localhost')
    for (const called of [base, other]) {
      const { location } = await newBrowser().get(`${called}/api/v1/auth/oidc/login`)
      expect(new URL(location).searchParams.get('redirect_uri')).toBe(`${called}/api/v1/auth/oidc/callback`)
    }
    const browser = newBrowser()
    expect(await browser.follow(await begin(browser), isConsole)).toMatch(new RegExp(`^${base}/#/login\\?sso=`))
  })

  test('that begins at another host than app_url is redirected there, once', async () => {
    const other = base.replace('127.0.0.1', 'localhost')
    expect((await newBrowser().get(`${other}/api/v1/auth/oidc/login`)).location).toBe(
      `${base}/api/v1/auth/oidc/login?again=1`,
    )
    expect(new URL((await newBrowser().get(`${other}/api/v1/auth/oidc/login?again=1`)).location).origin).toBe(
      provider.issuer,
    )
  })

  test('puts no token into a URL, a log line or the database', async () => {
    const browser = newBrowser()
    const arrived = await browser.follow(await begin(browser), isConsole)
    const token = String((await exchange(browser, said(arrived).sso ?? '')).json().access_token)
    expect(token).toMatch(/^eyJ/)
    expect(
      arrived +
        JSON.stringify(it.app.logged) +
        JSON.stringify(await stock.db.query('select * from sso_step')) +
        JSON.stringify(warned),
    ).not.toContain(token)
  })

  test.each(['client_secret_post', 'none'] as const)('with a client that authenticates by %s', async method => {
    const other = await startProvider(`${base}/api/v1/auth/oidc/callback`, method)
    try {
      other.person = ADA
      await set({ issuer: other.issuer, client_secret: method === 'none' ? '' : CLIENT.secret })
      const browser = newBrowser()
      expect((await exchange(browser, (await arrive(browser)).sso ?? '')).status).toBe(200)
    } finally {
      await other.close()
    }
  })

  test('asks for the second factor of those who have one', async () => {
    await profile()
    await stock.db.query(`update account set mfa_secret = 'sealed' where username = 'ada'`)
    const answer = (await logIn()).json()
    expect(answer).toMatchObject({ mfa_required: true, mfa_token: expect.any(String) as string })
    expect(answer.access_token).toBeUndefined()
  })
})

describe('the role', () => {
  test.each([
    ['of a group', { groups: ['repo-maintainers'] }, {}, 'maintainer'],
    ['is the highest of several', { groups: ['repo-maintainers', 'repo-admins'] }, {}, 'admin'],
    ['of a single text', { groups: 'repo-admins' }, {}, 'admin'],
    [
      'is the default where no group has one',
      { groups: ['REPO-ADMINS', 'repo-admins '] },
      { default_role: 'auditor' },
      'auditor',
    ],
    ['is the default where there is no such claim', { groups: undefined }, {}, 'reader'],
    [
      'may lie deeper in the claims',
      { realm: { access: { roles: ['boss'] } } },
      { role_claim: 'realm.access.roles', group_admin: 'boss' },
      'admin',
    ],
  ])('%s', async (_, claims, oidc, role) => {
    await set(oidc)
    expect(await profile({ ...ADA, ...claims })).toMatchObject({ role })
  })
  test('follows the provider at each login', async () => {
    expect(await profile({ ...ADA, groups: ['repo-admins'] })).toMatchObject({ role: 'admin' })
    expect(await profile({ ...ADA, groups: [] })).toMatchObject({ role: 'reader' })
    expect(await it.audited('USER_ROLE_CHANGE')).toHaveLength(1)
  })
  test('none keeps out whoever is in no group', async () => {
    await set({ default_role: 'none' })
    provider.person = { ...ADA, groups: ['staff'] }
    expect(await arrive(newBrowser())).toEqual({ sso_error: 'no_role' })
    expect(await users()).toEqual(['root'])
  })
})

describe('an account belongs to a subject', () => {
  test('who is called otherwise later keeps it', async () => {
    await profile()
    expect(await profile({ ...ADA, preferred_username: 'ada.new' })).toMatchObject({ username: 'ada' })
    expect(await users()).toEqual(['ada', 'root'])
  })
  test('whoever takes over the name does not get it', async () => {
    await profile()
    const answer = await logIn({ ...ADA, sub: 'mallory-1', groups: ['repo-admins'] })
    expect([answer.status, answer.json().code]).toEqual([401, 'sso_refused'])
    expect(await stock.db.query(`select role from account where username = 'ada'`)).toEqual([{ role: 'maintainer' }])
  })
  test('a local account is never reached by its name, and the name stays free for its owner', async () => {
    await it.user('ada', 'admin')
    const answer = await logIn()
    expect([answer.status, answer.json().code]).toEqual([401, 'sso_refused'])
    expect(await stock.db.query('select 1 from sso_identity')).toEqual([])
    expect((await it.login('ada', PASSWORD)).status).toBe(200)
  })
  test('a name that an admin freed by deleting the account is free', async () => {
    await profile()
    await it.app.ask('DELETE', '/api/v1/auth/users/ada', { token: root })
    expect(await profile({ ...ADA, sub: 'ada-2' })).toMatchObject({ username: 'ada' })
  })
  test('those without one stay out where none is made, and nobody who is switched off comes in', async () => {
    await set({ auto_provision: false })
    const unknown = await logIn()
    expect([unknown.status, unknown.json().code]).toEqual([401, 'sso_refused'])
    await set({ auto_provision: true })
    await profile()
    await it.app.ask('PATCH', '/api/v1/auth/users/ada', { token: root, body: { active: false } })
    const answer = await logIn()
    expect([answer.status, answer.json().code]).toEqual([401, 'account_inactive'])
  })
  test.each([['a b'], ['../x'], [''], [undefined], [7], ['x'.repeat(65)]])(
    'a name that no account can have is refused: %j',
    async preferred_username => {
      provider.person = { ...ADA, preferred_username }
      expect(await arrive(newBrowser())).toEqual({ sso_error: 'no_username' })
    },
  )
  test('has no password here', async () => {
    await profile()
    expect((await it.login('ada', PASSWORD)).status).toBe(401)
  })
})

describe('mixed-up logins are refused', () => {
  const expired = { sso_error: 'expired' }
  const callback = async (browser: Browser, url: string): Promise<Record<string, string>> =>
    said((await browser.get(url)).location)

  test('a state that nobody began, none at all, and one of them twice', async () => {
    const browser = newBrowser()
    const url = await begin(browser)
    for (const query of ['code=x&state=unknown', 'code=x', 'state=', `state=${'x'.repeat(43)}`])
      expect(await callback(browser, `${base}/api/v1/auth/oidc/callback?${query}`)).toEqual(expired)
    expect((await browser.get(`${url}&state=other`)).status).toBe(422)
    expect(await callback(browser, url)).toEqual(expired) // the refusals above took the cookie away
  })
  test('a state that was used', async () => {
    const browser = newBrowser()
    const url = await begin(browser)
    const cookie = new Map(browser.cookies.get(base))
    expect(await callback(browser, url)).toHaveProperty('sso')
    browser.cookies.set(base, cookie)
    expect(await callback(browser, url)).toEqual(expired)
  })
  test("an answer in another browser, and afterwards in the right one: an attacker's login is not slipped under somebody", async () => {
    const [attacker, victim] = [newBrowser(), newBrowser()]
    const url = await begin(attacker)
    expect(await callback(victim, url)).toEqual(expired)
    await begin(victim)
    expect(await callback(victim, url)).toEqual(expired)
    expect(await callback(attacker, url)).toEqual(expired)
  })
  test('the answer of one login with the state of another in the same browser', async () => {
    const browser = newBrowser()
    const first = new URL(await begin(browser))
    const second = new URL(await begin(browser))
    second.searchParams.set('code', first.searchParams.get('code') ?? '')
    // the provider wants the verifier of the first
    expect(await callback(browser, second.href)).toEqual({ sso_error: 'refused' })
  })
  test('an answer after ten minutes', async () => {
    const browser = newBrowser()
    const url = await begin(browser)
    stock.clock.set('2026-03-01T10:10:00Z')
    expect(await callback(browser, url)).toEqual(expired)
  })
  test('an answer of another issuer', async () => {
    const browser = newBrowser()
    const url = new URL(await begin(browser))
    url.searchParams.set('iss', 'https://other.example')
    expect(await callback(browser, url.href)).toEqual({ sso_error: 'refused' })
  })
  test('the person said no, and an error in the name of the provider needs a state as well', async () => {
    provider.person = undefined
    expect(await arrive(newBrowser())).toEqual({ sso_error: 'denied' })
    expect(
      await callback(
        newBrowser(),
        `${base}/api/v1/auth/oidc/callback?error=access_denied&error_description=%3Cscript%3E`,
      ),
    ).toEqual(expired)
  })

  test("the console's code: unknown, used, in another browser, without a cookie, after a minute", async () => {
    const browser = newBrowser()
    const take = async (): Promise<string> => (await arrive(browser)).sso ?? ''
    const codes = async (...answers: readonly Promise<Answer>[]): Promise<unknown[]> =>
      (await Promise.all(answers)).map(answer => answer.json().code)
    expect(await codes(exchange(browser, 'unknown'), exchange(newBrowser(), await take()))).toEqual([
      'sso_expired',
      'sso_expired',
    ])
    const stranger = newBrowser()
    await arrive(stranger)
    expect(await codes(exchange(stranger, await take()))).toEqual(['sso_expired'])
    const good = await take()
    expect((await exchange(browser, good)).status).toBe(200)
    expect(await codes(exchange(browser, good))).toEqual(['sso_expired'])
    const late = await take()
    stock.clock.set('2026-03-01T10:01:00Z')
    expect(await codes(exchange(browser, late))).toEqual(['sso_expired'])
  })
  test('of two exchanges at once one succeeds', async () => {
    const browser = newBrowser()
    const { sso = '' } = await arrive(browser)
    const answers = await Promise.all([exchange(browser, sso), exchange(browser, sso), exchange(browser, sso)])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401])
  })
  test('a state is no code for the console, and a code no state', async () => {
    const browser = newBrowser()
    const url = new URL(await begin(browser))
    expect((await exchange(browser, url.searchParams.get('state') ?? '')).json().code).toBe('sso_expired')
    const { sso = '' } = said(await browser.follow(url.href, isConsole))
    expect(await callback(browser, `${base}/api/v1/auth/oidc/callback?code=x&state=${sso}`)).toEqual(expired)
  })
})

describe('false answers of a provider are refused', () => {
  const now = (): number => Math.floor(Date.now() / 1000)
  const none = (claims: object): string =>
    [{ alg: 'none' }, claims].map(part => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.') + '.'
  beforeEach(() => set({ issuer: forged.issuer, group_admin: 'admins' }))

  test('an honest token of it is', async () => {
    forged.forge = async ({ sign }) => ({ id_token: await sign({}) })
    expect(await arrive(newBrowser())).toHaveProperty('sso')
  })
  test.each<[string, ForgedProvider['forge'], string]>([
    ['another nonce', async ({ sign }) => ({ id_token: await sign({ nonce: 'another' }) }), 'nonce'],
    ['no nonce', async ({ sign }) => ({ id_token: await sign({ nonce: undefined }) }), 'nonce'],
    ['another issuer', async ({ sign }) => ({ id_token: await sign({ iss: 'https://other.example' }) }), 'iss'],
    ['another audience', async ({ sign }) => ({ id_token: await sign({ aud: 'other' }) }), 'aud'],
    [
      'several audiences and another party',
      async ({ sign }) => ({ id_token: await sign({ aud: [CLIENT.id, 'other'], azp: 'other' }) }),
      'azp',
    ],
    [
      'a token that is over',
      async ({ sign }) => ({ id_token: await sign({ iat: now() - 900, exp: now() - 600 }) }),
      'exp',
    ],
    ['a token without a subject', async ({ sign }) => ({ id_token: await sign({ sub: undefined }) }), 'sub'],
    [
      'a key nobody published',
      async ({ sign }) => ({ id_token: await sign({}, { key: (await generateKeyPair('RS256')).privateKey }) }),
      'signature',
    ],
    [
      'HMAC under the client secret',
      async ({ sign }) => ({
        id_token: await sign({}, { alg: 'HS256', key: new TextEncoder().encode(CLIENT.secret) }),
      }),
      'alg',
    ],
    [
      'no signature',
      async ({ nonce, issuer }) => ({
        id_token: none({
          iss: issuer,
          aud: CLIENT.id,
          sub: 'x',
          iat: now(),
          exp: now() + 300,
          nonce,
          preferred_username: 'forged',
        }),
      }),
      'alg',
    ],
    ['no ID token', async () => ({}), 'id_token'],
    ['an ID token that is none', async () => ({ id_token: 'nonsense' }), 'Invalid JWT'],
  ])('%s', async (_, forge, why) => {
    forged.forge = forge
    expect(await arrive(newBrowser())).toEqual({ sso_error: 'refused' })
    expect(warned).toEqual([expect.stringContaining(why) as string])
    expect([await users(), (await it.audited('LOGIN')).map(({ result }) => result)]).toEqual([['root'], ['FAILURE']])
  })
})

describe('when it cannot be used', () => {
  test('switched off, every address of it answers 404 and the login page offers nothing', async () => {
    expect((await it.app.ask('GET', '/api/v1/auth/oidc')).json()).toEqual({
      enabled: true,
      label: 'Single sign-on',
      login_url: '/api/v1/auth/oidc/login',
    })
    await set({ enabled: false })
    expect((await it.app.ask('GET', '/api/v1/auth/oidc')).json()).toMatchObject({ enabled: false })
    for (const [method, path, body] of [
      ['GET', 'login', undefined],
      ['GET', 'callback?code=x&state=y', undefined],
      ['POST', 'exchange', { code: 'x' }],
    ] as const) {
      expect(
        (await it.app.ask(method, `/api/v1/auth/oidc/${path}`, body === undefined ? {} : { body })).json().code,
      ).toBe('sso_off')
    }
  })
  test('the provider is down, then comes back', async () => {
    await set({ issuer: 'http://127.0.0.1:1' })
    expect(said((await newBrowser().get(`${base}/api/v1/auth/oidc/login`)).location)).toEqual({
      sso_error: 'unavailable',
    })
    await set({ issuer: provider.issuer })
    expect(await arrive(newBrowser())).toHaveProperty('sso')
  })
  test('the issuer is in a network that this service may not reach', async () => {
    await it.settings.patch({ notifications: { allow_private_hosts: '' } })
    await set({ client_id: 'another' }) // nothing is remembered of this one
    expect(said((await newBrowser().get(`${base}/api/v1/auth/oidc/login`)).location)).toEqual({
      sso_error: 'unavailable',
    })
    expect(warned.join()).toContain('loopback')
  })
})

describe('POST /settings/test-oidc', () => {
  const trial = (body?: Record<string, unknown>): Promise<Answer> =>
    it.app.ask('POST', '/api/v1/settings/test-oidc', {
      token: root,
      headers: freshAddress(),
      ...(body === undefined ? {} : { body }),
    })
  test("answers the provider's metadata, and the callback address to register", async () => {
    expect((await trial()).json()).toMatchObject({
      ok: true,
      issuer: provider.issuer,
      pkce: true,
      redirect_uri: `${base}/api/v1/auth/oidc/callback`,
      scopes_supported: expect.arrayContaining(['openid', 'groups']) as string[],
    })
  })
  test('tries what the form holds and saves nothing', async () => {
    const before = it.settings.now()
    for (const body of [{ issuer: forged.issuer, client_secret: '***' }, { oidc: { issuer: forged.issuer } }])
      expect((await trial(body)).json()).toMatchObject({ ok: true, issuer: forged.issuer })
    expect(it.settings.now()).toEqual(before)
  })
  test('tells what is wrong, without a secret', async () => {
    const silent = createServer(socket =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'),
    )
    await new Promise<void>(resolve => {
      silent.listen(0, '127.0.0.1', resolve)
    })
    for (const [body, code, why] of [
      [{ issuer: 'http://127.0.0.1:1' }, 'oidc_failed', /nothing listens there/],
      [{ issuer: '' }, 'oidc_failed', /no URL/],
      [{ client_id: '' }, 'oidc_failed', /client_id/],
      [{ issuer: 'http://10.0.0.1' }, 'oidc_failed', /private/],
      [{ issuer: `${provider.issuer}/elsewhere` }, 'oidc_failed', /./],
      [{ issuer: `http://127.0.0.1:${(silent.address() as AddressInfo).port}` }, 'oidc_failed', /issuer/],
      [{ isuer: 'x' }, 'unknown_setting', /oidc.isuer/],
      [{ issuer: 'ftp://x' }, 'bad_setting', /oidc.issuer/],
    ] as const) {
      const answer = await trial(body)
      expect([body, answer.json().code]).toEqual([body, code])
      expect(JSON.stringify(answer.json().detail)).toMatch(why)
      expect(answer.text).not.toContain(CLIENT.secret)
    }
    silent.close()
  })
  test('is for admins; the secret is masked and sealed', async () => {
    await it.user('mae', 'maintainer')
    expect((await it.app.ask('POST', '/api/v1/settings/test-oidc', { token: await it.session('mae') })).status).toBe(
      403,
    )
    expect(it.settings.masked().oidc.client_secret).toBe('***')
  })
})
