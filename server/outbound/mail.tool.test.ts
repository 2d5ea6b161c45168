import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Value } from '@sinclair/typebox/value'
import { SETTINGS, type SettingsValue } from '../settings/schema.ts'
import { startSmtp, textOf, type SmtpOptions, type TestSmtp } from '../../test/support/smtp.ts'
import { createTls, type TestTls } from '../../test/support/tls.ts'
import { createMailer, failureOf, parseAddress, type Mailer } from './mail.ts'

let tls: TestTls
beforeAll(async () => {
  tls = await createTls()
})
afterAll(() => tls.close())

const open: TestSmtp[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map(server => server.close()))
})

async function serve(options: Omit<SmtpOptions, 'tls'>): Promise<TestSmtp> {
  const server = await startSmtp({ ...options, tls })
  open.push(server)
  return server
}

function mailer(email: Partial<SettingsValue['email']>): Mailer {
  const defaults = Value.Create(SETTINGS) as SettingsValue
  const value = {
    ...defaults,
    email: {
      ...defaults.email,
      enabled: true,
      smtp_host: 'localhost',
      from_address: 'Gatehouse <repo@example.org>',
      to_addresses: 'ops@example.org, sec@example.org',
      ...email,
    },
  }
  return createMailer({ settings: { now: () => value }, timeoutMs: 2_000 })
}
const mail = { to: 'ada@example.org', subject: 'Über 3 Pakete', text: 'Grüße\n.\nfrom here' }
const LOGIN = { user: 'repo', password: 'p4ss w:rd' } as const
const failure = (promise: Promise<unknown>): Promise<{ code: string; message: string }> =>
  promise.then(
    () => ({ code: 'sent', message: '' }),
    (error: { code: string; message: string }) => error,
  )

describe('a mail arrives', () => {
  test.each([
    ['over plain SMTP where TLS is not asked for', { mode: 'plain' }, { use_tls: false }, false],
    [
      'over plain SMTP with a login',
      { mode: 'plain', login: LOGIN },
      { use_tls: false, smtp_user: LOGIN.user, smtp_password: LOGIN.password },
      false,
    ],
    ['over STARTTLS', { mode: 'starttls' }, { use_tls: true }, true],
    [
      'over STARTTLS with a login',
      { mode: 'starttls', login: LOGIN },
      { use_tls: true, smtp_user: LOGIN.user, smtp_password: LOGIN.password },
      true,
    ],
    [
      'over STARTTLS that is offered, though not asked for, whoever signed its certificate',
      { mode: 'starttls' },
      { use_tls: false, ca_bundle_path: '' },
      true,
    ],
  ] as const)('%s', async (_, options, email, secure) => {
    const server = await serve(options)
    await mailer({ smtp_port: server.port, ca_bundle_path: tls.caPath, ...email }).send(mail)
    expect(server.mails).toMatchObject([
      { from: 'repo@example.org', to: ['ada@example.org'], secure, user: 'login' in options ? LOGIN.user : undefined },
    ])
    expect(server.mails[0]?.raw).toContain('=?UTF-8?')
    expect(textOf(server.mails[0] as never)).toBe('Grüße\n.\nfrom here\n')
  })

  test('over TLS from the start, on port 465', async ({ skip }) => {
    const server = await startSmtp({ mode: 'tls', tls, port: 465 }).catch((error: NodeJS.ErrnoException) => error)
    if (server instanceof Error) return skip(`port 465 cannot be opened here: ${server.message}`)
    open.push(server)
    await mailer({ smtp_port: 465, ca_bundle_path: tls.caPath }).send(mail)
    expect(server.mails).toMatchObject([{ secure: true }])
    // TLS from the start is verified, whatever use_tls says
    expect(await failure(mailer({ smtp_port: 465, use_tls: false }).send(mail))).toMatchObject({ code: 'mail_failed' })
  })

  test('at each of several receivers', async () => {
    const server = await serve({ mode: 'plain' })
    await mailer({ smtp_port: server.port, use_tls: false }).send({ ...mail, to: ['a@example.org', 'b@example.org'] })
    expect(server.mails).toMatchObject([{ to: ['a@example.org', 'b@example.org'] }])
  })
})

