import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Answer, type Daemon } from '../support/daemon.ts'
import { buildWheel, wheelName } from '../support/packages-pypi.ts'
import { run } from '../support/tools.ts'

const PASSWORD = 'Correct-horse-9'

let daemon: Daemon
let admin: string
const tokens: Record<string, string> = {}

const call = <Body = Record<string, unknown>>(
  method: string,
  path: string,
  body?: unknown,
  token = admin,
): Promise<Answer<Body>> => daemon.call<Body>(method, path, { token, ...(body === undefined ? {} : { body }) })

async function must(method: string, path: string, body?: unknown, token = admin): Promise<Record<string, unknown>> {
  const { status, text, body: answer } = await call(method, path, body, token)
  expect(status, text).toBeLessThan(300)
  return answer
}

async function tokenOf(name: string, role: string, scopes?: Record<string, unknown>): Promise<void> {
  const made = await must('POST', '/auth/api-tokens', { name, role, ...(scopes && { scopes }) })
  tokens[name] = String(made.token)
}

const wheelOf = (version: string, text = '') => {
  const spec = { name: 'hello', version, ...(text === '' ? {} : { description: text }) }
  return { filename: wheelName(spec), bytes: buildWheel(spec), version }
}

/** As twine sends it. */
async function publish(
  registry: string,
  { filename, bytes, version }: ReturnType<typeof wheelOf>,
  token?: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const form = new FormData()
  for (const [name, value] of Object.entries({
    ':action': 'file_upload',
    'protocol_version': '1',
    'name': 'hello',
    version,
    'filetype': 'bdist_wheel',
    'pyversion': 'py3',
    'sha256_digest': createHash('sha256').update(bytes).digest('hex'),
    ...more,
  }))
    form.set(name, value)
  form.set('content', new Blob([new Uint8Array(bytes)]), filename)
  return fetch(`${daemon.url}/pypi/${registry}/legacy/`, {
    method: 'POST',
    body: form,
    headers: token === undefined ? {} : { authorization: basic(token) },
  })
}

const basic = (token: string): string => `Basic ${Buffer.from(`__token__:${token}`).toString('base64')}`
const read = async (path: string, token?: string): Promise<Response> =>
  fetch(`${daemon.url}/pypi/${path}`, { headers: token === undefined ? {} : { authorization: basic(token) } })

beforeAll(async () => {
  daemon = await startDaemon()
  admin = await daemon.setupAdmin()
  await must('PATCH', '/settings/', { validation: { on_scanner_unavailable: 'warn' } })
  for (const name of ['open', 'shut', 'veiled', 'next']) await must('POST', '/registries/', { name, format: 'pypi' })
  for (const [username, role] of [
    ['ulla', 'uploader'],
    ['otto', 'auditor'],
  ] as const) {
    await must('POST', '/auth/users', { username, password: PASSWORD, role })
    const { body } = await daemon.call<{ access_token: string }>('POST', '/auth/token', {
      body: { username, password: PASSWORD },
    })
    tokens[username] = body.access_token
  }
  await must('PUT', '/access/distributions/shut', { private: true })
  await must('PUT', '/access/distributions/veiled', { private: true, users: ['otto'] })
  await tokenOf('reader', 'reader')
  await tokenOf('uploads', 'uploader', { upload_only: true })
  await tokenOf('of-shut', 'uploader', { distributions: ['shut'] })
  await tokenOf('of-open', 'uploader', { distributions: ['open'] })
  for (const name of ['open', 'shut', 'veiled']) expect((await publish(name, wheelOf('1.0'), admin)).status).toBe(200)
}, 120_000)
afterAll(() => daemon.close())

