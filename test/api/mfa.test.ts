import { createHmac } from 'node:crypto'
import { generateSync } from 'otplib/functional'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { freshAddress, type Answer } from '../support/app.ts'
import { PASSWORD, SECRET, startAccounts, type TestAccounts } from '../support/accounts.ts'

const START = Date.parse('2026-03-01T10:00:00Z')
const DAY = 86_400

let it: TestAccounts
let admin: string
let seconds = 0
beforeAll(async () => { it = await startAccounts() })
afterAll(() => it.close())
beforeEach(async () => {
  await it.stock.clear()
  at(0)
  await it.settings.patch({ mfa_policy: { enforce_admin_mfa: false, grace_period_days: 7 } })
  await it.user('root', 'admin')
  admin = await it.session('root')
})

/** Sets the clock to so many seconds after the start, which is the first second of a step. */
function at(second: number): void {
  seconds = second
  it.stock.clock.set(new Date(START + second * 1000).toISOString())
}
const ask = (method: string, path: string, token?: string, body?: Record<string, unknown>): Promise<Answer> =>
  it.app.ask(method, `/api/v1${path}`, { token, headers: freshAddress(), ...body === undefined ? {} : { body } })
const said = (answer: Answer): [number, unknown] => [answer.status, answer.json().code]
/** The code of the step that is `offset` steps from now. */
const code = (secret: string, offset = 0): string => generateSync({ secret, epoch: START / 1000 + seconds + offset * 30 })
const wrong = (secret: string): string => {
  const right = new Set([-2, -1, 0, 1, 2].map(offset => code(secret, offset)))
  return ['000000', '111111', '222222', '333333', '444444', '555555'].find(guess => !right.has(guess)) ?? ''
}
const authenticate = (mfa_token: unknown, proof: Record<string, unknown>): Promise<Answer> => ask('POST', '/auth/mfa/authenticate', undefined, { mfa_token, ...proof })
const challenge = async (username: string): Promise<string> => {
  const answer = await it.login(username, PASSWORD)
  expect(answer.json()).toEqual({ mfa_required: true, mfa_token: expect.any(String) as string, expires_in: 300 })
  return String(answer.json().mfa_token)
}
const works = async (token: unknown): Promise<number> => (await ask('GET', '/auth/me', String(token))).status

/** Switches the second factor on; a minute later so that no code of the set-up can be in the way. */
async function enable(username: string): Promise<{ readonly secret: string; readonly codes: string[]; readonly session: string }> {
  const session = await it.session(username)
  const secret = String((await ask('POST', '/auth/mfa/setup', session)).json().secret)
  const confirmed = await ask('POST', '/auth/mfa/confirm', session, { totp_code: code(secret) })
  expect(confirmed.status).toBe(200)
  at(seconds + 90)
  return { secret, codes: confirmed.json().recovery_codes as string[], session }
}

describe('no second factor', () => {
  test('setup gives secret, URI and a PNG, and changes nothing about logins', async () => {
    const made = await ask('POST', '/auth/mfa/setup', admin)
    expect([made.status, made.json()]).toEqual([200, {
      secret: expect.stringMatching(/^[A-Z2-7]{32}$/) as string, uri: expect.stringContaining('otpauth://totp/Gatehouse:root?secret=') as string,
      qr_code_base64: expect.stringMatching(/^data:image\/png;base64,iVBOR/) as string,
    }])
    expect(made.json().uri).toContain(String(made.json().secret))
    expect((await it.login('root', PASSWORD)).json()).toMatchObject({ token_type: 'bearer' })
    expect((await ask('GET', '/auth/me', admin)).json()).toMatchObject({ mfa_enabled: false })
    expect((await ask('GET', '/auth/mfa/status', admin)).json()).toEqual({ enabled: false, pending: true, recovery_codes_remaining: 0, required: false })
  })

  test('there is nothing to confirm, disable or renew', async () => {
    expect(said(await ask('POST', '/auth/mfa/confirm', admin, { totp_code: '000000' }))).toEqual([409, 'mfa_not_pending'])
    expect(said(await ask('POST', '/auth/mfa/disable', admin, { password: PASSWORD }))).toEqual([409, 'mfa_not_active'])
    expect(said(await ask('POST', '/auth/mfa/recovery-codes', admin, { password: PASSWORD }))).toEqual([409, 'mfa_not_active'])
    expect((await ask('GET', '/auth/mfa/recovery-codes/count', admin)).json()).toEqual({ remaining: 0 })
  })

  test('an API token has none to set up', async () => {
    const token = String((await ask('POST', '/auth/api-tokens', admin, { name: 'ci', role: 'admin' })).json().token)
    expect(said(await ask('POST', '/auth/mfa/setup', token))).toEqual([400, 'no_account'])
    expect(said(await ask('POST', '/auth/mfa/disable', token, { password: PASSWORD }))).toEqual([400, 'no_account'])
    expect((await ask('GET', '/auth/mfa/recovery-codes/count', token)).json()).toEqual({ remaining: 0 })
  })
})

