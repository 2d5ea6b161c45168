import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildLibrary, buildPom } from '../support/packages-maven.ts'
import { startRegistryUpstream, type RegistryUpstream } from '../support/registry-upstream.ts'
import { run } from '../support/tools.ts'
import { osvRecord, osvZip } from '../support/zip.ts'

const OLD = 'Wed, 01 Jan 2020 00:00:00 GMT'
const DAY_MS = 86_400_000
const sha1 = (bytes: Buffer | string): string => createHash('sha1').update(bytes).digest('hex')

let upstream: RegistryUpstream
let daemon: Daemon
let token: string

const ask = (method: string, path: string, body?: object) =>
  daemon.call(method, path, { token, ...(body === undefined ? {} : { body }) })

interface Put {
  readonly artifact: string
  readonly version: string
  readonly at?: string
  readonly packaging?: string
  readonly inside?: string
  /** More files, by what follows artifact and version in their names. */
  readonly files?: Readonly<Record<string, Buffer>>
}
function put({ artifact, version, at = OLD, packaging = 'jar', inside, files = {} }: Put): void {
  const folder = `/m2/com/example/${artifact}/${version}`
  const pom = buildPom({ group: 'com.example', artifact: inside ?? artifact, version, packaging })
  const all: Record<string, Buffer> = {
    '.pom': Buffer.from(pom),
    ...(packaging === 'pom' ? {} : { '.jar': buildLibrary({ 'about.txt': `${artifact} ${version}` }) }),
    ...files,
  }
  for (const [end, body] of Object.entries(all)) {
    const path = `${folder}/${artifact}-${version}${end}`
    upstream.put(path, { body, headers: { 'Last-Modified': at } })
    upstream.put(`${path}.sha1`, { body: sha1(body) })
  }
}
function list(artifact: string, versions: readonly string[], updated = '20200101000000'): void {
  const lines = versions.map(version => `<version>${version}</version>`).join('')
  upstream.put(`/m2/com/example/${artifact}/maven-metadata.xml`, {
    type: 'text/xml',
    body: `<metadata><groupId>com.example</groupId><artifactId>${artifact}</artifactId><versioning><versions>${lines}</versions><lastUpdated>${updated}</lastUpdated></versioning></metadata>`,
  })
}
async function get(path: string, registry = 'outside') {
  const response = await fetch(`${daemon.url}/maven/${registry}/${path}`)
  const bytes = Buffer.from(await response.arrayBuffer())
  return { status: response.status, reason: response.statusText, text: bytes.toString(), sha1: sha1(bytes) }
}
const file = (artifact: string, version: string, end: string) =>
  get(`com/example/${artifact}/${version}/${artifact}-${version}${end}`)
const versionsIn = (text: string): string[] => [...text.matchAll(/<version>([^<]+)</g)].map(([, one = '']) => one)

const loaded: object[] = []
async function importData(...records: object[]): Promise<void> {
  loaded.push(...records)
  const form = new FormData()
  form.set('file', new Blob([new Uint8Array(osvZip(loaded))]), 'all.zip')
  const answer = await daemon.call('POST', '/security/database', { token, form })
  expect(answer.status, answer.text).toBe(200)
}

beforeAll(async () => {
  upstream = await startRegistryUpstream()
  daemon = await startDaemon()
  token = await daemon.setupAdmin()
  const set = await ask('PATCH', '/settings/', {
    notifications: { allow_private_hosts: '127.0.0.1' },
    validation: { on_scanner_unavailable: 'warn', clamav_scan: false },
  })
  expect(set.status, set.text).toBe(200)
  const made = await ask('POST', '/registries/', {
    ...{ name: 'outside', format: 'maven', kind: 'proxy', upstream: { url: `${upstream.url}/m2/` }, min_age_days: 7 },
  })
  expect(made.status, made.text).toBe(201)
  await importData(osvRecord('GHSA-none-none-none', [['Maven', 'org.none:none', '1.0']]))
})
afterAll(async () => {
  await daemon.close()
  await upstream.close()
})

test('a library is fetched once, passes the gate, and is served without the upstream', async () => {
  put({ artifact: 'calm', version: '1.0' })
  list('calm', ['1.0'])
  const jar = buildLibrary({ 'about.txt': 'calm 1.0' })
  expect(await file('calm', '1.0', '.pom')).toMatchObject({ status: 200 })
  expect((await ask('GET', '/artifacts/com.example:calm/1.0?distribution=outside')).status).toBe(404)
  expect(await file('calm', '1.0', '.jar')).toMatchObject({ status: 200, sha1: sha1(jar) })
  upstream.forget()
  upstream.fail(503)
  expect(await file('calm', '1.0', '.jar')).toMatchObject({ status: 200, sha1: sha1(jar) })
  expect(await file('calm', '1.0', '.jar.sha1')).toMatchObject({ status: 200, text: sha1(jar) })
  expect(await file('calm', '1.0', '.pom')).toMatchObject({ status: 200 })
  upstream.fail(undefined)
  const here = await ask('GET', '/artifacts/com.example:calm/1.0?distribution=outside')
  expect(here.body, here.text).toMatchObject({ status: 'published' })
})

