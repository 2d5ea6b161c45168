import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Codename } from '../../server/core/identity.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { decideVersion, defineRegistries, hostedRegistry } from '../support/defined-registries.ts'
import { createNpmHome, npmClient, OTHER_CLIENTS, type NpmHome } from '../support/npm-clients.ts'
import { listNpm, type ListedName } from '../support/npm-upstream.ts'
import { proxyRegistry, startRegistryUpstream, type RegistryUpstream } from '../support/registry-upstream.ts'
import { osvRecord, osvZip } from '../support/zip.ts'

const npm = npmClient('NPM_PROGRAM', 'npm') ?? ''

const app = (dependencies: Record<string, string> = {}): Record<string, string> => ({
  'package.json': JSON.stringify({ name: 'app', version: '1.0.0', private: true, dependencies }),
})

let daemon: Daemon
let upstream: RegistryUpstream
let root: string
let token: string
let home: NpmHome
const homes: NpmHome[] = []

const list = (name: string, listed: ListedName): void => listNpm(upstream, name, listed)
async function homeFor(registry: string, credential?: string): Promise<NpmHome> {
  const lines = credential === undefined ? [] : ['always-auth=true']
  const made = await createNpmHome({
    ...{ registry: `${daemon.url}/npm/${registry}`, lines },
    ...(credential === undefined ? {} : { token: credential }),
  })
  homes.push(made)
  return made
}
const loaded: object[] = []
async function importData(...records: object[]): Promise<void> {
  loaded.push(...records)
  const imported = await fetch(`${daemon.url}/api/v1/security/database`, {
    method: 'POST',
    headers: { 'Authorization': `Bearer ${token}`, 'Content-Type': 'application/octet-stream' },
    body: new Uint8Array(osvZip(loaded)),
  })
  expect(imported.status, await imported.text()).toBe(200)
}
const record = (id: string, name: string, versions: readonly string[], more: object = {}): object =>
  osvRecord(id, [], { affected: [{ package: { ecosystem: 'npm', name }, versions }], ...more })

beforeAll(async () => {
  upstream = await startRegistryUpstream()
  root = await mkdtemp(join(tmpdir(), 'gh-npm-proxy-'))
  await defineRegistries(root, [
    hostedRegistry('ours', 'npm'),
    proxyRegistry('outside', 'npm', { url: upstream.url, minAgeDays: 7 }),
    proxyRegistry('strict', 'npm', { url: upstream.url, holdLookalikes: true }),
    {
      ...hostedRegistry('house', 'npm'),
      registry: { kind: 'group', members: ['ours', 'outside'] as Codename[], reserved: ['@house/*'] },
    },
    { ...hostedRegistry('words', 'npm'), registry: { kind: 'hosted', reserved: ['house-forms'] } },
  ])
  daemon = await startDaemon({ root })
  token = await daemon.setupAdmin()
  const settings = await daemon.call('PATCH', '/settings/', {
    token,
    body: {
      validation: { clamav_scan: false, on_scanner_unavailable: 'warn' },
      notifications: { allow_private_hosts: '127.0.0.1' },
    },
  })
  expect(settings, settings.text).toMatchObject({ status: 200 })
  await importData(osvRecord('GHSA-none-none-none', [['npm', 'something-else', '1.0.0']]))
  home = await homeFor('outside')
})
afterAll(async () => {
  for (const one of homes) await one.close()
  await daemon.close()
  await upstream.close()
  await rm(root, { recursive: true, force: true })
})

type Ran = Awaited<ReturnType<NpmHome['run']>>
const runNpm = (cwd: string, ...args: readonly string[]): Promise<Ran> => home.run(npm, args, cwd)
const installed = async (project: string, name: string): Promise<string> =>
  (JSON.parse(await readFile(join(project, 'node_modules', name, 'package.json'), 'utf8')) as { version: string })
    .version
const lockOf = (project: string): Promise<string> => readFile(join(project, 'package-lock.json'), 'utf8')

