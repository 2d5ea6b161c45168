import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Role } from '../core/access.ts'
import { Type } from '@sinclair/typebox'
import { Line, wantsEvents, WithHeaders, type StreamEvent } from '../core/contract.ts'
import { fail } from '../core/errors.ts'
import { route, startApp, type TestApp } from '../../test/support/app.ts'

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

async function* lines(): AsyncGenerator<StreamEvent> {
  yield { data: new Line('warning', 'two\nlines | and a bar') }
}

const ROUTES = [
  route('GET /events', { reply: 'events' }, ({ raw }) => endless(raw.signal)),
  route('GET /events-refused', { reply: 'events' }, async function* () {
    fail('not_ready', { why: 'no reason' })
  }),
  route('GET /events-named', { reply: 'events' }, () => new WithHeaders(lines(), { 'X-Job-Id': '0badcafe' })),
  route('GET /events-done', { reply: 'events', lastLine: 'done|DONE' }, async function* () {
    yield { event: 'step', data: { n: 1 } }
  }),
  route(
    'GET /either',
    { reply: Type.Object({ n: Type.Integer() }), alsoEvents: true, lastLine: 'done|DONE' },
    ({ raw }) => (wantsEvents(raw) ? lines() : { n: 1 }),
  ),
  route('GET /events-cut', { reply: 'events', lastLine: 'done|DONE' }, async function* () {
    yield { event: 'step', data: { n: 1 } }
    throw new Error('the secret is in here')
  }),
  route('GET /events-broken', { reply: 'events' }, async function* () {
    yield { data: 1 }
    throw new Error('the secret is in here')
  }),
]

let app: TestApp
beforeAll(async () => {
  app = await startApp({ routes: ROUTES })
})
afterAll(() => app.close())
const get = (path: string, headers: Record<string, string> = {}) => app.ask('GET', path, { headers })

test('a stream with a last line ends with it, also when it fails', async () => {
  expect((await get('/api/v1/events-done')).text).toBe('event: step\ndata: {"n":1}\n\ndata: done|DONE\n\n')
  const cut = await get('/api/v1/events-cut')
  expect([cut.status, cut.text.endsWith('}\n\ndata: done|DONE\n\n')]).toEqual([200, true])
  expect(cut.text).toContain('event: error\n')
})

test('a stream may have headers of its own beside the usual ones', async () => {
  const { headers, text } = await get('/api/v1/events-named')
  const named = ['x-job-id', 'content-type', 'cache-control'].map(name => headers[name])
  expect(named).toEqual(['0badcafe', 'text/event-stream; charset=utf-8', 'no-store'])
  expect(text).toBe('data: warning|two lines | and a bar\n\n')
})

test('a line is one line, whatever others put into it', () => {
  // a second event, a red terminal, and letters that turn around
  const { text } = new Line('error', 'x\n\ndata: done|DONE\r\n\u001b[31m\u202egpj.exe\u0000\u009b2J')
  expect(text).toBe('error|x data: done|DONE \ufffd[31m\ufffdgpj.exe\ufffd\ufffd2J')
})

test('a route with both answers JSON, and lines to who asks for events', async () => {
  expect((await get('/api/v1/either')).text).toBe('{"n":1}')
  const streamed = await get('/api/v1/either', { Accept: 'text/event-stream' })
  expect(streamed.text).toBe('data: warning|two lines | and a bar\n\ndata: done|DONE\n\n')
})

test('sends events until the client disconnects, then ends the handler', async () => {
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

test('an idle stream sends a comment every 15 seconds', async () => {
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

test('HEAD answers the headers of a stream and starts none', async () => {
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

test('what fails after it is an event that reveals as little', async () => {
  const { status, text } = await get('/api/v1/events-broken', { 'x-request-id': 'stream-1' })
  expect([status, text]).toEqual([
    200,
    'data: 1\n\nevent: error\ndata: {"status":500,"detail":"Internal server error","code":"internal","request_id":"stream-1"}\n\n',
  ])
})