describe('a secret that waits for its first code', () => {
  let secret: string
  beforeEach(async () => { secret = String((await ask('POST', '/auth/mfa/setup', admin)).json().secret) })

  test('the right code makes it active and gives eight recovery codes, this once', async () => {
    const answer = await ask('POST', '/auth/mfa/confirm', admin, { totp_code: code(secret) })
    expect([answer.status, Object.keys(answer.json()).sort()]).toEqual([200, ['message', 'recovery_codes']])
    const codes = answer.json().recovery_codes as string[]
    expect(new Set(codes).size).toBe(8)
    for (const each of codes) expect(each).toMatch(/^([0-9a-hjkmnp-tv-z]{4}-){3}[0-9a-hjkmnp-tv-z]{4}$/)
    expect((await ask('GET', '/auth/me', admin)).json()).toMatchObject({ mfa_enabled: true })
    expect((await ask('GET', '/auth/mfa/recovery-codes/count', admin)).json()).toEqual({ remaining: 8 })
    expect(await it.audited('MFA_ENABLE')).toMatchObject([{ user: 'root', result: 'SUCCESS' }])
    expect(said(await ask('POST', '/auth/mfa/confirm', admin, { totp_code: code(secret, 1) }))).toEqual([409, 'mfa_active'])
    expect(said(await ask('POST', '/auth/mfa/setup', admin))).toEqual([409, 'mfa_active'])
  })

  test.each([['early', 2], ['late', -2]])('a code that is two steps too %s is refused', async (_, offset) => {
    expect(said(await ask('POST', '/auth/mfa/confirm', admin, { totp_code: code(secret, offset) }))).toEqual([400, 'wrong_code'])
    expect((await ask('GET', '/auth/me', admin)).json()).toMatchObject({ mfa_enabled: false })
  })

  test.each([['before', -1], ['after', 1]])('a code of the step %s this one is taken', async (_, offset) => {
    expect((await ask('POST', '/auth/mfa/confirm', admin, { totp_code: code(secret, offset) })).status).toBe(200)
  })

  test.each(['12345', '1234567', 'abcdef', '１２３４５６', ''])('%j is no code', async totp_code => {
    expect((await ask('POST', '/auth/mfa/confirm', admin, { totp_code })).status).toBe(422)
  })

  test('a new set-up replaces it, and somebody else\'s code is not one', async () => {
    const second = String((await ask('POST', '/auth/mfa/setup', admin)).json().secret)
    expect(second).not.toBe(secret)
    expect(said(await ask('POST', '/auth/mfa/confirm', admin, { totp_code: code(secret) }))).toEqual([400, 'wrong_code'])
    expect((await ask('POST', '/auth/mfa/confirm', admin, { totp_code: code(second) })).status).toBe(200)
  })

  test('neither it nor a recovery code is readable in the database or the log', async () => {
    const codes = (await ask('POST', '/auth/mfa/confirm', admin, { totp_code: code(secret) })).json().recovery_codes as string[]
    const dump = JSON.stringify([await it.stock.db.query('select * from account'), await it.stock.db.query('select * from recovery_code'), it.app.logged, await it.audited('MFA_ENABLE')])
    for (const each of [secret, ...codes, ...codes.map(plain => plain.replaceAll('-', ''))]) expect(dump).not.toContain(each)
    expect(dump).toMatch(/"mfa_secret":"enc:v1:/)
  })
})

describe('a login with a second factor', () => {
  let secret: string
  let codes: string[]
  beforeEach(async () => {
    await it.user('ada', 'maintainer')
    ;({ secret, codes } = await enable('ada'))
  })

  test('the password alone gives a challenge and no access; the code gives the session', async () => {
    const token = await challenge('ada')
    expect(said(await ask('GET', '/auth/me', token))).toEqual([401, 'bad_credential'])
    const answer = await authenticate(token, { totp_code: code(secret) })
    expect([answer.status, answer.json()]).toEqual([200, { access_token: expect.any(String) as string, token_type: 'bearer', expires_in: 3600 }])
    expect((await ask('GET', '/auth/me', String(answer.json().access_token))).json()).toMatchObject({ username: 'ada', role: 'maintainer', mfa_enabled: true })
    expect((await it.audited('LOGIN')).map(({ user, result, detail }) => [user, result, detail])).toEqual([
      ['ada', 'SUCCESS', 'With a password and a code.'], ['ada', 'WARNING', 'With a password; the second factor is awaited.'],
    ])
  })

  test('a wrong password gives no challenge', async () => {
    expect(said(await it.login('ada', 'wrong'))).toEqual([401, 'bad_password'])
  })

  test('the code of the set-up is used up, in the same step and the next', async () => {
    await it.user('bob', 'reader')
    const session = await it.session('bob')
    const own = String((await ask('POST', '/auth/mfa/setup', session)).json().secret)
    const first = code(own)
    await ask('POST', '/auth/mfa/confirm', session, { totp_code: first })
    expect(said(await authenticate(await challenge('bob'), { totp_code: first }))).toEqual([401, 'bad_code'])
    at(seconds + 29)
    expect(said(await authenticate(await challenge('bob'), { totp_code: first }))).toEqual([401, 'bad_code'])
    expect((await authenticate(await challenge('bob'), { totp_code: code(own, 1) })).status).toBe(200)
  })

  test.each([['early', 2], ['late', -2]])('a code that is two steps too %s is refused, and the challenge still good', async (_, offset) => {
    const token = await challenge('ada')
    expect(said(await authenticate(token, { totp_code: code(secret, offset) }))).toEqual([401, 'bad_code'])
    expect((await authenticate(token, { totp_code: code(secret) })).status).toBe(200)
  })

  test('a code works once: not again in its step, not in the next, not after a restart, and none before it', async () => {
    const used = code(secret)
    expect((await authenticate(await challenge('ada'), { totp_code: used })).status).toBe(200)
    expect(said(await authenticate(await challenge('ada'), { totp_code: used }))).toEqual([401, 'bad_code'])
    expect(said(await authenticate(await challenge('ada'), { totp_code: code(secret, -1) }))).toEqual([401, 'bad_code'])
    const again = await it.restarted()
    const token = String((await again.login('ada', PASSWORD)).json().mfa_token)
    const replayed = await again.app.ask('POST', '/api/v1/auth/mfa/authenticate', { body: { mfa_token: token, totp_code: used }, headers: freshAddress() })
    await again.close()
    expect(said(replayed)).toEqual([401, 'bad_code'])
    at(seconds + 30)
    expect(said(await authenticate(await challenge('ada'), { totp_code: used }))).toEqual([401, 'bad_code'])
    at(seconds + 30)
    expect((await authenticate(await challenge('ada'), { totp_code: code(secret) })).status).toBe(200)
  })

  test('of many at once with one code, one gets in', async () => {
    const tokens = []
    for (let n = 0; n < 6; n++) tokens.push(await challenge('ada'))
    const answers = await Promise.all(tokens.map(token => authenticate(token, { totp_code: code(secret) })))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  })

  test('two logins at once are two challenges; each is good once', async () => {
    const [first, second] = [await challenge('ada'), await challenge('ada')]
    expect((await authenticate(second, { totp_code: code(secret) })).status).toBe(200)
    at(seconds + 30)
    expect((await authenticate(first, { totp_code: code(secret) })).status).toBe(200)
    at(seconds + 30)
    for (const token of [first, second]) expect(said(await authenticate(token, { totp_code: code(secret) }))).toEqual([401, 'bad_challenge'])
    // a refused challenge has used up nothing
    expect((await authenticate(await challenge('ada'), { totp_code: code(secret) })).status).toBe(200)
  })

  test('of many at once with one challenge, one gets in', async () => {
    const token = await challenge('ada')
    const answers = await Promise.all(codes.slice(0, 5).map(recovery_code => authenticate(token, { recovery_code })))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    const session = String(answers.find(({ status }) => status === 200)?.json().access_token)
    expect((await ask('GET', '/auth/mfa/recovery-codes/count', session)).json()).toEqual({ remaining: 7 })
  })

  test('the challenge ends after five minutes', async () => {
    const token = await challenge('ada')
    at(seconds + 299)
    expect(said(await authenticate(token, { totp_code: wrong(secret) }))).toEqual([401, 'bad_code'])
    at(seconds + 1)
    expect(said(await authenticate(token, { totp_code: code(secret) }))).toEqual([401, 'bad_challenge'])
  })

  test('a challenge of another account, an access token, a setup token and forgeries are no challenge of this one', async () => {
    await it.user('eve', 'admin')
    const eve = await enable('eve')
    const access = await it.session('ada')
    const good = await challenge('ada')
    const payload = JSON.parse(Buffer.from(good.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>
    const sign = (claims: object, secretKey = SECRET, header: object = { alg: 'HS256' }): string => {
      const text = [header, claims].map(part => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
      return `${text}.${createHmac('sha256', secretKey).update(text).digest('base64url')}`
    }
    expect(said(await authenticate(await challenge('eve'), { totp_code: code(secret) }))).toEqual([401, 'bad_code'])
    expect(said(await authenticate(good, { totp_code: code(eve.secret) }))).toEqual([401, 'bad_code'])
    expect(said(await authenticate(good, { recovery_code: eve.codes[0] }))).toEqual([401, 'bad_code'])
    const forged = {
      'an access token': access, 'another secret': sign(payload, 'another'), 'no algorithm': `${sign(payload, SECRET, { alg: 'none' }).split('.').slice(0, 2).join('.')}.`,
      'another use': sign({ ...payload, use: 'mfa_setup_required' }), 'use access': sign({ ...payload, use: 'access' }), 'another user': sign({ ...payload, sub: 'ghost' }), 'nothing': 'x',
      'without a second factor': sign({ ...payload, sub: 'root' }),
    }
    for (const [what, token] of Object.entries(forged)) expect([what, ...said(await authenticate(token, { totp_code: code(secret) }))]).toEqual([what, 401, 'bad_challenge'])
    expect((await authenticate(good, { totp_code: code(secret) })).status).toBe(200)
  })

  test('exactly one proof is asked for', async () => {
    const token = await challenge('ada')
    for (const proof of [{}, { totp_code: code(secret), recovery_code: codes[0] }]) expect((await authenticate(token, proof)).status).toBe(422)
    expect((await authenticate(token, { totp_code: '12 345' })).status).toBe(422)
    expect((await authenticate(token, { totp_code: code(secret) })).status).toBe(200)
  })

  test('a recovery code opens once, however it is typed; the others stay', async () => {
    const typed = ` ${(codes[3] ?? '').toUpperCase().replaceAll('-', ' ').replaceAll('0', 'O').replaceAll('1', 'l')} `
    const answer = await authenticate(await challenge('ada'), { recovery_code: typed })
    expect(answer.status).toBe(200)
    const session = String(answer.json().access_token)
    expect((await ask('GET', '/auth/mfa/recovery-codes/count', session)).json()).toEqual({ remaining: 7 })
    expect(said(await authenticate(await challenge('ada'), { recovery_code: codes[3] }))).toEqual([401, 'bad_code'])
    expect((await authenticate(await challenge('ada'), { recovery_code: codes[4] })).status).toBe(200)
    expect(await it.audited('LOGIN')).toMatchObject(expect.arrayContaining([expect.objectContaining({ detail: 'With a password and a recovery code; 7 are left.' })]) as object)
  })

  test('five wrong codes lock the account, whatever the challenge; the right password does not begin the count anew', async () => {
    const early = await challenge('ada')
    for (let n = 0; n < 4; n++) expect(said(await authenticate(await challenge('ada'), { totp_code: wrong(secret) }))).toEqual([401, 'bad_code'])
    expect(said(await authenticate(early, { recovery_code: 'aaaa-aaaa-aaaa-aaaa' }))).toEqual([401, 'bad_code'])
    // the answer of a locked account is the same, and uses nothing up
    expect(said(await authenticate(early, { totp_code: code(secret) }))).toEqual([401, 'bad_code'])
    expect(said(await authenticate(early, { recovery_code: codes[0] }))).toEqual([401, 'bad_code'])
    expect(said(await it.login('ada', PASSWORD))).toEqual([401, 'bad_password'])
    at(seconds + 15 * 60)
    expect((await authenticate(await challenge('ada'), { recovery_code: codes[0] })).status).toBe(200)
  })

  test('a login that ends well begins the count anew', async () => {
    for (let round = 0; round < 2; round++) {
      for (let n = 0; n < 4; n++) await authenticate(await challenge('ada'), { totp_code: wrong(secret) })
      expect((await authenticate(await challenge('ada'), { totp_code: code(secret) })).status).toBe(200)
      at(seconds + 30)
    }
  })

  test('ten tries a minute from one address', async () => {
    const headers = freshAddress()
    const token = await challenge('ada')
    const answers = []
    for (let n = 0; n < 11; n++) answers.push((await it.app.ask('POST', '/api/v1/auth/mfa/authenticate', { headers, body: { mfa_token: token, totp_code: wrong(secret) } })).status)
    expect(answers).toEqual([...Array<number>(10).fill(401), 429])
  })

  test('what ends sessions ends a challenge: a new password, a deactivation, no second factor any more', async () => {
    const before = await challenge('ada')
    await ask('POST', '/auth/users/ada/reset-password', admin, { new_password: PASSWORD })
    expect(said(await authenticate(before, { totp_code: code(secret) }))).toEqual([401, 'bad_challenge'])
    const second = await challenge('ada')
    await ask('PATCH', '/auth/users/ada', admin, { active: false })
    expect(said(await authenticate(second, { totp_code: code(secret) }))).toEqual([401, 'bad_challenge'])
    await ask('PATCH', '/auth/users/ada', admin, { active: true })
    const third = await challenge('ada')
    await ask('DELETE', '/auth/users/ada/mfa', admin)
    expect(said(await authenticate(third, { totp_code: code(secret) }))).toEqual([401, 'bad_challenge'])
  })
})

describe('an active second factor', () => {
  let secret: string
  let codes: string[]
  let session: string
  beforeEach(async () => {
    await it.user('ada', 'uploader')
    ;({ secret, codes, session } = await enable('ada'))
  })

  test('is switched off with the password alone, and its codes work no more', async () => {
    expect(said(await ask('POST', '/auth/mfa/disable', session, { password: 'wrong' }))).toEqual([400, 'wrong_password'])
    expect((await it.login('ada', PASSWORD)).json()).toMatchObject({ mfa_required: true })
    expect((await ask('POST', '/auth/mfa/disable', session, { password: PASSWORD })).status).toBe(200)
    expect((await it.login('ada', PASSWORD)).json()).toMatchObject({ token_type: 'bearer' })
    expect((await ask('GET', '/auth/me', session)).json()).toMatchObject({ mfa_enabled: false })
    expect(await it.stock.db.query('select 1 from recovery_code')).toEqual([])
    expect(said(await ask('POST', '/auth/mfa/disable', session, { password: PASSWORD }))).toEqual([409, 'mfa_not_active'])
    expect(await it.audited('MFA_DISABLE')).toMatchObject([{ user: 'ada', result: 'SUCCESS' }, { user: 'ada', result: 'FAILURE' }])
    // the next one is another secret
    expect((await ask('POST', '/auth/mfa/setup', session)).json().secret).not.toBe(secret)
  })

  test('new recovery codes need the password and end the old ones', async () => {
    expect(said(await ask('POST', '/auth/mfa/recovery-codes', session, { password: 'wrong' }))).toEqual([400, 'wrong_password'])
    expect((await ask('POST', '/auth/mfa/recovery-codes', session)).status).toBe(422)
    const answer = await ask('POST', '/auth/mfa/recovery-codes', session, { password: PASSWORD })
    const fresh = answer.json().recovery_codes as string[]
    expect([answer.status, fresh.length]).toEqual([200, 8])
    expect(fresh.filter(each => codes.includes(each))).toEqual([])
    expect(said(await authenticate(await challenge('ada'), { recovery_code: codes[0] }))).toEqual([401, 'bad_code'])
    expect((await authenticate(await challenge('ada'), { recovery_code: fresh[0] })).status).toBe(200)
  })

  test('guesses at the password with a borrowed session lock the account', async () => {
    for (let n = 0; n < 5; n++) await ask('POST', '/auth/mfa/disable', session, { password: `guess ${n}` })
    expect(said(await ask('POST', '/auth/mfa/disable', session, { password: PASSWORD }))).toEqual([400, 'wrong_password'])
    expect((await ask('GET', '/auth/me', session)).json()).toMatchObject({ mfa_enabled: true })
    at(seconds + 15 * 60)
    expect((await ask('POST', '/auth/mfa/disable', session, { password: PASSWORD })).status).toBe(200)
  })

  test('an admin resets it for somebody else, on the record; not one\'s own', async () => {
    expect(said(await ask('DELETE', '/auth/users/ada/mfa', session))).toEqual([403, 'forbidden'])
    expect((await ask('DELETE', '/auth/users/ada/mfa', admin)).status).toBe(200)
    expect((await it.login('ada', PASSWORD)).json()).toMatchObject({ token_type: 'bearer' })
    expect(await it.audited('MFA_RESET')).toMatchObject([{ user: 'root', result: 'SUCCESS', detail: 'ada, by an admin.' }])
    expect(said(await ask('DELETE', '/auth/users/ada/mfa', admin))).toEqual([409, 'mfa_not_active'])
    expect(said(await ask('DELETE', '/auth/users/ghost/mfa', admin))).toEqual([404, 'user_not_found'])
    await enable('root')
    expect(said(await ask('DELETE', '/auth/users/root/mfa', admin))).toEqual([400, 'own_mfa'])
  })
})

describe('the admin policy', () => {
  const policy = (enforce_admin_mfa: boolean, grace_period_days = 7) => it.settings.patch({ mfa_policy: { enforce_admin_mfa, grace_period_days } })
  const setupToken = async (username = 'root'): Promise<string> => {
    const answer = await it.login(username, PASSWORD)
    expect(answer.json()).toEqual({ mfa_setup_required: true, mfa_setup_token: expect.any(String) as string, expires_in: 1800 })
    return String(answer.json().mfa_setup_token)
  }

  test('switched off it changes nothing, and starts no clock', async () => {
    await it.login('root', PASSWORD)
    expect((await ask('GET', '/auth/me', admin)).json().mfa_grace).toBeUndefined()
    expect((await it.stock.db.first('select mfa_grace_from from account'))).toEqual({ mfa_grace_from: null })
  })

  test('the grace period counts from the first login after it was switched on, once, whatever the account\'s age', async () => {
    at(400 * DAY)
    await policy(true)
    admin = String((await it.login('root', PASSWORD)).json().access_token)
    expect((await ask('GET', '/auth/me', admin)).json().mfa_grace).toEqual({ days_remaining: 7 })
    at(401 * DAY)
    const next = String((await it.login('root', PASSWORD)).json().access_token)
    expect((await ask('GET', '/auth/me', next)).json().mfa_grace).toEqual({ days_remaining: 6 })
    // switching it off and on does not give another period
    await policy(false)
    expect((await ask('GET', '/auth/me', next)).json().mfa_grace).toBeUndefined()
    await policy(true)
    at(407 * DAY - 1)
    const last = await it.login('root', PASSWORD)
    expect((await ask('GET', '/auth/me', String(last.json().access_token))).json().mfa_grace).toEqual({ days_remaining: 1 })
    at(407 * DAY)
    await setupToken()
  })

  test('a period of no days asks at the first login, and other roles are never asked', async () => {
    await policy(true, 0)
    await setupToken()
    await it.user('mae', 'maintainer')
    expect((await it.login('mae', PASSWORD)).json()).toMatchObject({ token_type: 'bearer' })
    await ask('PATCH', '/auth/users/mae', admin, { role: 'admin' })
    await setupToken('mae')
  })

  test('an admin with a second factor is asked for the code, and the policy is not looked at', async () => {
    const { secret } = await enable('root')
    await policy(true, 0)
    expect((await authenticate(await challenge('root'), { totp_code: code(secret) })).status).toBe(200)
    expect((await it.stock.db.first('select mfa_grace_from from account'))).toEqual({ mfa_grace_from: null })
  })

  test('a session from before cannot be prolonged beyond the period', async () => {
    await policy(true, 0)
    expect((await ask('GET', '/auth/me', admin)).status).toBe(200)
    expect((await ask('POST', '/auth/refresh', admin)).status).toBe(401)
  })

  describe('when the period is over', () => {
    beforeEach(async () => { await policy(true, 0) })

    test('the setup token opens set-up and confirmation, and the confirmation is the login', async () => {
      const token = await setupToken()
      const secret = String((await ask('POST', '/auth/mfa/setup', token)).json().secret)
      expect(said(await ask('POST', '/auth/mfa/confirm', token, { totp_code: wrong(secret) }))).toEqual([400, 'wrong_code'])
      const answer = await ask('POST', '/auth/mfa/confirm', token, { totp_code: code(secret) })
      expect([answer.status, answer.json()]).toMatchObject([200, { access_token: expect.any(String) as string, token_type: 'bearer', recovery_codes: expect.any(Array) as string[] }])
      expect((await ask('GET', '/auth/users', String(answer.json().access_token))).status).toBe(200)
      expect((await ask('GET', '/auth/me', String(answer.json().access_token))).json()).toMatchObject({ mfa_enabled: true })
      expect((await it.audited('LOGIN'))[0]).toMatchObject({ result: 'SUCCESS', user: 'root' })
      // it was good for this, once; also after the second factor is gone
      expect((await ask('POST', '/auth/mfa/setup', token)).status).toBe(401)
      await ask('POST', '/auth/mfa/disable', String(answer.json().access_token), { password: PASSWORD })
      expect((await ask('POST', '/auth/mfa/setup', token)).status).toBe(401)
    })

    test('it ends after 30 minutes, and with a new password', async () => {
      const token = await setupToken()
      at(seconds + 1_799)
      expect((await ask('POST', '/auth/mfa/setup', token)).status).toBe(200)
      at(seconds + 1)
      expect((await ask('POST', '/auth/mfa/setup', token)).status).toBe(401)
      const another = await setupToken()
      await it.user('chief', 'admin')
      await ask('POST', '/auth/users/root/reset-password', await it.session('chief'), { new_password: PASSWORD })
      expect((await ask('POST', '/auth/mfa/setup', another)).status).toBe(401)
    })

    test('of two setup tokens the second finds the second factor active', async () => {
      const [first, second] = [await setupToken(), await setupToken()]
      const secret = String((await ask('POST', '/auth/mfa/setup', first)).json().secret)
      expect((await ask('POST', '/auth/mfa/confirm', first, { totp_code: code(secret) })).status).toBe(200)
      expect((await ask('POST', '/auth/mfa/setup', second)).status).toBe(401)
      expect((await ask('POST', '/auth/mfa/confirm', second, { totp_code: code(secret, 1) })).status).toBe(401)
    })

    test('it is no access token and no challenge', async () => {
      const token = await setupToken()
      expect(await works(token)).toBe(401)
      expect(said(await authenticate(token, { totp_code: '000000' }))).toEqual([401, 'bad_challenge'])
      for (const [method, path] of [['GET', '/auth/users'], ['POST', '/auth/mfa/disable'], ['GET', '/auth/mfa/status'], ['GET', '/auth/sessions'], ['POST', '/auth/refresh'], ['POST', '/auth/logout']] as const) {
        expect([path, (await ask(method, path, token, method === 'POST' ? { password: PASSWORD } : undefined)).status]).toEqual([path, 401])
      }
    })
  })
})
