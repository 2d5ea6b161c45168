import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createSecretBox } from '../../server/lib/secret-box.ts'
import { createMailer } from '../../server/outbound/mail.ts'
import { freshAddress, type Answer } from '../support/app.ts'
import { PASSWORD, SECRET, startAccounts, type TestAccounts } from '../support/accounts.ts'
import { startSmtp, textOf } from '../support/smtp.ts'

const START = Date.parse('2026-03-01T10:00:00Z')
const NEW = 'Another-Horse-2'

let it: TestAccounts
beforeAll(async () => {
  it = await startAccounts()
})
afterAll(() => it.close())
beforeEach(async () => {
  await it.stock.clear()
  await it.stock.db.query('truncate mail_pending, ended_token')
  at(0)
  it.mailed.length = 0
  it.post.isDown = false
  it.warned.length = 0
  await it.settings.patch({
    app_url: 'https://console.example/',
    email: { enabled: true, smtp_host: 'mail.example', from_address: 'gatehouse@example.test' },
  })
  await it.user('ada', 'maintainer')
  await it.stock.db.query(`update account set email = 'Ada@Example.test' where username = 'ada'`)
})
const at = (minutes: number): void => it.stock.clock.set(new Date(START + minutes * 60_000).toISOString())
const ask = (path: string, body: Record<string, unknown>): Promise<Answer> =>
  it.app.ask('POST', `/api/v1/auth/${path}`, { body, headers: freshAddress() })
const said = (answer: Answer): [number, unknown] => [answer.status, answer.json().code]
const forgot = async (body: Record<string, unknown>): Promise<Answer> => {
  const answer = await ask('forgot-password', body)
  await it.stock.outbox.drain()
  return answer
}
const tokenIn = (text: string | undefined): string => /token=([\w-]{43})\s/.exec(text ?? '')?.[1] ?? ''
const mailedToken = async (body: Record<string, unknown> = { username: 'ada' }): Promise<string> => {
  await forgot(body)
  return tokenIn(it.mailed.at(-1)?.text)
}
const login = async (password: string, username = 'ada'): Promise<number> => (await it.login(username, password)).status

