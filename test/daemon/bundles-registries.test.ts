import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDb } from '../../server/db/db.ts'
import { DATABASE } from '../../server/db/embedded.ts'
import { findRunning } from '../../server/db/pid-file.ts'
import { startDaemon } from '../support/daemon.ts'
import { createNpmHome, npmClient } from '../support/npm-clients.ts'
import { listNpm } from '../support/npm-upstream.ts'
import { buildArtifact, buildImage, buildIndex, layerOf, sha256 } from '../support/oci-images.ts'
import { buildLibrary, buildPom, dependency } from '../support/packages-maven.ts'
import { buildWheel, wheelName } from '../support/packages-pypi.ts'
import { registryCalls, type RegistryCalls } from '../support/registry-publish.ts'
import { startRegistryUpstream, type RegistryUpstream } from '../support/registry-upstream.ts'
import {
  importBundle,
  type Installation,
  makeBundle,
  pinEachOther,
  readReceipt,
  receiptOf,
  settle,
  startHubAndSite,
} from '../support/sites.ts'
import { run } from '../support/tools.ts'

const VERIFY = join(import.meta.dirname, '..', '..', 'server', 'cli', 'verify.ts')
const npm = npmClient('NPM_PROGRAM', 'npm') ?? ''
const REGISTRIES = { js: 'npm', py: 'pypi', libs: 'maven', img: 'oci' } as const
const ALL = Object.keys(REGISTRIES)

let folder: string
let hub: Installation
let site: Installation
let there: RegistryCalls
let here: RegistryCalls

async function must(one: Installation, method: string, path: string, body?: unknown): Promise<void> {
  const { status, text } = await one.daemon.call(method, path, { token: one.token, ...(body ? { body } : {}) })
  expect(status, text).toBeLessThan(300)
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-bundles-registries-'))
  ;({ hub, site } = await startHubAndSite({ registries: REGISTRIES }))
  there = registryCalls(hub.daemon, hub.token)
  here = registryCalls(site.daemon, site.token)
}, 120_000)
afterAll(async () => {
  await Promise.all([hub.daemon.close(), site.daemon.close()])
  await rm(folder, { recursive: true, force: true })
})

async function expectWhole({ daemon }: Installation): Promise<void> {
  const { PATH = '' } = process.env
  const env = { PATH, ENV: 'test', REPOS_ROOT: daemon.root }
  const { code, out } = await run(process.execPath, [VERIFY], {
    env: { ...env, ...(daemon.databaseUrl && { DATABASE_URL: daemon.databaseUrl }) },
  })
  expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('no difference') as string })
}