/** A package whose newest versions clients must not get: young, malicious, critical. */
async function listMixed(name: string): Promise<void> {
  await importData(
    record(`MAL-${name}`, name, ['1.3.0']),
    record(`GHSA-${name}`, name, ['1.2.0'], { database_specific: { severity: 'CRITICAL' } }),
  )
  const young = new Date(Date.now() - 86_400_000).toISOString()
  const versions = ['1.0.0', '1.1.0', '1.2.0', '1.3.0'].map(version => ({ version }))
  list(name, { versions: [...versions, { version: '1.4.0', at: young }] })
}

describe.skipIf(npm === '')('npm (needs npm)', () => {
  test('installs through it, and again with an empty cache while the upstream is gone; the lock file stays', async () => {
    list('deep', { versions: [{ version: '1.0.0' }, { version: '1.5.0' }, { version: '2.0.0' }] })
    list('@scope/top', {
      versions: [
        {
          version: '3.0.0',
          json: { dependencies: { deep: '^1.0.0', JSONStream: '1.x' }, bin: { top: 'x.js' } },
          files: { 'x.js': '' },
        },
      ],
    })
    list('JSONStream', { versions: [{ version: '1.3.5' }] })
    const project = await home.project(app({ '@scope/top': '^3.0.0' }))
    const first = await runNpm(project, 'install')
    expect(first.code, first.all).toBe(0)
    expect(await Promise.all(['@scope/top', 'deep', 'JSONStream'].map(name => installed(project, name)))).toEqual([
      '3.0.0',
      '1.5.0',
      '1.3.5',
    ])
    expect(upstream.asked()).not.toContain('/deep/-/deep-2.0.0.tgz')
    const lock = await lockOf(project)
    expect(lock).toContain(`"integrity": "sha512-`)
    upstream.fail(500)
    try {
      await rm(join(project, 'node_modules'), { recursive: true })
      await rm(join(home.folder, 'cache'), { recursive: true })
      const again = await runNpm(project, 'ci')
      expect(again.code, again.all).toBe(0)
      expect(await lockOf(project)).toBe(lock)
      const added = await runNpm(await home.project(app()), 'install', 'deep')
      // 2.0.0 is known and was never fetched, so its bytes are not here
      expect([added.code === 0, added.all]).toEqual([false, expect.stringContaining('gave no usable answer')])
    } finally {
      upstream.fail(undefined)
    }
  })

  test('a range gets the newest version that is free, and who names a hidden one reads why', async () => {
    await listMixed('mixed')
    const project = await home.project(app())
    const ran = await runNpm(project, 'install', 'mixed@^1.0.0')
    expect(ran.code, ran.all).toBe(0)
    expect(await installed(project, 'mixed')).toBe('1.1.0')
    const latest = await runNpm(project, 'install', 'mixed@latest')
    expect(latest.code, latest.all).toBe(0)
    expect(await installed(project, 'mixed')).toBe('1.1.0')
    for (const [version, why] of [
      ['1.2.0', 'The policy blocks it: GHSA-mixed (critical).'],
      ['1.3.0', 'It is malicious: MAL-mixed (malicious).'],
      ['1.4.0', 'It is younger than 7 days: published on'],
    ] as const) {
      const pinned = await runNpm(project, 'install', `mixed@${version}`)
      expect(pinned.code).not.toBe(0)
      expect(pinned.all).toMatch(/due to policy violations:/)
      expect(pinned.all).toContain(`${version}: Hidden by Gatehouse: ${why}`)
    }
    expect(await installed(project, 'mixed')).toBe('1.1.0')
  })

  test('a lock file that names a version which is known to be malicious since stops with the reason', async () => {
    list('turned', { versions: [{ version: '1.0.0' }] })
    const project = await home.project(app({ turned: '1.0.0' }))
    expect((await runNpm(project, 'install')).code).toBe(0)
    await importData(record('MAL-2026-9', 'turned', ['1.0.0']))
    await rm(join(project, 'node_modules'), { recursive: true })
    await rm(join(home.folder, 'cache'), { recursive: true })
    const ran = await runNpm(project, 'ci')
    expect(ran.code).not.toBe(0)
    expect(ran.all).toMatch(/403[\s\S]*MAL-2026-9/)
  })

  test('a file that is not what the list promises stops with the reason', async () => {
    list('liar', { versions: [{ version: '1.0.0', lies: true }] })
    const ran = await runNpm(await home.project(app()), 'install', 'liar')
    expect(ran.code).not.toBe(0)
    expect(ran.all).toMatch(/its SHA512 is [0-9a-f]+, its index says/)
  })

  test('a name of the house is not asked for outside, and the person is told whose it is', async () => {
    const publisher = await homeFor('ours', token)
    const files = { 'package.json': JSON.stringify({ name: 'internal-lib', version: '1.0.0' }), 'index.js': '' }
    const published = await publisher.run(npm, ['publish'], await publisher.project(files))
    expect(published.code, published.all).toBe(0)
    list('internal-lib', { versions: [{ version: '99.0.0' }] })
    upstream.forget()
    const ran = await runNpm(await home.project(app()), 'install', 'internal-lib')
    expect(ran.code).not.toBe(0)
    expect(ran.all).toMatch(/E404[\s\S]*internal-lib belongs to/)
    expect(upstream.asked()).toEqual([])
  })

  test('through a group neither a scope without a registry, a lock file that names another server, nor a redirect brings what is outside', async () => {
    const publisher = await homeFor('ours', token)
    const published = await publisher.run(
      npm,
      ['publish'],
      await publisher.project({ 'package.json': JSON.stringify({ name: 'own-forms', version: '1.0.0' }) }),
    )
    expect(published.code, published.all).toBe(0)
    const old = { versions: [{ version: '1.0.0' }, { version: '99.0.0' }] }
    for (const name of ['own-forms', '@house/forms']) list(name, old)
    // of the group alone: its client has no line for the scope
    const group = await createNpmHome({
      registry: `${daemon.url}/npm/house`,
      lines: ['replace-registry-host=always'],
    })
    homes.push(group)
    upstream.forget()
    const scoped = await group.run(npm, ['install', '@house/forms'], await group.project(app()))
    expect([scoped.code === 0, scoped.all]).toEqual([false, expect.stringContaining('belongs to this house')])

    // its address is that of another server, where there is a higher version
    const locked = (version: string): Record<string, string> => ({
      ...app({ 'own-forms': version }),
      'package-lock.json': JSON.stringify({
        ...{ name: 'app', version: '1.0.0', lockfileVersion: 3, requires: true },
        packages: {
          '': { name: 'app', version: '1.0.0', dependencies: { 'own-forms': version } },
          'node_modules/own-forms': {
            version,
            resolved: `http://packages.example/npm/house/own-forms/-/own-forms-${version}.tgz`,
          },
        },
      }),
    })
    const higher = await group.run(npm, ['ci'], await group.project(locked('99.0.0')))
    expect(higher.code, higher.all).not.toBe(0)
    const project = await group.project(locked('1.0.0'))
    const own = await group.run(npm, ['ci'], project)
    expect(own.code, own.all).toBe(0)
    expect(await installed(project, 'own-forms')).toBe('1.0.0')
    expect(upstream.asked()).toEqual([])

    // another name, which leads to that of the house
    upstream.put('/other-name', { status: 302, body: '', headers: { Location: '/own-forms' } })
    const moved = await group.run(npm, ['install', 'other-name'], await group.project(app()))
    expect([moved.code === 0, moved.all]).toEqual([false, expect.stringContaining('it is about \"own-forms\"')])
    const asked = await group.run(npm, ['install', 'own-forms'], project)
    expect(asked.code, asked.all).toBe(0)
    expect(await installed(project, 'own-forms')).toBe('1.0.0')
    expect(upstream.asked().filter(path => path.includes('.tgz'))).toEqual([])
  })

  test('a name that looks like one of the house waits where its registry says so, and the person reads why', async () => {
    list('house-form', { versions: [{ version: '1.0.0' }, { version: '1.1.0' }] })
    list('lodash-like', { versions: [{ version: '1.0.0' }] })
    const strict = await homeFor('strict')
    const project = await strict.project(app())
    const other = await strict.run(npm, ['install', 'lodash-like'], project)
    expect(other.code, other.all).toBe(0)
    const install = (what: string) => strict.run(npm, ['install', what], project)
    const said = 'Its name looks like one that belongs to this house: somebody looks at it first.'
    const pinned = await install('house-form@1.0.0')
    expect([pinned.code === 0, pinned.all]).toEqual([false, expect.stringContaining(said)])
    // asked for by its file it comes in, and waits
    const file = `${daemon.url}/npm/strict/house-form/-/house-form-1.0.0.tgz`
    const waits = await fetch(file)
    expect([waits.status, await waits.text()]).toEqual([403, expect.stringContaining(said)])
    const queue = await daemon.call('GET', '/security/review-queue?distribution=strict', { token })
    expect(queue.text).toContain(said)
    await decideVersion(daemon, { token, registry: 'strict', name: 'house-form', version: '1.0.0', action: 'approve' })
    const ran = await install('house-form')
    expect(ran.code, ran.all).toBe(0)
    expect(await installed(project, 'house-form')).toBe('1.0.0')
    const waiver = await daemon.call('PUT', '/registries/strict/packages/house-form/versions/1.1.0/waiver', {
      token,
      body: { reason: 'It is theirs.', expires_in_days: 1 },
    })
    expect(waiver.status, waiver.text).toBe(200)
    const newest = await install('house-form@1.1.0')
    expect(newest.code, newest.all).toBe(0)
  })

  test('audit answers from the data that are loaded here', async () => {
    list('weak', { versions: [{ version: '1.0.0' }, { version: '2.0.0' }] })
    await importData(
      osvRecord('GHSA-weak-weak-weak', [['npm', 'weak', '2.0.0']], { database_specific: { severity: 'MODERATE' } }),
    )
    const project = await home.project(app({ weak: '1.0.0' }))
    const ran = await runNpm(project, 'install')
    expect(ran.code, ran.all).toBe(0)
    expect((await runNpm(project, 'audit')).all).toMatch(/weak\s+1\.0\.0[\s\S]*Severity: moderate[\s\S]*weak@2\.0\.0/)
  })

  test('view and search say what is there, and nothing is published into it', async () => {
    list('shown', { versions: [{ version: '1.0.0' }], tags: { next: '1.0.0' } })
    const project = await home.project(app())
    expect((await runNpm(project, 'view', 'shown', 'dist-tags.next')).out.trim()).toBe('1.0.0')
    expect((await runNpm(project, 'install', 'shown@next')).code).toBe(0)
    const search = await runNpm(project, 'search', 'shown', '--json')
    expect(search.out).toContain('"shown"')
    const files = { 'package.json': JSON.stringify({ name: 'mine', version: '1.0.0' }) }
    const sender = await homeFor('outside', token)
    const refused = await sender.run(npm, ['publish'], await sender.project(files))
    expect(refused.code).not.toBe(0)
    expect(refused.all).toMatch(/E405[\s\S]*outside is a proxy/)
  })
})

