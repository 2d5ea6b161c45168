import { beforeEach, describe, expect, test } from 'vitest'
import { PASSWORD } from '../support/accounts.ts'
import { openMfa, said } from '../support/mfa.ts'

const mfa = openMfa()
const { at, ask, code, authenticate, challenge, enable } = mfa

describe('no second factor', () => {
  test('setup gives secret, URI and a PNG, and changes nothing about logins', async () => {
    const made = await ask('POST', '/auth/mfa/setup', mfa.admin)
    expect([made.status, made.json()]).toEqual([
      200,
      {
        secret: expect.stringMatching(/^[A-Z2-7]{32}$/) as string,
        uri: expect.stringContaining('otpauth://totp/Gatehouse:root?secret=') as string,
        qr_code_base64: expect.stringMatching(/^iVBORw0KGgo[A-Za-z0-9+/]+=*$/) as string,
      },
    ])
    expect(made.json().uri).toContain(String(made.json().secret))
    expect((await mfa.accounts.login('root', PASSWORD)).json()).toMatchObject({ token_type: 'bearer' })
    expect((await ask('GET', '/auth/me', mfa.admin)).json()).toMatchObject({ mfa_enabled: false })
    expect((await ask('GET', '/auth/mfa/status', mfa.admin)).json()).toEqual({
      enabled: false,
      pending: true,
      recovery_codes_remaining: 0,
      required: false,
    })
  })

  test('there is nothing to confirm, disable or renew', async () => {
    expect(said(await ask('POST', '/auth/mfa/confirm', mfa.admin, { totp_code: '000000' }))).toEqual([
      409,
      'mfa_not_pending',
    ])
    expect(said(await ask('POST', '/auth/mfa/disable', mfa.admin, { password: PASSWORD }))).toEqual([
      409,
      'mfa_not_active',
    ])
    expect(said(await ask('POST', '/auth/mfa/recovery-codes', mfa.admin, { password: PASSWORD }))).toEqual([
      409,
      'mfa_not_active',
    ])
    expect((await ask('GET', '/auth/mfa/recovery-codes/count', mfa.admin)).json()).toEqual({ remaining: 0 })
  })

  test('an API token has none to set up', async () => {
    const token = String((await ask('POST', '/auth/api-tokens', mfa.admin, { name: 'ci', role: 'admin' })).json().token)
    expect(said(await ask('POST', '/auth/mfa/setup', token))).toEqual([400, 'no_account'])
    expect(said(await ask('POST', '/auth/mfa/disable', token, { password: PASSWORD }))).toEqual([400, 'no_account'])
    expect((await ask('GET', '/auth/mfa/recovery-codes/count', token)).json()).toEqual({ remaining: 0 })
  })
})

