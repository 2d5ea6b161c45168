import { createHmac, randomBytes } from 'node:crypto'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startDaemon, type Answer, type Daemon, type Uploaded } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { startSmtp, textOf, type TestSmtp } from '../support/smtp.ts'

const SECRET = randomBytes(32).toString('hex')
interface Message {
  readonly id: string
  readonly event: string
  readonly text: string
  readonly package?: { readonly name: string }
}
interface Received {
  readonly raw: string
  readonly signature: string
  readonly body: Message
}

/** A receiver whose answer a test holds back, gives or refuses. */
let server: Server
let received: Received[] = []
let respond: (res: ServerResponse) => void
const watchers = new Set<() => void>()
const ok = (res: ServerResponse): void => {
  res.writeHead(200).end('ok')
}
/** Resolves with the first message that fits, also one that comes later. */
const next = (fits: (message: Received) => boolean): Promise<Received> =>
  new Promise(resolve => {
    const look = (): void => {
      const found = received.find(fits)
      if (found === undefined) return
      watchers.delete(look)
      resolve(found)
    }
    watchers.add(look)
    look()
  })

let daemon: Daemon
let admin: string
let smtp: TestSmtp

beforeAll(async () => {
  respond = ok
  server = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const raw = Buffer.concat(chunks).toString()
      received.push({ raw, signature: String(req.headers['x-hub-signature-256']), body: JSON.parse(raw) as Message })
      for (const look of watchers) look()
      respond(res)
    })
  })
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve)
  })
  smtp = await startSmtp({ mode: 'plain' })
  // without an antivirus that answers, packages are held when the settings say so: every upload is worth a message
  daemon = await startDaemon({ env: { WEBHOOK_SECRET: SECRET, CLAMD_SOCKET: '/nonexistent/clamd.sock' } })
  admin = await daemon.setupAdmin()
  await daemon.call('POST', '/distributions/init', { token: admin, body: { codename: 'jammy' } })
})
afterAll(async () => {
  await daemon.close()
  await smtp.close()
  server.closeAllConnections()
  server.close()
})
beforeEach(async () => {
  received = []
  respond = ok
  await patch({
    notifications: {
      webhook_enabled: true,
      webhook_url: target(),
      webhook_min_packages: 1,
      allow_private_hosts: '127.0.0.1',
    },
    validation: { on_scanner_unavailable: 'hold' },
  })
})

