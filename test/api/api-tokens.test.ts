import { describe, expect, test } from 'vitest'
import { accountRoutes } from '../support/account-routes.ts'
import { PASSWORD, type TestAccounts } from '../support/accounts.ts'

let it: TestAccounts
let admin: string
const { ask, me } = accountRoutes({
  started: made => {
    it = made
  },
  signedIn: token => {
    admin = token
  },
})

describe('API tokens', () => {
  const create = async (body: Record<string, unknown>) => await ask('POST', '/auth/api-tokens', admin, body)

  test('are shown once, work with their role, and are kept as a hash', async () => {
    const made = await create({ name: 'ci', role: 'uploader' })
    expect([made.status, made.json()]).toMatchObject([
      201,
      {
        id: expect.any(String) as string,
        name: 'ci',
        role: 'uploader',
        roles: ['uploader'],
        token: expect.stringMatching(/^svc_[\w-]{43}$/) as string,
        prefix: 'svc_',
        expires_at: null,
      },
    ])
    const token = String(made.json().token)
    expect((await ask('GET', '/auth/me', token)).json()).toMatchObject({
      username: 'ci',
      role: 'uploader',
      roles: ['uploader'],
      mfa_enabled: false,
    })
    expect((await ask('GET', '/auth/users', token)).status).toBe(403)
    const list = await ask('GET', '/auth/api-tokens', admin)
    expect(list.json()).toMatchObject({
      tokens: [
        { name: 'ci', role: 'uploader', created_by: 'root', last_used_at: '2026-03-01T10:00:00.000Z', expired: false },
      ],
    })
    expect(list.text).not.toContain(token.slice(4))
    expect(JSON.stringify(await it.stock.db.query('select * from api_token'))).not.toContain(token.slice(4))
    expect(JSON.stringify(it.app.logged) + JSON.stringify(await it.audited('TOKEN_CREATE'))).not.toContain(
      token.slice(4),
    )
  })

  test('end on their day, and at once when they are revoked', async () => {
    const { token, id } = (await create({ name: 'ci', role: 'reader', expires_days: 2 })).json()
    it.stock.clock.set('2026-03-03T09:59:59Z')
    expect(await me(String(token))).toBe(200)
    it.stock.clock.set('2026-03-03T10:00:00Z')
    expect(await me(String(token))).toBe(401)
    it.stock.clock.set('2026-03-01T10:00:00Z')
    expect((await ask('DELETE', `/auth/api-tokens/${String(id)}`, admin)).status).toBe(200)
    expect(await me(String(token))).toBe(401)
    expect((await ask('DELETE', `/auth/api-tokens/${String(id)}`, admin)).status).toBe(404)
    expect((await ask('DELETE', '/auth/api-tokens/nonsense', admin)).status).toBe(404)
  })

  test.each([
    { name: '', role: 'reader' },
    { name: 'x', role: 'reader', expires_days: 0 },
    { name: 'x', role: 'reader', expires_days: 1.5 },
    { name: 'x' },
    { role: 'reader' },
    { name: 'a\nb', role: 'reader' },
  ])('%j is refused', async body => {
    expect((await create(body)).status).toBe(422)
  })

  test.each(['Ada\u202e', 'a\u2028b', 'ci\u200b', 'a\u0085b'])(
    '%j is no name: it would hide or turn round what lists and logs show',
    async name => {
      expect((await create({ name, role: 'reader' })).status).toBe(422)
    },
  )

  test('rest while whoever made them is deactivated, and end when that account is deleted meanwhile', async () => {
    await it.user('mae', 'admin')
    const made = await ask('POST', '/auth/api-tokens', await it.session('mae'), { name: 'of mae', role: 'reader' })
    const token = String(made.json().token)
    expect(await me(token)).toBe(200)
    await ask('PATCH', '/auth/users/mae', admin, { active: false })
    expect(await me(token)).toBe(401)
    await ask('PATCH', '/auth/users/mae', admin, { active: true })
    expect(await me(token)).toBe(200)
    await ask('PATCH', '/auth/users/mae', admin, { active: false })
    await ask('DELETE', '/auth/users/mae', admin)
    expect(await me(token)).toBe(401)
    expect((await ask('GET', '/auth/api-tokens', admin)).json()).toEqual({ tokens: [] })
  })

  test('have no password to change', async () => {
    const { token } = (await create({ name: 'ci', role: 'admin' })).json()
    expect(
      (
        await ask('POST', '/auth/change-password', String(token), {
          current_password: PASSWORD,
          new_password: 'Another-Horse-2',
        })
      ).status,
    ).toBe(400)
  })

  test('note their last use at most once a minute', async () => {
    const { token } = (await create({ name: 'ci', role: 'reader' })).json()
    const used = async (at: string): Promise<unknown> => {
      it.stock.clock.set(at)
      await me(String(token))
      return (
        await it.stock.db.first<{ last_used_at: Date }>('select last_used_at from api_token')
      )?.last_used_at.toISOString()
    }
    expect([
      await used('2026-03-01T10:00:00.000Z'),
      await used('2026-03-01T10:00:59.000Z'),
      await used('2026-03-01T10:01:01.000Z'),
    ]).toEqual(['2026-03-01T10:00:00.000Z', '2026-03-01T10:00:00.000Z', '2026-03-01T10:01:01.000Z'])
  })
})
