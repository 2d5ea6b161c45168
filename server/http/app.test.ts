import { Type } from '@sinclair/typebox'
import { connect } from 'node:net'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Role } from '../core/access.ts'
import { fail } from '../core/errors.ts'
import { DatabaseUnavailable } from '../db/database-unavailable.ts'
import { WithStatus, type StreamEvent } from '../core/contract.ts'
import { route, send, startApp, type TestApp } from '../../test/support/app.ts'

const json = Type.Object({})
const CHOICE = Type.Object({
  distribution: Type.Optional(Type.String()),
  kind: Type.Optional(Type.Union([Type.Literal('a'), Type.Literal('b')])),
  q: Type.Optional(Type.String({ minLength: 1 })),
})
let aborted: (why: string) => void
const wasAborted = new Promise<string>(resolve => {
  aborted = resolve
})
let returned: () => void
const wasReturned = new Promise<void>(resolve => {
  returned = resolve
})

async function* endless(signal: AbortSignal): AsyncGenerator<StreamEvent> {
  try {
    yield { id: '7', event: 'tick', data: { text: 'two\nlines' } }
    await new Promise<void>(resolve => {
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
  } finally {
    returned()
  }
}

const ROUTES = [
  route(
    'GET /things/',
    {
      reply: json,
      query: Type.Object({
        page: Type.Optional(Type.Integer({ minimum: 1 })),
        on: Type.Optional(Type.Boolean()),
        q: Type.Optional(Type.String()),
      }),
    },
    ({ query }) => ({ query }),
  ),
  route('GET /things/{name}', { reply: json }, ({ params }) => ({ one: params })),
  route('GET /things/{name}/{version}', { reply: json }, ({ params }) => ({ two: params })),
  route('GET /things/audit/logs', { reply: json }, () => ({ logs: true })),
  route('DELETE /things/{name}', { reply: 'none' }, () => undefined),
  route('GET /chosen', { reply: json, query: CHOICE }, ({ query }) => ({ query })),
  route('DELETE /chosen', { reply: json, query: CHOICE }, ({ query }) => ({ query })),
  route(
    'POST /bodies',
    { reply: json, status: 201, body: Type.Object({ name: Type.String(), size: Type.Optional(Type.Integer()) }) },
    ({ body }) => ({ body }),
  ),
  route('POST /known', { reply: json, status: 201 }, () => new WithStatus(200, { known: true })),
  route('GET /text', { reply: 'text' }, () => 'plain'),
  route('GET /file', { reply: 'file' }, () => ({
    body: Buffer.from('bytes'),
    type: 'application/x-thing',
    name: 'a b.bin',
  })),
  route('GET /crash', { reply: json }, () => {
    throw new Error('the secret is in here', { cause: new Error('deep') })
  }),
  route('GET /database-gone', { reply: json }, () => {
    throw new DatabaseUnavailable(new Error('connect ECONNREFUSED /tmp/socket'))
  }),
  route('GET /refused', { reply: json }, () =>
    fail('duplicate_conflict', { ref: 'hello 1.0', incoming_sha256: 'aa', existing_sha256: 'bb' }),
  ),
  route('GET /weak', { reply: json }, () => fail('weak_password', { why: 'it is short' })),
  route('GET /paid', { reply: json, edition: 'Promotion' }),
  route('GET /limited', { reply: json, limit: { bucket: 'one', perMinute: 3 } }),
  route('GET /limited-too', { reply: json, limit: { bucket: 'one', perMinute: 3 } }),
  route(
    'GET /waits',
    { reply: json },
    ({ raw }) =>
      new Promise((_, reject) => {
        raw.signal.addEventListener(
          'abort',
          () => {
            aborted('waits')
            reject(raw.signal.reason as Error)
          },
          { once: true },
        )
      }),
  ),
  route('GET /events', { reply: 'events' }, ({ raw }) => endless(raw.signal)),
  route('GET /events-refused', { reply: 'events' }, async function* () {
    fail('not_ready', { why: 'no reason' })
  }),
  route('GET /events-broken', { reply: 'events' }, async function* () {
    yield { data: 1 }
    throw new Error('the secret is in here')
  }),
  route('GET /health', { reply: json, root: true }),
]

let app: TestApp
let community: TestApp
beforeAll(async () => {
  app = await startApp({ routes: ROUTES, corsOrigins: ['https://console.example'] })
  community = await startApp({ routes: ROUTES, enterprise: () => 'nothing', production: true })
})
afterAll(async () => {
  await app.close()
  await community.close()
})
const get = (path: string, headers: Record<string, string> = {}) => app.ask('GET', path, { headers })

describe('matching', () => {
  test.each([
    ['/api/v1/things', { query: {} }],
    ['/api/v1/things/', { query: {} }],
    ['/api/v1/things/hello', { one: { name: 'hello' } }],
    ['/api/v1/things/hello/', { one: { name: 'hello' } }],
    ['/api/v1/things/audit/logs', { logs: true }],
    ['/api/v1/things/audit/1.0', { two: { name: 'audit', version: '1.0' } }],
    ['/api/v1/things/libstdc%2B%2B6/1:2.0~rc1+b1', { two: { name: 'libstdc++6', version: '1:2.0~rc1+b1' } }],
    ['/api/v1/things/@scope%2fname/1%3A2', { two: { name: '@scope/name', version: '1:2' } }],
    ['/api/v1/things/..%2f..%2fetc', { one: { name: '../../etc' } }],
    ['/api/v1/things/%25', { one: { name: '%' } }],
  ])('%s', async (path, expected) => {
    const answer = await get(path)
    expect([answer.status, answer.json()]).toEqual([200, expected])
  })

  test.each([
    '/api/v1/nothing',
    '/api/v1',
    '/',
    '/API/V1/things',
    '/api/v1/Things',
    '/api/v1/things//x',
    '/api/v1/../../etc/passwd',
    '/health/more',
  ])('there is nothing at %s', async path => {
    const answer = path === '/' ? await community.ask('POST', path) : await get(path)
    expect(answer.status).toBe(404)
    expect(answer.json()).toEqual({
      detail: `There is nothing at ${path}.`,
      code: 'not_found',
      facts: { path },
      request_id: answer.headers['x-request-id'],
    })
  })

  test('a method that a path does not have is 405 and names those it has', async () => {
    const answer = await app.ask('PUT', '/api/v1/things/x')
    expect([answer.status, answer.headers.allow?.split(', ').sort()]).toEqual([405, ['DELETE', 'GET', 'HEAD']])
    expect(answer.json()).toMatchObject({ code: 'method_not_allowed' })
  })

  test('HEAD answers as GET does, without a body', async () => {
    const answer = await app.ask('HEAD', '/api/v1/things/hello')
    expect([answer.status, answer.text, answer.headers['content-length']]).toEqual([
      200,
      '',
      String(JSON.stringify({ one: { name: 'hello' } }).length),
    ])
  })

  test.each(['/api/v1/things/%', '/api/v1/things/%zz', '/api/v1/things/%ff', '/api/v1/things/a%00b'])(
    'the path %s is a bad request',
    async path => {
      expect((await get(path)).status).toBe(400)
    },
  )
})

describe('values', () => {
  test('a query arrives as its schema says', async () => {
    expect((await get('/api/v1/things?page=2&on=true&q=12&extra=1')).json()).toEqual({
      query: { page: 2, on: true, q: '12' },
    })
  })

  test.each(['page=0', 'page=two', 'page=1.5', 'page=1e3', 'page=', 'page=1&page=2', 'on=maybe', 'q=1&q=2'])(
    'the query %s is 422 and says where',
    async query => {
      const answer = await get(`/api/v1/things?${query}`)
      expect(answer.status).toBe(422)
      const { detail } = answer.json() as { detail: { loc: string[]; msg: string; type: string }[] }
      expect(detail[0]).toEqual({
        loc: ['query', query.split('=')[0]],
        msg: expect.any(String) as string,
        type: expect.any(String) as string,
      })
    },
  )

  test('a text that a form left empty narrows nothing', async () => {
    expect((await get('/api/v1/chosen?kind=&distribution=&q=x')).json()).toEqual({ query: { q: 'x' } })
    expect((await app.ask('HEAD', '/api/v1/chosen?kind=')).status).toBe(200)
  })

  test('an empty text stays one where something is deleted: it must not make the choice wider', async () => {
    expect((await app.ask('DELETE', '/api/v1/chosen?distribution=')).json()).toEqual({ query: { distribution: '' } })
    expect((await app.ask('DELETE', '/api/v1/chosen?kind=')).status).toBe(422)
  })

  test('a zero byte goes no further than the edge', async () => {
    expect((await get('/api/v1/things?q=a%00b')).status).toBe(422)
    expect((await app.ask('POST', '/api/v1/bodies', { body: { name: 'a\0b' } })).status).toBe(422)
  })

  test('half a character, as JSON can spell one, goes no further than the edge', async () => {
    for (const body of ['{"name":"a\\ud800b"}', '{"name":"n","a\\udc00":1}']) {
      expect(
        (await app.ask('POST', '/api/v1/bodies', { body, headers: { 'content-type': 'application/json' } })).status,
      ).toBe(422)
    }
    expect((await app.ask('POST', '/api/v1/bodies', { body: { name: '😀' } })).status).toBe(201)
  })

  test('members that a body does not have are left out', async () => {
    const answer = await app.ask('POST', '/api/v1/bodies', {
      body: '{"name":"n","role":"admin","__proto__":{"x":1}}',
      headers: { 'content-type': 'application/json' },
    })
    expect([answer.status, answer.json()]).toEqual([201, { body: { name: 'n' } }])
  })

  test.each([
    '{"name":"n","__proto__":{"x":1}}',
    '{"name":"n","__proto\\u005f_":{"role":"admin"}}',
    '{"name":"n","constructor":{"prototype":{"role":"admin"}}}',
  ])('nothing is polluted by %s', async body => {
    const answer = await app.ask('POST', '/api/v1/bodies', { body, headers: { 'content-type': 'application/json' } })
    expect([answer.status, answer.json(), ({} as { role?: string }).role]).toEqual([
      201,
      { body: { name: 'n' } },
      undefined,
    ])
  })

  test.each([
    ['lists', '['.repeat(101) + ']'.repeat(101)],
    ['objects', '{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000)],
    ['lists without end', '['.repeat(500_000)],
  ])('%s within one another beyond measure are a bad request', async (_, deep) => {
    const answer = await app.ask('POST', '/api/v1/bodies', {
      body: `{"name":"n","x":${deep}}`,
      headers: { 'content-type': 'application/json' },
    })
    expect([answer.status, answer.json()]).toMatchObject([
      400,
      { code: 'bad_request', detail: 'The body nests deeper than 100 levels. Send it flatter.' },
    ])
    const flat = { name: `${'['.repeat(500)}\\"${'{'.repeat(500)}` }
    expect((await app.ask('POST', '/api/v1/bodies', { body: flat })).json()).toEqual({ body: flat })
  })

  test('a body that does not fit is 422, each fault with its place', async () => {
    const answer = await app.ask('POST', '/api/v1/bodies', { body: { size: 'big' } })
    expect([answer.status, answer.json()]).toMatchObject([
      422,
      {
        detail: [
          { loc: ['body', 'name'], type: 'missing' },
          { loc: ['body', 'size'], type: 'type_error' },
        ],
      },
    ])
    expect((await app.ask('POST', '/api/v1/bodies')).status).toBe(422)
    expect(
      (await app.ask('POST', '/api/v1/bodies', { body: '[]', headers: { 'content-type': 'application/json' } })).status,
    ).toBe(422)
  })

  test.each([
    ['malformed JSON', '{"name":', { 'content-type': 'application/json' }],
    ['a form', 'name=x', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['another encoding', Buffer.from('{"name":"\xe9"}', 'latin1'), { 'content-type': 'application/json' }],
    ['a compressed body', '{"name":"x"}', { 'content-type': 'application/json', 'content-encoding': 'gzip' }],
  ])('%s is a bad request', async (_, body, headers) => {
    const answer = await app.ask('POST', '/api/v1/bodies', { body, headers })
    expect([answer.status, answer.json().code]).toEqual([400, 'bad_request'])
  })

  test('a body over 1 MiB is 413, announced or not', async () => {
    const body = JSON.stringify({ name: 'x'.repeat(1024 * 1024) })
    const announced = await app.ask('POST', '/api/v1/bodies', { body, headers: { 'content-type': 'application/json' } })
    expect([announced.status, announced.json().code]).toEqual([413, 'body_too_large'])
    const chunked = await app.ask('POST', '/api/v1/bodies', {
      body,
      headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
    })
    expect([chunked.status, chunked.json().code]).toEqual([413, 'body_too_large'])
  })
})

describe('answers', () => {
  test("the status is the row's, unless the handler says another", async () => {
    expect((await app.ask('POST', '/api/v1/known')).status).toBe(200)
    expect((await app.ask('DELETE', '/api/v1/things/x')).status).toBe(204)
  })

  test('text and files keep their type and name', async () => {
    const text = await get('/api/v1/text')
    expect([text.text, text.headers['content-type']]).toEqual(['plain', 'text/plain; charset=utf-8'])
    const file = await get('/api/v1/file')
    expect([file.text, file.headers['content-type'], file.headers['content-disposition']]).toEqual([
      'bytes',
      'application/x-thing',
      'attachment; filename="a b.bin"',
    ])
  })

  test('while the database is away is 503 and says when to ask again', async () => {
    const answer = await get('/api/v1/database-gone')
    expect([answer.status, answer.headers['retry-after'], answer.json()]).toEqual([
      503,
      '5',
      {
        detail: 'The database does not answer. Try again in a moment.',
        code: 'database_gone',
        request_id: answer.headers['x-request-id'],
      },
    ])
  })

  test('every answer of the API is hardened and kept by nobody', async () => {
    for (const answer of [
      await get('/api/v1/things'),
      await get('/api/v1/nothing'),
      await get('/api/v1/crash'),
      await get('/health'),
    ]) {
      expect(answer.headers).toMatchObject({
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'content-security-policy': `default-src 'none'; frame-ancestors 'none'`,
        'content-type': 'application/json; charset=utf-8',
      })
    }
  })

  test('an error keeps the connection, also when the body was not read', async () => {
    const keep = { connection: 'keep-alive' }
    expect((await get('/api/v1/nothing', keep)).headers.connection).toBe('keep-alive')
    expect((await app.ask('POST', '/api/v1/nothing', { body: { name: 'x' }, headers: keep })).headers.connection).toBe(
      'keep-alive',
    )
  })

  test('behind a trusted proxy that speaks https, the answer asks for https', async () => {
    expect(
      (await community.ask('GET', '/health', { headers: { 'x-forwarded-proto': 'https' } })).headers[
        'strict-transport-security'
      ],
    ).toMatch(/max-age=\d+/)
    expect((await community.ask('GET', '/health')).headers['strict-transport-security']).toBeUndefined()
  })

  test('a sane request id is taken, any other is replaced', async () => {
    expect((await get('/health', { 'x-request-id': 'trace-1.a' })).headers['x-request-id']).toBe('trace-1.a')
    for (const odd of ['a b', 'x'.repeat(129), '"quoted"'])
      expect((await get('/health', { 'x-request-id': odd })).headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('only listed origins may call from a browser', async () => {
    const allowed = await get('/health', { origin: 'https://console.example' })
    expect([allowed.headers['access-control-allow-origin'], allowed.headers.vary]).toEqual([
      'https://console.example',
      'Origin',
    ])
    expect(
      (await get('/health', { origin: 'https://other.example' })).headers['access-control-allow-origin'],
    ).toBeUndefined()
    const preflight = await app.ask('OPTIONS', '/api/v1/bodies', {
      headers: { 'origin': 'https://console.example', 'access-control-request-method': 'POST' },
    })
    expect([preflight.status, preflight.headers['access-control-allow-methods']]).toEqual([
      204,
      'GET, POST, PATCH, PUT, DELETE',
    ])
  })

  test('requests are counted by route, not by path', async () => {
    await get('/api/v1/things/counted')
    await get('/api/v1/never-there')
    await expect
      .poll(() => app.counted)
      .toEqual(expect.arrayContaining(['GET /api/v1/things/{name} 200', 'GET none 404']))
  })
})

describe('errors', () => {
  test('a fault of ours says nothing, and is logged once with its cause', async () => {
    const answer = await get('/api/v1/crash', { 'x-request-id': 'crash-1' })
    expect([answer.status, answer.json()]).toEqual([
      500,
      { detail: 'Internal server error', code: 'internal', request_id: 'crash-1' },
    ])
    const lines = app.logged.filter(line => line.level === 'error' && line.request_id === 'crash-1')
    expect(lines.map(({ err }) => ((err as Error).cause as Error).message)).toEqual(['deep'])
  })

  test('a conflict has the object that existing clients read', async () => {
    const answer = await get('/api/v1/refused')
    expect([answer.status, answer.json()]).toMatchObject([
      409,
      {
        code: 'duplicate_conflict',
        detail: {
          error: 'duplicate_conflict',
          message: expect.stringContaining('hello 1.0') as string,
          incoming_sha256: 'aa',
          existing_sha256: 'bb',
        },
      },
    ])
  })

  test('every 422 is a list', async () => {
    expect((await get('/api/v1/weak')).json()).toMatchObject({
      detail: [{ loc: ['body'], msg: 'The password is too weak: it is short.', type: 'weak_password' }],
      code: 'weak_password',
    })
  })

  test('the community edition answers 402 where the enterprise one answers', async () => {
    expect((await get('/api/v1/paid')).status).toBe(200)
    const answer = await community.ask('GET', '/api/v1/paid')
    expect([answer.status, answer.json().detail]).toEqual([
      402,
      {
        edition: 'community',
        feature: 'enterprise',
        message: expect.stringContaining('Promotion') as string,
        upgrade_url: expect.stringMatching(/^https:/) as string,
        contact: expect.any(String) as string,
      },
    ])
  })

  test('routes of one bucket share its count; each address has its own', async () => {
    const from = (address: string, path = 'limited') => get(`/api/v1/${path}`, { 'x-forwarded-for': address })
    const burst = await Promise.all(
      ['limited', 'limited-too', 'limited', 'limited-too', 'limited'].map(path => from('198.51.100.1', path)),
    )
    expect(burst.map(({ status }) => status).sort()).toEqual([200, 200, 200, 429, 429])
    const refused = await from('198.51.100.1')
    const wait = Number(refused.headers['retry-after'])
    expect(wait).toBeGreaterThanOrEqual(1)
    expect(wait).toBeLessThanOrEqual(60)
    expect(refused.json()).toMatchObject({
      code: 'rate_limited',
      detail: { error: 'rate_limit_exceeded', message: expect.any(String) as string, limit: 3, retry_after: wait },
    })
    expect(refused.headers['content-type']).toBe('application/json; charset=utf-8')
    expect((await from('198.51.100.2')).status).toBe(200)
    // what a client writes itself stands further left
    expect((await from('198.51.100.3, 198.51.100.1')).status).toBe(429)
  })

  test("a client that leaves aborts its handler, and that is nobody's fault", async () => {
    const socket = connect(app.port, '127.0.0.1')
    await once(socket, 'connect')
    socket.write('GET /api/v1/waits HTTP/1.1\r\nHost: x\r\nX-Request-ID: left-1\r\n\r\n')
    await expect.poll(() => app.counted.length).toBeGreaterThan(0)
    setImmediate(() => socket.destroy())
    expect(await wasAborted).toBe('waits')
    await expect.poll(() => app.logged.some(line => line.request_id === 'left-1')).toBe(true)
    expect(app.logged.filter(line => line.request_id === 'left-1' && line.level === 'error')).toEqual([])
    expect(app.counted).toContain('GET /api/v1/waits 499')
  })

  test("a client that leaves while it sends a body is nobody's fault either", async () => {
    const socket = connect(app.port, '127.0.0.1')
    await once(socket, 'connect')
    socket.write(
      'POST /api/v1/bodies HTTP/1.1\r\nHost: x\r\nX-Request-ID: left-2\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"name"',
    )
    setImmediate(() => socket.destroy())
    await expect.poll(() => app.logged.some(line => line.request_id === 'left-2')).toBe(true)
    expect(app.logged.filter(line => line.request_id === 'left-2' && line.level === 'error')).toEqual([])
  })
})

describe('event streams', () => {
  test('tells events until the client leaves, then ends the handler', async () => {
    const socket = connect(app.port, '127.0.0.1')
    socket.write('GET /api/v1/events HTTP/1.1\r\nHost: x\r\n\r\n')
    let text = ''
    socket.on('data', chunk => {
      text += String(chunk)
    })
    await expect.poll(() => text).toContain('id: 7\nevent: tick\ndata: {"text":"two\\nlines"}\n\n')
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    for (const header of [
      'Content-Type: text/event-stream; charset=utf-8',
      'Cache-Control: no-store',
      'X-Accel-Buffering: no',
    ])
      expect(text).toContain(header)
    socket.destroy()
    await wasReturned
  })

  test('a stream in which nothing happens shows every 15 seconds that it lives', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const socket = connect(app.port, '127.0.0.1')
    try {
      socket.write('GET /api/v1/events HTTP/1.1\r\nHost: x\r\n\r\n')
      let text = ''
      socket.on('data', chunk => {
        text += String(chunk)
      })
      await vi.waitFor(() => {
        expect(text).toContain('event: tick')
      })
      expect(text).not.toContain(': ping')
      vi.advanceTimersByTime(15_000)
      await vi.waitFor(() => {
        expect(text).toContain(': ping\n\n')
      })
    } finally {
      vi.useRealTimers()
      socket.destroy()
    }
  })

  test.each<[string, (now: { isIn: boolean; role: Role; hidden: string[] }) => void, boolean]>([
    ['goes on while nothing changes', () => undefined, true],
    [
      'ends when its reader is switched off, logged out or revoked',
      now => {
        now.isIn = false
      },
      false,
    ],
    [
      'ends when its reader has another role, which may not read it',
      now => {
        now.role = 'reader'
      },
      false,
    ],
    [
      'ends when something is hidden from its reader, or no longer',
      now => {
        now.hidden = ['noble']
      },
      false,
    ],
  ])('%s', async (_, change, goesOn) => {
    const now = { isIn: true, role: 'maintainer' as Role, hidden: [] as string[] }
    const guarded = await startApp({
      routes: [route('GET /watched', { reply: 'events', access: 'maintainer+' }, ({ raw }) => endless(raw.signal))],
      hiddenFrom: async () => now.hidden,
      authenticate: async () =>
        now.isIn ? { kind: 'user', name: 'ada', role: now.role, credential: '' } : fail('bad_credential', {}),
    })
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const socket = connect(guarded.port, '127.0.0.1')
    let text = ''
    let isOver = false
    socket
      .on('data', chunk => {
        text += String(chunk)
      })
      .on('close', () => {
        isOver = true
      })
    try {
      socket.write('GET /api/v1/watched HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nConnection: close\r\n\r\n')
      await vi.waitFor(() => {
        expect(text).toContain('event: tick')
      })
      change(now)
      vi.advanceTimersByTime(15_000)
      await vi.waitFor(() => {
        expect(goesOn ? text.includes(': ping') : isOver).toBe(true)
      })
      vi.advanceTimersByTime(15_000)
      if (goesOn)
        await vi.waitFor(() => {
          expect(text.split(': ping').length).toBe(3)
        })
    } finally {
      vi.useRealTimers()
      socket.destroy()
      await guarded.close()
    }
  })

  test('HEAD says what a stream is and starts none', async () => {
    const answer = await app.ask('HEAD', '/api/v1/events')
    expect([answer.status, answer.headers['content-type'], answer.text]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
      '',
    ])
  })

  test('what fails before the first event is an ordinary problem', async () => {
    const answer = await get('/api/v1/events-refused')
    expect([answer.status, answer.json().code]).toEqual([503, 'not_ready'])
  })

  test('what fails after it is an event that says as little', async () => {
    const { status, text } = await get('/api/v1/events-broken', { 'x-request-id': 'stream-1' })
    expect([status, text]).toEqual([
      200,
      'data: 1\n\nevent: error\ndata: {"status":500,"detail":"Internal server error","code":"internal","request_id":"stream-1"}\n\n',
    ])
  })
})

describe('documentation', () => {
  test('is open outside production, and not there in production', async () => {
    for (const path of ['/openapi.json', '/docs', '/redoc'])
      expect((await community.ask('GET', path)).status, path).toBe(404)
    for (const path of ['/docs', '/docs/', '/redoc']) {
      const { status, headers } = await get(path)
      expect([status, headers['content-type']], path).toEqual([200, 'text/html; charset=utf-8'])
    }
    expect((await get('/openapi.json')).json()).toMatchObject({
      openapi: '3.1.0',
      paths: { '/api/v1/things/{name}': { get: {}, delete: {} }, '/health': {} },
    })
  })
})

test('the port stays of use after all this', async () => {
  expect((await send(app.port, { method: 'GET', path: '/health' })).status).toBe(200)
})
