import { createHash } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { decideVersion, defineRegistries } from '../support/defined-registries.ts'
import { listNpm, type ListedName } from '../support/npm-upstream.ts'
import { buildNpm } from '../support/packages-npm.ts'
import { proxyRegistry, startRegistryUpstream, type RegistryUpstream } from '../support/registry-upstream.ts'
import { osvRecord, osvZip } from '../support/zip.ts'

const SHORT = 'application/vnd.npm.install-v1+json'

let root: string
let upstream: RegistryUpstream
let daemon: Daemon
let token: string

const list = (name: string, listed: ListedName): void => listNpm(upstream, name, listed)

interface Packument {
  readonly 'dist-tags': Readonly<Record<string, string>>
  readonly 'time': Readonly<Record<string, string>>
  readonly 'versions': Readonly<Record<string, Readonly<Record<string, Record<string, unknown>>>>>
  readonly 'policyRestrictions'?: { readonly message: string; readonly versions: Readonly<Record<string, unknown>> }
  readonly 'error'?: string
}
interface Got {
  readonly status: number
  readonly reason: string
  readonly headers: Headers
  readonly text: string
}
async function get(path: string, headers: Record<string, string> = {}, method = 'GET', body?: string): Promise<Got> {
  const response = await fetch(`${daemon.url}/npm/outside/${path}`, {
    ...{ method, headers },
    ...(body === undefined ? {} : { body }),
  })
  return {
    ...{ status: response.status, reason: response.statusText, headers: response.headers },
    text: await response.text(),
  }
}
async function packument(name: string, headers: Record<string, string> = {}): Promise<Packument> {
  const { status, text } = await get(name, headers)
  expect(status, text).toBe(200)
  return JSON.parse(text) as Packument
}
const settings = async (body: object): Promise<void> => {
  const answer = await daemon.call('PATCH', '/settings/', { token, body })
  expect(answer.status, answer.text).toBe(200)
}
const loaded: object[] = []
async function importData(...records: object[]): Promise<void> {
  loaded.push(...records)
  const form = new FormData()
  form.set('file', new Blob([new Uint8Array(osvZip(loaded))]), 'all.zip')
  const { status, text } = await daemon.call('POST', '/security/database', { token, form })
  expect([status, text]).toEqual([200, expect.anything()])
}
const record = (id: string, name: string, versions: readonly string[], severity?: string): object =>
  osvRecord(id, [], {
    affected: [{ package: { ecosystem: 'npm', name }, versions }],
    ...(severity === undefined ? {} : { database_specific: { severity } }),
  })
const artifact = (name: string, version: string) =>
  daemon.call('GET', `/artifacts/${encodeURIComponent(name)}/${version}?distribution=outside`, { token })

beforeAll(async () => {
  upstream = await startRegistryUpstream()
  root = await mkdtemp(join(tmpdir(), 'gh-npm-proxy-'))
  await defineRegistries(root, [
    proxyRegistry('outside', 'npm', { url: `${upstream.url}`, minAgeDays: 7 }),
    proxyRegistry('ageless', 'npm', { url: `${upstream.url}/other` }),
  ])
  daemon = await startDaemon({ root })
  token = await daemon.setupAdmin()
  await settings({
    validation: { clamav_scan: false, on_scanner_unavailable: 'warn' },
    notifications: { allow_private_hosts: '127.0.0.1' },
    script_policy: { npm_install_script: 'review' },
  })
  await importData(osvRecord('GHSA-none-none-none', [['npm', 'something-else', '1.0.0']]))
})
afterAll(async () => {
  await daemon.close()
  await upstream.close()
  await rm(root, { recursive: true, force: true })
})

test('a name is read once, a file once, whoever asks, and both are served while the upstream fails', async () => {
  list('calm', { versions: [{ version: '1.0.0' }] })
  await Promise.all([packument('calm'), packument('calm', { Accept: SHORT }), packument('calm')])
  const files = await Promise.all(['calm/-/calm-1.0.0.tgz', 'calm/-/calm-1.0.0.tgz'].map(path => get(path)))
  expect(files.map(({ status }) => status)).toEqual([200, 200])
  expect(upstream.asked()).toEqual(['/calm', '/calm/-/calm-1.0.0.tgz'])
  upstream.fail(503)
  expect(await get('calm/-/calm-1.0.0.tgz')).toMatchObject({ status: 200 })
  await packument('calm')
  upstream.fail(undefined)
  expect((await artifact('calm', '1.0.0')).body).toMatchObject({ status: 'published', distribution: 'outside' })
  const audit = await daemon.call('GET', '/artifacts/audit/logs?package=calm', { token })
  expect(audit.text.match(/"action":"UPLOAD"|"action":"IMPORT"/g), audit.text).toHaveLength(1)
})

