import { createHmac } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { PASSWORD, SECRET } from '../support/accounts.ts'
import { freshAddress } from '../support/app.ts'
import { openMfa, said } from '../support/mfa.ts'

const mfa = openMfa()
const { at, ask, code, wrong, authenticate, challenge, enable } = mfa

describe('a login with a second factor', () => {
  let secret: string
  let codes: string[]
  beforeEach(async () => {
    await mfa.accounts.user('ada', 'maintainer')
    ;({ secret, codes } = await enable('ada'))
  })

  test('the password gives a challenge and no access; the code gives the session', async () => {
    const token = await challenge('ada')
    expect(said(await ask('GET', '/auth/me', token))).toEqual([401, 'bad_credential'])
    const answer = await authenticate(token, { totp_code: code(secret) })
    expect([answer.status, answer.json()]).toEqual([
      200,
      { access_token: expect.any(String) as string, token_type: 'bearer', expires_in: 3600 },
    ])
    expect((await ask('GET', '/auth/me', String(answer.json().access_token))).json()).toMatchObject({
      username: 'ada',
      role: 'maintainer',
      mfa_enabled: true,
    })
    expect((await mfa.accounts.audited('LOGIN')).map(({ user, result, detail }) => [user, result, detail])).toEqual([
      ['ada', 'SUCCESS', 'With a password and a code.'],
      ['ada', 'WARNING', 'With a password; the second factor is awaited.'],
    ])
  })

  test('a wrong password gives no challenge', async () => {
    expect(said(await mfa.accounts.login('ada', 'wrong'))).toEqual([401, 'bad_password'])
  })

  test('the code of the set-up is used up, in the same step and the next', async () => {
    await mfa.accounts.user('bob', 'reader')
    const session = await mfa.accounts.session('bob')
    const own = String((await ask('POST', '/auth/mfa/setup', session)).json().secret)
    const first = code(own)
    await ask('POST', '/auth/mfa/confirm', session, { totp_code: first })
    expect(said(await authenticate(await challenge('bob'), { totp_code: first }))).toEqual([401, 'bad_code'])
    at(mfa.seconds + 29)
    expect(said(await authenticate(await challenge('bob'), { totp_code: first }))).toEqual([401, 'bad_code'])
    expect((await authenticate(await challenge('bob'), { totp_code: code(own, 1) })).status).toBe(200)
  })

  test.each([
    ['early', 2],
    ['late', -2],
  ])('a code that is two steps too %s is refused, and the challenge still good', async (_, offset) => {
    const token = await challenge('ada')
    expect(said(await authenticate(token, { totp_code: code(secret, offset) }))).toEqual([401, 'bad_code'])
    expect((await authenticate(token, { totp_code: code(secret) })).status).toBe(200)
  })

  test('a code works once: not again in its step, not in the next, not after a restart, and none before it', async () => {
    const used = code(secret)
    expect((await authenticate(await challenge('ada'), { totp_code: used })).status).toBe(200)
    expect(said(await authenticate(await challenge('ada'), { totp_code: used }))).toEqual([401, 'bad_code'])
    expect(said(await authenticate(await challenge('ada'), { totp_code: code(secret, -1) }))).toEqual([401, 'bad_code'])
    const again = await mfa.accounts.restarted()
    const token = String((await again.login('ada', PASSWORD)).json().mfa_token)
    const replayed = await again.app.ask('POST', '/api/v1/auth/mfa/authenticate', {
      body: { mfa_token: token, totp_code: used },
      headers: freshAddress(),
    })
    await again.close()
    expect(said(replayed)).toEqual([401, 'bad_code'])
    at(mfa.seconds + 30)
    expect(said(await authenticate(await challenge('ada'), { totp_code: used }))).toEqual([401, 'bad_code'])
    at(mfa.seconds + 30)
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
    at(mfa.seconds + 30)
    expect((await authenticate(first, { totp_code: code(secret) })).status).toBe(200)
    at(mfa.seconds + 30)
    for (const token of [first, second])
      expect(said(await authenticate(token, { totp_code: code(secret) }))).toEqual([401, 'bad_challenge'])
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
    at(mfa.seconds + 299)
    expect(said(await authenticate(token, { totp_code: wrong(secret) }))).toEqual([401, 'bad_code'])
    at(mfa.seconds + 1)
    expect(said(await authenticate(token, { totp_code: code(secret) }))).toEqual([401, 'bad_challenge'])
  })

  test('a challenge of another account, an access token, a setup token and forgeries are no challenge of this one', async () => {
    await mfa.accounts.user('eve', 'admin')
    const eve = await enable('eve')
    const access = await mfa.accounts.session('ada')
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
      'an access token': access,
      'another secret': sign(payload, 'another'),
      'no algorithm': `${sign(payload, SECRET, { alg: 'none' }).split('.').slice(0, 2).join('.')}.`,
      'another use': sign({ ...payload, use: 'mfa_setup_required' }),
      'use access': sign({ ...payload, use: 'access' }),
      'another user': sign({ ...payload, sub: 'ghost' }),
      'nothing': 'x',
      'without a second factor': sign({ ...payload, sub: 'root' }),
    }
    for (const [what, token] of Object.entries(forged))
      expect([what, ...said(await authenticate(token, { totp_code: code(secret) }))]).toEqual([
        what,
        401,
        'bad_challenge',
      ])
    expect((await authenticate(good, { totp_code: code(secret) })).status).toBe(200)
  })

  test('exactly one proof is asked for', async () => {
    const token = await challenge('ada')
    for (const proof of [{}, { totp_code: code(secret), recovery_code: codes[0] }])
      expect((await authenticate(token, proof)).status).toBe(422)
    expect((await authenticate(token, { totp_code: '12 345' })).status).toBe(422)
    expect((await authenticate(token, { totp_code: code(secret) })).status).toBe(200)
  })

  test('a recovery code works once, however it is typed; the others stay', async () => {
    const typed = ` ${(codes[3] ?? '').toUpperCase().replaceAll('-', ' ').replaceAll('0', 'O').replaceAll('1', 'l')} `
    const answer = await authenticate(await challenge('ada'), { recovery_code: typed })
    expect(answer.status).toBe(200)
    const session = String(answer.json().access_token)
    expect((await ask('GET', '/auth/mfa/recovery-codes/count', session)).json()).toEqual({ remaining: 7 })
    expect(said(await authenticate(await challenge('ada'), { recovery_code: codes[3] }))).toEqual([401, 'bad_code'])
    expect((await authenticate(await challenge('ada'), { recovery_code: codes[4] })).status).toBe(200)
    expect(await mfa.accounts.audited('LOGIN')).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ detail: 'With a password and a recovery code; 7 are left.' }),
      ]) as object,
    )
  })

  test('five wrong codes lock the account, whatever the challenge; the right password does not reset the count', async () => {
    const early = await challenge('ada')
    for (let n = 0; n < 4; n++)
      expect(said(await authenticate(await challenge('ada'), { totp_code: wrong(secret) }))).toEqual([401, 'bad_code'])
    expect(said(await authenticate(early, { recovery_code: 'aaaa-aaaa-aaaa-aaaa' }))).toEqual([401, 'bad_code'])
    // the answer of a locked account is the same, and uses nothing up
    expect(said(await authenticate(early, { totp_code: code(secret) }))).toEqual([401, 'bad_code'])
    expect(said(await authenticate(early, { recovery_code: codes[0] }))).toEqual([401, 'bad_code'])
    expect(said(await mfa.accounts.login('ada', PASSWORD))).toEqual([401, 'bad_password'])
    at(mfa.seconds + 15 * 60)
    expect((await authenticate(await challenge('ada'), { recovery_code: codes[0] })).status).toBe(200)
  })

  test('a successful login resets the count', async () => {
    for (let round = 0; round < 2; round++) {
      for (let n = 0; n < 4; n++) await authenticate(await challenge('ada'), { totp_code: wrong(secret) })
      expect((await authenticate(await challenge('ada'), { totp_code: code(secret) })).status).toBe(200)
      at(mfa.seconds + 30)
    }
  })

  test('ten tries a minute from one address', async () => {
    const headers = freshAddress()
    const token = await challenge('ada')
    const answers = []
    for (let n = 0; n < 11; n++)
      answers.push(
        (
          await mfa.accounts.app.ask('POST', '/api/v1/auth/mfa/authenticate', {
            headers,
            body: { mfa_token: token, totp_code: wrong(secret) },
          })
        ).status,
      )
    expect(answers).toEqual([...Array<number>(10).fill(401), 429])
  })

  test('what ends sessions ends a challenge: a new password, a deactivation, no second factor any more', async () => {
    const before = await challenge('ada')
    await ask('POST', '/auth/users/ada/reset-password', mfa.admin, { new_password: PASSWORD })
    expect(said(await authenticate(before, { totp_code: code(secret) }))).toEqual([401, 'bad_challenge'])
    const second = await challenge('ada')
    await ask('PATCH', '/auth/users/ada', mfa.admin, { active: false })
    expect(said(await authenticate(second, { totp_code: code(secret) }))).toEqual([401, 'bad_challenge'])
    await ask('PATCH', '/auth/users/ada', mfa.admin, { active: true })
    const third = await challenge('ada')
    await ask('DELETE', '/auth/users/ada/mfa', mfa.admin)
    expect(said(await authenticate(third, { totp_code: code(secret) }))).toEqual([401, 'bad_challenge'])
  })
})