describe('asking for a link', () => {
  test.each([{ email: 'ada@example.test' }, { email: 'ADA@EXAMPLE.TEST' }, { username: 'ada' }])(
    "%j is mailed one to the console's address",
    async body => {
      expect((await forgot(body)).status).toBe(200)
      expect(it.mailed).toEqual([
        {
          to: 'Ada@Example.test',
          subject: 'Gatehouse: set a new password',
          text: expect.stringMatching(
            /account ada\.[^]*https:\/\/console\.example\/#\/reset-password\?token=[\w-]{43}\n/,
          ) as string,
        },
      ])
      expect(await it.audited('PASSWORD_RESET')).toMatchObject([{ user: 'ada', result: 'WARNING' }])
      expect(await login(PASSWORD)).toBe(200)
    },
  )

  test('while app_url is not set, the link leads to what the daemon listens on, whatever the request says', async () => {
    await it.settings.patch({ app_url: '' })
    await it.app.ask('POST', '/api/v1/auth/forgot-password', {
      body: { username: 'ada' },
      headers: {
        ...freshAddress(),
        'host': 'evil.example',
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'https',
      },
    })
    await it.stock.outbox.drain()
    expect(it.mailed.map(mail => /\S+:\/\/\S+/.exec(mail.text)?.[0])).toEqual([
      expect.stringMatching(/^http:\/\/127\.0\.0\.1:8000\/#\/reset-password\?token=[\w-]{43}$/),
    ])
  })

  test('the answer is the same for every address, and an unknown one gets no mail', async () => {
    await it.user('off', 'reader')
    await it.user('silent', 'reader')
    await it.stock.db.query(`update account set email = 'off@example.test', active = false where username = 'off'`)
    await it.stock.db.query(
      `insert into account (username, password_hash, role, email, origin) values ('dora', '!', 'reader', 'dora@example.test', 'ldap')`,
    )
    const answers = []
    for (const body of [
      { username: 'ada' },
      { username: 'ghost' },
      { email: 'ghost@example.test' },
      { username: 'off' },
      { email: 'off@example.test' },
      { username: 'silent' },
      { username: 'dora' },
      { email: '%' },
      { email: `' or 1=1 --` },
      { email: '\u0001'.repeat(320), username: '"'.repeat(200) },
      { email: '\u20ac'.repeat(320), username: '\u20ac'.repeat(200) },
    ]) {
      const { status, json } = await forgot(body)
      answers.push(JSON.stringify([status, json()]))
    }
    expect(new Set(answers).size).toBe(1)
    expect(it.mailed.map(({ to }) => to)).toEqual(['Ada@Example.test'])
  })

  test('it does the same work for everybody: one row is written, the rest happens later', async () => {
    await it.stock.outbox.stop()
    for (const body of [{ username: 'ada' }, { username: 'ghost' }])
      expect((await ask('forgot-password', body)).status).toBe(200)
    const keys = (await it.stock.db.query<{ key: string }>('select key from outbox order by id')).map(({ key }) => key)
    expect(keys.map(key => key.split(':').slice(0, 3).join(':'))).toEqual(['reset:enc:v1', 'reset:enc:v1'])
    expect(keys.join()).not.toContain('ada')
    expect(await it.stock.db.query('select 1 from password_reset')).toEqual([])
    // a crash here loses nothing: whoever starts next sends it
    it.stock.outbox.start()
    await it.stock.outbox.drain()
    expect(it.mailed).toHaveLength(1)
  })

  test('neither name nor address is a request without a subject', async () => {
    expect((await ask('forgot-password', {})).status).toBe(422)
    expect((await ask('forgot-password', { email: '', username: '' })).status).toBe(422)
  })

  test('a request that is delivered twice makes one link', async () => {
    await it.stock.outbox.stop()
    await ask('forgot-password', { username: 'ada' })
    const key = (await it.stock.db.first<{ key: string }>('select key from outbox'))?.key ?? ''
    for (let n = 0; n < 2; n++)
      await it.auth.debts?.reset?.deliver([key.slice('reset:'.length)], () => Promise.resolve())
    it.stock.outbox.start()
    await it.stock.outbox.drain()
    expect(it.mailed).toHaveLength(1)
    expect((await ask('reset-password', { token: tokenIn(it.mailed[0]?.text), new_password: NEW })).status).toBe(200)
  })

  test('two accounts with one address get a link each', async () => {
    await it.user('bea', 'reader')
    await it.stock.db.query(`update account set email = 'ada@example.test' where username = 'bea'`)
    await forgot({ email: 'ada@example.test' })
    const mails = new Map(it.mailed.map(({ text }) => [/account (\w+)/.exec(text)?.[1], text]))
    expect([...mails.keys()].sort()).toEqual(['ada', 'bea'])
    await ask('reset-password', { token: tokenIn(mails.get('bea')), new_password: NEW })
    expect([await login(PASSWORD, 'ada'), await login(NEW, 'bea')]).toEqual([200, 200])
  })

  test('neither the link nor its token lies in the database, while the mail waits or after', async () => {
    it.post.isDown = true
    await forgot({ username: 'ada' })
    const row = await it.stock.db.first<{ sealed: string }>('select sealed from mail_pending')
    const token = tokenIn(
      createSecretBox(SECRET)
        .open(row?.sealed ?? '')
        .toString()
        .replaceAll('\\n', '\n'),
    )
    expect(token).toHaveLength(43)
    const dump = async (): Promise<string> =>
      JSON.stringify([
        await it.stock.db.query('select * from outbox'),
        await it.stock.db.query('select * from mail_pending'),
        await it.stock.db.query('select * from password_reset'),
        await it.audited('PASSWORD_RESET'),
        it.app.logged,
        it.warned,
      ])
    expect(await dump()).not.toContain(token)
    expect(await dump()).toContain(createHash('sha256').update(token).digest('hex'))
    // it is tried again, and then nothing of it is left
    it.post.isDown = false
    await it.stock.outbox.drain()
    expect(it.mailed.map(({ text }) => tokenIn(text))).toEqual([token])
    expect(await it.stock.db.query('select 1 from mail_pending')).toEqual([])
  })

  test('a mail that could not be sent in time is dropped', async () => {
    it.post.isDown = true
    await forgot({ username: 'ada' })
    at(30)
    it.post.isDown = false
    await it.stock.outbox.drain()
    expect([it.mailed.length, it.warned]).toEqual([0, ['a mail could not be sent in time and was dropped']])
    expect(await it.stock.db.query('select 1 from mail_pending')).toEqual([])
  })

  test('without a mail server the answer is the same, and the log says why once', async () => {
    const usual = (await forgot({ username: 'ghost' })).json()
    await it.settings.patch({ email: { enabled: false } })
    for (let n = 0; n < 3; n++) expect((await forgot({ username: 'ada' })).json()).toEqual(usual)
    expect(it.mailed).toEqual([])
    expect(it.warned).toEqual([expect.stringContaining('email is not configured')])
    expect(await it.stock.db.query('select 1 from password_reset')).toEqual([])
  })

  test('a mail server that refuses costs the caller nothing, and is tried again', async () => {
    it.post.isDown = true
    expect((await forgot({ username: 'ada' })).status).toBe(200)
    expect((await it.stock.outbox.stuck()).map(({ key }) => key.split(':')[0])).toEqual(['mail'])
    it.post.isDown = false
    await it.stock.outbox.drain()
    expect([it.mailed.length, await it.stock.outbox.stuck()]).toEqual([1, []])
  })

  test('over a real mail server, the link that arrives sets the password', async () => {
    const smtp = await startSmtp({ mode: 'plain' })
    const real = await startAccounts({ mailer: settings => createMailer({ settings }) })
    try {
      await real.user('eve', 'reader')
      await real.stock.db.query(`update account set email = 'eve@example.test' where username = 'eve'`)
      await real.settings.patch({
        email: {
          enabled: true,
          smtp_host: '127.0.0.1',
          smtp_port: smtp.port,
          use_tls: false,
          from_address: 'gatehouse@example.test',
        },
      })
      const there = (path: string, body: Record<string, unknown>): Promise<Answer> =>
        real.app.ask('POST', `/api/v1/auth/${path}`, { body, headers: freshAddress() })
      await there('forgot-password', { email: 'eve@example.test' })
      const mail = await smtp.next()
      expect(mail.to).toEqual(['eve@example.test'])
      expect((await there('reset-password', { token: tokenIn(textOf(mail)), new_password: NEW })).status).toBe(200)
      expect((await real.login('eve', NEW)).status).toBe(200)
    } finally {
      await real.close()
      await smtp.close()
    }
  })

  test('five a minute from one address; one person gets five mails in half an hour, whoever asks', async () => {
    const headers = freshAddress()
    const statuses = []
    for (let n = 0; n < 6; n++)
      statuses.push(
        (await it.app.ask('POST', '/api/v1/auth/forgot-password', { headers, body: { username: 'ghost' } })).status,
      )
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429])
    for (let n = 0; n < 7; n++) await forgot({ username: 'ada' })
    expect(it.mailed).toHaveLength(5)
    expect((await ask('reset-password', { token: tokenIn(it.mailed[4]?.text), new_password: NEW })).status).toBe(200)
    await forgot({ username: 'ada' })
    expect(it.mailed).toHaveLength(5)
    at(30)
    await forgot({ username: 'ada' })
    expect(it.mailed).toHaveLength(6)
  })
})

