import { generateSync } from 'otplib/functional'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADMIN, startDaemon, type Answer, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'

let daemon: Daemon
let admin: string
beforeAll(async () => {
  daemon = await startDaemon()
  admin = await daemon.setupAdmin()
  for (const codename of ['jammy', 'noble'])
    expect((await daemon.call('POST', '/distributions/init', { token: admin, body: { codename } })).status).toBe(200)
})
afterAll(() => daemon.close())

const create = (body: Record<string, unknown>): Promise<Answer> =>
  daemon.call('POST', '/auth/api-tokens', { token: admin, body })
const tokenOf = async (body: Record<string, unknown>): Promise<string> => String((await create(body)).body.token)
const package1 = await buildDeb({ name: 'limited', version: '1' })
const published = async (codename: string): Promise<unknown> =>
  (await daemon.call('GET', `/distributions/${codename}/packages`, { token: admin })).body.total

describe('an API token with limits', () => {
  test('is answered and listed with them, with its expiry and whether that is soon', async () => {
    const made = await create({
      name: 'noble ci',
      role: 'uploader',
      expires_days: 14,
      scopes: { distributions: ['noble', 'noble'], upload_only: true },
    })
    expect([made.status, made.body]).toMatchObject([
      201,
      {
        role: 'uploader',
        scopes: { distributions: ['noble'], upload_only: true, uploads_per_minute: null },
        expires_at: expect.any(String) as string,
      },
    ])
    await create({ name: 'later', role: 'reader', expires_days: 15 })
    const { body } = await daemon.call<{ tokens: { name: string }[] }>('GET', '/auth/api-tokens', { token: admin })
    const find = (name: string): unknown => body.tokens.find(token => token.name === name)
    expect(find('noble ci')).toMatchObject({
      scopes: { distributions: ['noble'], upload_only: true, uploads_per_minute: null },
      expired: false,
      expires_soon: true,
      last_used_at: null,
      created_by: 'admin',
    })
    expect(find('later')).toMatchObject({
      scopes: { distributions: null, upload_only: false, uploads_per_minute: null },
      expired: false,
      expires_soon: false,
    })
  })

  test.each([
    [{ scopes: { distributions: ['narnia'] } }, 'unknown_distribution'],
    [{ scopes: { distributions: [] } }, 'bad_shape'],
    [{ role: 'reader', scopes: { upload_only: true } }, 'useless_scope'],
    [{ role: 'auditor', scopes: { upload_only: true } }, 'useless_scope'],
  ])('%j is refused with %s', async (over, code) => {
    const answer = await create({ name: 'x', role: 'uploader', ...over })
    expect([answer.status, answer.body.code]).toEqual([422, code])
  })

  test('uploads to its own distribution, and is told in a sentence about another; nothing is kept of that', async () => {
    const token = await tokenOf({ name: 'n', role: 'uploader', scopes: { distributions: ['noble'] } })
    const refused = await daemon.upload(package1, { token, distribution: 'jammy' })
    expect([refused.status, refused.body]).toMatchObject([
      403,
      {
        code: 'outside_distribution',
        detail: 'This API token may not touch jammy; it is limited to noble. Use a token for jammy.',
      },
    ])
    expect(await published('jammy')).toBe(0)
    expect((await daemon.upload(package1, { token, distribution: 'noble' })).status).toBe(201)
    expect((await daemon.call('GET', '/packages/', { token })).status).toBe(200)
  })

  test('a form that names its distribution last is refused as well', async () => {
    const token = await tokenOf({ name: 'n', role: 'uploader', scopes: { distributions: ['noble'] } })
    const form = new FormData()
    form.set('file', new Blob([new Uint8Array(package1)]), 'limited_1_amd64.deb')
    form.set('distribution', 'jammy')
    for (const path of ['/upload/', '/upload/stream'])
      expect((await daemon.call('POST', path, { token, form })).status).toBe(403)
    expect(await published('jammy')).toBe(0)
  })

  test('for uploads only does nothing else', async () => {
    const token = await tokenOf({ name: 'u', role: 'admin', scopes: { upload_only: true } })
    const refused = await daemon.call('GET', '/packages/', { token })
    expect([refused.status, refused.body]).toMatchObject([
      403,
      {
        code: 'outside_scope',
        detail:
          'This API token is limited to uploads to any distribution, and this reaches further. Use a token without that limit, or log in.',
      },
    ])
    expect((await daemon.call('GET', '/auth/me', { token })).body).toMatchObject({
      role: 'admin',
      expires_at: null,
      expires_soon: false,
      scopes: { distributions: null, upload_only: true },
    })
    expect((await daemon.upload(package1, { token, distribution: 'noble' })).status).toBe(200)
  })

  test('makes no token without the limit', async () => {
    const token = await tokenOf({ name: 'a', role: 'admin', scopes: { distributions: ['noble'] } })
    expect(
      (await daemon.call('POST', '/auth/api-tokens', { token, body: { name: 'free', role: 'admin' } })).status,
    ).toBe(403)
    expect((await daemon.call('PATCH', '/settings/', { token, body: {} })).status).toBe(403)
    expect((await daemon.call('POST', '/distributions/jammy/rollback', { token, body: {} })).body).toMatchObject({
      code: 'outside_distribution',
    })
  })

  describe('to distributions, with a role that changes packages', () => {
    let jammy: string
    let both: string
    const acts = (token: string, method: string, path: string, body?: object): Promise<Answer> =>
      daemon.call(method, path, { token, ...(body === undefined ? {} : { body }) })
    const names = async (codename: string): Promise<unknown> =>
      (
        await daemon.call<{ items: { name: string }[] }>('GET', `/distributions/${codename}/packages?q=moved`, {
          token: admin,
        })
      ).body.items.map(({ name }) => name)

    beforeAll(async () => {
      jammy = await tokenOf({ name: 'jammy', role: 'maintainer', scopes: { distributions: ['jammy'] } })
      both = await tokenOf({ name: 'both', role: 'maintainer', scopes: { distributions: ['jammy', 'noble'] } })
      expect(
        (await daemon.upload(await buildDeb({ name: 'moved', version: '1' }), { token: jammy, distribution: 'jammy' }))
          .status,
      ).toBe(201)
    })

    test.each([
      [
        'promotes out of it',
        'POST',
        '/distributions/promote',
        { package: 'moved', from_dist: 'jammy', to_dist: 'noble' },
      ],
      [
        'promotes into it',
        'POST',
        '/distributions/promote',
        { name: 'limited', from_distribution: 'noble', to_distribution: 'jammy' },
      ],
      [
        'tries what a promotion would do elsewhere',
        'POST',
        '/distributions/promote',
        { package: 'limited', from_dist: 'noble', to_dist: 'focal', dry_run: true },
      ],
      ['migrates out of it', 'POST', '/distributions/migrate', { from_dist: 'jammy', to_dist: 'noble' }],
      [
        'migrates into it',
        'POST',
        '/distributions/migrate',
        { from_dist: 'noble', to_dist: 'jammy', packages: ['limited'] },
      ],
      ['sets another one up', 'POST', '/distributions/init', { codename: 'noble' }],
      [
        'names one that is none',
        'POST',
        '/distributions/promote',
        { package: 'moved', from_dist: 'jammy', to_dist: 'narnia' },
      ],
      ['deletes elsewhere', 'DELETE', '/artifacts/limited', undefined],
      ['deletes one version elsewhere', 'DELETE', '/artifacts/limited/1', undefined],
      ['keeps a version elsewhere', 'POST', '/distributions/noble/pins', { name: 'limited', version: '1' }],
    ])('never %s', async (_, method, path, body) => {
      const before = [await names('jammy'), await names('noble'), await published('noble')]
      expect((await acts(jammy, method, path, body)).body).toMatchObject({
        code: 'outside_distribution',
        facts: { allowed: 'jammy' },
      })
      expect([await names('jammy'), await names('noble'), await published('noble')]).toEqual(before)
    })

    test.each([
      ['sets everything up', 'POST', '/distributions/init', {}],
      ['rebuilds the index of all', 'POST', '/artifacts/admin/sync-index', undefined],
    ])('never %s', async (_, method, path, body) => {
      expect((await acts(jammy, method, path, body)).body).toMatchObject({ code: 'outside_scope' })
    })

    test('acts where all it touches is its own: sets up, promotes, migrates, deletes', async () => {
      expect((await acts(jammy, 'POST', '/distributions/init', { codename: 'jammy' })).status).toBe(200)
      expect(
        (await acts(both, 'POST', '/distributions/promote', { package: 'moved', from_dist: 'jammy', to_dist: 'noble' }))
          .body,
      ).toMatchObject({ status: 'promoted' })
      expect(
        (await acts(both, 'POST', '/distributions/migrate', { from_dist: 'noble', to_dist: 'jammy' })).status,
      ).toBe(200)
      // of what lies in both, a token for one deletes nothing unless it says which
      expect((await acts(jammy, 'DELETE', '/artifacts/moved')).body).toMatchObject({
        code: 'outside_distribution',
        facts: { codename: 'noble' },
      })
      expect([await names('jammy'), await names('noble')]).toEqual([['moved'], ['moved']])
      expect((await acts(jammy, 'DELETE', '/artifacts/moved?distribution=jammy')).body).toMatchObject({
        status: 'deleted',
        deleted: [{ distribution: 'jammy' }],
      })
      expect([await names('jammy'), await names('noble')]).toEqual([[], ['moved']])
      expect((await acts(both, 'DELETE', '/artifacts/moved/1')).status).toBe(200)
      expect((await acts(jammy, 'DELETE', '/artifacts/moved')).status).toBe(404)
    })
  })

  test('never may more than whoever made it may now, however it came to be', async () => {
    await daemon.call('POST', '/auth/users', {
      token: admin,
      body: { username: 'mae', password: ADMIN.password, role: 'admin' },
    })
    const mae = String(
      (await daemon.call('POST', '/auth/token', { body: { username: 'mae', password: ADMIN.password } })).body
        .access_token,
    )
    const made = async (token: string): Promise<string> =>
      String((await daemon.call('POST', '/auth/api-tokens', { token, body: { name: 'm', role: 'admin' } })).body.token)
    const first = await made(mae)
    const second = await made(first) // made by a token, on behalf of the same person
    const roles = async (): Promise<unknown[]> =>
      Promise.all([first, second].map(async token => (await daemon.call('GET', '/auth/me', { token })).body.role))
    expect(await roles()).toEqual(['admin', 'admin'])
    await daemon.call('PATCH', '/auth/users/mae', { token: admin, body: { role: 'auditor' } })
    expect(await roles()).toEqual(['auditor', 'auditor'])
    for (const token of [first, second]) expect((await daemon.call('GET', '/auth/users', { token })).status).toBe(403)
    // and it does not grow back when that person is gone
    expect((await daemon.call('DELETE', '/auth/users/mae', { token: admin })).status).toBe(200)
    expect(await roles()).toEqual(['auditor', 'auditor'])
  })
})