/** What npm puts into a project with these dependencies. */
async function installed(
  { daemon }: Installation,
  registry: string,
  dependencies: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
  const home = await createNpmHome({ registry: `${daemon.url}/npm/${registry}` })
  try {
    const files = { 'package.json': JSON.stringify({ name: 'here', version: '1.0.0', private: true, dependencies }) }
    const project = await home.project(files)
    const { code, all } = await home.run(npm, ['install', '--no-audit'], project)
    expect(code, all).toBe(0)
    const lock = JSON.parse(await readFile(join(project, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { version: string }>
    }
    const found = Object.entries(lock.packages).filter(([path]) => path !== '')
    return Object.fromEntries(found.map(([path, { version }]) => [path.slice('node_modules/'.length), version]))
  } finally {
    await home.close()
  }
}

interface Packument {
  readonly 'dist-tags': Readonly<Record<string, string>>
  readonly 'versions': Readonly<
    Record<string, { deprecated?: string; dist: { tarball: string; attestations?: { url: string } } }>
  >
}

const wheel = (name: string, version: string, requires?: string) => {
  const spec = { name, version, ...(requires === undefined ? {} : { fields: { 'Requires-Dist': requires } }) }
  return { filename: wheelName(spec), bytes: buildWheel(spec) }
}
const SIGSTORE = JSON.stringify({
  mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
  verificationMaterial: {},
})

const base = layerOf({ name: 'etc/base', body: 'shared by both' })
const amd64 = buildImage({ layers: [base, layerOf({ name: 'app', body: 'for amd64' })] })
const arm64 = buildImage({ layers: [base, layerOf({ name: 'app', body: 'for arm64' })], architecture: 'arm64' })
const index = buildIndex({ amd64, arm64 })
const signature = buildArtifact('application/vnd.example.signature', Buffer.from('signed'), index)

describe('four registries go to a site without a network', () => {
  test('what is published there with all that belongs to it', async () => {
    await there.npm('js', { name: 'leaf', version: '1.0.0' })
    await there.npm('js', { name: 'leaf', version: '2.0.0' }, { tag: 'next' })
    await there.npm('js', { name: '@ours/app', version: '1.0.0', json: { dependencies: { leaf: '^1.0.0' } } })
    await there.npm(
      'js',
      { name: '@ours/app', version: '1.1.0', json: { dependencies: { leaf: '^1.0.0' } } },
      { sigstore: SIGSTORE },
    )
    await there.deprecate('js', '@ours/app', { '1.0.0': 'Take 1.1.0.' })
    await there.pypi('py', wheel('base', '1.0'))
    await there.pypi('py', wheel('app', '1.0', 'base>=1.0'))
    await there.pypi('py', wheel('app', '1.1', 'base>=1.0'))
    await must(hub, 'PUT', '/registries/py/packages/app/versions/1.1/yank', { reason: 'It loses data.' })
    await there.maven('libs', 'org.example:base:1.0', {
      '.jar': buildLibrary(),
      '.pom': buildPom({ artifact: 'base' }),
    })
    await there.maven('libs', 'org.example:lib:1.0', {
      '.jar': buildLibrary(),
      '-sources.jar': buildLibrary({ 'org/example/Lib.java': 'class Lib {}' }),
      '.jar.asc': 'signed by somebody',
      '.pom': buildPom({ more: `<dependencies>${dependency('org.example:base:1.0')}</dependencies>` }),
    })
    const image = there.oci('img', 'app/web')
    for (const one of [amd64, arm64]) expect((await image.push(one)).status).toBe(201)
    expect((await image.push(index, '1.0')).status).toBe(201)
    expect((await image.push(signature)).status).toBe(201)
  })

  test('without a choice no registry goes, and a group cannot be chosen', async () => {
    await must(hub, 'POST', '/registries/', { name: 'every', format: 'npm', kind: 'group', members: ['js'] })
    const make = (body: object) =>
      hub.daemon.call<{ detail: string }>('POST', '/bundles', { token: hub.token, body: { site: 'north', ...body } })
    expect(await make({ registries: ['every'] })).toMatchObject({ status: 422 })
    expect(await make({ registries: ['bookworm'] })).toMatchObject({ status: 404 })
    expect(await make({ distributions: ['js'] })).toMatchObject({ status: 422 })
    await expect(makeBundle(hub, { site: 'north' }, folder)).rejects.toThrow('There is nothing to send to north')
  })

  test('a layer of two images lies in the bundle once, and everything is published at the site', async () => {
    const made = await makeBundle(hub, { site: 'north', registries: ALL }, folder)
    expect(made).toMatchObject({ name: 'north-0001', packages: 13 })
    const bytes = await readFile(made.path)
    expect(bytes.toString('latin1').split(`files/${sha256(base).slice(7)}`)).toHaveLength(2)
    const taken = await importBundle(site, made.path)
    expect(taken).toMatchObject({
      status: 'done',
      result: { published: 13, already: 0, held: 0, refused: 0, upstream_changed: 0, waits: 0 },
    })
  })

  test('npm: tags, a deprecation, and the provenance beside a tarball', async () => {
    const { versions, 'dist-tags': tags } = await here.packument<Packument>('js', '@ours/app')
    expect(tags).toEqual({ latest: '1.1.0' })
    expect(Object.entries(versions).map(([version, one]) => [version, one.deprecated])).toEqual([
      ['1.0.0', 'Take 1.1.0.'],
      ['1.1.0', undefined],
    ])
    const leaf = await here.packument<Packument>('js', 'leaf')
    expect(leaf['dist-tags']).toEqual({ latest: '1.0.0', next: '2.0.0' })
    const tarball = versions['1.1.0']?.dist.tarball.slice(site.daemon.url.length) ?? ''
    const theirs = await there.get(tarball)
    expect((await here.get(tarball)).bytes.equals(theirs.bytes)).toBe(true)
    const attested = versions['1.1.0']?.dist.attestations?.url.slice(site.daemon.url.length) ?? ''
    expect(await here.get(attested)).toMatchObject({ status: 200, text: expect.stringContaining('sigstore') as string })
  })

  test('PyPI: the yanked file is marked with its reason, and the bytes are the same', async () => {
    const accept = { accept: 'application/vnd.pypi.simple.v1+json' }
    const { text } = await here.get('/pypi/py/simple/app/', accept)
    const { files } = JSON.parse(text) as { files: { filename: string; url: string; yanked: boolean | string }[] }
    expect(files.map(({ filename, yanked }) => [filename, yanked])).toEqual([
      ['app-1.0-py3-none-any.whl', false],
      ['app-1.1-py3-none-any.whl', 'It loses data.'],
    ])
    const url = new URL(files[0]?.url ?? '', `${site.daemon.url}/pypi/py/simple/app/`)
    const file = await here.get(url.pathname)
    expect(file.bytes.equals(wheel('app', '1.0', 'base>=1.0').bytes)).toBe(true)
  })

  test('Maven: jar, classifier, signature and pom, and the list of versions', async () => {
    const at = '/maven/libs/org/example/lib'
    for (const end of ['.jar', '-sources.jar', '.jar.asc', '.pom'])
      expect(
        (await here.get(`${at}/1.0/lib-1.0${end}`)).bytes.equals((await there.get(`${at}/1.0/lib-1.0${end}`)).bytes),
      ).toBe(true)
    expect((await here.get(`${at}/maven-metadata.xml`)).text).toContain('<version>1.0</version>')
  })

  test('OCI: the tag names the index, both images are there with their layers, and the signature refers', async () => {
    const image = here.oci('img', 'app/web')
    const tagged = await image.manifest('1.0')
    expect(tagged.headers.get('docker-content-digest')).toBe(index.digest)
    for (const one of [amd64, arm64]) {
      expect((await image.manifest(one.digest)).bytes.equals(one.manifest)).toBe(true)
      for (const blob of [one.config, ...one.layers])
        expect((await image.ask('GET', `${image.base}/blobs/${sha256(blob)}`)).bytes.equals(blob)).toBe(true)
    }
    const referrers = await image.ask('GET', `${image.base}/referrers/${index.digest}`)
    expect(referrers.json<{ manifests: { digest: string }[] }>().manifests.map(one => one.digest)).toEqual([
      signature.digest,
    ])
    expect(await image.ask('GET', `${image.base}/tags/list`)).toMatchObject({ status: 200 })
  })

  test('the next bundle holds what is new and what is said anew, and nothing else', async () => {
    await readReceipt(hub, await receiptOf(site))
    await expect(makeBundle(hub, { site: 'north', registries: ALL }, folder)).rejects.toThrow(
      'There is nothing to send',
    )
    await there.distTag('js', 'leaf', 'latest', '2.0.0')
    await there.deprecate('js', '@ours/app', { '1.0.0': '' })
    await must(hub, 'DELETE', '/registries/py/packages/app/versions/1.1/yank')
    await there.npm('js', { name: 'leaf', version: '2.1.0' }, { tag: 'next' })
    const made = await makeBundle(hub, { site: 'north', registries: ALL }, folder)
    expect(made).toMatchObject({ packages: 1 })
    expect(await importBundle(site, made.path)).toMatchObject({ result: { published: 1, refused: 0 } })
    expect((await here.packument<Packument>('js', 'leaf'))['dist-tags']).toEqual({ latest: '2.0.0', next: '2.1.0' })
    expect((await here.packument<Packument>('js', '@ours/app')).versions['1.0.0']?.deprecated).toBeUndefined()
    const { text } = await here.get('/pypi/py/simple/app/', { accept: 'application/vnd.pypi.simple.v1+json' })
    expect((JSON.parse(text) as { files: { yanked: unknown }[] }).files.map(({ yanked }) => yanked)).toEqual([
      false,
      false,
    ])
  })

  test('what somebody at the site moved or said later stays, and the report says so', async () => {
    await readReceipt(hub, await receiptOf(site))
    await there.distTag('js', 'leaf', 'latest', '2.1.0')
    await here.distTag('js', 'leaf', 'latest', '1.0.0')
    await here.deprecate('js', 'leaf', { '2.0.0': 'Not for us.' })
    await there.deprecate('js', 'leaf', { '2.0.0': 'It is old.' })
    const made = await makeBundle(hub, { site: 'north', registries: ['js'] }, folder)
    await importBundle(site, made.path)
    expect((await here.packument<Packument>('js', 'leaf'))['dist-tags'].latest).toBe('1.0.0')
    const { body } = await site.daemon.call<{ imports: { words: unknown[] }[] }>('GET', '/bundles', {
      token: site.token,
    })
    expect(body.imports[0]?.words).toMatchObject([
      { word: 'mark', name: 'leaf', version: '2.0.0', outcome: 'stays' },
      { word: 'tag', tag: 'latest', name: 'leaf', version: '2.1.0', outcome: 'stays' },
    ])
    // moved there again, and later: it moves
    await readReceipt(hub, await receiptOf(site))
    await there.distTag('js', 'leaf', 'latest', '2.0.0')
    const next = await makeBundle(hub, { site: 'north', registries: ['js'] }, folder)
    await importBundle(site, next.path)
    expect((await here.packument<Packument>('js', 'leaf'))['dist-tags'].latest).toBe('2.0.0')
  })

  test('a tag that is gone at the sender goes at the site where a bundle brought it; those of the site stay', async () => {
    const tags = async (): Promise<unknown> => (await here.packument<Packument>('js', 'leaf'))['dist-tags']
    const drop = (tag: string) => must(hub, 'DELETE', `/registries/js/packages/leaf/tags/${tag}`)
    await there.distTag('js', 'leaf', 'old', '1.0.0')
    await there.distTag('js', 'leaf', 'gone', '1.0.0')
    await there.distTag('js', 'leaf', 'moved', '1.0.0')
    const edge = '/registries/img/packages/app%2Fweb/tags/edge'
    await must(hub, 'PUT', edge, { version: index.digest })
    await readReceipt(hub, await receiptOf(site))
    await importBundle(site, (await makeBundle(hub, { site: 'north', registries: ['js', 'img'] }, folder)).path)
    await here.distTag('js', 'leaf', 'moved', '2.0.0')
    await here.distTag('js', 'leaf', 'ours', '1.0.0')
    expect(await tags()).toMatchObject({ old: '1.0.0', gone: '1.0.0', moved: '2.0.0', ours: '1.0.0' })
    await readReceipt(hub, await receiptOf(site))
    const image = here.oci('img', 'app/web')
    expect(await image.manifest('edge')).toMatchObject({ status: 200 })
    await drop('gone')
    await must(hub, 'DELETE', edge)
    await drop('moved')
    const made = await makeBundle(hub, { site: 'north', registries: ['js', 'img'] }, folder)
    expect(made).toMatchObject({ packages: 0 })
    await importBundle(site, made.path)
    expect(await tags()).toEqual({ latest: '2.0.0', next: '2.1.0', old: '1.0.0', moved: '2.0.0', ours: '1.0.0' })
    expect(await image.manifest('edge')).toMatchObject({ status: 404 })
    expect(await image.manifest('1.0')).toMatchObject({ status: 200 })
    const { body } = await site.daemon.call<{ imports: { words: { tag: string | null }[] }[] }>('GET', '/bundles', {
      token: site.token,
    })
    expect(body.imports[0]?.words.filter(({ tag }) => tag !== null)).toMatchObject([
      { word: 'tag', tag: 'edge', name: 'app/web', outcome: 'done' },
      {
        word: 'tag',
        tag: 'gone',
        name: 'leaf',
        version: '1.0.0',
        outcome: 'done',
        why: expect.stringContaining('removed'),
      },
    ])
  })

  test.skipIf(npm === '')('npm installs from the site what came, with what it needs', async () => {
    expect(await installed(site, 'js', { '@ours/app': '^1.0.0' })).toEqual({ '@ours/app': '1.1.0', 'leaf': '1.0.0' })
  })

  test('one name goes with what it needs: the newest versions that fit', async () => {
    const named = async (query: string): Promise<string[]> => {
      const { body } = await hub.daemon.call<{ named: { name: string; version: string }[] }>(
        'GET',
        `/bundles/sites/north/preview?base=all&${query}`,
        { token: hub.token },
      )
      return body.named.map(({ name, version }) => `${name} ${version.slice(0, 19)}`).sort()
    }
    expect(await named('registry=js&package=@ours/app')).toEqual(['@ours/app 1.1.0', 'leaf 1.0.0'])
    expect(await named('registry=js&package=@ours/app@1.0.0')).toEqual(['@ours/app 1.0.0', 'leaf 1.0.0'])
    expect(await named('registry=py&package=app')).toEqual(['app 1.1', 'base 1.0'])
    expect(await named('registry=libs&package=org.example:lib')).toEqual([
      'org.example:base 1.0',
      'org.example:lib 1.0',
    ])
    const image = [amd64, arm64, index, signature].map(({ digest }) => `app/web ${digest.slice(0, 19)}`).sort()
    expect(await named('registry=img&package=app/web:1.0')).toEqual(image)
    expect(await named('registry=img&package=app/web')).toEqual(image)
  })

  test('what is held or quarantined does not go along by its name, and the refusal says why', async () => {
    const why = async (name: string): Promise<unknown> => {
      const path = `/bundles/sites/north/preview?base=all&registry=libs&package=${name}`
      const { status, body } = await hub.daemon.call<{ code: string; detail: unknown }>('GET', path, {
        token: hub.token,
      })
      return [status, body.code, JSON.stringify(body.detail)]
    }
    const files = { '.jar': buildLibrary(), '.pom': buildPom({ artifact: 'waits' }) }
    await must(hub, 'PATCH', '/settings/', { validation: { on_scanner_unavailable: 'hold' } })
    await expect(there.maven('libs', 'org.example:waits:1.0', files)).rejects.toThrow('422')
    await must(hub, 'PATCH', '/settings/', { validation: { on_scanner_unavailable: 'warn' } })
    const said = (text: string) => expect.stringContaining(text) as string
    for (const name of ['org.example:waits', 'org.example:waits:1.0', 'org.example:waits@1.0'])
      expect(await why(name)).toEqual([422, 'bundle_held_packages', said(`${name} waits for review here`)])
    for (const name of ['org.example:nothing', 'org.example:waits:2.0'])
      expect(await why(name)).toEqual([422, 'bundle_unknown_packages', said(`published here under ${name}.`)])
    const at = '/security/packages/org.example%3Awaits/1.0/quarantine'
    await must(hub, 'POST', at, { distribution: 'libs', arch: 'any', justification: 'It was looked at for this test.' })
    expect(await why('org.example:waits')).toEqual([
      ...[422, 'bundle_withheld_packages', said('org.example:waits was quarantined or rejected here')],
    ])
  })

  test('both sides are whole', async () => {
    await expectWhole(hub)
    await expectWhole(site)
  })
})

describe('a site that reads through to registries which it cannot reach', () => {
  const PROXIES = { mjs: 'npm', mpy: 'pypi', mlibs: 'maven', mimg: 'oci' } as const
  const NAMES = Object.keys(PROXIES)
  let south: Installation
  let from: RegistryCalls
  let upstream: RegistryUpstream

  beforeAll(async () => {
    upstream = await startRegistryUpstream()
    south = await settle(await startDaemon({ env: { JWT_EXPIRE_MINUTES: '600' } }), ['bookworm'])
    from = registryCalls(south.daemon, south.token)
    await pinEachOther(hub, south, 'south')
    await must(south, 'PATCH', '/settings/', { validation: { clamav_scan: false, on_scanner_unavailable: 'warn' } })
    await must(hub, 'PATCH', '/settings/', { notifications: { allow_private_hosts: '127.0.0.1' } })
    for (const [name, format] of Object.entries(PROXIES)) {
      const url = 'https://registry.invalid'
      await must(south, 'POST', '/registries/', { name, format, kind: 'proxy', upstream: { url } })
      const own = name === 'mjs' ? { kind: 'proxy', upstream: { url: upstream.url } } : {}
      await must(hub, 'POST', '/registries/', { name, format, ...own })
    }
  }, 120_000)
  afterAll(async () => {
    await south.daemon.close()
    await upstream.close()
  })

  test('what came through one proxy, and what is published, becomes versions of the proxies there', async () => {
    listNpm(upstream, 'far', {
      versions: [
        { version: '1.0.0', json: { dependencies: { near: '^1.0.0' } }, said: { deprecated: 'Take 2.' } },
        { version: '1.1.0' },
        { version: '2.0.0' },
      ],
      tags: { latest: '2.0.0', old: '1.0.0' },
    })
    listNpm(upstream, 'near', { versions: [{ version: '1.0.0' }] })
    await there.packument('mjs', 'far')
    await there.packument('mjs', 'near')
    for (const file of ['far/-/far-1.0.0.tgz', 'far/-/far-2.0.0.tgz', 'near/-/near-1.0.0.tgz'])
      expect(await there.get(`/npm/mjs/${file}`)).toMatchObject({ status: 200 })
    await there.pypi('mpy', wheel('tool', '1.0'))
    await there.pypi('mpy', wheel('tool', '1.1'))
    await must(hub, 'PUT', '/registries/mpy/packages/tool/versions/1.1/yank', { reason: 'It loses data.' })
    await there.maven('mlibs', 'org.far:lib:1.0', {
      '.jar': buildLibrary(),
      '-sources.jar': buildLibrary({ 'a.java': 'class A {}' }),
      '.pom': buildPom({ group: 'org.far' }),
    })
    const image = there.oci('mimg', 'far/web')
    for (const one of [amd64, arm64]) await image.push(one)
    expect((await image.push(index, '1.0')).status).toBe(201)
    const made = await makeBundle(hub, { site: 'south', registries: NAMES }, folder)
    expect(made).toMatchObject({ packages: 9 })
    expect(await importBundle(south, made.path)).toMatchObject({ result: { published: 9, refused: 0 } })
  })

  test('npm lists what came, with its tags and the deprecation', async () => {
    const { versions, 'dist-tags': tags } = await from.packument<Packument>('mjs', 'far')
    expect(Object.keys(versions)).toEqual(['1.0.0', '2.0.0'])
    expect(versions['1.0.0']?.deprecated).toBe('Take 2.')
    expect(tags).toEqual({ latest: '2.0.0', old: '1.0.0' })
    const tarball = versions['1.0.0']?.dist.tarball.slice(south.daemon.url.length) ?? ''
    expect(tarball).toBe('/npm/mjs/far/-/far-1.0.0.tgz')
    expect((await from.get(tarball)).bytes.equals((await there.get(tarball)).bytes)).toBe(true)
    expect((await from.get('/npm/mjs/far/-/far-1.1.0.tgz')).status).not.toBe(200)
  })

  test.skipIf(npm === '')('npm installs through the proxy what it needs, without its upstream', async () => {
    expect(await installed(south, 'mjs', { far: 'old' })).toEqual({ far: '1.0.0', near: '1.0.0' })
  })

  test('PyPI lists the files, and the yanked one with its reason', async () => {
    const { text } = await from.get('/pypi/mpy/simple/tool/', { accept: 'application/vnd.pypi.simple.v1+json' })
    const { files } = JSON.parse(text) as { files: { filename: string; url: string; yanked: unknown }[] }
    expect(files.map(({ filename, yanked }) => [filename, yanked])).toEqual([
      ['tool-1.0-py3-none-any.whl', false],
      ['tool-1.1-py3-none-any.whl', 'It loses data.'],
    ])
    const url = new URL(files[0]?.url ?? '', `${south.daemon.url}/pypi/mpy/simple/tool/`)
    expect((await from.get(url.pathname)).bytes.equals(wheel('tool', '1.0').bytes)).toBe(true)
    expect(await from.get(`${url.pathname}.metadata`)).toMatchObject({ status: 200 })
  })

  test('Maven lists the version, and gives jar, classifier and pom', async () => {
    const at = '/maven/mlibs/org/far/lib'
    expect((await from.get(`${at}/maven-metadata.xml`)).text).toContain('<version>1.0</version>')
    for (const end of ['.pom', '.jar', '-sources.jar']) {
      const { status, bytes } = await from.get(`${at}/1.0/lib-1.0${end}`)
      expect([end, status]).toEqual([end, 200])
      expect(bytes.equals((await there.get(`${at}/1.0/lib-1.0${end}`)).bytes)).toBe(true)
    }
  })

  test('an image is pulled by its tag, with both platforms', async () => {
    const image = from.oci('mimg', 'far/web')
    expect((await image.manifest('1.0')).headers.get('docker-content-digest')).toBe(index.digest)
    for (const one of [amd64, arm64]) {
      expect((await image.manifest(one.digest)).bytes.equals(one.manifest)).toBe(true)
      for (const blob of [one.config, ...one.layers])
        expect((await image.ask('GET', `${image.base}/blobs/${sha256(blob)}`)).bytes.equals(blob)).toBe(true)
    }
    const tags = await image.ask('GET', `${image.base}/tags/list`)
    expect(tags.json<{ tags: string[] }>().tags).toEqual(['1.0'])
  })

  test('after a month without its upstream it lists them still', async () => {
    const database = await findRunning(join(south.daemon.root, '.pg'))
    const db = createDb({ socket: database?.socket ?? '', database: DATABASE })
    for (const table of ['remote_name', 'oci_remote_tag'])
      await db.query(
        `update ${table} set checked_at = checked_at - interval '30 days', tried_at = tried_at - interval '30 days'`,
      )
    await db.close()
    expect(Object.keys((await from.packument<Packument>('mjs', 'far')).versions)).toEqual(['1.0.0', '2.0.0'])
    expect(await from.get('/pypi/mpy/simple/tool/')).toMatchObject({ status: 200 })
    expect(await from.get('/maven/mlibs/org/far/lib/maven-metadata.xml')).toMatchObject({ status: 200 })
    expect((await from.oci('mimg', 'far/web').manifest('1.0')).status).toBe(200)
  })

  test('an upload into a proxy is refused as ever, and the receipt says what is there', async () => {
    await expect(from.npm('mjs', { name: 'far', version: '3.0.0' })).rejects.toThrow('registry_takes_no_uploads')
    expect(await readReceipt(hub, await receiptOf(south))).toMatchObject({ status: 200 })
    await expect(makeBundle(hub, { site: 'south', registries: NAMES }, folder)).rejects.toThrow('nothing to send')
    await must(hub, 'DELETE', '/registries/mpy/packages/tool/versions/1.1/yank')
    const made = await makeBundle(hub, { site: 'south', registries: NAMES }, folder)
    expect(made).toMatchObject({ packages: 0 })
    await importBundle(south, made.path)
    const { text } = await from.get('/pypi/mpy/simple/tool/', { accept: 'application/vnd.pypi.simple.v1+json' })
    expect((JSON.parse(text) as { files: { yanked: unknown }[] }).files.map(({ yanked }) => yanked)).toEqual([
      false,
      false,
    ])
  })

  test('a name of the house is not taken into a proxy', async () => {
    await must(south, 'POST', '/registries/', { name: 'own', format: 'npm', reserved: ['house-*'] })
    listNpm(upstream, 'house-lib', { versions: [{ version: '1.0.0' }] })
    await there.packument('mjs', 'house-lib')
    expect(await there.get('/npm/mjs/house-lib/-/house-lib-1.0.0.tgz')).toMatchObject({ status: 200 })
    const made = await makeBundle(hub, { site: 'south', registries: ['mjs'] }, folder)
    expect(await importBundle(south, made.path)).toMatchObject({ result: { published: 0, refused: 1 } })
    expect((await from.get('/npm/mjs/house-lib')).status).toBe(404)
  })

  test('a registry that is not there is named, and none is made', async () => {
    await there.npm('js', { name: 'alone', version: '1.0.0' })
    const made = await makeBundle(hub, { site: 'south', registries: ['js'], packages: ['alone'] }, folder)
    await importBundle(south, made.path)
    const { body } = await south.daemon.call<{ imports: { not_published: unknown[] }[] }>('GET', '/bundles', {
      token: south.token,
    })
    expect(body.imports[0]?.not_published).toMatchObject([
      { name: 'alone', outcome: 'refused', why: 'There is no registry js here; an admin can add it.' },
    ])
  })

  test('it is whole', () => expectWhole(south))
})
