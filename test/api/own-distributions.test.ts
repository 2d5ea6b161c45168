import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Answer, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { buildRpm } from '../support/packages-rpm.ts'

const PASSWORD = 'Correct-horse-9'
let it: Daemon
let token: string

beforeAll(async () => {
  it = await startDaemon()
  token = await it.setupAdmin()
  await it.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
})
afterAll(() => it.close())

const call = (method: string, path: string, body?: object): Promise<Answer> =>
  it.call(method, path, { token, ...(body === undefined ? {} : { body }) })
const add = async (body: { codename: string; [field: string]: unknown }): Promise<void> => {
  const made = await call('POST', '/distributions/', body)
  expect(made.status, made.text).toBe(201)
}
const upload = async (name: string, distribution: string, arch = 'amd64'): Promise<Answer> =>
  it.upload(await buildDeb({ name, version: '1.0', arch }), { token, distribution })

describe('the scanner of an own distribution', () => {
  test('is one that there is data for; others are refused with the list', async () => {
    const asked = await call('POST', '/distributions/', { codename: 'odd', format: 'deb', scanner: 'debian:nosuch' })
    expect(asked).toMatchObject({ status: 422, body: { code: 'bad_distribution' } })
    expect(asked.text).toMatch(/no vulnerability data is known for debian:nosuch\. There are: .*debian:13, debian:14/)
    expect((await call('GET', '/distributions/odd/definition')).status).toBe(404)
  })

  test('may be none, and then nothing calls its packages clean', async () => {
    await add({ codename: 'bare', based_on: 'jammy', scanner: null })
    const { body } = await upload('plain', 'bare')
    expect((body as unknown as { pipeline: { cve_scan: string } }).pipeline.cve_scan).toBe('no_data')
    const engines = await call('GET', '/security/engines')
    const [embedded] = (engines.body as unknown as { engines: { distributions: Record<string, unknown>[] }[] }).engines
    expect(embedded?.distributions.find(one => one.distribution === 'bare')?.coverage).toBe('no_data')
  })
})

test('an architecture or component goes only when it is empty; other words change at any time', async () => {
  await add({ codename: 'parts', based_on: 'jammy', components: ['main', 'tools'] })
  for (const name of ['one', 'two']) expect((await upload(name, 'parts', 'arm64')).status).toBe(201)
  const refused = await call('PATCH', '/distributions/parts', { architectures: ['amd64'] })
  expect(refused).toMatchObject({ status: 409, body: { code: 'distribution_in_use' } })
  expect(refused.text).toContain('2 in main/arm64')
  expect((await call('PATCH', '/distributions/parts', { components: ['tools', 'main'] })).status).toBe(409)
  expect((await call('PATCH', '/distributions/parts', { components: ['main'] })).body).toMatchObject({
    architectures: ['amd64', 'arm64'],
    components: ['main'],
  })
})

test('source packages keep no distribution from being changed', async () => {
  await add({ codename: 'el', based_on: 'almalinux9' })
  const form = new FormData()
  const bytes = await buildRpm({ name: 'mine', version: '1.0', release: '1', sourcerpm: '' })
  form.set('file', new Blob([new Uint8Array(bytes)]), 'mine-1.0-1.src.rpm')
  form.set('distribution', 'el')
  const sent = await it.call('POST', '/upload/', { token, form })
  expect(sent, sent.text).toMatchObject({ status: 201, body: { arch: 'src' } })
  expect(await call('PATCH', '/distributions/el', { label: 'Mine', architectures: ['x86_64'] })).toMatchObject({
    status: 200,
    body: { label: 'Mine', architectures: ['x86_64'] },
  })
})

test('none is based on itself by way of one that was removed and added again', async () => {
  await add({ codename: 'lower', based_on: 'jammy' })
  await add({ codename: 'upper', based_on: 'lower' })
  expect((await call('DELETE', '/distributions/lower')).status).toBe(204)
  const again = await call('POST', '/distributions/', { codename: 'lower', based_on: 'upper' })
  expect(again).toMatchObject({ status: 422, body: { code: 'bad_distribution' } })
  expect(again.text).toContain('upper is itself based on lower')
})

