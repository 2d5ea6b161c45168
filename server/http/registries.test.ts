import { createHash, randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startApp, type TestApp } from '../../test/support/app.ts'
import type { Principal, Scope } from '../core/access.ts'
import { DEFAULT_DISTRIBUTIONS } from '../core/default-distributions.ts'
import { fail } from '../core/errors.ts'
import { sha256, type Codename } from '../core/identity.ts'
import { createRepositories, type Distribution } from '../core/repository.ts'
import type { RegistryAnswer, RegistryProtocol, RegistryRequest } from '../registries/protocol.ts'

const BYTES = '0123456789'
const DIGEST = sha256(createHash('sha256').update(BYTES).digest('hex'))

const [jammy] = DEFAULT_DISTRIBUTIONS as readonly [Distribution]
const registry = (codename: string, format = 'tiny'): Distribution => ({
  ...jammy,
  ...{ kind: 'registry', registry: { kind: 'hosted' }, codename: codename as Codename, format },
  ...{ archs: [], neutral: [], scanner: undefined, builtin: false },
})

const group: Distribution = {
  ...registry('all'),
  registry: { kind: 'group', members: ['open', 'shut', 'veiled'] as Codename[] },
}

const who = (name: string, role: Principal['role'], scope?: Scope): Principal => ({
  ...{ kind: 'token', name, role, credential: name },
  ...(scope === undefined ? {} : { scope }),
})
const TOKENS: Readonly<Record<string, Principal>> = {
  reader: who('reader', 'reader'),
  auditor: who('auditor', 'auditor'),
  uploader: who('uploader', 'uploader'),
  maintainer: who('maintainer', 'maintainer'),
  stranger: who('stranger', 'uploader'),
  uploads: who('uploads', 'uploader', { uploadOnly: true }),
  scoped: who('scoped', 'maintainer', { uploadOnly: false, distributions: ['shut'] }),
}

let asked: RegistryRequest[] = []
const tiny: RegistryProtocol = {
  format: 'tiny',
  root: 'tiny',
  nameOf: ({ segments: [name] }) => name,
  challenge: ({ address }) => `Basic realm="${address}"`,
  unwrap: async sent =>
    sent === 'Bearer wrapped' ? 'Bearer uploader' : sent === 'Bearer nobody' ? 'anonymous' : undefined,
  async atRoot({ segments, body }) {
    if (segments[0] === 'late') await new Promise(resolve => body.once('close', resolve))
    return segments.length === 0 ? { status: 200, body: { kind: 'json', json: { tiny: 1 } } } : undefined
  },
  async answer(request): Promise<RegistryAnswer | undefined> {
    asked.push(request)
    const [what] = request.segments
    if (request.method === 'PUT') {
      request.caller.need('write')
      return { status: 201, body: { kind: 'json', json: { body: await text(request.body) } } }
    }
    if (request.method === 'DELETE') {
      request.caller.need('manage')
      return { status: 204 }
    }
    if (what === 'held')
      return { status: 403, reason: 'Held: ä\r\nSet-Cookie: x', body: { kind: 'bytes', bytes: 'no' } }
    if (what === 'file') return { status: 200, type: 'x/y', body: { kind: 'blob', sha256: DIGEST, size: 10 } }
    if (what === 'gone') return { status: 200, body: { kind: 'blob', sha256: sha256('0'.repeat(64)), size: 1 } }
    if (what === 'refused') return fail('bad_digest', { digest: 'x' })
    if (what === 'list')
      return { status: 200, conditional: true, headers: { Vary: 'Accept' }, body: { kind: 'json', json: { a: 1 } } }
    return undefined
  },
  refuse: ({ status, code, detail }) => ({
    status,
    reason: detail,
    body: { kind: 'json', json: { error: detail, code } },
  }),
}

let app: TestApp
beforeAll(async () => {
  const repositories = createRepositories([jammy])
  repositories.replace([registry('open'), registry('shut'), registry('veiled'), registry('other', 'npm'), group])
  const veiledFrom = (one: Principal | undefined): readonly string[] =>
    one === undefined || one.name === 'stranger' ? ['veiled', ...(one === undefined ? [] : ['shut'])] : []
  app = await startApp({
    repositories,
    privateTrees: async () => new Set(['shut']),
    uploadLimits: () => ({ per_minute_address: 1000, per_minute_user: 0, per_minute_token: 0 }),
    authenticate: async sent => TOKENS[(sent ?? '').slice('Bearer '.length)] ?? fail('bad_credential', {}),
    registries: {
      protocols: [tiny],
      // what groups answer is tested with real protocols: here, which members a caller may read there
      groups: {
        answer: async (_, request, asMember) => {
          const members = ['open', 'shut', 'veiled'].map(name => asMember(repositories.need(name)))
          return {
            status: 200,
            body: {
              kind: 'json',
              json: members.map(
                one => one && [one.registry.codename, one.asked.codename, new URL(one.address).pathname],
              ),
            },
          }
        },
      },
      hiddenFrom: async one => veiledFrom(one),
      address: { called: ({ stream }) => `http://${stream.headers.host ?? ''}`, console: () => 'https://console' },
      layout: { blob: digest => app.layout.blob(digest) },
    },
  })
  const { layout } = app
  await mkdir(dirname(layout.blob(DIGEST)), { recursive: true })
  await writeFile(layout.blob(DIGEST), BYTES)
})
afterAll(() => app.close())
beforeEach(() => {
  asked = []
})
const as = (name: string): Record<string, string> => ({ authorization: `Bearer ${name}` })
const ask = (method: string, path: string, headers: Record<string, string> = {}) => app.ask(method, path, { headers })

