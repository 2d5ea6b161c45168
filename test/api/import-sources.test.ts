import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { KeyView, SourceView, TestView } from '../../server/features/import-sources/contract.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { createVendorKey, type VendorKey } from '../support/upstream/key.ts'
import { serveUpstream, type Upstream } from '../support/upstream/serve.ts'
import { writeAptTree } from '../support/upstream/trees.ts'

let it: Daemon
let folder: string
let upstream: Upstream
let key: VendorKey
let stranger: VendorKey
let admin: string
let maintainer: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-sources-'))
  ;[it, key, stranger] = await Promise.all([
    startDaemon({ env: { IMPORT_ROOTS: folder } }),
    createVendorKey(),
    createVendorKey(),
  ])
  admin = await it.setupAdmin()
  const body = { name: 'm', role: 'maintainer' }
  maintainer = String((await it.call('POST', '/auth/api-tokens', { token: admin, body })).body.token)
  await writeAptTree(join(folder, 'good'), [{ name: 'one', version: '1.0' }], {
    key,
    date: new Date(Date.now() - 60_000),
  })
  upstream = await serveUpstream(join(folder, 'good'))
  const settings = { notifications: { allow_private_hosts: '127.0.0.1' } }
  expect((await it.call('PATCH', '/settings/', { token: admin, body: settings })).status).toBe(200)
})
afterAll(async () => {
  await Promise.all([it.close(), upstream.close()])
  await rm(folder, { recursive: true, force: true })
})
beforeEach(() => upstream.rules())

const call = async <Body = Record<string, unknown>>(
  method: string,
  path: string,
  body?: object,
  token = maintainer,
) => {
  const answer = await it.call<Body>(method, path, { token, ...(body === undefined ? {} : { body }) })
  return answer
}
const list = async (): Promise<readonly SourceView[]> =>
  (await call<{ sources: SourceView[] }>('GET', '/import/sources')).body.sources
const find = async (name: string): Promise<SourceView | undefined> => (await list()).find(one => one.key === name)
const audited = async (): Promise<string[]> => {
  const { items } = (
    await call<{ items: { action: string; detail: string }[] }>('GET', '/artifacts/audit/logs', undefined, admin)
  ).body
  return items.filter(({ action }) => action.startsWith('IMPORT_')).map(({ detail }) => detail)
}

describe('sources that come with the product', () => {
  test('are there for every distribution, with their vendors’ keys, and retired ones are marked', async () => {
    expect(await find('bookworm-security')).toMatchObject({
      type: 'apt',
      url: 'http://security.debian.org/debian-security/',
      suite: 'bookworm-security',
      distributions: ['bookworm'],
      security: true,
      signed: true,
      keys: [{ label: 'Debian 12 security' }],
      enabled: true,
      builtin: true,
      retired: false,
      state: 'never',
    })
    expect(await find('alpine3.18-main')).toMatchObject({ type: 'apk', retired: true })
    expect(await find('epel9')).toMatchObject({
      signed: false,
      distributions: ['almalinux9', 'rocky9', 'oraclelinux9', 'centos-stream9'],
    })
    const { distributions } = (await call<{ distributions: { codename: string }[] }>('GET', '/distributions/')).body
    const served = new Set((await list()).flatMap(one => one.distributions))
    expect(distributions.map(({ codename }) => codename).filter(codename => !served.has(codename))).toEqual([])
    for (const one of await list())
      expect(
        one.keys.every(({ label }) => label !== null),
        one.key,
      ).toBe(true)
  })

  test('are switched by the setting, and changed, and not removed', async () => {
    const body = { sources: { 'trixie-updates': false } }
    expect((await call('PATCH', '/settings/', body, admin)).status).toBe(200)
    expect((await find('trixie-updates'))?.enabled).toBe(false)
    const changed = { url: 'http://mirror.example/debian', mirrors: ['http://other.example/debian/'] }
    expect((await call('PATCH', '/import/sources/trixie', changed)).status).toBe(200)
    expect(await find('trixie')).toMatchObject({
      url: 'http://mirror.example/debian/',
      mirrors: ['http://other.example/debian/'],
    })
    expect((await call('DELETE', '/import/sources/trixie')).body).toMatchObject({ code: 'import_source_builtin' })
  })
})

