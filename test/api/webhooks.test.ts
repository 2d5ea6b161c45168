import { createHmac, randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { bind } from '../../server/core/contract.ts'
import { handleDebts } from '../../server/db/outbox.ts'
import { webhooks } from '../../server/features/webhooks/contract.ts'
import { webhookHandlers } from '../../server/features/webhooks/handlers.ts'
import { createInbound } from '../../server/features/webhooks/inbound.ts'
import { freshAddress, startApp, type Answer, type TestApp } from '../support/app.ts'
import { createStock, type Stock } from '../support/test-catalog.ts'
import { ALL_SEEING } from '../../server/core/viewer.ts'

const SECRET = randomBytes(32).toString('hex')
let stock: Stock
let app: TestApp
let reactions: string[]

beforeAll(async () => {
  stock = await createStock()
  const { db, audit, outbox, clock } = stock
  const inbound = createInbound({
    db,
    audit,
    outbox,
    clock,
    secret: SECRET,
    reactions: {
      onGithub: async () => {
        reactions.push('github')
      },
      onKev: async () => {
        reactions.push('kev')
      },
    },
  })
  handleDebts(outbox, inbound.debts)
  app = await startApp({ routes: bind(webhooks, webhookHandlers, { inbound }) })
})
afterAll(async () => {
  await app.close()
  await stock.close()
})
beforeEach(async () => {
  await stock.clear() // also pays what the test before owes
  await stock.db.query('truncate webhook_delivery')
  stock.clock.set('2026-03-01T10:00:00Z')
  reactions = []
})

const sign = (body: string | Buffer, secret = SECRET): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
const PUSH = JSON.stringify({ ref: 'refs/heads/main', repository: { full_name: 'acme/tools' }, text: 'grüße' })
let n = 0
const fresh = (): string => `delivery-${n++}`

interface Given {
  readonly body?: string | Buffer
  readonly headers?: Record<string, string | undefined>
}
function send(path: string, { body = PUSH, headers = {} }: Given = {}): Promise<Answer> {
  const all = {
    'content-type': 'application/json',
    'x-hub-signature-256': sign(body),
    'x-github-event': 'push',
    'x-github-delivery': fresh(),
    ...freshAddress(),
    ...headers,
  }
  return app.ask('POST', path, {
    body,
    headers: Object.fromEntries(Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined)),
  })
}
const told = async (): Promise<readonly unknown[]> =>
  (await stock.audit.search(ALL_SEEING, { page: 1, perPage: 100, action: 'SYNC' })).items
const settled = async (): Promise<void> => {
  await stock.outbox.drain()
}

describe('a signed webhook', () => {
  test('of GitHub is taken once, noted in the audit log, and starts the synchronisation', async () => {
    const answer = await send('/webhooks/github')
    expect([answer.status, answer.json()]).toEqual([
      200,
      { status: 'accepted', event: 'push', message: expect.any(String) as string },
    ])
    await settled()
    expect(reactions).toEqual(['github'])
    expect(await told()).toMatchObject([
      { result: 'SUCCESS', user: 'webhook:github', detail: 'Webhook push: acme/tools, refs/heads/main.' },
    ])
  })
  test('for KEV fetches the catalogue again; neither header of GitHub nor a body is needed', async () => {
    const answer = await send('/webhooks/kev', {
      body: '',
      headers: { 'x-github-event': undefined, 'x-github-delivery': undefined },
    })
    expect([answer.status, answer.json().status]).toEqual([200, 'accepted'])
    await settled()
    expect(reactions).toEqual(['kev'])
  })
  test.each(['ping', 'issues', 'star', 'unknown'])('of GitHub about %s changes nothing', async event => {
    const answer = await send('/webhooks/github', { headers: { 'x-github-event': event } })
    expect([answer.status, answer.json().status]).toEqual([200, 'ignored'])
    await settled()
    expect([reactions, await told()]).toEqual([[], []])
  })
  test('is neither below /api/v1 nor behind another method', async () => {
    expect((await send('/api/v1/webhooks/github')).status).toBe(404)
    expect((await app.ask('GET', '/webhooks/github')).status).toBe(405)
  })
})