test('the documents of a name, in full and short, lead to this registry and keep what clients check', async () => {
  const json = {
    dependencies: { calm: '^1.0.0' },
    scripts: { test: 'x' },
    bin: { two: 'x.js' },
    engines: { node: '>=6' },
  }
  list('@scope/two', {
    versions: [
      { version: '1.0.0', json },
      { version: '2.0.0-beta.1', json, said: { deprecated: 'use 1.0.0' } },
    ],
    tags: { latest: '1.0.0', next: '2.0.0-beta.1' },
  })
  const from = JSON.parse((await (await fetch(`${upstream.url}/@scope%2ftwo`)).text()) as string) as Packument
  for (const path of ['@scope%2ftwo', '@scope%2Ftwo', '@scope/two'])
    expect(await packument(path)).toMatchObject({ name: '@scope/two' })
  const full = await packument('@scope%2ftwo')
  const tarball = `${daemon.url}/npm/outside/@scope/two/-/two-1.0.0.tgz`
  expect(full.versions['1.0.0']).toEqual({
    ...from.versions['1.0.0'],
    dist: { ...from.versions['1.0.0']?.dist, tarball },
  })
  expect(full.versions['2.0.0-beta.1']).toMatchObject({ deprecated: 'use 1.0.0' })
  expect(full['dist-tags']).toEqual({ latest: '1.0.0', next: '2.0.0-beta.1' })
  expect(full.time).toEqual(from.time)
  expect(full).not.toHaveProperty('policyRestrictions')
  const short = await packument('@scope%2ftwo', { Accept: `${SHORT}; q=1.0, application/json; q=0.8` })
  const { _id: _, description: __, scripts: ___, ...abbreviated } = full.versions['1.0.0'] ?? {}
  expect(short.versions['1.0.0']).toEqual(abbreviated)
  expect(short).toMatchObject({
    'name': '@scope/two',
    'modified': from.time.modified,
    'time': from.time,
    'dist-tags': full['dist-tags'],
  })
  const one = await get('@scope/two/next')
  expect([one.status, JSON.parse(one.text)]).toEqual([200, full.versions['2.0.0-beta.1']])
  expect(JSON.parse((await get('-/package/@scope%2ftwo/dist-tags')).text)).toEqual(full['dist-tags'])
})

test('an answer is packed, has an ETag, and is not sent again to who has it', async () => {
  list('again', { versions: [{ version: '1.0.0' }, { version: '1.1.0' }, { version: '1.2.0' }] })
  const first = await get('again', { 'Accept-Encoding': 'gzip' })
  expect(first.headers.get('content-encoding')).toBe('gzip')
  const etag = first.headers.get('etag') ?? ''
  expect(
    await get('again', { 'Accept-Encoding': 'gzip', 'If-None-Match': etag, 'Cache-Control': 'max-age=0' }),
  ).toMatchObject({ status: 304 })
  expect(first.headers.get('cache-control')).toBe('private, no-cache')
})

test('names of before the rules of today come through; what no package can be called is not asked for', async () => {
  list('JSONStream', { versions: [{ version: '1.0.0' }] })
  expect((await packument('JSONStream'))['dist-tags']).toEqual({ latest: '1.0.0' })
  expect(await get('JSONStream/-/JSONStream-1.0.0.tgz')).toMatchObject({ status: 200 })
  upstream.forget()
  for (const path of ['.hidden', '_hidden', 'a%20b', 'node_modules', 'x'.repeat(215)])
    expect([path, (await get(path)).status]).toEqual([path, 404])
  expect(upstream.asked()).toEqual([])
})

test('a name that the upstream lacks is asked for once, and the answer says so', async () => {
  upstream.forget()
  for (const headers of [{ Accept: SHORT }, {}])
    expect(await get('nobody-has-it', headers)).toMatchObject({
      status: 404,
      text: '{"error":"There is no package nobody-has-it in the registry outside."}',
    })
  expect(await get('nobody-has-it/-/nobody-has-it-1.0.0.tgz')).toMatchObject({ status: 404 })
  expect(upstream.asked()).toEqual(['/nobody-has-it'])
})

