import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { defineRegistries, decideVersion } from '../support/defined-registries.ts'
import {
  buildWheel,
  buildSdist,
  metadataText,
  sdistName,
  wheelName,
  type PythonSpec,
} from '../support/packages-pypi.ts'
import { createPython, noPip, uv, type PythonClient } from '../support/python.ts'
import { proxyRegistry, startRegistryUpstream, type RegistryUpstream } from '../support/registry-upstream.ts'
import { osvRecord, osvZip } from '../support/zip.ts'

const JSON_TYPE = 'application/vnd.pypi.simple.v1+json'
const OLD = '2020-01-01T00:00:00Z'
const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex')

let root: string
let upstream: RegistryUpstream
let daemon: Daemon
let token: string
const index = (): string => `${daemon.url}/pypi/outside/simple/`

/** A file of a page of the upstream. */
interface Listed {
  readonly spec: PythonSpec
  readonly at?: string
  readonly kind?: 'wheel' | 'sdist'
  readonly more?: object
  /** Other bytes than the page promises. */
  readonly lies?: boolean
  /** Nothing lies beside the wheel, and the server gives parts of it, or only the whole. */
  readonly bare?: 'in parts' | 'whole'
}
const fileOf = ({ spec, kind = 'wheel' }: Listed): { readonly name: string; readonly bytes: Buffer } =>
  kind === 'wheel'
    ? { name: wheelName(spec), bytes: buildWheel(spec) }
    : { name: sdistName(spec), bytes: buildSdist(spec) }

function list(project: string, files: readonly Listed[]): void {
  const rows = files.map(one => {
    const { name, bytes } = fileOf(one)
    const body = one.lies === true ? Buffer.concat([bytes, Buffer.from('x')]) : bytes
    upstream.put(`/files/${name}`, { body, ...(one.bare === 'in parts' ? { ranges: true } : {}) })
    const metadata = metadataText(one.spec)
    const isBare = one.kind === 'sdist' || one.bare !== undefined
    if (!isBare) upstream.put(`/files/${name}.metadata`, { body: metadata })
    return {
      'filename': name,
      'url': `../../files/${name}`,
      'hashes': { sha256: sha256(bytes) },
      'upload-time': one.at ?? OLD,
      'core-metadata': isBare ? false : { sha256: sha256(metadata) },
      ...one.more,
    }
  })
  const body = JSON.stringify({ meta: { 'api-version': '1.1' }, name: project, files: rows })
  upstream.put(`/simple/${project}/`, { type: JSON_TYPE, body })
}

const loaded: object[] = []
async function importData(...records: object[]): Promise<void> {
  loaded.push(...records)
  const form = new FormData()
  form.set('file', new Blob([new Uint8Array(osvZip(loaded))]), 'all.zip')
  const { status, text } = await daemon.call('POST', '/security/database', { token, form })
  expect([status, text]).toEqual([200, expect.anything()])
}
const policy = async (validation: object): Promise<void> => {
  const answer = await daemon.call('PATCH', '/settings/', { token, body: { validation } })
  expect(answer.status, answer.text).toBe(200)
}

interface File {
  readonly filename: string
  readonly yanked: string | boolean
}
async function page(project: string): Promise<{ status: number; headers: Headers; files: readonly File[] }> {
  const response = await fetch(`${index()}${project}/`, { headers: { Accept: JSON_TYPE } })
  const text = await response.text()
  const files = response.status === 200 ? (JSON.parse(text) as { files: File[] }).files : []
  return { status: response.status, headers: response.headers, files }
}
const get = async (path: string): Promise<{ status: number; reason: string; text: string; headers: Headers }> => {
  const response = await fetch(`${daemon.url}/pypi/outside/files/${path}`)
  return {
    status: response.status,
    reason: response.statusText,
    text: await response.text(),
    headers: response.headers,
  }
}

