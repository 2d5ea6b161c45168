import { beforeEach, describe, expect, test } from 'vitest'
import { PASSWORD } from '../support/accounts.ts'
import { openMfa, said } from '../support/mfa.ts'

const DAY = 86_400
const mfa = openMfa()
const { at, ask, code, wrong, authenticate, challenge, works, enable } = mfa

describe('the admin policy', () => {
  const policy = (enforce_admin_mfa: boolean, grace_period_days = 7) =>
    mfa.accounts.settings.patch({ mfa_policy: { enforce_admin_mfa, grace_period_days } })
  const setupToken = async (username = 'root'): Promise<string> => {
    const answer = await mfa.accounts.login(username, PASSWORD)
    expect(answer.json()).toEqual({
      mfa_setup_required: true,
      mfa_setup_token: expect.any(String) as string,
      expires_in: 1800,
    })
    return String(answer.json().mfa_setup_token)
  }

  test('switched off it changes nothing, and starts no clock', async () => {
    await mfa.accounts.login('root', PASSWORD)
    expect((await ask('GET', '/auth/me', mfa.admin)).json().mfa_grace).toBeUndefined()
    expect(await mfa.accounts.stock.db.first('select mfa_grace_from from account')).toEqual({ mfa_grace_from: null })
  })

  test("the grace period counts from the first login after it was switched on, once, whatever the account's age", async () => {
    at(400 * DAY)
    await policy(true)
    const first = String((await mfa.accounts.login('root', PASSWORD)).json().access_token)
    expect((await ask('GET', '/auth/me', first)).json().mfa_grace).toEqual({ days_remaining: 7 })
    at(401 * DAY)
    const next = String((await mfa.accounts.login('root', PASSWORD)).json().access_token)
    expect((await ask('GET', '/auth/me', next)).json().mfa_grace).toEqual({ days_remaining: 6 })
    // switching it off and on does not give another period
    await policy(false)
    expect((await ask('GET', '/auth/me', next)).json().mfa_grace).toBeUndefined()
    await policy(true)
    at(407 * DAY - 1)
    const last = await mfa.accounts.login('root', PASSWORD)
    expect((await ask('GET', '/auth/me', String(last.json().access_token))).json().mfa_grace).toEqual({
      days_remaining: 1,
    })
    at(407 * DAY)
    await setupToken()
  })

  test('a period of no days asks at the first login, and other roles are never asked', async () => {
    await policy(true, 0)
    await setupToken()
    await mfa.accounts.user('mae', 'maintainer')
    expect((await mfa.accounts.login('mae', PASSWORD)).json()).toMatchObject({ token_type: 'bearer' })
    await ask('PATCH', '/auth/users/mae', mfa.admin, { role: 'admin' })
    await setupToken('mae')
  })

  test('an admin with a second factor is asked for the code, and the policy is not looked at', async () => {
    const { secret } = await enable('root')
    await policy(true, 0)
    expect((await authenticate(await challenge('root'), { totp_code: code(secret) })).status).toBe(200)
    expect(await mfa.accounts.stock.db.first('select mfa_grace_from from account')).toEqual({ mfa_grace_from: null })
  })

  test('a session from before cannot be prolonged beyond the period', async () => {
    await policy(true, 0)
    expect((await ask('GET', '/auth/me', mfa.admin)).status).toBe(200)
    expect((await ask('POST', '/auth/refresh', mfa.admin)).status).toBe(401)
  })

  describe('when the period is over', () => {
    beforeEach(async () => {
      await policy(true, 0)
    })

    test('the setup token opens set-up and confirmation, and the confirmation is the login', async () => {
      const token = await setupToken()
      const secret = String((await ask('POST', '/auth/mfa/setup', token)).json().secret)
      expect(said(await ask('POST', '/auth/mfa/confirm', token, { totp_code: wrong(secret) }))).toEqual([
        400,
        'wrong_code',
      ])
      const answer = await ask('POST', '/auth/mfa/confirm', token, { totp_code: code(secret) })
      expect([answer.status, answer.json()]).toMatchObject([
        200,
        {
          access_token: expect.any(String) as string,
          token_type: 'bearer',
          recovery_codes: expect.any(Array) as string[],
        },
      ])
      expect((await ask('GET', '/auth/users', String(answer.json().access_token))).status).toBe(200)
      expect((await ask('GET', '/auth/me', String(answer.json().access_token))).json()).toMatchObject({
        mfa_enabled: true,
      })
      expect((await mfa.accounts.audited('LOGIN'))[0]).toMatchObject({ result: 'SUCCESS', user: 'root' })
      // it was good for this, once; also after the second factor is gone
      expect((await ask('POST', '/auth/mfa/setup', token)).status).toBe(401)
      await ask('POST', '/auth/mfa/disable', String(answer.json().access_token), { password: PASSWORD })
      expect((await ask('POST', '/auth/mfa/setup', token)).status).toBe(401)
    })

    test('it ends after 30 minutes, and with a new password', async () => {
      const token = await setupToken()
      at(mfa.seconds + 1_799)
      expect((await ask('POST', '/auth/mfa/setup', token)).status).toBe(200)
      at(mfa.seconds + 1)
      expect((await ask('POST', '/auth/mfa/setup', token)).status).toBe(401)
      const another = await setupToken()
      await mfa.accounts.user('chief', 'admin')
      await ask('POST', '/auth/users/root/reset-password', await mfa.accounts.session('chief'), {
        new_password: PASSWORD,
      })
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
      for (const [method, path] of [
        ['GET', '/auth/users'],
        ['POST', '/auth/mfa/disable'],
        ['GET', '/auth/mfa/status'],
        ['GET', '/auth/sessions'],
        ['POST', '/auth/refresh'],
        ['POST', '/auth/logout'],
      ] as const) {
        expect([
          path,
          (await ask(method, path, token, method === 'POST' ? { password: PASSWORD } : undefined)).status,
        ]).toEqual([path, 401])
      }
    })
  })
})