test('young, malicious and critical versions are in no list; a range gets the next one, an exact number the reason', async () => {
  await importData(
    record('MAL-2026-7', 'mixed', ['4.0.0']),
    record('GHSA-crit-crit-crit', 'mixed', ['3.0.0'], 'CRITICAL'),
  )
  const young = new Date(Date.now() - 86_400_000).toISOString()
  list('mixed', {
    versions: [
      { version: '1.0.0' },
      { version: '2.0.0' },
      { version: '3.0.0' },
      { version: '4.0.0' },
      { version: '5.0.0', at: young },
    ],
    tags: { latest: '5.0.0', next: '4.0.0', stable: '1.0.0' },
  })
  const { policyRestrictions: restrictions, ...seen } = await packument('mixed')
  expect(Object.keys(seen.versions)).toEqual(['1.0.0', '2.0.0'])
  expect(Object.keys(seen.time)).toEqual(['created', 'modified', '1.0.0', '2.0.0'])
  expect(seen['dist-tags']).toEqual({ latest: '2.0.0', stable: '1.0.0' })
  expect(Object.keys(restrictions?.versions ?? {})).toEqual(['3.0.0', '4.0.0', '5.0.0'])
  const said = {
    '3.0.0': 'Hidden by Gatehouse: The policy blocks it: GHSA-crit-crit-crit (critical).',
    '4.0.0': 'Hidden by Gatehouse: It is malicious: MAL-2026-7 (malicious).',
    '5.0.0': 'Hidden by Gatehouse: It is younger than 7 days: published on',
  }
  upstream.forget()
  for (const [version, text] of Object.entries(said)) {
    expect(restrictions?.message).toContain(`${version}: ${text}`)
    for (const path of [`mixed/${version}`, `mixed/-/mixed-${version}.tgz`]) {
      const refused = await get(path)
      expect(refused).toMatchObject({ status: 403, reason: expect.stringContaining(text.slice(0, 60)) as string })
      expect((JSON.parse(refused.text) as Packument).error).toMatch(/#\/registries\?in=outside&view=hidden&q=mixed/)
      expect(refused.headers.get('cache-control')).toBe('no-store')
    }
  }
  expect(upstream.asked()).toEqual([])
})

test('a version with a forbidden licence is in no list, with the reason for who asks for it, until the setting changes', async () => {
  const refusedSetting = await daemon.call('PATCH', '/settings/', {
    token,
    body: { license_policy: { forbidden: 'AGLP-3.0' } },
  })
  expect([refusedSetting.status, refusedSetting.text]).toEqual([
    422,
    expect.stringContaining(
      'AGLP-3.0 is no licence of the SPDX list (https://spdx.org/licenses); AGPL-3.0 is',
    ) as string,
  ])
  await settings({ license_policy: { forbidden: 'AGPL-*, SSPL-1.0', action: 'block' } })
  const json = { license: 'AGPL-3.0-or-later' }
  // of the second one only package.json says it
  list('relicensed', {
    versions: [{ version: '1.0.0' }, { version: '1.1.0', json, said: { license: 'MIT' } }, { version: '2.0.0', json }],
  })
  const before = await packument('relicensed')
  expect([Object.keys(before.versions), before['dist-tags']]).toEqual([['1.0.0', '1.1.0'], { latest: '1.1.0' }])
  const because = 'Licence: AGPL-3.0-or-later is on the list of forbidden licences.'
  expect(before.policyRestrictions?.message).toContain(`2.0.0: Hidden by Gatehouse: ${because}`)
  for (const path of ['relicensed/2.0.0', 'relicensed/-/relicensed-2.0.0.tgz'])
    expect(await get(path)).toMatchObject({
      status: 403,
      reason: `Hidden by Gatehouse: ${because}`,
      text: expect.stringContaining('view=hidden&q=relicensed') as string,
    })
  expect(await get('relicensed/-/relicensed-1.1.0.tgz')).toMatchObject({
    status: 403,
    reason: expect.stringContaining(`Quarantined by Gatehouse: ${because}`) as string,
  })
  expect((await packument('relicensed'))['dist-tags']).toEqual({ latest: '1.0.0' })
  const hidden = await daemon.call('GET', '/registries/outside/hidden?because=license', { token })
  expect(hidden.body).toMatchObject({ total: 1, hidden: [{ package: 'relicensed', version: '2.0.0', said: because }] })
  const gift = { token, body: { reason: 'Bought another licence', expires_in_days: 3 } }
  const way = '/registries/outside/packages/relicensed/versions/2.0.0/waiver'
  expect((await daemon.call('PUT', way, gift)).status).toBe(200)
  expect((await packument('relicensed'))['dist-tags']).toEqual({ latest: '2.0.0' })
  expect(await get('relicensed/-/relicensed-2.0.0.tgz')).toMatchObject({ status: 200 })
  await settings({ license_policy: { forbidden: '', action: 'review' } })
})

test('after the list of forbidden licences has changed a version is served that was hidden', async () => {
  await settings({ license_policy: { forbidden: 'SSPL-1.0' } })
  list('reopened', { versions: [{ version: '1.0.0' }, { version: '1.1.0', json: { license: 'SSPL-1.0' } }] })
  expect((await packument('reopened'))['dist-tags']).toEqual({ latest: '1.0.0' })
  expect(await get('reopened/-/reopened-1.1.0.tgz')).toMatchObject({ status: 403 })
  await settings({ license_policy: { forbidden: 'AGPL-*' } })
  expect((await packument('reopened'))['dist-tags']).toEqual({ latest: '1.1.0' })
  expect(await get('reopened/-/reopened-1.1.0.tgz')).toMatchObject({ status: 200 })
  await settings({ license_policy: { forbidden: '' } })
})

test('what the policy asks a review for comes in by its exact file, waits, and is listed once it is approved', async () => {
  await importData(record('GHSA-high-high-high', 'doubtful', ['1.1.0'], 'HIGH'))
  list('doubtful', { versions: [{ version: '1.0.0' }, { version: '1.1.0' }] })
  expect((await packument('doubtful'))['dist-tags']).toEqual({ latest: '1.0.0' })
  const held = await get('doubtful/-/doubtful-1.1.0.tgz')
  expect(held).toMatchObject({ status: 403, reason: expect.stringContaining('Held for review by Gatehouse') as string })
  expect((await packument('doubtful')).policyRestrictions?.message).toContain('1.1.0: Held for review by Gatehouse')
  const decided = { token, registry: 'outside', name: 'doubtful', version: '1.1.0', action: 'approve' } as const
  await decideVersion(daemon, decided)
  expect((await packument('doubtful'))['dist-tags']).toEqual({ latest: '1.1.0' })
  expect(await get('doubtful/-/doubtful-1.1.0.tgz')).toMatchObject({ status: 200 })
})

test('what only the bytes say is judged when they come: an install script waits, and is then in no list', async () => {
  const json = { scripts: { postinstall: 'node index.js' } }
  list('runs', { versions: [{ version: '1.0.0' }, { version: '1.1.0', json }] })
  expect((await packument('runs'))['dist-tags']).toEqual({ latest: '1.1.0' })
  expect(await get('runs/-/runs-1.1.0.tgz')).toMatchObject({ status: 403 })
  expect((await packument('runs'))['dist-tags']).toEqual({ latest: '1.0.0' })
})

test.each([
  ['dependencies', { said: { dependencies: { calm: '1.0.0' } } }, /dependencies: "calm" is nothing in the tarball/],
  ['an install script', { json: { scripts: { install: 'x' } }, said: { scripts: {} } }, /scripts: "install" is "x"/],
  ['commands', { said: { bin: { a: './x.js' } } }, /bin: "a" is nothing in the tarball/],
])('a package.json that differs from the list in %s waits for a person', async (what, version, why) => {
  await settings({ script_policy: { npm_install_script: 'allow' } })
  const name = `differs-${what.replaceAll(' ', '-')}`
  list(name, { versions: [{ version: '1.0.0', ...version }] })
  const held = await get(`${name}/-/${name}-1.0.0.tgz`)
  expect(held).toMatchObject({ status: 403, text: expect.stringContaining('Held for review by Gatehouse') as string })
  expect((JSON.parse(held.text) as Packument).error).toMatch(why)
  await settings({ script_policy: { npm_install_script: 'review' } })
})

test.each([
  [
    'what older clients of npm changed',
    { said: { bin: { same: './x.js' }, description: 'other' }, json: { bin: './x.js' } },
  ],
  ['an abbreviated list', { said: { _id: undefined, scripts: undefined, hasInstallScript: undefined } }],
])('%s holds nothing', async (what, version) => {
  const name = what.startsWith('what') ? 'same' : 'brief'
  list(name, { versions: [{ version: '1.0.0', ...version }] })
  expect(await get(`${name}/-/${name}-1.0.0.tgz`)).toMatchObject({ status: 200 })
})

test('other bytes than the list promises are refused, and nothing of them is kept', async () => {
  list('liar', { versions: [{ version: '1.0.0', lies: true }] })
  await packument('liar')
  const refused = await get('liar/-/liar-1.0.0.tgz')
  expect(refused.status).toBe(502)
  expect(refused.text).toContain('its index says')
  expect((await artifact('liar', '1.0.0')).status).toBe(404)
})

test('a tarball that is another package inside is refused', async () => {
  const bytes = buildNpm({ name: 'inner', version: '1.0.0' })
  list('outer', { versions: [{ version: '1.0.0', said: { dist: { tarball: '/inner.tgz' } } }] })
  upstream.put('/inner.tgz', { body: bytes })
  const refused = await get('outer/-/outer-1.0.0.tgz')
  expect([refused.status, refused.text]).toEqual([502, expect.stringContaining('it is inner 1.0.0 inside')])
  expect((await artifact('outer', '1.0.0')).status).toBe(404)
  expect((await artifact('inner', '1.0.0')).status).toBe(404)
})

test('what is no package is fetched once, and refused again without', async () => {
  const body = 'no tarball'
  const integrity = `sha512-${createHash('sha512').update(body).digest('base64')}`
  list('broken', { versions: [{ version: '1.0.0', said: { dist: { tarball: '/broken.tgz', integrity } } }] })
  upstream.put('/broken.tgz', { body })
  const first = await get('broken/-/broken-1.0.0.tgz')
  expect(first.status, first.text).toBe(422)
  upstream.forget()
  expect(await get('broken/-/broken-1.0.0.tgz')).toMatchObject({ status: 422, text: first.text })
  expect(upstream.asked()).toEqual([])
})

test.each([
  ['a login page', { type: 'text/html', body: '<html><title>Sign in</title></html>' }, 'it is not JSON'],
  ['another package', { type: 'application/json', body: '{"name":"other","versions":{}}' }, 'it is about \\"other\\"'],
  ['half a document', { type: 'application/json', body: '{"name":"odd' }, 'it is not JSON'],
])('%s is no list, and the answer says so', async (_, served, why) => {
  const name = `odd-${served.body.length}`
  upstream.put(`/${name}`, served)
  expect(await get(name)).toMatchObject({ status: 502, text: expect.stringContaining(why) as string })
})

test('nothing is published into it, tagged, deprecated or removed', async () => {
  list('theirs', { versions: [{ version: '1.0.0' }] })
  await packument('theirs')
  const headers = { 'Authorization': `Bearer ${token}`, 'Content-Type': 'application/json' }
  for (const [method, path, body] of [
    ['PUT', 'theirs', '{"name":"theirs","versions":{"1.0.0":{"deprecated":"x"}}}'],
    ['PUT', '-/package/theirs/dist-tags/next', '"1.0.0"'],
    ['DELETE', '-/package/theirs/dist-tags/latest', undefined],
    ['PUT', 'theirs/-rev/1-x', '{}'],
    ['DELETE', 'theirs/-rev/1-x', undefined],
    ['DELETE', 'theirs/-/theirs-1.0.0.tgz/-rev/1-x', undefined],
  ] as const) {
    const answer = await get(path, headers, method, body)
    expect([path, answer.status, answer.text]).toEqual([path, 405, expect.stringContaining('outside is a proxy')])
  }
  expect((await packument('theirs'))['dist-tags']).toEqual({ latest: '1.0.0' })
})

test('a search finds what came through', async () => {
  list('sought', { versions: [{ version: '1.0.0' }] })
  const found = async (): Promise<unknown[]> =>
    (JSON.parse((await get('-/v1/search?text=sought')).text) as { objects: unknown[] }).objects
  await packument('sought')
  expect(await found()).toEqual([])
  await get('sought/-/sought-1.0.0.tgz')
  expect(await found()).toMatchObject([{ package: { name: 'sought', version: '1.0.0' } }])
  expect((await get('-/v1/search?text=sought')).headers.get('npm-notice')).toMatch(/finds what came through/)
})

test('kill -9 in the middle of a first download leaves nothing half, and the next one brings it in', async () => {
  list('cut', { versions: [{ version: '1.0.0' }] })
  await packument('cut')
  upstream.hang(true)
  const waiting = get('cut/-/cut-1.0.0.tgz').catch(() => undefined)
  await expect.poll(() => upstream.asked().includes('/cut/-/cut-1.0.0.tgz')).toBe(true)
  await daemon.kill9()
  await waiting
  upstream.hang(false)
  await daemon.restart()
  token = await daemon.setupAdmin()
  expect((await readdir(join(root, 'incoming'))).length).toBe(0)
  expect(await get('cut/-/cut-1.0.0.tgz')).toMatchObject({ status: 200 })
})