beforeAll(async () => {
  upstream = await startRegistryUpstream()
  root = await mkdtemp(join(tmpdir(), 'gh-pypi-proxy-'))
  const rules = { url: `${upstream.url}/simple`, minAgeDays: 7 }
  await defineRegistries(root, [proxyRegistry('outside', 'pypi', rules)])
  daemon = await startDaemon({ root })
  token = await daemon.setupAdmin()
  const notifications = { allow_private_hosts: '127.0.0.1' }
  const answer = await daemon.call('PATCH', '/settings/', { token, body: { notifications } })
  expect(answer.status, answer.text).toBe(200)
  await policy({ on_scanner_unavailable: 'warn', clamav_scan: false })
  await importData(osvRecord('GHSA-none-none-none', [['PyPI', 'something-else', '1.0']]))
})
afterAll(async () => {
  await daemon.close()
  await upstream.close()
  await rm(root, { recursive: true, force: true })
})

test('a project is read once, a file once, and both are served while the upstream is gone', async () => {
  list('calm', [{ spec: { name: 'calm', version: '1.0' } }])
  expect((await page('calm')).files).toMatchObject([{ filename: 'calm-1.0-py3-none-any.whl', yanked: false }])
  await Promise.all([page('calm'), page('calm')])
  expect(upstream.asked()).toEqual(['/simple/calm/'])
  const [first, second] = await Promise.all([
    get('calm/calm-1.0-py3-none-any.whl'),
    get('calm/calm-1.0-py3-none-any.whl'),
  ])
  expect([first.status, second.status], first.text).toEqual([200, 200])
  expect(upstream.asked()).toEqual(['/simple/calm/', '/files/calm-1.0-py3-none-any.whl'])
  upstream.fail(503)
  expect(await get('calm/calm-1.0-py3-none-any.whl')).toMatchObject({ status: 200 })
  upstream.fail(undefined)
  const here = await daemon.call('GET', '/artifacts/calm/1.0?distribution=outside', { token })
  expect(here.body, here.text).toMatchObject({ status: 'published', distribution: 'outside' })
})

test('other spellings lead to one project, and one that the upstream lacks is not there', async () => {
  const moved = await fetch(`${index()}Ca.lm`, { redirect: 'manual' })
  expect(moved.status).toBe(301)
  upstream.forget()
  expect((await page('nobody-has-it')).status).toBe(404)
  expect((await page('nobody-has-it')).status).toBe(404)
  expect(upstream.asked()).toEqual(['/simple/nobody-has-it/'])
})

test('METADATA that does not lie beside a wheel is read out of it by parts, and the wheel stays where it is', async () => {
  const spec = { name: 'bare', version: '1.0', files: { 'bare.bin': randomBytes(400_000) } }
  list('bare', [
    { spec, bare: 'in parts' },
    { spec: { name: 'bare', version: '0.9' }, kind: 'sdist' },
  ])
  const listed = await page('bare')
  expect(listed.files).toMatchObject([{ 'core-metadata': false }, { 'core-metadata': true }])
  upstream.forget()
  const from = upstream.log.length
  const metadata = 'bare/bare-1.0-py3-none-any.whl.metadata'
  expect(await get(metadata)).toMatchObject({ status: 200, text: metadataText(spec) })
  const ranges = upstream.log.slice(from).map(({ headers }) => headers.range)
  expect(ranges.length).toBeGreaterThan(0)
  expect(ranges).not.toContain(undefined)
  expect((await daemon.call('GET', '/artifacts/bare/1.0?distribution=outside', { token })).status).toBe(404)
  upstream.forget()
  expect(await get(metadata)).toMatchObject({ status: 200 })
  expect(upstream.asked()).toEqual([])
  expect(await get('bare/bare-0.9.tar.gz.metadata')).toMatchObject({ status: 404 })
})

test('where the upstream gives no parts, the wheel comes in through the gate, and its METADATA is read here', async () => {
  const spec = { name: 'blunt', version: '1.0' }
  list('blunt', [{ spec, bare: 'whole' }])
  await page('blunt')
  expect(await get('blunt/blunt-1.0-py3-none-any.whl.metadata')).toMatchObject({
    status: 200,
    text: metadataText(spec),
  })
  expect((await daemon.call('GET', '/artifacts/blunt/1.0?distribution=outside', { token })).status).toBe(200)
})