describe.each(OTHER_CLIENTS)('$name', ({ name, variable, program, files, add, install }) => {
  const path = npmClient(variable, program)
  test.skipIf(path === undefined)(
    `${name} gets the newest version that is free, and installs again while the upstream is gone (needs ${program} on PATH, or ${variable})`,
    async () => {
      const one = await homeFor('outside', token)
      const set = files(`${daemon.url}/npm/outside`, token)
      const call = (cwd: string, args: readonly string[]): Promise<Ran> => one.run(path ?? '', args, cwd)
      for (const packageName of [`mixed-${program}`, `@scope/mixed-${program}`]) {
        await listMixed(packageName)
        const project = await one.project({ ...app(), ...set })
        const ran = await call(project, add(`${packageName}@^1.0.0`))
        expect(ran.code, ran.all).toBe(0)
        expect(await installed(project, packageName)).toBe('1.1.0')
        for (const version of ['1.2.0', '1.3.0', '1.4.0']) {
          const other = await one.project({ ...app(), ...set })
          const pinned = await call(other, add(`${packageName}@${version}`))
          expect([version, pinned.code === 0]).toEqual([version, false])
        }
        upstream.fail(503)
        try {
          await rm(join(project, 'node_modules'), { recursive: true })
          await one.forget()
          const again = await call(project, install)
          expect(again.code, again.all).toBe(0)
          expect(await installed(project, packageName)).toBe('1.1.0')
        } finally {
          upstream.fail(undefined)
        }
      }
    },
  )
})
