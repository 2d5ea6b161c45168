import { Value } from '@sinclair/typebox/value'
import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { addressWith } from '../../test/support/app-address.ts'
import { createStock, type Stock } from '../../test/support/test-catalog.ts'
import { handleDebts } from '../db/outbox.ts'
import type { Finding } from '../core/findings.ts'
import type { Manifest } from '../core/manifest.ts'
import { SETTINGS, type SettingsValue } from '../settings/schema.ts'
import { createDelivery, WAITS, type Delivery } from './delivery.ts'
import { createGuardedFetch } from './fetch.ts'
import type { Mail, Mailer } from './mail.ts'
import { createNotices, type Notices } from './notices.ts'
import type { Notice } from './notice.ts'

const SECRET = 'a secret of the tests'
interface Received {
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly raw: string
  readonly body: Record<string, unknown>
}

let stock: Stock
let server: Server
let received: Received[]
let respond: (res: ServerResponse) => void
let arrived: (() => void) | undefined
beforeAll(async () => {
  stock = await createStock()
  server = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const raw = Buffer.concat(chunks).toString()
      received.push({ url: req.url ?? '', headers: req.headers, raw, body: JSON.parse(raw) as Record<string, unknown> })
      respond(res)
      arrived?.()
    })
  })
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve)
  })
})
afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await stock.close()
})

let value: SettingsValue
let mails: Mail[]
let mailFails: boolean
let logged: { level: string; message: string; facts: Record<string, unknown> }[]
let notices: Notices
let delivery: Delivery