test('young, malicious and critical versions are listed as yanked with the reason, and refused by their files', async () => {
  await importData(
    osvRecord('MAL-2026-7', [['PyPI', 'mixed', '']], {
      affected: [{ package: { ecosystem: 'PyPI', name: 'mixed' }, versions: ['4.0'] }],
    }),
    osvRecord('GHSA-crit-crit-crit', [], {
      affected: [{ package: { ecosystem: 'PyPI', name: 'mixed' }, versions: ['3.0'] }],
      database_specific: { severity: 'CRITICAL' },
    }),
  )
  const young = new Date(Date.now() - 86_400_000).toISOString()
  list('mixed', [
    { spec: { name: 'mixed', version: '1.0' } },
    { spec: { name: 'mixed', version: '2.0' } },
    { spec: { name: 'mixed', version: '3.0' } },
    { spec: { name: 'mixed', version: '4.0' } },
    { spec: { name: 'mixed', version: '5.0' }, at: young },
  ])
  const { files } = await page('mixed')
  const said = Object.fromEntries(files.map(({ filename, yanked }) => [filename.split('-')[1], yanked]))
  expect(said).toMatchObject({
    '1.0': false,
    '2.0': false,
    '3.0': expect.stringContaining('The policy blocks it: GHSA-crit-crit-crit (critical)'),
    '4.0': expect.stringContaining('It is malicious: MAL-2026-7 (malicious)'),
    '5.0': expect.stringContaining('It is younger than 7 days: published on'),
  })
  upstream.forget()
  for (const version of ['3.0', '4.0', '5.0']) {
    const refused = await get(`mixed/mixed-${version}-py3-none-any.whl`)
    expect(refused).toMatchObject({ status: 403, reason: expect.stringMatching(/^Hidden by Gatehouse: /) })
    expect(await get(`mixed/mixed-${version}-py3-none-any.whl.metadata`)).toMatchObject({ status: 403 })
  }
  expect(upstream.asked()).toEqual([])
})

test('what the policy asks a review for comes in by its exact file, waits, and is served once it is approved', async () => {
  await importData(
    osvRecord('GHSA-high-high-high', [['PyPI', 'doubtful', '9.0']], { database_specific: { severity: 'HIGH' } }),
  )
  list('doubtful', [
    { spec: { name: 'doubtful', version: '1.0' } },
    { spec: { name: 'doubtful', version: '1.0' }, kind: 'sdist' },
  ])
  const { files } = await page('doubtful')
  expect(files[0]?.yanked).toContain('The policy asks for a review: GHSA-high-high-high (high)')
  const wheel = 'doubtful/doubtful-1.0-py3-none-any.whl'
  expect(await get(wheel)).toMatchObject({
    status: 403,
    reason: expect.stringContaining('Held for review by Gatehouse'),
  })
  await decideVersion(daemon, {
    token,
    registry: 'outside',
    name: 'doubtful',
    version: '1.0',
    arch: 'py3-none-any',
    action: 'approve',
  })
  expect(await get(wheel)).toMatchObject({ status: 200 })
  expect((await page('doubtful')).files.find(({ filename }) => filename.endsWith('.whl'))).toMatchObject({
    yanked: false,
  })
})

test('other bytes than the page promises are refused, and nothing of them is kept', async () => {
  list('liar', [{ spec: { name: 'liar', version: '1.0' }, lies: true }, { spec: { name: 'other', version: '1.0' } }])
  expect((await page('liar')).files).toHaveLength(1)
  const refused = await get('liar/liar-1.0-py3-none-any.whl')
  expect(refused.status).toBe(502)
  expect(refused.text).toContain('its index says')
  expect((await daemon.call('GET', '/artifacts/liar/1.0?distribution=outside', { token })).status).toBe(404)
})

test('a wheel that is another inside is refused', async () => {
  const { bytes } = fileOf({ spec: { name: 'inner', version: '1.0' } })
  list('outer', [{ spec: { name: 'outer', version: '1.0' } }])
  upstream.put('/simple/outer/', {
    type: JSON_TYPE,
    body: JSON.stringify({
      files: [
        {
          'filename': 'outer-1.0-py3-none-any.whl',
          'url': '/files/outer.whl',
          'hashes': { sha256: sha256(bytes) },
          'upload-time': OLD,
        },
      ],
    }),
  })
  upstream.put('/files/outer.whl', { body: bytes })
  const refused = await get('outer/outer-1.0-py3-none-any.whl')
  expect(refused.status, refused.text).toBeGreaterThanOrEqual(400)
  expect((await daemon.call('GET', '/artifacts/outer/1.0?distribution=outside', { token })).status).toBe(404)
})

