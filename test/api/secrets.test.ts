import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { api } from '../../server/api.ts'
import type { Row } from '../../server/core/contract.ts'
import { SETTINGS } from '../../server/settings/schema.ts'
import { ADMIN, nextAddress, startDaemon, type Daemon } from '../support/daemon.ts'
import { startFakeMachine, type FakeMachine } from '../support/fake-machine.ts'
import { buildDeb } from '../support/packages.ts'
import { untar } from '../support/untar.ts'

/** Words that are nowhere else. In a body they hold what base64, URLs and JSON write differently. */
const unique = (): string => randomBytes(9).toString('hex')
const inHeader = (name: string): string => `${name}-${unique()}`
const inBody = (name: string): string => `${name}-Aa9+/"\\é-${unique()}`

/** By their places. What the caller himself has sent may come back to nobody. */
const planted = new Map<string, string>()
function plant(name: string, word: string): string {
  planted.set(name, word)
  return word
}

const env = {
  JWT_SECRET_KEY: plant('jwt', inHeader('jwt-key-of-this-test')),
  WEBHOOK_SECRET: plant('webhook', inHeader('webhook-key-of-this-test')),
  LICENSE_VENDOR_SECRET: plant('license', inHeader('license-key-of-this-test')),
  SETTINGS_ENCRYPTION_KEY: plant('settings key', inHeader('settings-key-of-this-test')),
  METRICS_TOKEN: plant('metrics', inHeader('metrics')),
  INTERNAL_TOKEN: plant('internal', inHeader('internal')),
  // nobody answers there: it is in trouble all the time
  REDIS_URL: `redis://me:${plant('redis', inHeader('redis'))}@127.0.0.1:9/0`,
  LOG_LEVEL: 'debug',
}

let daemon: Daemon
let machine: FakeMachine
let token: string
/** What an answer gave out as it had to: it may be in no log, and in no other answer. */
const issued = new Map<string, string>()
const answers: { readonly of: string; readonly text: string }[] = []
const events: string[] = []
const stop = new AbortController()

async function login(): Promise<string> {
  const { body } = await daemon.call<{ access_token: string }>('POST', '/auth/token', { body: ADMIN })
  issued.set(`access token ${issued.size}`, body.access_token)
  return body.access_token
}

/** Keeps what a stream says in the background. */
async function listen(path: string): Promise<void> {
  const answer = await fetch(`${daemon.url}/api/v1${path}`, {
    headers: { 'Authorization': `Bearer ${token}`, 'X-Forwarded-For': nextAddress() },
    signal: stop.signal,
  })
  void (async () => {
    for await (const chunk of answer.body ?? []) events.push(Buffer.from(chunk).toString('utf8'))
  })().catch(() => undefined)
}

beforeAll(async () => {
  machine = await startFakeMachine()
  daemon = await startDaemon({ env: { ...env, ...machine.env } })
  planted.set('password of the admin', ADMIN.password)
  await daemon.call('POST', '/setup/', { body: { admin_username: ADMIN.username, admin_password: ADMIN.password } })
  token = await login()
  await listen('/dashboard/events')
  await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
  await daemon.upload(await buildDeb({ name: 'hello', version: '1.0', arch: 'amd64' }), { token })
})
afterAll(async () => {
  stop.abort()
  await daemon.close()
  await machine.close()
})

interface Leaf {
  readonly path: readonly string[]
  readonly maxLength: number
}
/** The secret settings, by their paths. */
function secretsIn(schema: { properties?: object; secret?: true }, path: readonly string[] = []): Leaf[] {
  if (schema.secret === true) return [{ path, maxLength: 200 }]
  return Object.entries(schema.properties ?? {}).flatMap(([key, one]) => secretsIn(one as object, [...path, key]))
}
const nested = ([first = '', ...rest]: readonly string[], value: unknown): object => ({
  [first]: rest.length === 0 ? value : nested(rest, value),
})

