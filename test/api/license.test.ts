import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { issueLicense } from '../../server/core/license.ts'
import { startDaemon, type Answer, type Daemon } from '../support/daemon.ts'

const SECRET = 'what only the vendor of these tests knows'
const DAY_MS = 86_400_000

let it: Daemon
let admin: string
beforeAll(async () => {
  it = await startDaemon({ env: { LICENSE_VENDOR_SECRET: SECRET } })
  admin = await it.setupAdmin()
  // a directory that nobody answers at: 503 where it is asked, 401 where it is not
  expect(
    (await ask('PATCH', '/settings/', { ldap: { enabled: true, host: '127.0.0.1', port: 9, base_dn: 'dc=x' } })).status,
  ).toBe(200)
})
afterAll(() => it.close())

const ask = (method: string, path: string, body?: object): Promise<Answer> =>
  it.call(method, path, { token: admin, ...(body === undefined ? {} : { body }) })
const keyFor = (days: number, secret = SECRET): string => {
  const now = Date.now()
  return issueLicense(
    {
      id: 'l1',
      issued_to: 'Nordwerk AG',
      issued_at: new Date(now - 400 * DAY_MS).toISOString(),
      expires_at: new Date(now + days * DAY_MS).toISOString(),
    },
    secret,
  )
}
const LOCKED = {
  edition: 'community',
  feature: 'enterprise',
  message: expect.stringContaining('enterprise edition') as string,
  upgrade_url: expect.stringMatching(/^https:/) as string,
  contact: expect.stringContaining('@') as string,
}

/**
 * What there is to see of a licence: reading and changing enterprise functions, a directory login, and something that
 * everybody has.
 */
async function look(): Promise<Record<string, unknown>> {
  const read = await ask('GET', '/sbom/preview')
  const change = await ask('PUT', '/access/groups/desk', { members: [] })
  const section = await ask('PATCH', '/settings/', { retention: { audit_days: 90 } })
  for (const { status, body } of [read, change, section]) if (status === 402) expect(body.detail).toEqual(LOCKED)
  const stranger = await it.call('POST', '/auth/token', { body: { username: 'stranger', password: 'x' } })
  const card = (await ask('GET', '/license')).body
  const { body } = await it.call<{ checks: { info: { license: unknown } } }>('GET', '/health')
  expect(body.checks.info.license).toMatchObject({
    edition: 'enterprise',
    active: card.active,
    issued_to: card.issued_to,
  })
  return {
    standing: card.standing,
    isWarned: card.warning !== null,
    read: read.status,
    change: change.status,
    section: section.status,
    directory: stranger.status,
    everybody: (await ask('PATCH', '/settings/', { cve_policy: { high: 'review' } })).status,
  }
}

describe('a licence, over HTTP', () => {
  test.each([
    [
      'that is good',
      keyFor(300),
      { standing: 'valid', isWarned: false, read: 200, change: 200, section: 200, directory: 503 },
    ],
    [
      'that ends within a month warns and changes nothing else',
      keyFor(20),
      { standing: 'expiring', isWarned: true, read: 200, change: 200, section: 200, directory: 503 },
    ],
    [
      'that ended leaves a fortnight to read, and to log in',
      keyFor(-1),
      { standing: 'grace', isWarned: true, read: 200, change: 402, section: 402, directory: 503 },
    ],
    [
      'that ended almost a fortnight ago',
      keyFor(-13.9),
      { standing: 'grace', isWarned: true, read: 200, change: 402, section: 402, directory: 503 },
    ],
    [
      'whose fortnight is over locks the functions, and nothing else',
      keyFor(-14.1),
      { standing: 'expired', isWarned: true, read: 402, change: 402, section: 402, directory: 401 },
    ],
  ])('%s', async (_, key, expected) => {
    expect((await ask('PUT', '/license', { key })).status).toBe(200)
    expect(await look()).toEqual({ everybody: 200, ...expected })
  })

  test('of somebody else is refused, and the one before stays', async () => {
    await ask('PUT', '/license', { key: keyFor(300) })
    for (const key of [keyFor(300, 'another'), `${keyFor(300)}x`, 'GH1..', 'none'])
      expect((await ask('PUT', '/license', { key })).body).toMatchObject({ code: 'bad_license' })
    expect((await ask('GET', '/license')).body).toMatchObject({ standing: 'valid', issued_to: 'Nordwerk AG' })
  })

  test('of somebody else is refused among the settings as well, where the right one is taken and the mask keeps it', async () => {
    const set = (license: object): Promise<Answer> => ask('PATCH', '/settings/', { review: { sla_hour: 7 }, license })
    expect((await set({ key: keyFor(300) })).status).toBe(200)
    await ask('PATCH', '/settings/', { review: { sla_hour: 3 } })
    for (const key of [keyFor(300, 'another'), 'none'])
      expect(await set({ key })).toMatchObject({ status: 422, body: { code: 'bad_license' } })
    expect((await ask('GET', '/license')).body).toMatchObject({ standing: 'valid', issued_to: 'Nordwerk AG' })
    expect((await ask('GET', '/settings/')).body).toMatchObject({ review: { sla_hour: 3 }, license: { key: '***' } })
    expect((await set({ key: '***' })).status).toBe(200)
    expect((await ask('GET', '/license')).body).toMatchObject({ standing: 'valid' })
  })

  test('is in no answer and no log as the key that it is', async () => {
    const key = keyFor(300)
    await ask('PUT', '/license', { key })
    const answers = await Promise.all(
      ['/license', '/settings/', '/health', '/artifacts/audit/logs'].map(path => ask('GET', path)),
    )
    for (const text of [...answers.map(answer => answer.text), it.log()]) expect(text).not.toContain(key.slice(4, 40))
  })
})
