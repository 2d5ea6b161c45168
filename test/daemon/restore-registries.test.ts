import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon, type Answer, type Daemon } from '../support/daemon.ts'
import { clientMetadata } from '../support/maven-registry.ts'
import { listNpm } from '../support/npm-upstream.ts'
import { buildImage, layerOf, sha256 } from '../support/oci-images.ts'
import { createOciClient } from '../support/oci-registry.ts'
import { buildLibrary, buildPom } from '../support/packages-maven.ts'
import { buildNpm } from '../support/packages-npm.ts'
import { buildWheel, wheelName } from '../support/packages-pypi.ts'
import { startRegistryUpstream, type RegistryUpstream } from '../support/registry-upstream.ts'

const CLI = (name: string): string => join(import.meta.dirname, '..', '..', 'server', 'cli', `${name}.ts`)
const PASSPHRASE = 'Eleven-blue-herons'
const SECRET = 'hunter-2-of-the-upstream'
const JSON_PAGE = 'application/vnd.pypi.simple.v1+json'

/** A service with registries of every format and kind, and what came of it on another machine. */
let upstream: RegistryUpstream
let folder: string
let root: string
let before: Daemon
let after: Daemon
let token: string
/** What clients of the first got, by address. */
let were: Readonly<Record<string, string>>

/** Runs a command of the product on a root, with its embedded database. */
function run(name: string, on: string, args: readonly string[] = [], more: Record<string, string> = {}) {
  const { DATABASE_URL: _, ...env } = process.env
  const done = spawnSync(process.execPath, [CLI(name), ...args], {
    env: { ...env, REPOS_ROOT: on, ENV: 'test', ...more },
    encoding: 'utf8',
  })
  return { status: done.status, said: `${done.stdout}${done.stderr}` }
}

async function must(method: string, path: string, body?: object): Promise<Answer> {
  const answer = await before.call(method, path, { token, ...(body === undefined ? {} : { body }) })
  expect(answer.status, `${method} ${path}: ${answer.text}`).toBeLessThan(300)
  return answer
}
async function upload(distribution: string, filename: string, bytes: Buffer): Promise<void> {
  const answer = await before.upload(bytes, { token, distribution, filename })
  expect(answer.body.status, answer.text).toBe('published')
}
async function put(path: string, body: Buffer): Promise<void> {
  const headers = { Authorization: `Bearer ${token}` }
  const { status } = await fetch(`${before.url}${path}`, { method: 'PUT', headers, body: new Uint8Array(body) })
  expect([path, status]).toEqual([path, 201])
}
async function get(daemon: Daemon, path: string): Promise<{ readonly status: number; readonly bytes: Buffer }> {
  const response = await fetch(`${daemon.url}${path}`, {
    headers: path.startsWith('/pypi') ? { Accept: JSON_PAGE } : {},
  })
  return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) }
}
/** Status and digest of what an address gives; its own address in it is taken out. */
async function given(daemon: Daemon, path: string): Promise<string> {
  const { status, bytes } = await get(daemon, path)
  const text = bytes.toString('latin1').replaceAll(daemon.url, 'http://here')
  return `${status} ${createHash('sha256').update(text, 'latin1').digest('hex')}`
}
const namesIn = (bytes: Buffer, key: string): readonly string[] =>
  Object.keys((JSON.parse(bytes.toString()) as Record<string, object>)[key] ?? {})
const own = (name: string): readonly string[] => upstream.asked().filter(path => path.includes(name))