test('secrets are in every place that takes one', async () => {
  const settings = secretsIn(SETTINGS).filter(({ path }) => path[0] !== 'license') // which only the vendor can make
  expect(settings.length).toBeGreaterThan(2)
  for (const { path } of settings) {
    const word = plant(path.join('.'), inBody(path.at(-1) ?? ''))
    const { status, text } = await daemon.call('PATCH', '/settings/', { token, body: nested(path, word) })
    expect([path, status, text.includes(word)]).toEqual([path, 200, false])
  }
  const hook = plant('webhook address', inHeader('hook'))
  const userinfo = plant('proxy password', inHeader('feed'))
  for (const body of [
    { notifications: { webhook_url: `http://127.0.0.1:9/services/${hook}`, webhook_enabled: true } },
    { email: { smtp_host: '127.0.0.1', smtp_port: 9, enabled: true } },
    { ldap: { enabled: true, url: 'ldap://127.0.0.1:9' } },
    { security: { feeds: `http://me:${userinfo}@127.0.0.1:9/x.zip` } },
  ])
    await daemon.call('PATCH', '/settings/', { token, body })
  await daemon.call('POST', '/auth/users', {
    token,
    body: {
      username: 'ada',
      password: plant('password of a user', inBody('Pw1')),
      role: 'maintainer',
      email: 'a@b.example',
    },
  })
  const pem = (what: string, word: string): string =>
    `-----BEGIN ${what}-----\n${plant(`${what} of the machine`, word)}\n-----END ${what}-----\n`
  expect(
    await daemon.call('POST', '/machine/certificate', {
      token,
      body: { certificate: 'not a secret', key: pem('PRIVATE KEY', inBody('Key1')) },
    }),
  ).toMatchObject({ status: 200, body: { kind: 'company' } })
  machine.refusal = 'The key is not that of the certificate.'
  expect(
    await daemon.call('POST', '/machine/certificate', {
      token,
      body: { certificate: 'not a secret', key: pem('EC PRIVATE KEY', inBody('Key2')) },
    }),
  ).toMatchObject({ status: 409, body: { code: 'machine_refused' } })
  const made = await daemon.call<Record<string, string>>('POST', '/auth/api-tokens', {
    token,
    body: { name: 'ci', role: 'reader' },
  })
  for (const value of Object.values(made.body))
    if (/^svc_.{16,}/.test(String(value))) issued.set('API token', String(value))
  const ada = await daemon.call<{ access_token: string }>('POST', '/auth/token', {
    body: { username: 'ada', password: planted.get('password of a user') },
  })
  issued.set('token of ada', ada.body.access_token)
  const mfa = await daemon.call<Record<string, unknown>>('POST', '/auth/mfa/setup', {
    token: ada.body.access_token,
    body: {},
  })
  issued.set('TOTP seed', String(mfa.body.secret))
  expect([...issued].filter(([, word]) => word.length < 16 || word === 'undefined')).toEqual([])
})

const FOR_PARAMS: Record<string, string> = {
  codename: 'jammy',
  name: 'hello',
  version: '1.0',
  username: 'nobody',
  cve: 'CVE-2021-44228',
}
const pathOf = (path: string): string =>
  path.replace(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(FOR_PARAMS[key] ?? 'x1'))

