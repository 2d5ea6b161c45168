import { Type } from '@sinclair/typebox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { route, startApp, type TestApp } from '../../test/support/app.ts'

const json = Type.Object({})
const CHOICE = Type.Object({
  distribution: Type.Optional(Type.String()),
  kind: Type.Optional(Type.Union([Type.Literal('a'), Type.Literal('b')])),
  q: Type.Optional(Type.String({ minLength: 1 })),
})

const ROUTES = [
  route(
    'GET /things/',
    {
      reply: json,
      query: Type.Object({
        page: Type.Optional(Type.Integer({ minimum: 1 })),
        per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
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
]

let app: TestApp
let community: TestApp
beforeAll(async () => {
  app = await startApp({ routes: ROUTES })
  community = await startApp({ routes: ROUTES, enterprise: () => 'nothing' })
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
    expect((await get('/api/v1/things?page=2&on=true&q=12')).json()).toEqual({
      query: { page: 2, on: true, q: '12' },
    })
  })

  test('a query parameter that the route does not have is 422 and says which there are', async () => {
    const answer = await get('/api/v1/things?extra=1')
    expect([answer.status, answer.json()]).toMatchObject([
      422,
      {
        detail: [
          {
            loc: ['query', 'extra'],
            type: 'extra_forbidden',
            msg: 'There is no such query parameter. There are: page, per_page, on, q.',
            input: '1',
          },
        ],
      },
    ])
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
        input: /&|^\w+=0$/.test(query) ? (query.endsWith('=0') ? 0 : null) : query.split('=')[1],
      })
    },
  )

  test.each([
    ['page=0', 'It must be a whole number of at least 1.'],
    ['per_page=0', 'It must be a whole number from 1 to 1000.'],
    ['per_page=1001', 'It must be a whole number from 1 to 1000.'],
    ['page=1&page=2', 'It is there more than once. Send it once.'],
    ['q=1&q=2', 'It is there more than once. Send it once.'],
  ])('the refusal of %s names the rule', async (query, msg) => {
    const { detail } = (await get(`/api/v1/things?${query}`)).json() as { detail: { msg: string }[] }
    expect(detail.map(fault => fault.msg)).toEqual([msg])
  })

  test('a text that a form left empty narrows nothing', async () => {
    expect((await get('/api/v1/chosen?kind=&distribution=&q=x')).json()).toEqual({ query: { q: 'x' } })
    expect((await app.ask('HEAD', '/api/v1/chosen?kind=')).status).toBe(200)
  })

  test('an empty text stays one where something is deleted: it must not make the choice wider', async () => {
    expect((await app.ask('DELETE', '/api/v1/chosen?distribution=')).json()).toEqual({ query: { distribution: '' } })
    expect((await app.ask('DELETE', '/api/v1/chosen?kind=')).status).toBe(422)
  })

  test('a zero byte is refused', async () => {
    expect((await get('/api/v1/things?q=a%00b')).status).toBe(422)
    expect((await app.ask('POST', '/api/v1/bodies', { body: { name: 'a\0b' } })).status).toBe(422)
  })

  test('a lone surrogate in JSON is refused', async () => {
    for (const body of ['{"name":"a\\ud800b"}', '{"name":"n","a\\udc00":1}']) {
      expect(
        (await app.ask('POST', '/api/v1/bodies', { body, headers: { 'content-type': 'application/json' } })).status,
      ).toBe(422)
    }
    expect((await app.ask('POST', '/api/v1/bodies', { body: { name: '😀' } })).status).toBe(201)
  })

  test('a field that the body does not have is 422 and says which there are; a secret is not repeated', async () => {
    const answer = await app.ask('POST', '/api/v1/bodies', { body: { name: 'n', role: 'admin', password: 'hush' } })
    const fault = { type: 'extra_forbidden', msg: 'There is no such field. There are: name, size.' }
    expect([answer.status, answer.json()]).toMatchObject([
      422,
      {
        detail: [
          { ...fault, loc: ['body', 'role'], input: 'admin' },
          { ...fault, loc: ['body', 'password'], input: '***' },
        ],
      },
    ])
  })

  test.each([
    ['{"name":"n","__proto__":{"x":1}}', 400],
    ['{"name":"n","__proto\\u005f_":{"role":"admin"}}', 400],
    ['{"name":"n","constructor":{"prototype":{"role":"admin"}}}', 422],
  ])('%s is refused and changes no prototype', async (body, status) => {
    const answer = await app.ask('POST', '/api/v1/bodies', { body, headers: { 'content-type': 'application/json' } })
    expect([answer.status, ({} as { role?: string }).role]).toEqual([status, undefined])
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
