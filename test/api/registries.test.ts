import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon, type Answer, type Daemon } from '../support/daemon.ts'
import { startRegistryUpstream, type RegistryUpstream } from '../support/registry-upstream.ts'

const SECRET = 'hunter-2-of-the-upstream'

let it: Daemon
let token: string
let upstream: RegistryUpstream
let other: RegistryUpstream
const answers: string[] = []

async function call(method: string, path: string, body?: object): Promise<Answer> {
  const answer = await it.call(method, path, { token, ...(body === undefined ? {} : { body }) })
  answers.push(answer.text)
  return answer
}
const ask = (registry: string, name: string): Promise<Response> =>
  fetch(`${it.url}/npm/${registry}/${name}`, { headers: { authorization: `Bearer ${token}` } })

beforeAll(async () => {
  upstream = await startRegistryUpstream()
  other = await startRegistryUpstream()
  it = await startDaemon()
  token = await it.setupAdmin()
})
afterAll(async () => {
  await it.close()
  await Promise.all([upstream.close(), other.close()])
})

const PROXY = { kind: 'proxy', upstream: { url: 'https://a.example' } }
test.each([
  ['a kind that is none', { kind: 'mirror' }],
  ['a proxy without an upstream', { kind: 'proxy' }],
  ['a file', { kind: 'proxy', upstream: { url: 'file:///etc/passwd' } }],
  ['an address of this machine', { kind: 'proxy', upstream: { url: 'http://127.0.0.1:5432/' } }],
  ['an address of metadata', { kind: 'proxy', upstream: { url: 'http://169.254.169.254/' } }],
  ['an address of 5,000 characters', { kind: 'proxy', upstream: { url: `https://a.example/${'a'.repeat(5_000)}` } }],
  ['a field that is none', { kind: 'proxy', upstream: { url: 'https://a.example', token: 'x' } }],
  ['an age of more than ten years', { ...PROXY, min_age_days: 3_651 }],
  ['a rule of another kind', { ...PROXY, members: ['ours'] }],
  ['a group without members', { kind: 'group', members: [] }],
  ['a pattern for everything', { reserved: ['*'] }],
])('%s is refused, and nothing is made', async (_, rules) => {
  expect((await call('POST', '/registries/', { name: 'a1', format: 'npm', ...rules })).status).toBe(422)
  expect((await call('GET', '/registries/a1')).status).toBe(404)
})

test('a proxy sends its secret to its server alone, and nothing says it', async () => {
  await call('PATCH', '/settings/', { notifications: { allow_private_hosts: '127.0.0.1' } })
  const made = await call('POST', '/registries/', {
    ...{ name: 'outside', format: 'npm', kind: 'proxy' },
    upstream: { url: `${upstream.url}/`, user: 'ci', secret: SECRET },
  })
  expect(made).toMatchObject({
    status: 201,
    body: { kind: 'proxy', upstream: { url: upstream.url, user: 'ci', has_secret: true } },
  })
  expect((await ask('outside', 'pad')).status).toBe(404)
  const sent = `Basic ${Buffer.from(`ci:${SECRET}`).toString('base64')}`
  expect(upstream.log.map(({ headers }) => headers.authorization)).toEqual([sent])
  expect(await call('PATCH', '/registries/outside', { upstream: { url: other.url } })).toMatchObject({
    status: 200,
    body: { upstream: { url: other.url, user: null, has_secret: false }, notes: [expect.any(String)] },
  })
  expect((await ask('outside', 'pad')).status).toBe(404)
  expect(other.log.map(({ headers }) => headers.authorization)).toEqual([undefined])
  const audit = await call('GET', '/artifacts/audit/logs?per_page=100')
  expect(audit.text).toContain('upstream.secret: *** → (none)')
  expect(answers.join('\n')).not.toContain(SECRET)
  expect(answers.join('\n')).not.toContain(sent.slice(6))
})

test('waivers are of proxies, with a reason and an end, and a member of a group stays', async () => {
  await call('POST', '/registries/', { name: 'ours', format: 'npm' })
  const at = (registry: string): string => `/registries/${registry}/packages/pad/versions/1.0.0/waiver`
  const waiver = { reason: 'The fix of CVE-2026-1.', expires_in_days: 14 }
  for (const [registry, body, status] of [
    ['ours', waiver, 422],
    ['nobody', waiver, 404],
    ['outside', { ...waiver, reason: '' }, 422],
    ['outside', { ...waiver, expires_in_days: 366 }, 422],
    ['outside', waiver, 200],
  ] as const)
    expect((await call('PUT', at(registry), body)).status, `${registry} ${JSON.stringify(body)}`).toBe(status)
  expect((await call('GET', '/registries/outside/waivers')).body).toMatchObject({ total: 1 })
  expect((await call('DELETE', at('outside'))).status).toBe(204)
  expect((await call('DELETE', at('outside'))).body).toMatchObject({ code: 'waiver_not_found' })
  await call('POST', '/registries/', { name: 'both', format: 'npm', kind: 'group', members: ['ours', 'outside'] })
  expect((await call('DELETE', '/registries/outside')).body).toMatchObject({ code: 'registry_is_member' })
  expect((await call('DELETE', '/registries/both')).status).toBe(204)
  expect((await call('DELETE', '/registries/outside')).status).toBe(204)
})