describe('own sources', () => {
  const wish = () => ({ name: 'Our tools', type: 'apt', url: upstream.url, distribution: 'bookworm' })

  test('are added as the specification says, changed and removed, each with a line in the audit log', async () => {
    expect((await call('POST', '/import/keys', { public_key: key.publicKey }, admin)).status).toBe(201)
    const added = await call<SourceView>('POST', '/import/sources', { ...wish(), keys: [key.fingerprint] })
    expect([added.status, added.body]).toMatchObject([
      201,
      {
        key: 'our-tools',
        suite: 'bookworm',
        components: ['main'],
        architectures: ['amd64', 'arm64'],
        distributions: ['bookworm'],
        signed: true,
        keys: [{ name: key.fingerprint, label: 'Vendor <vendor@example.test>' }],
      },
    ])
    expect((await call('POST', '/import/sources', wish())).body).toMatchObject({ code: 'import_source_exists' })
    const { id } = added.body
    expect(
      (await call('PATCH', `/import/sources/${id}`, { enabled: false, architectures: ['amd64'] })).body,
    ).toMatchObject({
      enabled: false,
      architectures: ['amd64'],
    })
    expect((await call('DELETE', '/import/sources/our-tools')).status).toBe(204)
    expect(await find('our-tools')).toBeUndefined()
    expect(await audited()).toEqual(
      expect.arrayContaining([
        `our-tools, ${upstream.url}.`,
        'our-tools: enabled, architectures.',
        `Vendor <vendor@example.test>, ${key.fingerprint}.`,
      ]),
    )
  })

  test.each([
    ['an address that a browser reads otherwise', { url: 'http://0x7f.1/' }, 'outbound_refused'],
    ['another scheme', { url: 'ftp://x.example/' }, 'outbound_refused'],
    ['a variable', { url: 'http://x.example/$basearch/' }, 'bad_import_source'],
    ['an unknown distribution', { distribution: 'nowhere' }, 'unknown_distribution'],
    ['a distribution of another format', { distribution: 'rocky9' }, 'bad_import_source'],
    ['an unknown key', { keys: ['A'.repeat(40)] }, 'bad_import_source'],
    ['no signature from a maintainer', { signed: false }, 'forbidden'],
    ['expired data from a maintainer', { allow_expired: true }, 'forbidden'],
    ['a suite that leads elsewhere', { suite: '../x' }, 'bad_import_source'],
  ])('with %s are refused, and nothing is kept', async (_what, more, code) => {
    const before = await list()
    expect((await call('POST', '/import/sources', { ...wish(), ...more })).body).toMatchObject({ code })
    expect(await list()).toEqual(before)
  })

  test('without a signature need HTTPS and packages that are signed', async () => {
    const unsigned = { name: 'u', url: 'http://x.example/', distribution: 'rocky9', signed: false }
    expect((await call('POST', '/import/sources', { ...unsigned, type: 'rpm' }, admin)).body).toMatchObject({
      detail: [{ msg: expect.stringContaining('only read over https') as string }],
    })
    const apt = { ...wish(), url: 'https://x.example/', signed: false }
    expect((await call('POST', '/import/sources', apt, admin)).body).toMatchObject({
      detail: [{ msg: expect.stringContaining('its index has to be signed') as string }],
    })
  })
})

describe('a test of a source', () => {
  const look = async (more: object = {}): Promise<TestView> => {
    const body = {
      type: 'apt',
      url: upstream.url,
      distribution: 'bookworm',
      architectures: ['amd64'],
      keys: [key.fingerprint],
      ...more,
    }
    const answer = await call<TestView>('POST', '/import/sources/test', body)
    expect(answer.status).toBe(200)
    return answer.body
  }
  beforeAll(() => call('POST', '/import/keys', { public_key: `${key.publicKey}\n${stranger.publicKey}` }, admin))

  test('says what was found, and changes nothing', async () => {
    const before = await list()
    expect(await look()).toMatchObject({
      state: 'ok',
      said: null,
      roots: [
        {
          path: 'dists/bookworm/InRelease',
          origin: 'Vendor',
          codename: 'bookworm',
          signed_by: [{ name: key.fingerprint }],
        },
      ],
      sample: { name: 'one', version: '1.0', arch: 'amd64' },
      mirror: upstream.url,
    })
    expect(await look({ url: join(folder, 'good') })).toMatchObject({ state: 'ok', sample: { name: 'one' } })
    expect(await list()).toEqual(before)
  })

  test('says what is wrong, and the way out', async () => {
    expect(await look({ keys: [stranger.fingerprint] })).toMatchObject({
      state: 'untrusted',
      said: expect.stringContaining('this key is not trusted') as string,
    })
    expect(await look({ suite: 'trixie' })).toMatchObject({ state: 'unreachable' })
    expect(await look({ components: ['contrib'] })).toMatchObject({
      said: expect.stringContaining('contrib') as string,
    })
    expect(await look({ url: 'http://10.1.2.3/' })).toMatchObject({ state: 'refused' })
    expect(await look({ url: '/etc' })).toMatchObject({
      state: 'refused',
      said: expect.stringContaining('IMPORT_ROOTS') as string,
    })
    await mkdir(join(folder, 'empty'), { recursive: true })
    expect(await look({ url: join(folder, 'empty') })).toMatchObject({ state: 'unreachable' })
  })

  test('of a source that is there takes the fields of the body for its own', async () => {
    expect(
      (await call<TestView>('POST', '/import/sources/test', { id: 'bookworm', url: upstream.url })).body,
    ).toMatchObject({
      state: 'untrusted',
    })
    expect((await find('bookworm'))?.url).toBe('http://ftp.debian.org/debian/')
  })
})

describe('keys', () => {
  const keys = async (): Promise<readonly KeyView[]> =>
    (await call<{ keys: KeyView[] }>('GET', '/import/keys')).body.keys

  test('are listed with the sources that name them, and the first to end is named', async () => {
    const { body } = await call<{ keys: KeyView[]; warnings: string[] }>('GET', '/import/keys')
    expect(body.keys.find(({ label }) => label === 'Debian 12')).toMatchObject({
      builtin: true,
      sources: ['bookworm', 'bookworm-updates'],
    })
    expect(Array.isArray(body.warnings)).toBe(true)
  })

  test('are accepted past their end until a day, and removed at once', async () => {
    const until = new Date(Date.now() + 86_400_000).toISOString()
    const patch = (body: object) => call<KeyView>('PATCH', `/import/keys/${key.fingerprint}`, body, admin)
    expect((await patch({ accepted_until: until, reason: 'The vendor is late.' })).body.accepted_until).toBe(until)
    expect((await patch({ accepted_until: '2020-01-01T00:00:00Z', reason: 'late' })).body).toMatchObject({
      code: 'bad_import_key',
    })
    expect((await patch({ accepted_until: null, reason: 'Renewed.' })).body.accepted_until).toBeNull()
    expect((await call('DELETE', `/import/keys/${key.fingerprint}`, undefined, admin)).status).toBe(204)
    expect((await keys()).some(({ name }) => name === key.fingerprint)).toBe(false)
    expect((await call('POST', '/import/keys', { public_key: 'nothing' }, admin)).body).toMatchObject({
      code: 'bad_import_key',
    })
  })
})