describe('who may do what', () => {
  const reads: readonly (readonly [string, string | undefined, number])[] = [
    ['open', undefined, 200],
    ['open', 'reader', 200],
    ['open', 'nonsense', 401],
    ['open', 'nobody', 200],
    ['shut', undefined, 401],
    ['shut', 'nobody', 401],
    ['shut', 'nonsense', 401],
    ['shut', 'reader', 200],
    ['shut', 'auditor', 200],
    ['shut', 'wrapped', 200],
    ['shut', 'stranger', 404],
    ['veiled', undefined, 401],
    ['veiled', 'stranger', 404],
    ['veiled', 'auditor', 200],
    ['nowhere', undefined, 404],
    ['other', undefined, 404],
    ['jammy', undefined, 404],
  ]
  test.each(reads)('%s is read as %s: %i', async (name, token, status) => {
    const answer = await ask('GET', `/tiny/${name}/list`, token === undefined ? {} : as(token))
    expect(answer.status).toBe(status)
    expect(asked).toHaveLength(status === 200 ? 1 : 0)
    if (status !== 401) return
    expect(answer.headers['www-authenticate']).toMatch(/^Basic realm="http:\/\/127\.0\.0\.1:\d+\/tiny\/\w+"$/)
  })

  test.each([
    [undefined, ['open']],
    ['reader', ['open', 'shut', 'veiled']],
    ['stranger', ['open']],
    ['scoped', ['open', 'shut', 'veiled']],
  ])('a group is asked by %s: it may read %j of its members, each by its own access', async (token, names) => {
    const answer = await ask('GET', '/tiny/all/x', token === undefined ? {} : as(token))
    expect(answer.json()).toEqual(
      ['open', 'shut', 'veiled'].map(name => (names.includes(name) ? [name, 'all', '/tiny/all'] : null)),
    )
    expect(asked).toEqual([])
  })

  const changes: readonly (readonly [string, string, string | undefined, number])[] = [
    ['PUT', 'open', undefined, 401],
    ['PUT', 'open', 'reader', 403],
    ['PUT', 'open', 'auditor', 403],
    ['PUT', 'open', 'uploader', 201],
    ['PUT', 'open', 'uploads', 201],
    ['PUT', 'open', 'scoped', 403],
    ['PUT', 'shut', 'scoped', 201],
    ['PUT', 'shut', 'stranger', 404],
    ['DELETE', 'open', 'uploader', 403],
    ['DELETE', 'open', 'uploads', 403],
    ['DELETE', 'open', 'maintainer', 204],
    ['DELETE', 'open', 'scoped', 403],
  ]
  test.each(changes)('%s %s as %s: %i', async (method, name, token, status) => {
    const answer = await ask(method, `/tiny/${name}/x`, token === undefined ? {} : as(token))
    expect(answer.status).toBe(status)
  })

  test('a token for uploads reads the lists that publishing asks for, and no package', async () => {
    expect((await ask('GET', '/tiny/open/list', as('uploads'))).status).toBe(200)
    expect((await ask('HEAD', '/tiny/open/file', as('uploads'))).status).toBe(200)
    const { status, json } = await ask('GET', '/tiny/open/file', as('uploads'))
    expect([status, json().code]).toEqual([403, 'outside_scope'])
  })

  test('the token as the password of HTTP Basic is the same', async () => {
    const basic = `Basic ${Buffer.from('whoever:reader').toString('base64')}`
    expect((await ask('GET', '/tiny/shut/list', { authorization: basic })).status).toBe(200)
    expect(asked[0]?.caller.who?.name).toBe('reader')
    expect((await ask('GET', '/tiny/open/list', { authorization: 'Digest x' })).status).toBe(401)
  })
})

