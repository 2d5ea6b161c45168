import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { decideVersion, defineRegistries, hostedRegistry } from '../support/defined-registries.ts'
import { createNpmHome, npmClient, type NpmHome } from '../support/npm-clients.ts'
import { buildNpm } from '../support/packages-npm.ts'
import { buildWheel, wheelName, type PythonSpec } from '../support/packages-pypi.ts'
import { createPython, noPip, type PythonClient } from '../support/python.ts'

const npm = npmClient('NPM_PROGRAM', 'npm') ?? ''

let root: string
let daemon: Daemon
let token: string

const group = (codename: string, format: string, ...members: readonly string[]) => ({
  ...hostedRegistry(codename, format),
  registry: { kind: 'group' as const, members: members as never },
})

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'gh-group-root-'))
  await defineRegistries(root, [
    ...['first', 'next'].map(name => hostedRegistry(name, 'npm')),
    group('every', 'npm', 'first', 'next'),
    ...['py-first', 'py-next'].map(name => hostedRegistry(name, 'pypi')),
    group('py-every', 'pypi', 'py-first', 'py-next'),
  ])
  daemon = await startDaemon({ root })
  token = await daemon.setupAdmin()
  const { status, text } = await daemon.call('PATCH', '/settings/', {
    token,
    body: { validation: { clamav_scan: false, on_scanner_unavailable: 'warn' } },
  })
  expect(status, text).toBe(200)
})
afterAll(async () => {
  await daemon.close()
  await rm(root, { recursive: true, force: true })
})

async function upload(registry: string, bytes: Buffer, filename: string): Promise<void> {
  const answer = await daemon.upload(bytes, { token, distribution: registry, filename })
  expect(answer.status, answer.text).toBeLessThan(300)
}

describe.skipIf(npm === '')('npm (needs npm, or NPM_PROGRAM)', () => {
  let home: NpmHome
  beforeAll(async () => {
    home = await createNpmHome({ registry: `${daemon.url}/npm/every`, token })
  })
  afterAll(() => home.close())
  const publish = (registry: string, name: string, version: string, json: object = {}): Promise<void> =>
    upload(registry, buildNpm({ name, version, json: { ...json } }), `x-${version}.tgz`)
  const app = (dependencies: Record<string, string>) => ({
    'package.json': JSON.stringify({ name: 'app', version: '1.0.0', private: true, dependencies }),
  })

  test('installs from both members through one address, and again from its lock file', async () => {
    await publish('next', 'deep', '1.0.0')
    await publish('first', '@team/top', '1.0.0', { dependencies: { deep: '^1.0.0' } })
    await publish('first', 'shared', '1.0.0')
    await publish('next', 'shared', '9.0.0')
    const cwd = await home.project(app({ '@team/top': '*', 'shared': '*' }))
    const ran = await home.run(npm, ['install'], cwd)
    expect(ran, ran.all).toMatchObject({ code: 0 })
    const { packages } = JSON.parse(await readFile(join(cwd, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { version: string }>
    }
    const { '': _, ...installed } = packages
    expect(Object.entries(installed).map(([path, { version }]) => `${path} ${version}`)).toEqual([
      'node_modules/@team/top 1.0.0',
      'node_modules/deep 1.0.0',
      'node_modules/shared 1.0.0',
    ])
    const again = await home.run(npm, ['ci'], cwd)
    expect(again, again.all).toMatchObject({ code: 0 })
  })

  test('is told why a held version of the first member is not installed, and gets no other', async () => {
    await publish('first', 'held', '1.0.0')
    await publish('next', 'held', '2.0.0')
    await decideVersion(daemon, { token, registry: 'first', name: 'held', version: '1.0.0', action: 'quarantine' })
    const cwd = await home.project(app({ held: '1.0.0' }))
    const ran = await home.run(npm, ['install'], cwd)
    expect(ran.code).not.toBe(0)
    expect(ran.all).toContain('Quarantined by Gatehouse')
    const other = await home.run(npm, ['install'], await home.project(app({ held: '2.0.0' })))
    expect(other.code).not.toBe(0)
    expect(other.all).toContain('No matching version found for held@2.0.0')
  })

  test('is told where to publish, of a new package and of a new version', async () => {
    await publish('first', 'known', '1.0.0')
    for (const name of ['brand-new', 'known']) {
      const cwd = await home.project({ 'package.json': JSON.stringify({ name, version: '1.1.0', license: 'MIT' }) })
      const ran = await home.run(npm, ['publish'], cwd)
      expect(ran.code).not.toBe(0)
      expect(ran.all).toContain(
        'The registry every is a group: nothing is published into it. Publish into first or next.',
      )
    }
  })

  test('searches, views and says who one is as with any registry', async () => {
    const cwd = await home.project(app({}))
    const found = await home.run(npm, ['search', 'shared', '--json'], cwd)
    expect(
      (JSON.parse(found.out) as { name: string; version: string }[]).map(one => `${one.name} ${one.version}`),
    ).toEqual(['shared 1.0.0'])
    expect((await home.run(npm, ['view', 'shared', 'version'], cwd)).out.trim()).toBe('1.0.0')
    expect((await home.run(npm, ['whoami'], cwd)).out.trim()).toBe('admin')
    expect((await home.run(npm, ['dist-tag', 'ls', 'shared'], cwd)).out.trim()).toBe('latest: 1.0.0')
  })
})

describe.skipIf(noPip !== undefined)('pip (needs python3-venv)', () => {
  let client: PythonClient
  beforeAll(async () => {
    client = await createPython()
  })
  afterAll(() => client.close())
  const publish = (registry: string, spec: PythonSpec): Promise<void> =>
    upload(registry, buildWheel(spec), wheelName(spec))

  test('installs from both members through one address, each name from its first owner', async () => {
    await publish('py-next', { name: 'deep', version: '1.0' })
    await publish('py-first', { name: 'shared', version: '1.0' })
    await publish('py-next', { name: 'shared', version: '9.0' })
    await publish('py-first', { name: 'top', version: '1.0', fields: { 'Requires-Dist': ['deep', 'Shared'] } })
    const ran = await client.pip('install', '-i', `${daemon.url}/pypi/py-every/simple/`, 'top')
    expect(ran, ran.out).toMatchObject({ code: 0 })
    expect(await client.value('top, deep, shared', 'top.VERSION, deep.VERSION, shared.VERSION')).toBe('1.0 1.0 1.0')
    const other = await client.pip('install', '-i', `${daemon.url}/pypi/py-every/simple/`, 'shared==9.0')
    expect(other.code).not.toBe(0)
  })
})