describe('a link', () => {
  test('sets the password, ends every session and lifts a lock', async () => {
    const session = await it.session('ada')
    for (let n = 0; n < 5; n++) await login('wrong')
    const token = await mailedToken()
    const answer = await ask('reset-password', { token, new_password: NEW })
    expect([answer.status, Object.keys(answer.json())]).toEqual([200, ['message']])
    expect([await login(PASSWORD), await login(NEW)]).toEqual([401, 200])
    expect((await it.app.ask('GET', '/api/v1/auth/me', { token: session })).status).toBe(401)
    expect((await it.audited('PASSWORD_RESET'))[0]).toMatchObject({ user: 'ada', result: 'SUCCESS' })
  })

  test('works once, also when many ask at once', async () => {
    const token = await mailedToken()
    const answers = await Promise.all([1, 2, 3].map(n => ask('reset-password', { token, new_password: `${NEW}${n}` })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400])
    expect(said(await ask('reset-password', { token, new_password: NEW }))).toEqual([400, 'bad_reset_token'])
  })

  test('works for 30 minutes', async () => {
    const token = await mailedToken()
    at(30)
    expect(said(await ask('reset-password', { token, new_password: NEW }))).toEqual([400, 'bad_reset_token'])
    at(29.99)
    expect((await ask('reset-password', { token, new_password: NEW })).status).toBe(200)
  })

  test('works until a newer one is asked for', async () => {
    const [first, second] = [await mailedToken(), await mailedToken()]
    expect(first).not.toBe(second)
    expect(said(await ask('reset-password', { token: first, new_password: NEW }))).toEqual([400, 'bad_reset_token'])
    expect((await ask('reset-password', { token: second, new_password: NEW })).status).toBe(200)
  })

  test('a weak password does not use it up', async () => {
    const token = await mailedToken()
    expect(said(await ask('reset-password', { token, new_password: 'weak' }))).toEqual([422, 'weak_password'])
    expect((await ask('reset-password', { token, new_password: NEW })).status).toBe(200)
  })

  test('does not work for an account that was deactivated or deleted meanwhile', async () => {
    const token = await mailedToken()
    await it.stock.db.query(`update account set active = false where username = 'ada'`)
    expect(said(await ask('reset-password', { token, new_password: NEW }))).toEqual([400, 'bad_reset_token'])
    await it.stock.db.query(`delete from account where username = 'ada'`)
    expect(said(await ask('reset-password', { token, new_password: NEW }))).toEqual([400, 'bad_reset_token'])
  })

  test('does not get around a second factor', async () => {
    const session = await it.session('ada')
    await it.stock.db.query(`update account set mfa_secret = 'enc:v1:x' where username = 'ada'`)
    await ask('reset-password', { token: await mailedToken(), new_password: NEW })
    expect((await it.login('ada', NEW)).json()).toMatchObject({ mfa_required: true })
    expect((await it.app.ask('GET', '/api/v1/auth/me', { token: session })).status).toBe(401)
  })

  test.each(['', 'x', 'used:ada', 'x'.repeat(43), `' or 1=1 --`])('%j is none, and its digest neither', async token => {
    await mailedToken()
    const answer = await ask('reset-password', { token, new_password: NEW })
    expect([400, 422]).toContain(answer.status)
    const row = await it.stock.db.first<{ hash: string }>('select hash from password_reset')
    expect(said(await ask('reset-password', { token: row?.hash ?? '', new_password: NEW }))).toEqual([
      400,
      'bad_reset_token',
    ])
    expect(await login(PASSWORD)).toBe(200)
  })

  test('ten tries a minute from one address', async () => {
    const headers = freshAddress()
    const statuses = []
    for (let n = 0; n < 11; n++)
      statuses.push(
        (await it.app.ask('POST', '/api/v1/auth/reset-password', { headers, body: { token: 'x', new_password: NEW } }))
          .status,
      )
    expect(statuses).toEqual([...Array<number>(10).fill(400), 429])
  })
})