describe('a secret that waits for its first code', () => {
  let secret: string
  beforeEach(async () => {
    secret = String((await ask('POST', '/auth/mfa/setup', mfa.admin)).json().secret)
  })

  test('the right code makes it active and gives eight recovery codes, this once', async () => {
    const answer = await ask('POST', '/auth/mfa/confirm', mfa.admin, { totp_code: code(secret) })
    expect([answer.status, Object.keys(answer.json()).sort()]).toEqual([200, ['message', 'recovery_codes']])
    const codes = answer.json().recovery_codes as string[]
    expect(new Set(codes).size).toBe(8)
    for (const each of codes) expect(each).toMatch(/^([0-9a-hjkmnp-tv-z]{4}-){3}[0-9a-hjkmnp-tv-z]{4}$/)
    expect((await ask('GET', '/auth/me', mfa.admin)).json()).toMatchObject({ mfa_enabled: true })
    expect((await ask('GET', '/auth/mfa/recovery-codes/count', mfa.admin)).json()).toEqual({ remaining: 8 })
    expect(await mfa.accounts.audited('MFA_ENABLE')).toMatchObject([{ user: 'root', result: 'SUCCESS' }])
    expect(said(await ask('POST', '/auth/mfa/confirm', mfa.admin, { totp_code: code(secret, 1) }))).toEqual([
      409,
      'mfa_active',
    ])
    expect(said(await ask('POST', '/auth/mfa/setup', mfa.admin))).toEqual([409, 'mfa_active'])
  })

  test.each([
    ['early', 2],
    ['late', -2],
  ])('a code that is two steps too %s is refused', async (_, offset) => {
    expect(said(await ask('POST', '/auth/mfa/confirm', mfa.admin, { totp_code: code(secret, offset) }))).toEqual([
      400,
      'wrong_code',
    ])
    expect((await ask('GET', '/auth/me', mfa.admin)).json()).toMatchObject({ mfa_enabled: false })
  })

  test.each([
    ['before', -1],
    ['after', 1],
  ])('a code of the step %s this one is taken', async (_, offset) => {
    expect((await ask('POST', '/auth/mfa/confirm', mfa.admin, { totp_code: code(secret, offset) })).status).toBe(200)
  })

  test.each(['12345', '1234567', 'abcdef', '１２３４５６', ''])('%j is no code', async totp_code => {
    expect((await ask('POST', '/auth/mfa/confirm', mfa.admin, { totp_code })).status).toBe(422)
  })

  test("a new set-up replaces it, and somebody else's code is not one", async () => {
    const second = String((await ask('POST', '/auth/mfa/setup', mfa.admin)).json().secret)
    expect(second).not.toBe(secret)
    expect(said(await ask('POST', '/auth/mfa/confirm', mfa.admin, { totp_code: code(secret) }))).toEqual([
      400,
      'wrong_code',
    ])
    expect((await ask('POST', '/auth/mfa/confirm', mfa.admin, { totp_code: code(second) })).status).toBe(200)
  })

  test('neither it nor a recovery code is readable in the database or the log', async () => {
    const codes = (await ask('POST', '/auth/mfa/confirm', mfa.admin, { totp_code: code(secret) })).json()
      .recovery_codes as string[]
    const dump = JSON.stringify([
      await mfa.accounts.stock.db.query('select * from account'),
      await mfa.accounts.stock.db.query('select * from recovery_code'),
      mfa.accounts.app.logged,
      await mfa.accounts.audited('MFA_ENABLE'),
    ])
    for (const each of [secret, ...codes, ...codes.map(plain => plain.replaceAll('-', ''))])
      expect(dump).not.toContain(each)
    expect(dump).toMatch(/"mfa_secret":"enc:v1:/)
  })
})

describe('an active second factor', () => {
  let secret: string
  let codes: string[]
  let session: string
  beforeEach(async () => {
    await mfa.accounts.user('ada', 'uploader')
    ;({ secret, codes, session } = await enable('ada'))
  })

  test('is switched off with the password alone, and its codes work no more', async () => {
    expect(said(await ask('POST', '/auth/mfa/disable', session, { password: 'wrong' }))).toEqual([
      400,
      'wrong_password',
    ])
    expect((await mfa.accounts.login('ada', PASSWORD)).json()).toMatchObject({ mfa_required: true })
    expect((await ask('POST', '/auth/mfa/disable', session, { password: PASSWORD })).status).toBe(200)
    expect((await mfa.accounts.login('ada', PASSWORD)).json()).toMatchObject({ token_type: 'bearer' })
    expect((await ask('GET', '/auth/me', session)).json()).toMatchObject({ mfa_enabled: false })
    expect(await mfa.accounts.stock.db.query('select 1 from recovery_code')).toEqual([])
    expect(said(await ask('POST', '/auth/mfa/disable', session, { password: PASSWORD }))).toEqual([
      409,
      'mfa_not_active',
    ])
    expect(await mfa.accounts.audited('MFA_DISABLE')).toMatchObject([
      { user: 'ada', result: 'SUCCESS' },
      { user: 'ada', result: 'FAILURE' },
    ])
    // the next one is another secret
    expect((await ask('POST', '/auth/mfa/setup', session)).json().secret).not.toBe(secret)
  })

  test('new recovery codes need the password and end the old ones', async () => {
    expect(said(await ask('POST', '/auth/mfa/recovery-codes', session, { password: 'wrong' }))).toEqual([
      400,
      'wrong_password',
    ])
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
    expect(said(await ask('POST', '/auth/mfa/disable', session, { password: PASSWORD }))).toEqual([
      400,
      'wrong_password',
    ])
    expect((await ask('GET', '/auth/me', session)).json()).toMatchObject({ mfa_enabled: true })
    at(mfa.seconds + 15 * 60)
    expect((await ask('POST', '/auth/mfa/disable', session, { password: PASSWORD })).status).toBe(200)
  })

  test("an admin resets it for somebody else, on the record; not one's own", async () => {
    expect(said(await ask('DELETE', '/auth/users/ada/mfa', session))).toEqual([403, 'forbidden'])
    expect((await ask('DELETE', '/auth/users/ada/mfa', mfa.admin)).status).toBe(200)
    expect((await mfa.accounts.login('ada', PASSWORD)).json()).toMatchObject({ token_type: 'bearer' })
    expect(await mfa.accounts.audited('MFA_RESET')).toMatchObject([
      { user: 'root', result: 'SUCCESS', detail: 'ada, by an admin.' },
    ])
    expect(said(await ask('DELETE', '/auth/users/ada/mfa', mfa.admin))).toEqual([409, 'mfa_not_active'])
    expect(said(await ask('DELETE', '/auth/users/ghost/mfa', mfa.admin))).toEqual([404, 'user_not_found'])
    await enable('root')
    expect(said(await ask('DELETE', '/auth/users/root/mfa', mfa.admin))).toEqual([400, 'own_mfa'])
  })
})