const target = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/s3cret-path`
async function patch(body: Record<string, unknown>): Promise<void> {
  const answer = await daemon.call('PATCH', '/settings/', { token: admin, body })
  expect(answer.status, answer.text).toBe(200)
}
const trial = (what: string, body?: Record<string, unknown>): Promise<Answer> =>
  daemon.call('POST', `/settings/test-${what}`, { token: admin, ...(body === undefined ? {} : { body }) })
const upload = async (name: string): Promise<Answer<Uploaded>> =>
  daemon.upload(await buildDeb({ name, version: '1.0' }), { token: admin })

describe('the webhook', () => {
  test('is sent for a package that is held for review, signed with WEBHOOK_SECRET', async () => {
    expect(await upload('held-one')).toMatchObject({ status: 201, body: { status: 'pending_review' } })
    const { raw, signature, body } = await next(message => message.body.package?.name === 'held-one')
    expect(body).toMatchObject({
      event: 'package.pending_review',
      package: { name: 'held-one', version: '1.0', arch: 'amd64', distribution: 'jammy', by: 'admin' },
    })
    expect(body.text).toContain('held-one 1.0 (jammy, amd64)')
    expect(signature).toBe(`sha256=${createHmac('sha256', SECRET).update(raw).digest('hex')}`)
  })

  test('is not sent for a package that is published', async () => {
    await patch({ validation: { on_scanner_unavailable: 'warn' } })
    expect((await upload('quiet')).body.status).toBe('published')
    await patch({ validation: { on_scanner_unavailable: 'hold' } })
    await upload('loud')
    await next(message => message.body.package?.name === 'loud')
    expect(received.map(({ body }) => body.package?.name)).toEqual(['loud'])
  })

  test('whose receiver hangs delays no upload', async () => {
    const held: ServerResponse[] = []
    respond = res => {
      held.push(res)
    }
    for (const name of ['slow-a', 'slow-b', 'slow-c', 'slow-d', 'slow-e', 'slow-f'])
      expect((await upload(name)).status).toBe(201)
    await next(message => message.body.package?.name === 'slow-a')
    expect(held.length).toBeGreaterThan(0)
    for (const res of held) ok(res)
    respond = ok
    await next(message => message.body.package?.name === 'slow-f')
  })

  test('survives a kill -9, and a receiver that still hangs does not delay the start', async () => {
    respond = () => undefined
    await upload('crashed')
    const first = await next(message => message.body.package?.name === 'crashed')
    await daemon.kill9()
    received = []
    await daemon.restart()
    const again = await next(message => message.body.package?.name === 'crashed')
    expect([again.body.id, again.raw]).toEqual([first.body.id, first.raw])
    server.closeAllConnections()
  })

  test('ends with the daemon: what is being sent is cut off and stays owed', async () => {
    respond = () => undefined
    await upload('stopped')
    await next(message => message.body.package?.name === 'stopped')
    expect(await daemon.stop()).toBe(0)
    received = []
    respond = ok
    await daemon.restart()
    await next(message => message.body.package?.name === 'stopped')
  })
})

describe('POST /settings/test-webhook', () => {
  test('says what the receiver answered, also while webhooks are off', async () => {
    await patch({ notifications: { webhook_enabled: false } })
    expect(await trial('webhook')).toMatchObject({ status: 200, body: { ok: true, status: 200 } })
    expect(received.map(({ body }) => body.event)).toEqual(['test'])
    respond = res => {
      res.writeHead(410).end('channel_is_archived')
    }
    const gone = await trial('webhook')
    expect([gone.status, gone.body.code]).toEqual([502, 'webhook_failed'])
    expect(gone.text).toContain('410 (channel_is_archived)')
    expect(gone.text + daemon.log()).not.toContain('s3cret-path')
  })
  test.each([
    'http://127.0.0.1:1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[::1]/',
    'http://10.0.0.1/',
    'http://localhost/',
    'http://0x7f000001/',
    'http://[::ffff:127.0.0.1]/',
    'http://user:pw@example.org/',
  ])('refuses %s unless it is named', async url => {
    await patch({ notifications: { webhook_url: url, allow_private_hosts: '' } })
    const answer = await trial('webhook')
    expect([answer.status, answer.body.code]).toEqual([422, 'outbound_refused'])
  })
  test('without an address says which setting is missing', async () => {
    await patch({ notifications: { webhook_url: '' } })
    expect((await trial('webhook')).text).toContain('notifications.webhook_url')
  })
})

describe('POST /settings/test-email', () => {
  const email = (): Record<string, unknown> => ({
    enabled: true,
    smtp_host: '127.0.0.1',
    smtp_port: smtp.port,
    use_tls: false,
    from_address: 'Gatehouse <repo@example.org>',
    to_addresses: 'ops@example.org',
  })
  test('sends to the receivers of the settings, or to one address', async () => {
    await patch({ email: email() })
    expect(await trial('email')).toMatchObject({
      status: 200,
      body: { ok: true, to: ['ops@example.org'], answer: expect.stringContaining('queued') as string },
    })
    expect(await trial('email', { to: 'me@example.org' })).toMatchObject({
      status: 200,
      body: { to: ['me@example.org'] },
    })
    expect(smtp.mails.map(({ to }) => to)).toEqual([['ops@example.org'], ['me@example.org']])
    expect(textOf(smtp.mails[0] as never)).toContain('Mail works')
  })
  test('says what is wrong, without the password', async () => {
    const strict = await startSmtp({ mode: 'plain', login: { user: 'repo', password: 'another' } })
    await patch({
      email: { ...email(), smtp_port: strict.port, smtp_user: 'repo', smtp_password: 'pa55-word-of-mail' },
    })
    const answer = await trial('email')
    await strict.close()
    expect([answer.status, answer.body.code]).toEqual([502, 'mail_failed'])
    expect(answer.text + daemon.log()).not.toContain('pa55-word-of-mail')
    await patch({ email: { smtp_user: '', smtp_password: '', smtp_host: '' } })
    expect((await trial('email')).body.code).toBe('mail_not_configured')
    expect((await trial('email', { to: 'a@b,c@d' })).status).toBe(422)
  })
})

test('inbound webhooks are verified with the same secret, at the root', async () => {
  const body = JSON.stringify({ ref: 'refs/heads/main', repository: { full_name: 'acme/tools' } })
  const post = (signature: string) =>
    fetch(`${daemon.url}/webhooks/github`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', 'x-github-event': 'push', 'x-hub-signature-256': signature },
    })
  expect((await post('sha256=00')).status).toBe(401)
  const taken = await post(`sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`)
  expect([taken.status, await taken.json()]).toMatchObject([200, { status: 'accepted' }])
})

test('a push on GitHub has the configured feeds fetched again, behind the answer', async () => {
  const asked: string[] = []
  const feeds = createServer((req, res) => {
    asked.push(req.url ?? '')
    for (const look of watchers) look()
    res.writeHead(404).end()
  })
  await new Promise<void>(resolve => {
    feeds.listen(0, '127.0.0.1', resolve)
  })
  const { port } = feeds.address() as AddressInfo
  await daemon.call('PATCH', '/settings/', {
    token: admin,
    body: {
      notifications: { allow_private_hosts: '127.0.0.1' },
      security: {
        feeds: {
          kev_url: `http://127.0.0.1:${port}/kev.json`,
          debian_tracker_url: `http://127.0.0.1:${port}/tracker.json`,
        },
      },
    },
  })
  const body = JSON.stringify({ ref: 'refs/heads/main', repository: { full_name: 'github/advisory-database' } })
  const all = new Promise<void>(resolve =>
    watchers.add(() => {
      if (new Set(asked).size === 2) resolve()
    }),
  )
  const taken = await fetch(`${daemon.url}/webhooks/github`, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      'x-github-event': 'push',
      'x-hub-signature-256': `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`,
    },
  })
  expect(taken.status).toBe(200)
  await all
  expect([...new Set(asked)].sort()).toEqual(['/kev.json', '/tracker.json'])
  feeds.closeAllConnections()
  feeds.close()
})

test('the community edition answers 402 for mail, directory and single sign-on, and 200 for the webhook', async () => {
  await daemon.stop()
  await daemon.restart({ EDITION: 'community' })
  for (const what of ['email', 'ldap', 'oidc']) expect((await trial(what)).status).toBe(402)
  expect((await trial('webhook')).status).toBe(200)
  expect((await daemon.call('GET', '/auth/oidc')).body).toMatchObject({ enabled: false })
})