const image = buildImage({ layers: [layerOf({ name: 'etc/said', body: 'ours' })], comment: 'ours' })
const older = buildImage({ layers: [layerOf({ name: 'etc/said', body: 'older' })], comment: 'older' })
const LIB = 'com/ours/lib'
const ADDRESSES = [
  ...['/npm/js/our-lib', '/npm/js/our-lib/-/our-lib-1.0.0.tgz', '/npm/js/our-lib/-/our-lib-1.1.0.tgz'],
  ...['/npm/js/-/package/our-lib/dist-tags', '/npm/every/our-lib', '/npm/every/-/package/our-lib/dist-tags'],
  ...['/npm/js/gone-lib', '/npm/far/pad/-/pad-1.0.0.tgz', '/npm/far/pad/-/pad-2.0.0.tgz'],
  ...['/npm/far/pad/-/pad-3.0.0.tgz', '/npm/every/pad/-/pad-1.0.0.tgz'],
  ...['/pypi/py/simple/', '/pypi/py/simple/our-tool/'],
  ...[1, 2].map(n => `/pypi/py/files/our-tool/${wheelName({ name: 'our-tool', version: `${n}.0` })}`),
  ...['jar', 'jar.sha1', 'pom'].map(end => `/maven/mvn/${LIB}/1.0/lib-1.0.${end}`),
  ...[`/maven/mvn/${LIB}/maven-metadata.xml`, '/v2/img/team/app/tags/list'],
  ...['v1', 'old', image.digest].map(one => `/v2/img/team/app/manifests/${one}`),
  ...[image, older].flatMap(({ layers }) => layers.map(one => `/v2/img/team/app/blobs/${sha256(one)}`)),
]

async function fill(): Promise<void> {
  for (const version of ['1.0.0', '1.1.0'])
    await upload('js', `our-lib-${version}.tgz`, buildNpm({ name: 'our-lib', version }))
  await must('PUT', '/registries/js/packages/our-lib/tags/next', { version: '1.0.0' })
  await upload('js', 'gone-lib-1.0.0.tgz', buildNpm({ name: 'gone-lib', version: '1.0.0' }))
  await must('DELETE', '/artifacts/gone-lib/1.0.0?distribution=js')
  for (const version of ['1.0', '2.0']) {
    const spec = { name: 'our-tool', version }
    await upload('py', wheelName(spec), buildWheel(spec))
  }
  await must('PUT', '/registries/py/packages/our-tool/versions/2.0/yank', { reason: 'It loses the last line.' })
  const at = { group: 'com.ours', artifact: 'lib', version: '1.0' }
  await put(`/maven/mvn/${LIB}/1.0/lib-1.0.jar`, buildLibrary({ 'a.txt': 'ours' }))
  await put(`/maven/mvn/${LIB}/1.0/lib-1.0.pom`, buildPom(at))
  await put(`/maven/mvn/${LIB}/maven-metadata.xml`, Buffer.from(clientMetadata('com.ours', 'lib', '1.0')))
  const app = createOciClient(before.url, 'img/team/app', `Bearer ${token}`)
  expect((await app.push(older, 'old')).status).toBe(201)
  expect((await app.push(image, 'v1')).status).toBe(201)
  const young = new Date().toISOString()
  listNpm(upstream, 'pad', {
    versions: [{ version: '1.0.0' }, { version: '2.0.0', at: young }, { version: '3.0.0', at: young }],
  })
  expect(namesIn((await get(before, '/npm/far/pad')).bytes, 'versions')).toEqual(['1.0.0'])
  await must('PUT', '/registries/far/packages/pad/versions/2.0.0/waiver', {
    ...{ reason: 'It mends what breaks our builds.', expires_in_days: 20 },
  })
}

beforeAll(async () => {
  upstream = await startRegistryUpstream()
  folder = await mkdtemp(join(tmpdir(), 'gh-restored-'))
  before = await startDaemon({ env: { DATABASE_URL: undefined } })
  token = await before.setupAdmin()
  await must('PATCH', '/settings/', {
    notifications: { allow_private_hosts: '127.0.0.1' },
    validation: { on_scanner_unavailable: 'warn', clamav_scan: false },
    backup: { passphrase: PASSPHRASE },
  })
  for (const [name, format] of [
    ['js', 'npm'],
    ['py', 'pypi'],
    ['mvn', 'maven'],
    ['img', 'oci'],
  ] as const)
    await must('POST', '/registries/', { name, format })
  await must('POST', '/registries/', {
    ...{ name: 'far', format: 'npm', kind: 'proxy', min_age_days: 30 },
    upstream: { url: upstream.url, user: 'ci', secret: SECRET },
  })
  const members = ['far', 'js']
  await must('POST', '/registries/', { name: 'every', format: 'npm', kind: 'group', members, reserved: ['@house/*'] })
  await fill()
  were = Object.fromEntries(await Promise.all(ADDRESSES.map(async path => [path, await given(before, path)] as const)))
  const { body } = await before.call<{ file_name: string }>('POST', '/backup/', { token })
  root = join(folder, 'other')
  const archive = join(before.root, 'backups', body.file_name)
  const done = run('restore', root, [archive], { GATEHOUSE_BACKUP_PASSPHRASE: PASSPHRASE })
  expect(done.status, done.said).toBe(0)
  // what is asked from now on is asked by the other one
  await before.stop()
  after = await startDaemon({ root, env: { DATABASE_URL: undefined } })
  token = await after.setupAdmin()
})
afterAll(async () => {
  await after.close()
  await before.close()
  await upstream.close()
  await rm(folder, { recursive: true, force: true })
})