describe('who reads', () => {
  const cases: readonly (readonly [string, string | undefined, number])[] = [
    ['open', undefined, 200],
    ['open', 'reader', 200],
    ['open', 'of-shut', 200],
    ['open', 'wrong', 401],
    ['shut', undefined, 401],
    ['shut', 'wrong', 401],
    ['shut', 'reader', 200],
    ['shut', 'of-shut', 200],
    ['shut', 'of-open', 404],
    ['veiled', undefined, 401],
    ['veiled', 'reader', 404],
    ['veiled', 'ulla', 404],
    ['veiled', 'otto', 200],
    ['nowhere', 'reader', 404],
    ['jammy', 'reader', 404],
  ]
  test.each(cases)('%s as %s: %i', async (name, as, status) => {
    const token = as === undefined ? undefined : (tokens[as] ?? 'svc_wrong')
    for (const path of [`${name}/simple/hello/`, `${name}/simple/`]) {
      const answer = await read(path, token)
      expect([path, answer.status]).toEqual([path, status])
      if (status === 401) expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /)
      await answer.arrayBuffer()
    }
  })

  test('a token for uploads reads the list and no file; others get the bytes', async () => {
    const page = await (await read('open/simple/hello/')).text()
    const [, href = ''] = /href="([^"#]+)/.exec(page) ?? []
    const { pathname } = new URL(href, `${daemon.url}/pypi/open/simple/hello/`)
    const path = pathname.slice('/pypi/'.length)
    const got = await read(path)
    expect(Buffer.from(await got.arrayBuffer()).equals(wheelOf('1.0').bytes)).toBe(true)
    expect((await read('open/simple/hello/', tokens.uploads)).status).toBe(200)
    expect((await read(path, tokens.uploads)).status).toBe(403)
  })

  test('the API shows a registry to those alone who may see it, and to nobody among distributions', async () => {
    const names = async (token?: string) =>
      (await call<{ registries: { name: string }[] }>('GET', '/registries/', undefined, token)).body.registries
        .map(({ name }) => name)
        .join(' ')
    expect([await names(), await names(tokens.otto), await names(tokens.ulla)]).toEqual([
      'next open shut veiled',
      'next open shut veiled',
      'next open shut',
    ])
    const { text } = await call('GET', '/distributions/')
    expect(text).not.toContain('"open"')
    for (const [method, path, body] of [
      ['GET', '/distributions/open/setup', undefined],
      ['GET', '/distributions/open/definition', undefined],
      ['PATCH', '/distributions/open', { label: 'x' }],
      ['DELETE', '/distributions/next', undefined],
      ['POST', '/distributions/open/retire', undefined],
      ['GET', '/distributions/open/generations', undefined],
      ['GET', '/distributions/open/documents', undefined],
      ['GET', '/distributions/open/release', undefined],
    ] as const) {
      const { status } = await call(method, path, body)
      expect([method, path, status]).toEqual([method, path, 404])
    }
    expect((await call('POST', '/distributions/init', { codename: 'open' })).status).toBe(422)
  })
})

