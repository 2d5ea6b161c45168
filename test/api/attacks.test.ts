import { createHmac, createSign, generateKeyPairSync } from 'node:crypto'
import { generateSync } from 'otplib/functional'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { send } from '../support/app.ts'
import { ADMIN, startDaemon, type Answer, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'

const { password } = ADMIN
let it: Daemon
let port: number
let admin: string
let reader: string

const ask = (method: string, path: string, token?: string, body?: unknown): Promise<Answer> =>
  it.call(method, path, { ...(token === undefined ? {} : { token }), ...(body === undefined ? {} : { body }) })
const enter = (username: string, headers?: Record<string, string>): Promise<Answer> =>
  it.call('POST', '/auth/token', { body: { username, password }, ...(headers === undefined ? {} : { headers }) })
const tokenOf = async (username: string): Promise<string> => String((await enter(username)).body.access_token)

beforeAll(async () => {
  it = await startDaemon({ env: { LOG_LEVEL: 'info', CORS_ORIGINS: 'https://console.example' } })
  port = Number(new URL(it.url).port)
  admin = await it.setupAdmin()
  for (const [username, role] of [
    ['rita', 'reader'],
    ['otto', 'auditor'],
    ['zoe', 'maintainer'],
  ])
    expect((await ask('POST', '/auth/users', admin, { username, password, role })).status).toBe(201)
  reader = await tokenOf('rita')
  await ask('POST', '/distributions/init', admin, { codename: 'jammy' })
  expect((await it.upload(await buildDeb({ name: 'veiled-name', version: '1.0' }), { token: admin })).status).toBe(201)
})
afterAll(() => it.close())

describe('a forged token', () => {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const pem = publicKey.export({ type: 'spki', format: 'pem' })
  const rs256 = (header: object, payload: string): string => {
    const text = `${part({ alg: 'RS256', ...header })}.${payload}`
    return `${text}.${createSign('sha256').update(text).sign(privateKey).toString('base64url')}`
  }
  const hs256 = (header: object, payload: string, key: string | Buffer): string => {
    const text = `${part({ alg: 'HS256', ...header })}.${payload}`
    return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
  }

  test.each<[string, (payload: string) => string | Promise<string>]>([
    ['without an algorithm', payload => `${part({ alg: 'none' })}.${payload}.`],
    ['without an algorithm, otherwise spelled', payload => `${part({ alg: 'nOnE' })}.${payload}.`],
    ['signed with a key that it brings along', payload => rs256({ jwk: publicKey.export({ format: 'jwk' }) }, payload)],
    [
      'signed with a key that it says where to fetch',
      payload => rs256({ jku: `${it.url}/repos/gpg.key`, kid: '1' }, payload),
    ],
    [
      'whose secret is the public key of the repository',
      async payload => hs256({}, payload, await (await fetch(`${it.url}/repos/gpg.key`)).text()),
    ],
    [
      'whose secret is its own public key',
      payload => hs256({ jwk: publicKey.export({ format: 'jwk' }) }, payload, pem),
    ],
    ['whose key is an empty file', payload => hs256({ kid: '../../../../dev/null' }, payload, '\0')],
    ['whose key is named by a query', payload => hs256({ kid: `' union select 'x' --` }, payload, 'x')],
    [
      "made of a reader's, with another role",
      payload => `${reader.split('.')[0] ?? ''}.${payload}.${reader.split('.')[2] ?? ''}`,
    ],
  ])('%s gives no access', async (_, forge) => {
    const claims = JSON.parse(Buffer.from(reader.split('.')[1] ?? '', 'base64url').toString()) as object
    const answer = await ask('GET', '/auth/users', await forge(part({ ...claims, role: 'admin', roles: ['admin'] })))
    expect([answer.status, answer.body.code]).toEqual([401, 'bad_credential'])
  })
})

describe('attempts to get around the role', () => {
  test.each([
    '/api/v1//auth/users',
    '/api/v1/auth//users',
    '/api/v1/./auth/users',
    '/api/v1/auth/users/.',
    '/api/v1/x/../auth/users',
    '/API/v1/auth/users',
    '/api/v1/AUTH/users',
    '/api/v1/auth/users;a=b',
    '/api/v1/auth/%75sers',
    '/api/v1/auth/users%2f',
    '/api/v1/auth%2fusers',
    '/api/v1/auth/users%00',
    '/api/v1/auth/users?role=admin',
    '/api/v1/auth/users/',
    '/auth/users',
    '/api/auth/users',
    '//api/v1/auth/users',
    '/health/../api/v1/auth/users',
  ])('a reader gets no users at %s', async path => {
    const answer = await send(port, { method: 'GET', path, token: reader })
    expect([400, 403, 404, 405]).toContain(answer.status)
    expect(answer.text).not.toContain('otto')
  })

  test.each([
    { 'x-http-method-override': 'DELETE' },
    { 'x-original-url': '/api/v1/auth/users' },
    { 'x-rewrite-url': '/api/v1/auth/users' },
    { 'x-forwarded-user': 'admin' },
    { 'x-remote-user': 'admin' },
    { 'x-user-role': 'admin' },
    { 'x-gatehouse-role': 'admin' },
    { cookie: 'session=admin; role=admin' },
    { 'x-forwarded-for': '127.0.0.1' },
  ])('no header gives a role: %j', async headers => {
    expect((await it.call('GET', '/auth/users', { token: reader, headers })).status).toBe(403)
    expect((await it.call('GET', '/auth/users', { headers })).status).toBe(401)
  })

  test('nothing but a header carries a credential, and no log line does', async () => {
    for (const path of [
      `/auth/me?access_token=${admin}`,
      `/auth/me?token=${admin}`,
      `/auth/me?authorization=Bearer%20${admin}`,
    ])
      expect((await ask('GET', path)).status).toBe(401)
    expect(
      (await it.call('GET', '/auth/me', { headers: { cookie: `access_token=${admin}; token=${admin}` } })).status,
    ).toBe(401)
    expect((await ask('POST', '/auth/refresh', undefined, { access_token: admin })).status).toBe(401)
    const made = String((await ask('POST', '/auth/api-tokens', admin, { name: 'ci', role: 'reader' })).body.token)
    expect((await ask('GET', '/packages/', made)).status).toBe(200)
    await fetch(`${it.url}/repos/dists/jammy/InRelease`, {
      headers: { Authorization: `Basic ${Buffer.from(`x:${made}`).toString('base64')}` },
    })
    expect(it.log()).toContain('/api/v1/auth/me')
    for (const secret of [admin, reader, made, password, made.slice(4), admin.split('.')[2] ?? ''])
      expect(it.log()).not.toContain(secret)
  })

  test.each<[string, unknown]>([
    ['objects', { username: { $ne: null }, password: { $ne: null } }],
    ['lists', { username: ['admin'], password: [password] }],
    ['true', { username: 'admin', password: true }],
    ['nothing', { username: 'admin' }],
    ['null', { username: 'admin', password: null }],
    ['a zero byte', { username: 'admin\0', password }],
  ])('%s in place of a name or a password is a fault and no login', async (_, body) => {
    expect((await ask('POST', '/auth/token', undefined, body)).status).toBe(422)
  })

  test.each([
    `admin' --`,
    `' or '1'='1`,
    'admin*',
    'admin)(|(uid=*',
    '*',
    'ADMIN',
    ' admin',
    'admin ',
    'аdmin',
    'ａdmin',
    'admin\u200b',
    '%61dmin',
  ])('%j is not the admin', async username => {
    expect((await enter(username)).status).toBe(401)
  })

  test.each([`'; drop table package; --`, `%' or 1=1 --`, '%', '_', '\\', `"><script>`])(
    'a search for %j finds nothing and breaks nothing',
    async q => {
      for (const path of ['/packages/?q=', '/artifacts/?search=', '/distributions/jammy/packages?q='])
        expect((await ask('GET', `${path}${encodeURIComponent(q)}`, reader)).body).toMatchObject({ total: 0 })
      expect((await ask('GET', '/packages/', reader)).body).toMatchObject({ total: 1 })
    },
  )
})

describe('from another site', () => {
  test('a page may neither read an answer nor send a form that counts', async () => {
    const foreign = await it.call('GET', '/packages/', { token: reader, headers: { origin: 'https://evil.example' } })
    expect([
      foreign.headers.get('access-control-allow-origin'),
      foreign.headers.get('access-control-allow-credentials'),
    ]).toEqual([null, null])
    const ours = await it.call('GET', '/packages/', { token: reader, headers: { origin: 'https://console.example' } })
    expect([
      ours.headers.get('access-control-allow-origin'),
      ours.headers.get('access-control-allow-credentials'),
    ]).toEqual(['https://console.example', null])
    for (const origin of [
      'null',
      'https://console.example.evil.example',
      'http://console.example',
      'https://CONSOLE.example',
    ]) {
      expect(
        (await it.call('GET', '/packages/', { token: reader, headers: { origin } })).headers.get(
          'access-control-allow-origin',
        ),
      ).toBeNull()
    }
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
      const answer = await send(port, {
        method: 'POST',
        path: '/api/v1/auth/token',
        body: JSON.stringify(ADMIN),
        headers: { 'content-type': type, 'x-forwarded-for': '198.51.100.3' },
      })
      expect([type, answer.status]).toEqual([type, 400])
    }
  })

  test('no name of a host gets into what people paste into a shell, and none sends them elsewhere', async () => {
    for (const host of ['evil.example;rm -rf /', '$(id)', 'a`id`', `x'y`, 'a b']) {
      const answer = await send(port, {
        method: 'GET',
        path: '/api/v1/distributions/jammy/setup',
        token: reader,
        headers: { 'x-forwarded-host': host },
      })
      expect([answer.status, answer.text.includes(host)]).toEqual([200, false])
    }
    for (const path of [
      '//evil.example/',
      '/\\evil.example',
      '/%5cevil.example',
      '/api/v1/auth/oidc/login?next=https://evil.example',
    ]) {
      const answer = await send(port, { method: 'GET', path })
      expect([path, String(answer.headers.location ?? '').includes('evil.example')]).toEqual([path, false])
    }
  })

  test('what a request calls itself is in an answer only where it is harmless', async () => {
    for (const id of ['x"><script>', 'a b', '../../x', 'x'.repeat(129), 'ünï']) {
      const answer = await send(port, {
        method: 'GET',
        path: '/health/live',
        headers: { 'x-request-id': Buffer.from(id).toString('latin1') },
      })
      expect(answer.headers['x-request-id']).toMatch(/^[\da-f-]{36}$/)
    }
  })
})