test('a parent pom, and sources that come after their library', async () => {
  put({ artifact: 'parent', version: '1.0', packaging: 'pom' })
  list('parent', ['1.0'])
  expect(await file('parent', '1.0', '.pom')).toMatchObject({ status: 200 })
  const sources = buildLibrary({ 'A.java': 'class A {}' })
  put({ artifact: 'with', version: '1.0', files: { '-sources.jar': sources } })
  list('with', ['1.0'])
  expect(await file('with', '1.0', '.jar')).toMatchObject({ status: 200 })
  expect(await file('with', '1.0', '-sources.jar')).toMatchObject({ status: 200, sha1: sha1(sources) })
  expect(await file('with', '1.0', '-javadoc.jar')).toMatchObject({ status: 404 })
})

test('versions that no list names are found by their pom', async () => {
  put({ artifact: 'unlisted', version: '0.9' })
  list('unlisted', ['1.0'])
  expect(await file('unlisted', '0.9', '.jar')).toMatchObject({ status: 200 })
  put({ artifact: 'listless', version: '1.0' })
  expect(await file('listless', '1.0', '.jar')).toMatchObject({ status: 200 })
  expect(await file('listless', '2.0', '.jar')).toMatchObject({ status: 404 })
})

/** A library whose newest versions clients must not get: critical, malicious, young. */
async function listMixed(artifact: string): Promise<void> {
  const young = new Date(Date.now() - DAY_MS)
  for (const version of ['1.0', '2.0', '3.0']) put({ artifact, version })
  put({ artifact, version: '4.0', at: young.toUTCString() })
  const about = (...versions: readonly string[]) => ({
    affected: [{ package: { ecosystem: 'Maven', name: `com.example:${artifact}` }, versions }],
  })
  await importData(
    osvRecord(`MAL-${artifact}`, [], about('3.0')),
    osvRecord(`GHSA-${artifact}`, [], { ...about('2.0'), database_specific: { severity: 'CRITICAL' } }),
  )
  // the list has just changed, so the dates are those of the poms
  list(artifact, ['1.0', '2.0', '3.0', '4.0'], young.toISOString().slice(0, 19).replaceAll(/[-:T]/g, ''))
}

test('young, malicious and critical versions are in no list, and their files say why', async () => {
  await listMixed('mixed')
  const { text } = await get('com/example/mixed/maven-metadata.xml')
  expect(versionsIn(text)).toEqual(['1.0'])
  expect(text).toContain('<release>1.0</release>')
  const reasons = {
    '2.0': 'The policy blocks it',
    '3.0': 'It is malicious: MAL-mixed',
    '4.0': 'It is younger than 7 days',
  }
  for (const [version, said] of Object.entries(reasons))
    for (const end of ['.jar', '.pom', '.jar.sha1'])
      expect(await file('mixed', version, end)).toMatchObject({ status: 403, reason: expect.stringContaining(said) })
})

test('other bytes than the checksum, another pom inside, and a page in place of it are refused', async () => {
  put({ artifact: 'liar', version: '1.0' })
  upstream.put('/m2/com/example/liar/1.0/liar-1.0.jar', { body: 'other bytes' })
  list('liar', ['1.0'])
  expect(await file('liar', '1.0', '.jar')).toMatchObject({
    status: 502,
    text: expect.stringContaining('its index says'),
  })
  put({ artifact: 'outer', version: '1.0', inside: 'inner' })
  list('outer', ['1.0'])
  expect(await file('outer', '1.0', '.pom')).toMatchObject({
    status: 502,
    text: expect.stringContaining('com.example:inner'),
  })
  upstream.put('/m2/com/example/page/maven-metadata.xml', {
    type: 'text/html',
    body: '<html><body>Sign in</body></html>',
  })
  expect(await get('com/example/page/maven-metadata.xml')).toMatchObject({ status: 502 })
})

test('snapshots are not read through, and nothing is deployed into it', async () => {
  expect(await get('com/example/calm/1.1-SNAPSHOT/maven-metadata.xml')).toMatchObject({
    status: 404,
    reason: expect.stringContaining('Snapshots are not read through'),
  })
  const answer = await fetch(`${daemon.url}/maven/outside/com/example/own/1.0/own-1.0.jar`, {
    method: 'PUT',
    body: 'x',
    headers: { Authorization: `Bearer ${token}` },
  })
  expect([answer.status, await answer.text()]).toEqual([409, expect.stringContaining('Publish into a hosted registry')])
})