describe('addresses', () => {
  test('segments arrive decoded, with a slash that was encoded', async () => {
    await ask('GET', '/tiny/open/@s%2fn/-/n%20x/?a=1&a=2')
    expect(asked[0]).toMatchObject({
      segments: ['@s/n', '-', 'n x'],
      endsWithSlash: true,
      address: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/tiny\/open$/) as string,
      console: 'https://console',
    })
    expect(asked[0]?.query.getAll('a')).toEqual(['1', '2'])
  })
  const hostile = ['a//b', '%2e%2e/x', 'a%2f..%2fb', '..%5cx', 'a%5cb', 'a%0ab', 'a%7f', '%2fx', 'x%2f', '%c2%85']
  test.each(hostile)('%s is refused before a protocol sees it', async path => {
    const { status, json } = await ask('GET', `/tiny/open/${path}`)
    expect([status, json().code, asked]).toEqual([400, 'registry_address', []])
  })
  test('what the protocol does not know is not found, in its words', async () => {
    const { status, json } = await ask('GET', '/tiny/open/what')
    expect([status, json()]).toEqual([
      404,
      { code: 'not_found', error: expect.stringContaining('/tiny/open/what') as string },
    ])
  })
  test('the root answers without a registry, and other addresses go on', async () => {
    for (const path of ['/tiny', '/tiny/']) expect((await ask('GET', path)).json()).toEqual({ tiny: 1 })
    expect((await ask('GET', '/tinyx/open/list')).status).toBe(404)
  })
})

describe('answers', () => {
  test('a reason is one line of ASCII, and no header', async () => {
    const answer = await ask('GET', '/tiny/open/held')
    expect([answer.status, answer.text, answer.headers['set-cookie']]).toEqual([403, 'no', undefined])
  })
  test('a document has an ETag, and is not sent twice', async () => {
    const first = await ask('GET', '/tiny/open/list')
    expect(first.headers).toMatchObject({ 'etag': expect.any(String) as string, 'content-length': '7' })
    expect(first.headers['content-type']).toBe('application/json; charset=utf-8')
    const again = await ask('GET', '/tiny/open/list', { 'if-none-match': String(first.headers.etag) })
    expect([again.status, again.text, again.headers.etag]).toEqual([304, '', first.headers.etag])
    const head = await ask('HEAD', '/tiny/open/list')
    expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', '7'])
  })
  test('a file of the pool is sent with ranges', async () => {
    const whole = await ask('GET', '/tiny/open/file')
    expect([whole.status, whole.text, whole.headers['content-type']]).toEqual([200, BYTES, 'x/y'])
    const part = await ask('GET', '/tiny/open/file', { range: 'bytes=2-4' })
    expect([part.status, part.text, part.headers['content-range']]).toEqual([206, '234', 'bytes 2-4/10'])
    const head = await ask('HEAD', '/tiny/open/file')
    expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', '10'])
  })
  test('a body that was packed arrives unpacked; other packings are refused', async () => {
    const send = (encoding: string) =>
      app.ask('PUT', '/tiny/open/x', {
        headers: { ...as('uploader'), 'content-encoding': encoding },
        body: gzipSync('hello'),
      })
    expect((await send('gzip')).json()).toEqual({ body: 'hello' })
    expect([(await send('br')).status, (await send('br')).json().code]).toEqual([415, 'registry_encoding'])
  })
  test('a packed body larger than every buffer arrives whole, also where the root was asked first', async () => {
    const large = randomBytes(1_000_000).toString('hex')
    const send = (name: string) =>
      app.ask('PUT', `/tiny/${name}/x`, {
        headers: { ...as('uploader'), 'content-encoding': 'gzip' },
        body: gzipSync(large),
      })
    expect((await send('open')).json().body === large).toBe(true)
    expect([(await send('nowhere')).status, asked.length]).toEqual([404, 1])
  }, 20_000)
  test('a body that is not what it says and breaks before anybody reads it harms nobody else', async () => {
    const headers = { ...as('uploader'), 'content-encoding': 'gzip' }
    const { status } = await app.ask('PUT', '/tiny/late/x', { headers, body: Buffer.alloc(1000, 'x') })
    expect([status, (await ask('GET', '/tiny/open/list')).status]).toEqual([404, 200])
  })
  test('a refusal is in the words of the protocol, and a fault says nothing of itself', async () => {
    expect((await ask('GET', '/tiny/open/refused')).json()).toMatchObject({ code: 'bad_digest' })
    const fault = await ask('GET', '/tiny/open/gone')
    expect([fault.status, fault.text]).toEqual([500, expect.not.stringContaining('0000') as string])
  })
  test('reads are counted as downloads of trees are, and changes are not', async () => {
    const before = app.treeLines.length
    await ask('GET', '/tiny/open/file')
    await ask('PUT', '/tiny/open/x', as('uploader'))
    expect(app.treeLines.slice(before)).toEqual([expect.stringContaining('"GET /tiny/open/file HTTP/1.1" 200 10')])
  })
})

test('wrong credentials cannot be tried without end', async () => {
  const headers = { 'authorization': 'Bearer guess', 'x-forwarded-for': '198.51.100.7' }
  const codes = new Set<number>()
  for (let n = 0; n < 62; n++) codes.add((await ask('GET', '/tiny/open/list', headers)).status)
  expect([...codes]).toEqual([401, 429])
})