describe('at a login with a second factor', () => {
  test('of many with one recovery code one gets in; of many with different ones, each once', async () => {
    const session = await tokenOf('zoe')
    const secret = String((await ask('POST', '/auth/mfa/setup', session)).body.secret)
    const codes = (await ask('POST', '/auth/mfa/confirm', session, { totp_code: generateSync({ secret }) })).body
      .recovery_codes as string[]
    const challenges = await Promise.all(
      Array.from({ length: 8 }, async () => String((await enter('zoe')).body.mfa_token)),
    )
    const use = (mfa_token: string | undefined, recovery_code: string | undefined): Promise<Answer> =>
      ask('POST', '/auth/mfa/authenticate', undefined, { mfa_token, recovery_code })
    // four at once, so that the wrong ones do not lock the account
    const same = await Promise.all(challenges.slice(0, 4).map(challenge => use(challenge, codes[0])))
    expect(same.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401])
    const mine = String(same.find(({ status }) => status === 200)?.body.access_token)
    expect((await ask('GET', '/auth/mfa/recovery-codes/count', mine)).body).toEqual({ remaining: 7 })
    const [one, other] = await Promise.all([use(challenges[4], codes[1]), use(challenges[5], codes[2])])
    expect([one.status, other.status, one.body.access_token === other.body.access_token]).toEqual([200, 200, false])
    // one challenge, two good codes: one login, and the code that came late is still good
    const both = await Promise.all([use(challenges[6], codes[3]), use(challenges[6], codes[4])])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 401])
    expect((await ask('GET', '/auth/mfa/recovery-codes/count', mine)).body).toEqual({ remaining: 4 })
  })

  test('the challenge token gives no access on any route', async () => {
    const challenge = String((await enter('zoe')).body.mfa_token)
    for (const [method, path] of [
      ['GET', '/auth/me'],
      ['POST', '/auth/mfa/setup'],
      ['POST', '/auth/refresh'],
      ['POST', '/auth/mfa/disable'],
      ['GET', '/packages/'],
      ['DELETE', '/auth/sessions'],
    ] as const) {
      expect([path, (await ask(method, path, challenge)).status]).toEqual([path, 401])
    }
    expect(
      (await fetch(`${it.url}/api/v1/dashboard/events`, { headers: { Authorization: `Bearer ${challenge}` } })).status,
    ).toBe(401)
  })
})

