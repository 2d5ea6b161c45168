import { Type } from '@sinclair/typebox'
import { connect } from 'node:net'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WithStatus } from '../core/contract.ts'
import { fail } from '../core/errors.ts'
import { DatabaseUnavailable } from '../db/database-unavailable.ts'
import { route, send, startApp, type TestApp } from '../../test/support/app.ts'

const json = Type.Object({})
let aborted: (why: string) => void
const wasAborted = new Promise<string>(resolve => {
  aborted = resolve
})

const ROUTES = [
  route('GET /things/', { reply: json }),
  route('GET /things/{name}', { reply: json }, ({ params }) => ({ one: params })),
  route('DELETE /things/{name}', { reply: 'none' }, () => undefined),
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

  test('every answer of the API has security headers and is not cached', async () => {
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
  test('an internal fault reveals nothing, and is logged once with its cause', async () => {
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
      detail: [{ loc: ['query'], msg: 'The password is too weak: it is short.', type: 'weak_password' }],
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

  test('a client that disconnects aborts its handler, and no fault is logged', async () => {
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

  test('a client that disconnects while it sends a body logs no fault', async () => {
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

test('the server still answers after all this', async () => {
  expect((await send(app.port, { method: 'GET', path: '/health' })).status).toBe(200)
})