beforeEach(() => {
  received = []
  mails = []
  mailFails = false
  logged = []
  arrived = undefined
  respond = res => {
    res.writeHead(200).end('ok')
  }
  const defaults = Value.Create(SETTINGS) as SettingsValue
  value = {
    ...defaults,
    notifications: {
      ...defaults.notifications,
      webhook_enabled: true,
      webhook_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/T0/s3cret`,
      allow_private_hosts: '127.0.0.1',
    },
  }
  const settings = { now: () => value }
  const { db, outbox, clock } = stock
  const address = addressWith(settings)
  const note =
    (level: string) =>
    (facts: Record<string, unknown>, message: string): void => {
      logged.push({ level, message, facts })
    }
  const mailer: Mailer = {
    send: async mail => {
      if (mailFails) throw new Error('no room')
      mails.push(mail)
      arrived?.()
    },
    test: () => Promise.reject(new Error('not asked')),
    isReady: () => value.email.enabled,
    receivers: () => value.email.to_addresses.split(','),
  }
  notices = createNotices({ db, outbox, settings, address, clock })
  delivery = createDelivery({
    db,
    outbox,
    settings,
    address,
    mailer,
    secret: SECRET,
    clock,
    waits: [0, 0],
    log: { warn: note('warn'), error: note('error') } as never,
    fetch: createGuardedFetch({
      lookup: async () => [{ address: '127.0.0.1', family: 4 }],
      allow: () => value.notifications.allow_private_hosts,
    }),
  })
  handleDebts(outbox, delivery.debts)
})
afterEach(() => stock.db.query('truncate notice, outbox'))

/** Lets everything that is owed be paid or given up. */
async function settle(): Promise<void> {
  for (;;) {
    await stock.outbox.drain()
    if ((await stock.db.query('select 1 from outbox')).length === 0) return
  }
}
const left = async (): Promise<number> => (await stock.db.query('select 1 from notice')).length
const held: Notice = {
  event: 'package.pending_review',
  package: {
    name: 'hello',
    version: '1.0',
    arch: 'amd64',
    distribution: 'jammy',
    worst: 'high',
    cves: ['CVE-2026-1', 'CVE-2026-2'],
    by: 'ada',
  },
}

describe('a webhook', () => {
  test('carries event, time, text and details, signed over its bytes', async () => {
    await notices.tell(held)
    await settle()
    expect(received).toHaveLength(1)
    const [{ raw, headers, body, url }] = received as [Received]
    expect(body).toEqual({
      id: expect.stringMatching(/^\d+$/) as string,
      event: 'package.pending_review',
      timestamp: '2026-03-01T10:00:00.000Z',
      console: 'http://127.0.0.1:8000',
      text: 'hello 1.0 (jammy, amd64) from ada waits for review and is not published. Findings, worst high: CVE-2026-1, CVE-2026-2.',
      package: held.package,
    })
    expect(url).toBe('/hook/T0/s3cret')
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'x-gatehouse-event': 'package.pending_review',
      'x-gatehouse-delivery': body.id,
      'x-hub-signature-256': `sha256=${createHmac('sha256', SECRET).update(raw).digest('hex')}`,
    })
    expect(await left()).toBe(0)
  })

  test('that is not taken comes again with the same id, then is given up with a log line', async () => {
    respond = res => {
      res.writeHead(503).end('busy')
    }
    await notices.tell(held)
    await settle()
    expect(received).toHaveLength(3)
    expect(new Set(received.map(({ body }) => body.id)).size).toBe(1)
    expect(logged.map(({ level }) => level)).toEqual(['warn', 'warn', 'error'])
    expect(logged[2]).toMatchObject({
      message: 'a message was given up',
      facts: { attempts: 3, event: 'package.pending_review', why: expect.stringContaining('503 (busy)') as string },
    })
    expect(JSON.stringify(logged)).not.toContain('s3cret')
    expect(await left()).toBe(0)
  })

  test('is taken when the receiver comes back', async () => {
    respond = res => {
      res.writeHead(received.length < 2 ? 500 : 204).end()
    }
    await notices.tell(held)
    await settle()
    expect([received.length, await left(), logged.length]).toEqual([2, 0, 1])
  })

  test('survives the end of the process: it is owed until it is delivered', async () => {
    respond = () => undefined // never answers
    const asked = new Promise<void>(resolve => {
      arrived = resolve
    })
    await notices.tell(held)
    await asked
    delivery.stop()
    await expect.poll(() => stock.outbox.stuck()).toHaveLength(1)
    expect([await left(), logged]).toEqual([1, []])
  })

  test('is refused by the guard at every attempt when it leads inside', async () => {
    value = { ...value, notifications: { ...value.notifications, allow_private_hosts: '' } }
    await notices.tell(held)
    await settle()
    expect([received, logged.length]).toEqual([[], 3])
    await expect(delivery.testWebhook()).rejects.toMatchObject({ code: 'outbound_refused' })
  })

  test('is dropped when webhooks are switched off meanwhile', async () => {
    await stock.db.tx(tx => notices.owe(tx, held))
    value = { ...value, notifications: { ...value.notifications, webhook_enabled: false } }
    await settle()
    expect([received, await left()]).toEqual([[], 0])
  })

  test.each([
    ['webhook_enabled', { webhook_enabled: false }, held],
    ['webhook_url', { webhook_url: '' }, held],
    [
      'webhook_min_packages',
      { webhook_min_packages: 3 },
      { event: 'sync.finished', source: 'debian', result: 'success', packages: 2 },
    ],
    [
      'webhook_min_packages, for mirrors',
      { webhook_min_packages: 1 },
      { event: 'mirror.finished', source: 'debian', result: 'success', packages: 0 },
    ],
  ] as const)('is not owed: %s', async (_, change, notice) => {
    value = { ...value, notifications: { ...value.notifications, ...change } }
    await notices.tell(notice)
    expect(await left()).toBe(0)
  })

  test('reports a synchronisation that changed enough', async () => {
    value = { ...value, notifications: { ...value.notifications, webhook_min_packages: 3 } }
    await notices.tell({
      event: 'sync.finished',
      source: 'debian',
      result: 'failure',
      packages: 3,
      detail: 'The third one was refused.',
    })
    await settle()
    expect(received.map(({ body }) => body)).toMatchObject([
      {
        event: 'sync.finished',
        source: 'debian',
        result: 'failure',
        packages: 3,
        text: 'Synchronisation of debian: failure, 3 packages changed. The third one was refused.',
      },
    ])
  })

  test('is rolled back with the change it reports', async () => {
    await expect(
      stock.db.tx(async tx => {
        await notices.owe(tx, held)
        throw new Error('no')
      }),
    ).rejects.toThrow('no')
    await settle()
    expect([received, await left()]).toEqual([[], 0])
  })
})

describe('a breached deadline', () => {
  const breach: Notice = {
    event: 'sla.breached',
    packages: [
      {
        name: 'hello',
        version: '1.0',
        arch: 'amd64',
        distribution: 'jammy',
        worst: 'high',
        due_at: '2026-02-28T10:00:00.000Z',
      },
    ],
  }

  test('is sent by webhook and by mail, independently', async () => {
    value = { ...value, email: { ...value.email, enabled: true, to_addresses: 'ops@example.org,sec@example.org' } }
    respond = res => {
      res.writeHead(500).end()
    }
    await notices.tell(breach)
    await settle()
    expect(received).toHaveLength(3)
    expect(mails).toEqual([
      {
        to: ['ops@example.org', 'sec@example.org'],
        subject: 'Gatehouse: 1 package is past the deadline for a decision',
        text: '1 package is past the deadline for a decision:\n- hello 1.0 (jammy, amd64): high, due 2026-02-28\n\nhttp://127.0.0.1:8000\n',
      },
    ])
    expect(await left()).toBe(0)
  })

  test('is mailed again when the mail server is back, and only this event is mailed', async () => {
    value = {
      ...value,
      email: { ...value.email, enabled: true, to_addresses: 'ops@example.org' },
      notifications: { ...value.notifications, webhook_enabled: false },
    }
    mailFails = true
    await notices.tell(held)
    await notices.tell(breach)
    await settle()
    expect([mails, logged.map(({ facts }) => facts.channel)]).toEqual([[], ['mail', 'mail', 'mail']])
  })
})

describe('a change of state', () => {
  const finding = (id: string): Finding => ({ id, package: 'hello', severity: 'critical', detected_by: ['osv'] })
  const manifest = (state: Manifest['state']): Manifest =>
    ({
      ref: { format: 'deb', name: 'hello', version: '1.0', arch: 'amd64', codename: 'jammy' },
      state,
      worst: 'critical',
      findings: [finding('CVE-2026-1'), finding('CVE-2026-1'), finding('CVE-2026-2')],
      by: 'ada',
      reports: [],
    }) as unknown as Manifest
  test.each([
    [undefined, 'quarantined', 'package.quarantined'],
    [undefined, 'pending_review', 'package.pending_review'],
    ['published', 'pending_review', 'package.pending_review'],
    [undefined, 'published', undefined],
    [undefined, 'rejected', undefined],
    ['pending_review', 'pending_review', undefined],
    ['pending_review', 'published', undefined],
    ['published', undefined, undefined],
  ] as const)('from %s to %s: %s', async (before, after, event) => {
    await stock.db.tx(tx => notices.oweMove(tx, before && manifest(before), after && manifest(after)))
    await settle()
    expect(received.map(({ body }) => [body.event, (body.package as { cves: string[] }).cves])).toEqual(
      event === undefined ? [] : [[event, ['CVE-2026-1', 'CVE-2026-2']]],
    )
  })
})

test('the message of a held package gives the reasons: malware, an engine without an answer, an ended acceptance; accepted findings are none', async () => {
  const finding = (id: string, severity: Finding['severity']): Finding => ({
    id,
    package: 'hello',
    severity,
    detected_by: ['osv'],
  })
  const held = {
    ref: { format: 'deb', name: 'hello', version: '1.0', arch: 'amd64', codename: 'jammy' },
    state: 'quarantined',
    findings: [],
    by: 'ada',
    reports: [
      {
        step: 'antivirus',
        outcome: 'failed',
        verdict: 'infected',
        said: 'Eicar was found in data.tar.',
        quarantine: true,
      },
      { step: 'vulnerabilities', outcome: 'unavailable', verdict: 'no_data', said: 'No data.' },
      { step: 'format', outcome: 'ok', verdict: 'valid', said: 'Fine.' },
    ],
  } as unknown as Manifest
  const accepted = {
    decision: 'exception',
    action: 'approve',
    justification: 'Known.',
    by: 'mae',
    at: '2026-02-01T00:00:00.000Z',
    cve: 'CVE-1',
  } as const
  const reopened = {
    ...held,
    state: 'pending_review',
    reports: [],
    findings: [finding('CVE-1', 'critical'), finding('CVE-2', 'medium')],
    review: { held_for: 'The acceptance by mae ended.', history: [accepted] },
  } as Manifest
  for (const after of [held, reopened]) await stock.db.tx(tx => notices.oweMove(tx, undefined, after))
  await settle()
  expect(received.map(({ body }) => [body.text, body.package]).sort()).toMatchObject([
    [
      'hello 1.0 (jammy, amd64) from ada is quarantined and not published. Eicar was found in data.tar.',
      { worst: null, cves: [], reasons: ['Eicar was found in data.tar.'], steps: ['antivirus'] },
    ],
    [
      'hello 1.0 (jammy, amd64) from ada waits for review and is not published. The acceptance by mae ended. Findings, worst medium: CVE-2.',
      { worst: 'medium', cves: ['CVE-2'] },
    ],
  ])
})

test('a package held for its findings does not blame an engine that only warned, and an unsigned one not its findings', async () => {
  const findings = [{ id: 'CVE-1', package: 'hello', severity: 'critical', detected_by: ['osv'] }]
  const ref = { format: 'deb', name: 'hello', version: '1.0', arch: 'amd64', codename: 'jammy' }
  const away = { step: 'antivirus', outcome: 'unavailable', verdict: 'unavailable', said: 'clamd does not answer.' }
  const blocked = {
    ref,
    state: 'quarantined',
    by: 'ada',
    findings,
    reports: [
      away,
      { step: 'vulnerabilities', outcome: 'warned', verdict: 'findings', said: 'One is critical: blocked.', findings },
    ],
  } as unknown as Manifest
  const infected = {
    ...blocked,
    reports: [
      { step: 'antivirus', outcome: 'failed', verdict: 'infected', said: 'Eicar was found.', quarantine: true },
      { step: 'vulnerabilities', outcome: 'warned', verdict: 'findings', said: 'One is critical: blocked.', findings },
    ],
  } as unknown as Manifest
  value = { ...value, validation: { ...value.validation, on_scanner_unavailable: 'warn' } }
  for (const after of [blocked, infected]) {
    await stock.db.tx(tx => notices.oweMove(tx, undefined, after))
    await settle()
  }
  expect(received.map(({ body }) => [body.text, (body.package as { steps: unknown }).steps])).toEqual([
    [
      'hello 1.0 (jammy, amd64) from ada is quarantined and not published. One is critical: blocked. Findings, worst critical: CVE-1.',
      ['vulnerabilities'],
    ],
    ['hello 1.0 (jammy, amd64) from ada is quarantined and not published. Eicar was found.', ['antivirus']],
  ])
})

describe('the test message', () => {
  test('goes out at once, also while webhooks are off, and says what was answered', async () => {
    value = { ...value, notifications: { ...value.notifications, webhook_enabled: false } }
    expect(await delivery.testWebhook()).toMatchObject({
      status: 200,
      host: expect.stringMatching(/^127\.0\.0\.1:\d+$/) as string,
    })
    expect(received.map(({ body }) => body.event)).toEqual(['test'])
    respond = res => {
      res.writeHead(404).end('no_service')
    }
    await expect(delivery.testWebhook()).rejects.toMatchObject({
      code: 'webhook_failed',
      message: expect.stringContaining('404 (no_service)') as string,
    })
    value = { ...value, notifications: { ...value.notifications, webhook_url: '' } }
    await expect(delivery.testWebhook()).rejects.toMatchObject({ code: 'webhook_not_configured' })
  })
})

test('a message is tried ten times within a working day', () => {
  expect([WAITS.length + 1, WAITS.reduce<number>((sum, wait) => sum + wait, 0) / 3600]).toEqual([
    10,
    expect.closeTo(7.88, 2),
  ])
})
