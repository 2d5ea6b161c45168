import { Type } from '@sinclair/typebox'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Principal } from '../core/access.ts'
import { fail } from '../core/errors.ts'
import { route, startApp, type TestApp } from '../../test/support/app.ts'

const limits = { per_minute_address: 2, per_minute_user: 0, per_minute_token: 0 }
const senders: Record<string, Principal> = {
  jo: { kind: 'user', name: 'jo', role: 'uploader', credential: 's1' },
  ci: { kind: 'token', name: 'ci', role: 'uploader', credential: 't1' },
  own: { kind: 'token', name: 'own', role: 'uploader', credential: 't2', uploadsPerMinute: 4 },
}
let app: TestApp
beforeAll(async () => {
  app = await startApp({
    routes: ['POST /one', 'POST /other'].map(key =>
      route(key, {
        reply: Type.Object({}),
        access: 'uploader+',
        scoped: 'upload',
        limit: { bucket: 'upload', perMinute: 20, settings: 'upload_limits' },
      }),
    ),
    uploadLimits: () => limits,
    authenticate: async sent => senders[(sent ?? '').replace('Bearer ', '')] ?? fail('bad_credential', {}),
  })
})
afterAll(() => app.close())

/** The statuses of so many requests in turn, over both routes. */
async function ask(times: number, who: string, address: string): Promise<number[]> {
  const statuses: number[] = []
  for (let n = 0; n < times; n++) {
    const headers = { 'authorization': `Bearer ${who}`, 'x-forwarded-for': address }
    const { status } = await app.ask('POST', `/api/v1/${n % 2 === 0 ? 'one' : 'other'}`, { headers, body: '{}' })
    statuses.push(status)
  }
  return statuses
}

test('uploads are counted by address, whoever sends them, where nothing else is set', async () => {
  expect(await ask(2, 'jo', '198.51.100.1')).toEqual([200, 200])
  expect(await ask(1, 'ci', '198.51.100.1')).toEqual([429])
  expect(await ask(1, 'jo', '198.51.100.2')).toEqual([200])
})

test('a token with its own limit is counted by that alone, from whatever address', async () => {
  expect(await ask(3, 'own', '198.51.100.3')).toEqual([200, 200, 200])
  expect(await ask(2, 'own', '198.51.100.4')).toEqual([200, 429])
  expect(await ask(1, 'jo', '198.51.100.3')).toEqual([200])
  const headers = { 'authorization': 'Bearer own', 'x-forwarded-for': '198.51.100.5' }
  const refused = await app.ask('POST', '/api/v1/one', { headers, body: '{}' })
  const wait = Number(refused.headers['retry-after'])
  expect(refused.json()).toMatchObject({
    code: 'rate_limited',
    detail: { error: 'rate_limit_exceeded', limit: 4, retry_after: wait },
  })
})

test('limits for users and for tokens hold from the moment they are set', async () => {
  Object.assign(limits, { per_minute_user: 3, per_minute_token: 1 })
  expect(await ask(4, 'jo', '198.51.100.1')).toEqual([200, 200, 200, 429])
  expect(await ask(2, 'ci', '198.51.100.1')).toEqual([200, 429])
  Object.assign(limits, { per_minute_user: 0, per_minute_token: 0 })
})

test('wrong credentials are counted by address', async () => {
  expect(await ask(3, 'nobody', '198.51.100.9')).toEqual([401, 401, 429])
})