describe('over a restart', () => {
  test('an ended session stays ended, a used code used, and the second factor active', async () => {
    const body = { username: 'zoe', password: ADMIN.password }
    await daemon.call('POST', '/auth/users', { token: admin, body: { ...body, role: 'reader' } })
    const session = String((await daemon.call('POST', '/auth/token', { body })).body.access_token)
    const secret = String((await daemon.call('POST', '/auth/mfa/setup', { token: session })).body.secret)
    const totp_code = generateSync({ secret })
    const codes = (await daemon.call('POST', '/auth/mfa/confirm', { token: session, body: { totp_code } })).body
      .recovery_codes as string[]
    const enter = async (proof: object): Promise<Answer> =>
      daemon.call('POST', '/auth/mfa/authenticate', {
        body: { mfa_token: (await daemon.call('POST', '/auth/token', { body })).body.mfa_token, ...proof },
      })
    expect((await enter({ recovery_code: codes[0] })).status).toBe(200)
    await daemon.call('POST', '/auth/logout', { token: session })
    await daemon.stop()
    await daemon.restart()
    expect((await daemon.call('GET', '/auth/me', { token: session })).status).toBe(401)
    expect((await daemon.call('GET', '/auth/me', { token: admin })).status).toBe(200)
    expect((await enter({ totp_code })).status).toBe(401)
    expect((await enter({ recovery_code: codes[0] })).status).toBe(401)
    expect((await enter({ recovery_code: codes[1] })).status).toBe(200)
  })

  test('a directory that is down keeps strangers out with 503, in the community edition with 401; the local admin gets in', async () => {
    const [local, stranger] = [
      { username: ADMIN.username, password: ADMIN.password },
      { username: 'stranger', password: ADMIN.password },
    ]
    const statuses = async (): Promise<number[]> =>
      Promise.all([stranger, local].map(async body => (await daemon.call('POST', '/auth/token', { body })).status))
    expect(await statuses()).toEqual([401, 200])
    const patched = await daemon.call('PATCH', '/settings/', {
      token: admin,
      body: { ldap: { enabled: true, host: '127.0.0.1', port: 1, base_dn: 'dc=example' } },
    })
    expect(patched.status, patched.text).toBe(200)
    expect(await statuses()).toEqual([503, 200])
    await daemon.stop()
    await daemon.restart({ EDITION: 'community' })
    expect(await statuses()).toEqual([401, 200])
  })
})