// where Debian's packages of Maven's plugins lie; MAVEN_PLUGINS names another repository
const DEBIAN = '/usr/share/maven-repo'
const plugins = process.env.MAVEN_PLUGINS ?? `file://${DEBIAN}`
const isReady =
  (await run('mvn', ['--version']).catch(() => ({ code: 1 }))).code === 0 &&
  (process.env.MAVEN_PLUGINS !== undefined || existsSync(`${DEBIAN}/org/apache/maven/plugins/maven-dependency-plugin`))
const NEEDS = 'needs maven, with the dependency plugin of Debian, or MAVEN_PLUGINS'
test.skipIf(!isReady)(`mvn resolves through a group with ours before it (${NEEDS})`, async () => {
  for (const more of [
    { name: 'ours', format: 'maven', reserved: ['org.house.*'] },
    { name: 'all-maven', format: 'maven', kind: 'group', members: ['ours', 'outside'] },
  ])
    expect((await ask('POST', '/registries/', more)).status).toBe(201)
  put({ artifact: 'used', version: '1.0' })
  list('used', ['1.0'])
  const home = await mkdtemp(join(tmpdir(), 'gh-mvn-proxy-'))
  try {
    await mkdir(join(home, 'local'), { recursive: true })
    const mirror = (id: string, of: string, url: string): string =>
      `<mirror><id>${id}</id><mirrorOf>${of}</mirrorOf><url>${url}</url></mirror>`
    await writeFile(
      join(home, 'settings.xml'),
      `<settings><localRepository>${home}/local</localRepository><mirrors>${mirror('plugins', 'central', plugins)}</mirrors></settings>`,
    )
    const mvn = async (goal: string, ...args: readonly string[]) => {
      const plugin = `org.apache.maven.plugins:maven-dependency-plugin:3.5.0:${goal}`
      const { code, out, err } = await run('mvn', ['-B', '-s', join(home, 'settings.xml'), plugin, ...args])
      return [code, `${out}${err}`]
    }
    const address = `${daemon.url}/maven/all-maven/`
    const fetched = (artifact: string, version: string) =>
      mvn(
        'get',
        `-Dartifact=com.example:${artifact}:${version}`,
        '-Dtransitive=false',
        `-DremoteRepositories=all::default::${address}`,
      )
    expect(await fetched('used', '1.0')).toEqual([0, expect.stringContaining('used-1.0.jar')])

    // young, malicious and critical versions are above the one that is taken
    await listMixed('several')
    expect(await fetched('several', 'LATEST')).toEqual([0, expect.stringContaining('several-1.0.jar')])
    const repositories = `<repositories><repository><id>all</id><url>${address}</url></repository></repositories>`
    const needs = `<dependency><groupId>com.example</groupId><artifactId>several</artifactId><version>[1.0,)</version></dependency>`
    const project = async (more: string): Promise<string> => {
      const pom = join(home, 'pom.xml')
      await writeFile(
        pom,
        buildPom({
          ...{ group: 'org.app', artifact: 'app', version: '1', packaging: 'pom' },
          more: `${more}${repositories}`,
        }),
      )
      return pom
    }
    const range = await project(`<dependencies>${needs}</dependencies>`)
    expect(await mvn('resolve', '-f', range)).toEqual([0, expect.stringContaining('com.example:several:jar:1.0')])
    for (const [version, said] of [
      ['2.0', 'The policy blocks it'],
      ['3.0', 'It is malicious: MAL-several'],
      ['4.0', 'It is younger than 7 days'],
    ] as const)
      expect(await fetched('several', version)).toEqual([1, expect.stringContaining(said)])

    // a parent that is reserved and nowhere here, and outside is one
    const parent = { group: 'org.house', artifact: 'parent', version: '7', packaging: 'pom' }
    for (const [end, body] of [
      ['parent-7.pom', buildPom(parent)],
      ['parent-7.pom.sha1', sha1(buildPom(parent))],
    ] as const)
      upstream.put(`/m2/org/house/parent/7/${end}`, { body })
    const child = await project(
      '<parent><groupId>org.house</groupId><artifactId>parent</artifactId><version>7</version><relativePath/></parent>',
    )
    upstream.forget()
    expect(await mvn('resolve', '-f', child)).toEqual([1, expect.stringContaining('org.house:parent')])
    expect(upstream.asked()).toEqual([])
  } finally {
    await rm(home, { recursive: true, force: true })
  }
})