describe('no mail is sent', () => {
  test('in the clear when TLS is asked for', async () => {
    const server = await serve({ mode: 'plain', login: LOGIN })
    expect(
      await failure(
        mailer({ smtp_port: server.port, smtp_user: LOGIN.user, smtp_password: LOGIN.password }).send(mail),
      ),
    ).toMatchObject({ code: 'mail_failed' })
    expect(server.mails).toEqual([])
  })
  test('to a server whose certificate nobody trusts', async () => {
    const server = await serve({ mode: 'starttls' })
    expect(await failure(mailer({ smtp_port: server.port }).send(mail))).toMatchObject({
      code: 'mail_failed',
      message: expect.stringMatching(/certificate|issuer/i) as string,
    })
    expect(server.mails).toEqual([])
  })
  test('while it is switched off or half set up; the message says what is missing', async () => {
    for (const [email, word] of [
      [{ enabled: false }, 'enabled'],
      [{ smtp_host: '' }, 'smtp_host'],
      [{ from_address: '' }, 'from_address'],
      [{ from_address: 'a@b, c@d' }, 'from_address'],
      [{ ca_bundle_path: '/nowhere' }, 'ca_bundle_path'],
    ] as const) {
      expect(await failure(mailer(email).send(mail))).toMatchObject({
        code: 'mail_not_configured',
        message: expect.stringContaining(word) as string,
      })
    }
    expect([mailer({ enabled: false }).isReady(), mailer({ smtp_host: '' }).isReady(), mailer({}).isReady()]).toEqual([
      false,
      false,
      true,
    ])
  })
  test('when the server refuses a receiver, and its words are passed on', async () => {
    const server = await serve({ mode: 'plain', refuse: address => address === 'ghost@example.org' })
    expect(
      await failure(mailer({ smtp_port: server.port, use_tls: false }).send({ ...mail, to: 'ghost@example.org' })),
    ).toMatchObject({ code: 'mail_failed', message: expect.stringContaining('unknown here') as string })
    expect(
      await failure(
        mailer({ smtp_port: server.port, use_tls: false }).send({
          ...mail,
          to: ['a@example.org', 'ghost@example.org'],
        }),
      ),
    ).toMatchObject({ code: 'mail_failed' })
  })
  test('with a wrong password, and the password is nowhere in the error', async () => {
    const server = await serve({ mode: 'starttls', login: LOGIN })
    const error = await failure(
      mailer({
        smtp_port: server.port,
        ca_bundle_path: tls.caPath,
        smtp_user: 'repo',
        smtp_password: 'wr0ng-s3cret',
      }).send(mail),
    )
    expect(error).toMatchObject({ code: 'mail_failed', message: expect.stringContaining('Invalid login') as string })
    expect(`${error.message}${JSON.stringify(error)}${String((error as { cause?: unknown }).cause)}`).not.toContain(
      'wr0ng-s3cret',
    )
  })
  test('when the server refuses the connection or does not answer', async () => {
    const server = await serve({ mode: 'plain' })
    await server.close()
    open.length = 0
    expect(await failure(mailer({ smtp_port: server.port, use_tls: false }).send(mail))).toMatchObject({
      code: 'mail_failed',
    })
  })
  test('to other receivers than those in the settings', async () => {
    const server = await serve({ mode: 'plain' })
    for (const to of [
      'a@example.org,b@example.org',
      'a@example.org\r\nBcc: c@example.org',
      '<a@example.org> b@example.org',
      'a@example.org;c@example.org',
      '',
    ]) {
      expect(await failure(mailer({ smtp_port: server.port, use_tls: false }).send({ ...mail, to }))).toMatchObject({
        code: 'mail_not_configured',
      })
    }
    await mailer({ smtp_port: server.port, use_tls: false }).send({ ...mail, subject: 'a\r\nBcc: c@example.org' })
    expect(server.mails.map(({ to, raw }) => [to, /^bcc:/im.test(raw)])).toEqual([[['ada@example.org'], false]])
  })
})

test('a test mail goes to the receivers of the settings or to one address, and says what the server answered', async () => {
  const server = await serve({ mode: 'plain' })
  const ours = mailer({ smtp_port: server.port, use_tls: false, enabled: false })
  expect(await ours.test()).toMatchObject({
    to: ['ops@example.org', 'sec@example.org'],
    answer: expect.stringContaining('queued as 4711') as string,
  })
  expect(await ours.test('me@example.org')).toMatchObject({ to: ['me@example.org'] })
  expect(server.mails.map(({ to }) => to)).toEqual([['ops@example.org', 'sec@example.org'], ['me@example.org']])
})

test.each([
  ['a@example.org', { name: '', address: 'a@example.org' }],
  ['Ada L <a@example.org>', { name: 'Ada L', address: 'a@example.org' }],
  ['"Ada, L" <a@example.org>', { name: 'Ada, L', address: 'a@example.org' }],
  ['a', undefined],
  ['a@b, c@d', undefined],
  ['a@b@c', undefined],
  ['<a@b> <c@d>', undefined],
  ['', undefined],
])('%j is %j', (text, expected) => {
  expect(parseAddress(text)).toEqual(expected)
})

test("a server that does not speak TLS where it was expected is told in words, not in OpenSSL's", () => {
  const error = new Error(
    '40AD210F2E7F0000:error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:../deps/openssl/openssl/ssl/record/methods/tlsany_meth.c:77:',
  )
  expect(failureOf(error, { smtp_user: '', smtp_password: '' })).toBe(
    'no TLS came about (wrong version number). Port 465 speaks TLS from the start, 587 and 25 after STARTTLS',
  )
})