describe('a replayed message changes nothing', () => {
  test.each([
    ['as it was', 'same', PUSH],
    ['under another delivery id, which nobody signs', 'other', PUSH],
    ['of the id with another body', 'same', JSON.stringify({ ref: 'refs/heads/other' })],
  ])('%s', async (_, id, body) => {
    expect((await send('/webhooks/github', { headers: { 'x-github-delivery': 'same' } })).json().status).toBe(
      'accepted',
    )
    const again = await send('/webhooks/github', { body, headers: { 'x-github-delivery': id } })
    expect([again.status, again.json().status]).toEqual([200, 'duplicate'])
    await settled()
    expect([reactions.length, (await told()).length]).toEqual([1, 1])
  })
  test('twenty at once: one is taken', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => send('/webhooks/github', { headers: { 'x-github-delivery': 'same' } })),
    )
    expect(answers.map(answer => String(answer.json().status)).sort()).toEqual([
      'accepted',
      ...Array<string>(19).fill('duplicate'),
    ])
    expect(await told()).toHaveLength(1)
  })
  test('the same message is accepted again after an hour from KEV, after 30 days from GitHub', async () => {
    const statuses = async (path: string, times: readonly string[]): Promise<unknown[]> => {
      const seen: unknown[] = []
      for (const time of times) {
        stock.clock.set(time)
        seen.push((await send(path, { body: '{}' })).json().status)
      }
      return seen
    }
    expect(
      await statuses('/webhooks/kev', ['2026-03-01T10:00:00Z', '2026-03-01T10:59:59Z', '2026-03-01T11:00:00Z']),
    ).toEqual(['accepted', 'duplicate', 'accepted'])
    expect(
      await statuses('/webhooks/github', ['2026-03-01T10:00:00Z', '2026-03-31T09:59:59Z', '2026-03-31T10:00:00Z']),
    ).toEqual(['accepted', 'duplicate', 'accepted'])
  })
  test('messages of one source do not count for the other', async () => {
    expect([
      (await send('/webhooks/github', { body: '{}' })).json().status,
      (await send('/webhooks/kev', { body: '{}' })).json().status,
    ]).toEqual(['accepted', 'accepted'])
  })
})

describe('is refused and changes nothing', () => {
  const good = sign(PUSH)
  test.each([
    ['no signature', undefined],
    ['an empty one', ''],
    ['of another secret', sign(PUSH, 'guess')],
    ['of another body', sign(`${PUSH} `)],
    ['without its prefix', good.slice(7)],
    ['of the old kind', `sha1=${createHmac('sha1', SECRET).update(PUSH).digest('hex')}`],
    ['cut off', good.slice(0, -1)],
    ['longer', `${good}0`],
    ['one digit off', good.slice(0, -1) + (good.endsWith('0') ? '1' : '0')],
    ['two of them', `${good}, ${good}`],
    ['not hex', `sha256=${'z'.repeat(64)}`],
  ])('%s', async (_, signature) => {
    for (const path of ['/webhooks/github', '/webhooks/kev']) {
      const answer = await send(path, { headers: { 'x-hub-signature-256': signature } })
      expect([answer.status, answer.json().code]).toEqual([401, 'bad_signature'])
      expect(answer.text).not.toContain(SECRET)
    }
    await settled()
    expect([reactions, await told(), await stock.db.query('select 1 from webhook_delivery')]).toEqual([[], [], []])
  })
  test('a signature covers bytes: the same JSON in another spelling is another message', async () => {
    expect(
      (
        await send('/webhooks/github', {
          body: JSON.stringify(JSON.parse(PUSH), null, 1),
          headers: { 'x-hub-signature-256': good },
        })
      ).status,
    ).toBe(401)
  })
  test.each([
    ['no JSON', 'payload=%7B%7D'],
    ['a list', '[]'],
    ['broken UTF-8', Buffer.from([0x7b, 0xff, 0x7d])],
  ])('signed, but %s', async (_, body) => {
    expect((await send('/webhooks/github', { body })).json()).toMatchObject({ code: 'bad_request' })
    expect(await told()).toEqual([])
  })
  test('a body of more than 1 MB, announced or streamed', async () => {
    expect((await send('/webhooks/github', { body: Buffer.alloc(1024 * 1024 + 1, 'x') })).status).toBe(413)
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(app.port, '127.0.0.1', () => {
        socket.write(
          'POST /webhooks/kev HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n',
        )
        for (let chunk = 0; chunk < 20; chunk++) socket.write(`10000\r\n${'x'.repeat(65_536)}\r\n`)
        socket.write('0\r\n\r\n')
      })
      let text = ''
      socket.on('data', (data: Buffer) => {
        text += data.toString()
      })
      socket.on('close', () => resolve(text))
      socket.on('error', reject)
    })
    expect(answer).toMatch(/^HTTP\/1\.1 413/)
  })
  test('the sixty-first in a minute from one address', async () => {
    const headers = { ...freshAddress(), 'x-hub-signature-256': 'sha256=0' }
    const statuses = new Set<number>()
    for (let call = 0; call < 61; call++) statuses.add((await send('/webhooks/kev', { body: '', headers })).status)
    expect([...statuses]).toEqual([401, 429])
  })
})