test.each([
  ['a login page', { type: 'text/html', body: '<html><title>Sign in</title><form></form></html>' }],
  ['no JSON', { type: JSON_TYPE, body: '{"files": [' }],
  ['JSON without files', { type: JSON_TYPE, body: '{"message": "ok"}' }],
  ['an image', { type: 'image/png', body: 'x' }],
])('%s is no index, and the answer says so', async (_, served) => {
  const name = `odd-${createHash('md5').update(served.body).digest('hex').slice(0, 6)}`
  upstream.put(`/simple/${name}/`, served)
  const response = await fetch(`${index()}${name}/`, { headers: { Accept: JSON_TYPE } })
  expect([response.status, await response.text()]).toEqual([502, expect.stringContaining(`the index of ${name}`)])
})

test('a page of HTML says the same', async () => {
  const spec = { name: 'plain', version: '1.0', fields: { 'Requires-Python': '>=3.6' } }
  const bytes = buildWheel(spec)
  upstream.put('/files/plain.whl', { body: bytes })
  upstream.put('/simple/plain/', {
    type: 'text/html; charset=utf-8',
    body: `<!DOCTYPE html><html><head><title>Links for plain</title></head><body>
<a href="/files/plain.whl#sha256=${sha256(bytes)}" data-requires-python="&gt;=3.6" data-yanked="broken &amp; old">${wheelName(spec)}</a><br>
<a href="/files/plain-1.0.zip">plain-1.0.zip</a></body></html>`,
  })
  // it names no date, so it counts as young here
  const { files } = await page('plain')
  expect(files).toMatchObject([{ filename: wheelName(spec), yanked: expect.stringContaining('names no date for it') }])
})

test('kill -9 in the middle of a first download leaves nothing half, and the next one brings it in', async () => {
  list('cut', [{ spec: { name: 'cut', version: '1.0' } }])
  await page('cut')
  upstream.hang(true)
  const waiting = get('cut/cut-1.0-py3-none-any.whl').catch(() => undefined)
  await expect.poll(() => upstream.asked().includes('/files/cut-1.0-py3-none-any.whl')).toBe(true)
  await daemon.kill9()
  await waiting
  upstream.hang(false)
  await daemon.restart()
  token = await daemon.setupAdmin()
  expect(await get('cut/cut-1.0-py3-none-any.whl')).toMatchObject({ status: 200 })
})

describe.skipIf(noPip !== undefined)('Python clients (needs python3-venv)', () => {
  let client: PythonClient
  beforeAll(async () => {
    client = await createPython()
  })
  afterAll(() => client.close())

  test('pip takes the newest good version, and who asks for a hidden one reads why', async () => {
    const installed = await client.pip('install', '-i', index(), 'mixed')
    expect(installed, installed.out).toMatchObject({ code: 0 })
    expect(await client.value('mixed', 'mixed.VERSION')).toBe('2.0')
    const asked = await client.pip('install', '-i', index(), 'mixed==4.0')
    expect(asked.code).toBe(1)
    expect(asked.out).toContain('Hidden by Gatehouse: It is malicious: MAL-2026-7 (malicious)')
  })

  test('pip resolves from the metadata, and installs again from here when the upstream is gone', async () => {
    list('top', [{ spec: { name: 'top', version: '1.0', fields: { 'Requires-Dist': 'deep<2' } } }])
    list('deep', [{ spec: { name: 'deep', version: '1.5' } }, { spec: { name: 'deep', version: '2.0' } }])
    upstream.forget()
    const first = await client.pip('install', '-i', index(), 'top')
    expect(first, first.out).toMatchObject({ code: 0 })
    expect(upstream.asked()).not.toContain('/files/deep-2.0-py3-none-any.whl')
    upstream.fail(500)
    expect(await client.pip('uninstall', '-y', 'top', 'deep')).toMatchObject({ code: 0 })
    const again = await client.pip('install', '-i', index(), 'top')
    expect(again, again.out).toMatchObject({ code: 0 })
    upstream.fail(undefined)
  })

  test.skipIf(uv === undefined)('uv takes the newest good version', async () => {
    const installed = await client.uv(['pip', 'install', '--index-url', index(), '--upgrade', 'mixed'])
    expect(installed, installed.out).toMatchObject({ code: 0 })
    expect(await client.value('mixed', 'mixed.VERSION')).toBe('2.0')
  })
})