describe('who publishes', () => {
  const cases: readonly (readonly [string, string | undefined, number])[] = [
    ['open', undefined, 401],
    ['open', 'wrong', 401],
    ['open', 'reader', 403],
    ['open', 'otto', 403],
    ['open', 'of-shut', 403],
    ['shut', 'of-open', 404],
    ['veiled', 'ulla', 404],
    ['open', 'uploads', 200],
    ['shut', 'of-shut', 200],
  ]
  test.each(cases)('into %s as %s: %i', async (name, as, status) => {
    const token = as === undefined ? undefined : (tokens[as] ?? 'svc_wrong')
    const answer = await publish(name, wheelOf(`2.${cases.findIndex(([a, b]) => a === name && b === as)}`), token)
    expect([answer.status, await answer.text()]).toEqual([status, expect.any(String)])
  })

  test('two at once publish one version: one of them is refused, and the other is what clients get', async () => {
    const [a, b] = [wheelOf('3.0', 'a'), wheelOf('3.0', 'b')]
    const answers = await Promise.all([publish('open', a, admin), publish('open', b, admin)])
    const statuses = answers.map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([200, 409])
    const wanted = statuses[0] === 200 ? a : b
    const page = await (await read('open/simple/hello/')).text()
    expect(page).toContain(createHash('sha256').update(wanted.bytes).digest('hex'))
  })

  test('a retired registry takes nothing, and is served on', async () => {
    await must('PATCH', '/registries/open', { retired: true })
    expect((await publish('open', wheelOf('4.0'), admin)).status).toBe(409)
    expect((await read('open/simple/hello/')).status).toBe(200)
    await must('PATCH', '/registries/open', { retired: false })
  })

  test('a digest that twine names is in the report; a wrong one is refused, also where the check is off', async () => {
    const wheel = wheelOf('6.0')
    const md5 = createHash('md5').update(wheel.bytes).digest('hex')
    const [said, zeros] = [createHash('sha256').update(wheel.bytes).digest('hex'), '0'.repeat(64)]
    const answerTo = async (more: Readonly<Record<string, string>>) => {
      const answer = await publish('open', wheel, admin, more)
      return [answer.status, await answer.text()]
    }
    await must('PATCH', '/settings/', { validation: { sha256_check: false } })
    expect(await answerTo({ sha256_digest: zeros })).toEqual([
      400,
      `The file has SHA-256 ${said}, the sender said ${zeros}. Nothing was kept; send it again.\n`,
    ])
    await must('PATCH', '/settings/', { validation: { sha256_check: true } })
    expect(await answerTo({ md5_digest: zeros.slice(32) })).toEqual([
      400,
      `The file has the MD5 ${md5}, the sender said ${zeros.slice(32)}. Nothing was kept; send it again.\n`,
    ])
    expect(await answerTo({ md5_digest: 'nonsense' })).toEqual([
      400,
      'The field md5_digest is no digest of 32 hex characters.\n',
    ])
    expect((await call('GET', '/artifacts/hello/6.0?distribution=open')).status).toBe(404)
    expect(await answerTo({ md5_digest: md5 })).toEqual([200, 'hello-6.0-py3-none-any.whl is published.\n'])
    const { text } = await call('GET', '/artifacts/hello/6.0?distribution=open')
    expect(text).toContain(`SHA-256 ${said}, as the sender said.`)
  })

  test('POST /upload/ takes what the registry reads, and nothing else', async () => {
    const { filename, bytes } = wheelOf('5.0')
    const sent = await daemon.upload(bytes, { token: admin, filename, distribution: 'open' })
    expect([sent.status, sent.body.status, sent.body.arch]).toEqual([201, 'published', 'py3-none-any'])
    const wrong = await daemon.upload(Buffer.from('no wheel'), { token: admin, filename, distribution: 'open' })
    expect(wrong.status).toBeGreaterThanOrEqual(400)
    const tree = await daemon.upload(bytes, { token: admin, filename, distribution: 'jammy' })
    expect([tree.status >= 400, tree.status < 500]).toEqual([true, true])
  })
})

test('hostile addresses are refused', async () => {
  for (const path of ['open/..%2f..%2fsecrets', 'open/%2e%2e%2f', 'open/simple/%00', 'open//simple', 'open/a%5cb']) {
    const { status } = await read(path)
    expect([path, status >= 400 && status < 500]).toEqual([path, true])
  }
})

test('what a registry has is promoted, kept by retention, verified, and is there after a rebuild', async () => {
  const promoted = await must('POST', '/distributions/promote', {
    package: 'hello',
    from_dist: 'open',
    to_dist: 'next',
  })
  expect(promoted.status).toBe('promoted')
  expect((await read('next/simple/hello/')).status).toBe(200)
  await must('POST', '/distributions/open/pins', { name: 'hello', version: '1.0' })
  const preview = await must('POST', '/distributions/open/retention/preview', { keep: 1 })
  expect((preview.pinned as unknown[]).length).toBe(1)
  const before = await (await read('open/simple/hello/')).text()
  await must('POST', '/artifacts/admin/sync-index')
  expect(await (await read('open/simple/hello/')).text()).toBe(before)
  const verify = await run(process.execPath, [join(import.meta.dirname, '../../server/cli/verify.ts')], {
    env: { REPOS_ROOT: daemon.root, ENV: 'test', ...(daemon.databaseUrl && { DATABASE_URL: daemon.databaseUrl }) },
  })
  expect([verify.code, verify.out]).toEqual([0, expect.stringContaining('no difference')])
  await daemon.stop()
  await daemon.restart()
  expect(await (await read('open/simple/hello/')).text()).toBe(before)
}, 120_000)