test('a retired one takes no package on any route, and serves what it has', async () => {
  await add({ codename: 'old', based_on: 'jammy' })
  for (const [name, codename] of [
    ['kept', 'old'],
    ['fresh', 'jammy'],
  ] as const)
    expect((await upload(name, codename)).status).toBe(201)
  expect((await call('POST', '/distributions/old/retire')).body).toMatchObject({ retired: true })
  const road = { from_dist: 'jammy', to_dist: 'old' }
  const answers = [
    await upload('late', 'old'),
    await call('POST', '/distributions/promote', { package: 'fresh', ...road }),
    await call('POST', '/distributions/migrate', road),
  ]
  for (const { status, body } of answers) expect([status, body.code]).toEqual([409, 'distribution_retired'])
  const out = await call('POST', '/distributions/promote', { package: 'kept', from_dist: 'old', to_dist: 'jammy' })
  expect(out, out.text).toMatchObject({ status: 200, body: { status: 'promoted' } })
  expect((await it.call('GET', '/repos/dists/old/main/binary-amd64/Packages')).text).toContain('Package: kept')
})

test('what was decided in a removed one stays recorded, and hidden from whom it was hidden', async () => {
  await it.call('POST', '/auth/users', { token, body: { username: 'otto', password: PASSWORD, role: 'auditor' } })
  const otto = (
    await it.call<{ access_token: string }>('POST', '/auth/token', { body: { username: 'otto', password: PASSWORD } })
  ).body.access_token
  await add({ codename: 'closed', based_on: 'jammy' })
  expect((await call('PUT', '/access/distributions/closed', { users: ['nobody'] })).status).toBe(200)
  expect((await upload('secretpkg', 'closed')).status).toBe(201)
  await call('POST', '/security/packages/secretpkg/1.0/quarantine', { reason: 'x' })
  const decision = { decision: 'approve', justification: 'looked at' }
  const decided = await call('POST', '/security/packages/secretpkg/1.0/decide', decision)
  expect(decided.status, decided.text).toBe(200)
  expect((await call('DELETE', '/artifacts/secretpkg')).status).toBe(200)
  expect((await call('DELETE', '/distributions/closed')).status).toBe(204)
  const read = async (who: string): Promise<string> =>
    (await it.call('GET', '/security/decisions', { token: who })).text +
    (await it.call('GET', '/artifacts/audit/logs', { token: who })).text
  expect(await read(token)).toContain('secretpkg')
  expect(await read(otto)).not.toMatch(/secretpkg|closed/)
  // and a new one of the name begins as closed as the one before
  await add({ codename: 'closed', based_on: 'jammy' })
  expect((await it.call('GET', '/distributions/closed/definition', { token: otto })).status).toBe(404)
})

test.each([
  ['POST', '/distributions/', { codename: 'silent', format: 'deb', state: 'retired' }, 'state'],
  ['PATCH', '/distributions/jammy', { codename: 'other' }, 'codename'],
  ['PATCH', '/distributions/jammy/release', { valid_until: '2030-01-01' }, 'valid_until'],
  ['POST', '/uploader-keys', { name: 'jo', public_key: 'x', private_key: 'x' }, 'private_key'],
])('%s %s with a field that it does not know is refused, not half obeyed', async (method, path, body, field) => {
  expect(await call(method, path, body)).toMatchObject({
    status: 422,
    body: {
      code: 'bad_shape',
      detail: [
        { loc: ['body', field], msg: expect.stringMatching(/^There is no such field. There are: \w/) as string },
      ],
    },
  })
  expect((await call('GET', '/distributions/silent/definition')).status).toBe(404)
})

test.each([
  ['a codename that is a path', { codename: '../x' }],
  ['one that looks like another', { codename: '\u0430cme' }],
  ['one that is a word of the addresses', { codename: 'promote' }],
  ['one of 255 letters', { codename: 'x'.repeat(255) }],
  ['the architecture of sources', { architectures: ['source'] }],
  ['one that every machine reads', { architectures: ['all'] }],
  ['one that is a path', { architectures: ['../x'] }],
  ['a component in a folder', { components: ['main/../x'] }],
  ['a second line in Suite', { suite: 'x\nSigned-By: x' }],
  ['a carriage return in Origin', { origin: 'x\rSigned-By: x' }],
  ['a line separator in Label', { release_label: 'x\u2028Signed-By: x' }],
  ['a day that no year has', { end_of_life: '2026-02-31' }],
  ['a body of 2 MB', { label: 'x'.repeat(2e6) }],
])('%s is refused and makes no distribution', async (_what, wish) => {
  const before = await call('GET', '/distributions/')
  const refused = await call('POST', '/distributions/', { codename: 'unmade', format: 'deb', ...wish })
  expect([413, 422]).toContain(refused.status)
  expect((await call('GET', '/distributions/')).body).toEqual(before.body)
})