test('clients get the same bytes, lists, tags and yanks, of what was brought in through an upstream, too', async () => {
  expect(Object.values(were).filter(one => one.startsWith('200')).length).toBe(ADDRESSES.length - 2)
  const are = await Promise.all(ADDRESSES.map(async path => [path, await given(after, path)] as const))
  expect(Object.fromEntries(are)).toEqual(were)
  const tags = await get(after, '/npm/js/-/package/our-lib/dist-tags')
  expect(JSON.parse(tags.bytes.toString())).toEqual({ latest: '1.1.0', next: '1.0.0' })
  const page = await get(after, '/pypi/py/simple/our-tool/')
  const { files } = JSON.parse(page.bytes.toString()) as { files: { yanked: unknown }[] }
  expect(files.map(({ yanked }) => yanked)).toEqual([false, 'It loses the last line.'])
})

test('a name of the house is asked for nowhere outside, also one whose only version was deleted before', async () => {
  for (const name of ['our-lib', 'gone-lib', '@house/plan'])
    listNpm(upstream, name, { versions: [{ version: '9.0.0' }] })
  upstream.forget()
  expect(namesIn((await get(after, '/npm/every/our-lib')).bytes, 'versions')).toEqual(['1.0.0', '1.1.0'])
  for (const path of ['every/gone-lib', 'far/gone-lib', 'far/our-lib', 'every/@house%2fplan'])
    expect([path, (await get(after, `/npm/${path}`)).status]).toEqual([path, 404])
  expect([...own('lib'), ...own('house')]).toEqual([])
})

test('the upstream is asked with the secret that the proxy was given', async () => {
  listNpm(upstream, 'fresh', { versions: [{ version: '1.0.0' }] })
  upstream.forget()
  expect((await get(after, '/npm/far/fresh/-/fresh-1.0.0.tgz')).status).toBe(200)
  const basic = `Basic ${Buffer.from(`ci:${SECRET}`).toString('base64')}`
  const asked = upstream.log.filter(({ path }) => path.includes('fresh'))
  expect(asked.length).toBeGreaterThan(1)
  expect(asked.filter(({ headers }) => headers.authorization !== basic)).toEqual([])
})

test('a waiver lets its version through, and no other young one', async () => {
  expect(namesIn((await get(after, '/npm/far/pad')).bytes, 'versions')).toEqual(['1.0.0', '2.0.0'])
  const { body } = await after.call('GET', '/registries/far/waivers', { token })
  expect(body).toMatchObject({
    total: 1,
    waivers: [{ package: 'pad', version: '2.0.0', reason: 'It mends what breaks our builds.', expired: false }],
  })
  const hidden = await after.call('GET', '/registries/far/hidden', { token })
  expect(hidden.body).toMatchObject({ total: 1, hidden: [{ package: 'pad', version: '3.0.0', because: 'young' }] })
})

test('the group has its members in their order, and verify finds no difference', async () => {
  const { body } = await after.call('GET', '/registries/every', { token })
  expect(body).toMatchObject({ kind: 'group', members: ['far', 'js'], reserved: ['@house/*'] })
  await after.stop()
  expect(run('verify', root)).toMatchObject({ status: 0 })
})