async function ask(of: string, method: string, path: string, options: Parameters<Daemon['call']>[2]): Promise<void> {
  const headers = { 'X-Forwarded-For': nextAddress(), ...options?.headers }
  const body = options?.body === undefined ? undefined : JSON.stringify(options.body)
  const at = path.startsWith('/api') ? path : `/api/v1${path}`
  try {
    const answer = await fetch(`${daemon.url}${at}`, {
      method,
      redirect: 'manual',
      signal: AbortSignal.timeout(1_500), // a stream never ends
      headers: {
        ...headers,
        ...(options?.token === undefined ? {} : { Authorization: `Bearer ${options.token}` }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
    })
    let text = [...answer.headers].flat().join('\n')
    try {
      for await (const chunk of answer.body ?? []) text += Buffer.from(chunk).toString('utf8')
    } finally {
      answers.push({ of, text })
    }
  } catch (error) {
    if (!['TimeoutError', 'AbortError'].includes((error as Error).name)) throw error
  }
}

const ENDS_SESSIONS = /^(POST \/auth\/(logout|refresh|change-password)|DELETE \/auth\/sessions)/

test('every route is called well and badly', { timeout: 300_000 }, async () => {
  const word = plant('sent badly', inBody('Sent1'))
  const bearer = plant('unknown token', `svc_${inHeader('unknown')}`)
  const basic = plant('basic password', inHeader('basic'))
  const secrets = {
    password: word,
    new_password: word,
    current_password: word,
    token: word,
    secret: word,
    code: word,
    client_secret: word,
    smtp_password: word,
    bind_password: word,
    admin_password: word,
    mfa_session: word,
    key: word,
    passphrase: word,
  }
  for (const [key, row] of Object.entries<Row>(api)) {
    const [method = '', route = ''] = key.split(' ')
    const path = row.root === true ? `${daemon.url}${pathOf(route)}`.slice(daemon.url.length) : pathOf(route)
    const at = row.root === true ? `/api/..${path}` : path
    const session = token
    const hasBody = method !== 'GET' && row.upload === undefined
    await ask(`${key}, nobody`, method, at, {})
    await ask(`${key}, unknown token`, method, at, { token: bearer })
    await ask(`${key}, basic`, method, at, {
      headers: {
        'Authorization': `Basic ${Buffer.from(`admin:${basic}`).toString('base64')}`,
        'Cookie': `session=${basic}`,
        'X-Setup-Token': basic,
      },
    })
    await ask(`${key}, in the query`, method, `${at}?token=${encodeURIComponent(word)}`, { token: session })
    if (hasBody) await ask(`${key}, unknown fields`, method, at, { token: session, body: secrets })
    if (hasBody) await ask(`${key}, as a user`, method, at, { body: { ...secrets, username: 'ada' } })
    if (method === 'GET') await ask(`${key}, well`, method, at, { token: session })
    else if (hasBody) await ask(`${key}, well`, method, at, { token: session, body: {} })
    if (ENDS_SESSIONS.test(key)) token = await login()
  }
  expect(answers.length).toBeGreaterThan(500)
  expect(answers.filter(({ of }) => of.endsWith(', well')).length).toBeGreaterThan(100)
})

/** Every way in which a word may be written. */
function forms(word: string): string[] {
  const bytes = Buffer.from(word)
  // whatever stands before it: three alignments, without the characters that depend on the neighbours
  const base64 = [0, 1, 2].map(shift => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    return text.slice(shift === 0 ? 0 : shift + 1, -1)
  })
  const json = JSON.stringify(word).slice(1, -1)
  return [
    word,
    json,
    JSON.stringify(json).slice(1, -1),
    encodeURIComponent(word),
    encodeURI(word),
    bytes.toString('hex'),
    ...base64,
    ...base64.map(text => text.replaceAll('+', '-').replaceAll('/', '_')),
  ]
}
const foundIn = (text: string, words: ReadonlyMap<string, string>): string[] =>
  [...words].filter(([, word]) => forms(word).some(form => text.includes(form))).map(([name]) => name)

test('no secret is in a log file, in an event, in the audit log, in an answer or in the support bundle', async () => {
  const all = new Map([...planted, ...issued])
  const bundle = await fetch(`${daemon.url}/api/v1/support/bundle`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}` },
  })
  expect(bundle.status).toBe(200)
  const members = await untar(Buffer.from(await bundle.arrayBuffer()))
  const names = [...members.keys()].map(name => name.replace(/^[^/]+\//, '').replace(/-[^/]+\.log$/, '-….log'))
  expect(names).toEqual([
    'bundle.json',
    'health.json',
    'versions.json',
    'settings.json',
    'environment.json',
    'sizes.json',
    'jobs.json',
    'job-lines.json',
    'clock.json',
    'logs/gatehouse-….log',
  ])
  for (const [name, bytes] of members) expect([name, foundIn(bytes.toString('utf8'), all)]).toEqual([name, []])
  await daemon.stop()
  for (const folder of ['logs', 'audit'])
    for (const name of await readdir(join(daemon.root, folder))) {
      const text = await readFile(join(daemon.root, folder, name), 'utf8')
      expect([name, text.length > 0, foundIn(text, all)]).toEqual([name, true, []])
    }
  expect(foundIn(daemon.log(), all)).toEqual([])
  expect(events.length).toBeGreaterThan(2)
  expect(foundIn(events.join(''), all)).toEqual([])
  // an admin reads and sets it as what it is: an address
  const isShown = (leak: string): boolean => /^(GET|PATCH) \/settings\/, well: webhook address$/.test(leak)
  const leaks = answers
    .flatMap(({ of, text }) => foundIn(text, planted).map(name => `${of}: ${name}`))
    .filter(leak => !isShown(leak))
  expect(leaks).toEqual([])
})

test('a start that the database refuses does not tell its password', async () => {
  const password = inHeader('database')
  const refused = startDaemon({ env: { DATABASE_URL: `postgres://app:${password}@127.0.0.1:9/gatehouse` } })
  const said = await refused.then(
    () => 'it started',
    (error: unknown) => String(error),
  )
  expect(said).toContain('Gatehouse does not start')
  expect(foundIn(said, new Map([['database', password]]))).toEqual([])
})

test('the search finds a word however it is written', () => {
  const word = inBody('Aa1')
  for (const text of [
    word,
    JSON.stringify({ a: word }),
    JSON.stringify({ a: JSON.stringify({ b: word }) }),
    `x=${encodeURIComponent(word)}`,
    Buffer.from(`admin:${word}`).toString('base64'),
    Buffer.from(`${word} `).toString('base64url'),
    Buffer.from(`ab${word}c`).toString('base64'),
  ])
    expect(foundIn(text, new Map([['it', word]])), text).toEqual(['it'])
})