test('what everybody may read without a login names no package', async () => {
  const texts = await Promise.all(
    [
      '/health',
      '/health/live',
      '/health/ready',
      '/metrics',
      '/openapi.json',
      '/docs',
      '/auth/roles',
      '/setup/status',
      '/auth/oidc',
    ].map(async path => (await ask('GET', path)).text),
  )
  for (const text of texts) expect(text).not.toMatch(/veiled-name|\brita\b|\botto\b/)
})

test('a user of the same name again inherits nothing', async () => {
  const make = () => ask('POST', '/auth/users', admin, { username: 'twin', password, role: 'admin' })
  await make()
  const session = await tokenOf('twin')
  const secret = String((await ask('POST', '/auth/mfa/setup', session)).body.secret)
  await ask('POST', '/auth/mfa/confirm', session, { totp_code: generateSync({ secret }) })
  expect((await ask('DELETE', '/auth/users/twin', admin)).status).toBe(200)
  await make()
  expect((await ask('GET', '/auth/me', session)).status).toBe(401)
  const again = await enter('twin')
  expect(again.body).toMatchObject({ token_type: 'bearer' })
  expect((await ask('GET', '/auth/mfa/status', String(again.body.access_token))).body).toMatchObject({
    enabled: false,
    pending: false,
    recovery_codes_remaining: 0,
  })
  expect(
    ((await ask('GET', '/auth/sessions', String(again.body.access_token))).body.sessions as unknown[]).length,
  ).toBe(1)
})
