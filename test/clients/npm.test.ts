import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasClamd, startClamd } from '../support/clamd.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { createNpmHome, npmClient, OTHER_CLIENTS, type NpmHome } from '../support/npm-clients.ts'
import { EICAR } from '../support/packages.ts'
import { decideVersion, defineRegistries, hostedRegistry } from '../support/defined-registries.ts'
import { osvRecord, osvZip } from '../support/zip.ts'

const npm = npmClient('NPM_PROGRAM', 'npm') ?? ''

const json = (value: unknown): string => JSON.stringify(value, null, 2)
const pkg = (name: string, version: string, more: Record<string, unknown> = {}): Record<string, string> => ({
  'package.json': json({
    name,
    version,
    description: `The package ${name}`,
    license: 'MIT',
    main: 'index.js',
    ...more,
  }),
  'index.js': `module.exports = '${name}@${version}'\n`,
})
const app = (dependencies: Record<string, string> = {}): Record<string, string> => ({
  'package.json': json({ name: 'app', version: '1.0.0', private: true, dependencies }),
})

let daemon: Daemon
let root: string
let token: string
let home: NpmHome
const homes: NpmHome[] = []

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'gh-npm-root-'))
  await defineRegistries(root, [hostedRegistry('ours', 'npm')])
  daemon = await startDaemon({ root })
  token = await daemon.setupAdmin()
  const settings = await daemon.call('PATCH', '/settings/', {
    token,
    body: {
      validation: { clamav_scan: false, on_scanner_unavailable: 'warn' },
      script_policy: { npm_install_script: 'review' },
    },
  })
  expect(settings, settings.text).toMatchObject({ status: 200 })
  home = await homeFor(await apiToken('publisher', ['maintainer']))
})
afterAll(async () => {
  for (const one of homes) await one.close()
  await daemon.close()
  await rm(root, { recursive: true, force: true })
})

async function apiToken(name: string, roles: readonly string[], scopes?: Record<string, unknown>): Promise<string> {
  const made = await daemon.call<{ token: string }>('POST', '/auth/api-tokens', {
    token,
    body: { name, roles, ...(scopes === undefined ? {} : { scopes }) },
  })
  expect(made, made.text).toMatchObject({ status: 201 })
  return made.body.token
}
async function homeFor(credential?: string, lines: readonly string[] = []): Promise<NpmHome> {
  const made = await createNpmHome({
    registry: `${daemon.url}/npm/ours`,
    lines,
    ...(credential === undefined ? {} : { token: credential }),
  })
  homes.push(made)
  return made
}

type Ran = Awaited<ReturnType<NpmHome['run']>>
const runNpm = (cwd: string, ...args: readonly string[]): Promise<Ran> => home.run(npm, args, cwd)
async function publish(files: Record<string, string>, ...args: readonly string[]): Promise<Ran> {
  return runNpm(await home.project(files), 'publish', ...args)
}
async function publishOk(files: Record<string, string>, ...args: readonly string[]): Promise<void> {
  const ran = await publish(files, ...args)
  expect(ran.code, ran.all).toBe(0)
}
const installed = async (project: string, name: string): Promise<string> =>
  (JSON.parse(await readFile(join(project, 'node_modules', name, 'package.json'), 'utf8')) as { version: string })
    .version
const packument = async (name: string): Promise<Record<string, Record<string, unknown>>> =>
  (await (await fetch(`${daemon.url}/npm/ours/${name}`)).json()) as Record<string, Record<string, unknown>>

describe.skipIf(npm === '')('npm (needs npm)', () => {
  test('publishes, installs and updates, with a scope and without', async () => {
    for (const name of ['plain', '@ours/scoped']) {
      await publishOk(pkg(name, '1.0.0'))
      const project = await home.project(app())
      const first = await runNpm(project, 'install', name)
      expect(first.code, first.all).toBe(0)
      expect(await installed(project, name)).toBe('1.0.0')
      await publishOk(pkg(name, '1.1.0'))
      const second = await runNpm(project, 'update', name)
      expect(second.code, second.all).toBe(0)
      expect(await installed(project, name)).toBe('1.1.0')
      await rm(join(project, 'node_modules'), { recursive: true })
      const clean = await runNpm(project, 'ci')
      expect(clean.code, clean.all).toBe(0)
      expect(await installed(project, name)).toBe('1.1.0')
      const lock = JSON.parse(await readFile(join(project, 'package-lock.json'), 'utf8')) as {
        packages: Record<string, { resolved?: string; integrity?: string }>
      }
      expect(lock.packages[`node_modules/${name}`]?.integrity).toMatch(/^sha512-/)
    }
  })

  test('dependencies are found here, and what is published is shown', async () => {
    await publishOk(pkg('below', '2.0.0'))
    await publishOk(pkg('above', '1.0.0', { dependencies: { below: '^2.0.0' }, bin: { above: 'index.js' } }))
    const project = await home.project(app({ above: '1.x' }))
    const ran = await runNpm(project, 'install')
    expect(ran.code, ran.all).toBe(0)
    expect(await installed(project, 'below')).toBe('2.0.0')
    expect((await runNpm(project, 'view', 'above', 'dependencies.below')).out.trim()).toBe('^2.0.0')
    expect((await runNpm(project, 'search', 'above', '--json')).out).toContain('"above"')
    expect((await runNpm(project, 'whoami')).out.trim()).toBe('publisher')
    expect((await runNpm(project, 'ping')).code).toBe(0)
  })

  test('a version that is here is not replaced', async () => {
    await publishOk(pkg('once', '1.0.0'))
    const before = await packument('once')
    const project = await home.project({ ...pkg('once', '1.0.0'), 'more.js': 'x' })
    const ran = await runNpm(project, 'publish')
    expect(ran.code).not.toBe(0)
    expect(ran.all).toMatch(/previously published|exists with other bytes/)
    expect(await packument('once')).toEqual(before)
  })

  test('tags are set, listed, followed and removed', async () => {
    await publishOk(pkg('tagged', '1.0.0'))
    await publishOk(pkg('tagged', '2.0.0-beta.1'), '--tag', 'next')
    const project = await home.project(app())
    expect((await runNpm(project, 'dist-tag', 'ls', 'tagged')).out).toBe('latest: 1.0.0\nnext: 2.0.0-beta.1\n')
    expect((await runNpm(project, 'dist-tag', 'add', 'tagged@1.0.0', 'stable')).code).toBe(0)
    expect((await runNpm(project, 'install', 'tagged@stable')).code).toBe(0)
    expect(await installed(project, 'tagged')).toBe('1.0.0')
    expect((await runNpm(project, 'install', 'tagged@next')).code).toBe(0)
    expect(await installed(project, 'tagged')).toBe('2.0.0-beta.1')
    expect((await runNpm(project, 'dist-tag', 'rm', 'tagged', 'stable')).code).toBe(0)
    expect((await runNpm(project, 'dist-tag', 'ls', 'tagged')).out).toBe('latest: 1.0.0\nnext: 2.0.0-beta.1\n')
  })

  test('a deprecation is read at the installation, and taken back', async () => {
    await publishOk(pkg('old', '1.0.0'))
    const project = await home.project(app())
    const deprecated = await runNpm(project, 'deprecate', 'old@1.0.0', 'Use "new" instead')
    expect(deprecated.code, deprecated.all).toBe(0)
    expect((await runNpm(project, 'install', 'old')).all).toContain('Use "new" instead')
    expect((await runNpm(project, 'deprecate', 'old@1.0.0', '')).code).toBe(0)
    expect((await packument('old')).versions?.['1.0.0']).not.toHaveProperty('deprecated')
    const audit = await daemon.call('GET', '/artifacts/audit/logs?package=old', { token })
    expect(audit.text).toContain('Deprecated: Use \\"new\\" instead.')
    expect(audit.text).toContain('Deprecated no longer.')
  })

  test('a deprecation that the console sets is read at the installation, and the one of npm is in lists', async () => {
    await publishOk(pkg('aged', '1.0.0'))
    const project = await home.project(app())
    const path = '/registries/ours/packages/aged/versions/1.0.0'
    const ask = (method: string, to: string, body?: object) => daemon.call(method, to, { token, ...(body && { body }) })
    const marks = async () => (await ask('GET', '/packages/?q=aged')).body as { items: { mark: unknown }[] }
    expect((await ask('PUT', `${path}/mark`, { reason: 'Use "fresh" instead' })).status).toBe(204)
    expect((await runNpm(project, 'install', 'aged')).all).toContain('Use "fresh" instead')
    expect((await ask('DELETE', `${path}/mark`)).status).toBe(204)
    expect((await packument('aged')).versions?.['1.0.0']).not.toHaveProperty('deprecated')
    expect((await runNpm(project, 'deprecate', 'aged@1.0.0', 'Too old')).code).toBe(0)
    expect(await marks()).toMatchObject({ items: [{ mark: { kind: 'deprecated', reason: 'Too old' } }] })
    expect((await ask('DELETE', `${path}/mark`)).status).toBe(204)
    expect(await marks()).toMatchObject({ items: [{ mark: null }] })
    // clients of npm know no yanked versions
    expect((await ask('PUT', `${path}/yank`, { reason: 'x' })).text).toContain('know no yanked versions')
  })

  test('one version is unpublished, then all', async () => {
    await publishOk(pkg('gone', '1.0.0'))
    await publishOk(pkg('gone', '1.1.0'))
    const project = await home.project(app())
    const one = await runNpm(project, 'unpublish', 'gone@1.1.0')
    expect(one.code, one.all).toBe(0)
    expect(await packument('gone')).toMatchObject({ 'dist-tags': { latest: '1.0.0' } })
    expect((await fetch(`${daemon.url}/npm/ours/gone/-/gone-1.1.0.tgz`)).status).toBe(404)
    const all = await runNpm(project, 'unpublish', 'gone', '--force')
    expect(all.code, all.all).toBe(0)
    expect((await fetch(`${daemon.url}/npm/ours/gone`)).status).toBe(404)
    const missing = await runNpm(project, 'install', 'gone')
    expect(missing.all).toContain('There is no package gone in the registry ours.')
  })

  test('what is held is named to who publishes and who installs, and latest moves when it is approved', async () => {
    await publishOk(pkg('waits', '1.0.0'))
    const held = await publish(pkg('waits', '1.1.0', { scripts: { postinstall: 'node index.js' } }))
    expect(held.code, held.all).toBe(0)
    expect(held.all).toMatch(/Held for review by Gatehouse: .*postinstall: node index\.js.*review\?/)
    expect(await packument('waits')).toMatchObject({ 'dist-tags': { latest: '1.0.0' } })
    const project = await home.project(app())
    expect((await runNpm(project, 'install', 'waits@^1.0.0')).code).toBe(0)
    expect(await installed(project, 'waits')).toBe('1.0.0')
    const pinned = await runNpm(project, 'install', 'waits@1.1.0')
    expect(pinned.code).not.toBe(0)
    expect(pinned.all).toMatch(/due to policy violations:[\s\S]*1\.1\.0: Held for review by Gatehouse: .*postinstall/)
    const file = await fetch(`${daemon.url}/npm/ours/waits/-/waits-1.1.0.tgz`)
    expect([file.status, file.statusText]).toEqual([403, expect.stringMatching(/^Held for review by Gatehouse/)])
    await decideVersion(daemon, { token, name: 'waits', version: '1.1.0', registry: 'ours', action: 'approve' })
    expect(await packument('waits')).toMatchObject({ 'dist-tags': { latest: '1.1.0' } })
    const later = await runNpm(project, 'install', 'waits@latest', '--ignore-scripts')
    expect(later.code, later.all).toBe(0)
    expect(await installed(project, 'waits')).toBe('1.1.0')
  })

  test('a lock file that names a held version stops with the reason', async () => {
    await publishOk(pkg('locked', '1.0.0'))
    const project = await home.project(app({ locked: '1.0.0' }))
    expect((await runNpm(project, 'install')).code).toBe(0)
    await decideVersion(daemon, { token, name: 'locked', version: '1.0.0', registry: 'ours', action: 'quarantine' })
    await rm(join(project, 'node_modules'), { recursive: true })
    await rm(join(home.folder, 'cache'), { recursive: true, force: true })
    const ran = await runNpm(project, 'ci')
    expect(ran.code).not.toBe(0)
    expect(ran.all).toContain('Quarantined by Gatehouse')
  })

  test('who may not publish is told so, and nothing is kept', async () => {
    const wrong = await homeFor('svc_wrong')
    const nobody = await homeFor()
    const reader = await homeFor(await apiToken('reader', ['reader']))
    const results = await Promise.all(
      [wrong, nobody, reader].map(async one => one.run(npm, ['publish'], await one.project(pkg('refused', '1.0.0')))),
    )
    expect(results.map(({ code }) => code !== 0)).toEqual([true, true, true])
    expect(results[0]?.all).toMatch(/E401[\s\S]*API token/)
    expect(results[2]?.all).toMatch(/E403[\s\S]*This needs uploader, maintainer or admin/)
    expect((await fetch(`${daemon.url}/npm/ours/refused`)).status).toBe(404)
  })

  test('a token for publishing removes nothing', async () => {
    await publishOk(pkg('stays', '1.0.0'))
    const uploader = await homeFor(await apiToken('ci', ['uploader'], { distributions: ['ours'], upload_only: true }))
    const project = await uploader.project(pkg('stays', '1.1.0'))
    const published = await uploader.run(npm, ['publish'], project)
    expect(published.code, published.all).toBe(0)
    const removed = await uploader.run(npm, ['unpublish', 'stays', '--force'], project)
    expect(removed.code).not.toBe(0)
    expect(removed.all).toMatch(/This needs maintainer or admin[^\n]*npm deprecate/)
    expect(Object.keys((await packument('stays')).versions ?? {})).toEqual(['1.0.0', '1.1.0'])
  })

  test('a private registry opens for a token alone', async () => {
    await publishOk(pkg('secret', '1.0.0'))
    const closed = await daemon.call('PUT', '/access/distributions/ours', { token, body: { private: true } })
    expect(closed, closed.text).toMatchObject({ status: 200 })
    try {
      const nobody = await homeFor()
      const stranger = await nobody.run(npm, ['install', 'secret'], await nobody.project(app()))
      expect(stranger.code).not.toBe(0)
      expect(stranger.all).toMatch(/E401[\s\S]*API token/)
      const project = await home.project(app())
      const ran = await runNpm(project, 'install', 'secret')
      expect(ran.code, ran.all).toBe(0)
    } finally {
      await daemon.call('PUT', '/access/distributions/ours', { token, body: { private: false } })
    }
  })

  test('login by npm says the way out', async () => {
    // npm takes its token out of the file
    const leaving = await homeFor(await apiToken('leaving', ['reader']))
    const project = await leaving.project(app())
    const ran = await leaving.run(npm, ['login', '--auth-type=web'], project)
    expect(ran.code).not.toBe(0)
    const answer = await fetch(`${daemon.url}/npm/ours/-/v1/login`, { method: 'POST', body: '{}' })
    expect([answer.status, ((await answer.json()) as { error: string }).error]).toEqual([
      404,
      expect.stringContaining('Make an API token in the console'),
    ])
    const out = await leaving.run(npm, ['logout'], project)
    expect(out.all).toContain('npm forgets the token, and it stays valid')
  })
})

describe.skipIf(npm === '')('npm audit (needs npm)', () => {
  test('names what is known here, and which version is without it', async () => {
    await publishOk(pkg('weak', '1.0.0'))
    await publishOk(pkg('weak', '2.0.0'))
    const project = await home.project(app({ weak: '1.0.0' }))
    const before = await runNpm(project, 'install')
    expect(before.code, before.all).toBe(0)
    const unknown = await runNpm(project, 'audit')
    expect([unknown.code, unknown.all]).toEqual([1, expect.stringContaining('not known here')])
    const filler = Array.from({ length: 150 }, (_, n) => osvRecord(`GHSA-${n}`, [['npm', `filler${n}`, '1.0.0']]))
    const record = osvRecord('GHSA-aaaa-bbbb-cccc', [['npm', 'weak', '2.0.0']], {
      aliases: ['CVE-2026-77777'],
      summary: 'It is broken',
      severity: [{ type: 'CVSS_V3', score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N' }],
    })
    const imported = await fetch(`${daemon.url}/api/v1/security/database`, {
      method: 'POST',
      headers: { 'Authorization': `Bearer ${token}`, 'Content-Type': 'application/octet-stream' },
      body: new Uint8Array(osvZip([...filler, record])),
    })
    expect(imported.status, await imported.text()).toBe(200)
    const audit = await runNpm(project, 'audit')
    expect(audit.code).toBe(1)
    expect(audit.all).toMatch(
      /weak\s[\s\S]*Severity: high\s+CVE-2026-77777: It is broken[\s\S]*Will install weak@2\.0\.0/,
    )
    const fixed = await home.project(app({ weak: '2.0.0' }))
    expect((await runNpm(fixed, 'install')).all).toContain('found 0 vulnerabilities')
  })
})

describe.skipIf(npm === '' || !hasClamd)('npm and malware (needs npm, clamav-daemon)', () => {
  test('an infected version is refused with its reason, and out of reach', async () => {
    const clamd = await startClamd()
    const folder = await mkdtemp(join(tmpdir(), 'gh-npm-root-'))
    await defineRegistries(folder, [hostedRegistry('ours', 'npm')])
    const scanning = await startDaemon({ root: folder, env: { CLAMD_SOCKET: clamd.address.socket } })
    const admin = await scanning.setupAdmin()
    const one = await createNpmHome({ registry: `${scanning.url}/npm/ours`, token: admin })
    try {
      const clean = await one.run(npm, ['publish'], await one.project(pkg('clean', '1.0.0')))
      expect(clean.code, clean.all).toBe(0)
      const bad = await one.run(npm, ['publish'], await one.project({ ...pkg('bad', '1.0.0'), 'virus.txt': EICAR }))
      expect(bad.code).not.toBe(0)
      expect(bad.all).toMatch(/E403[\s\S]*Quarantined by Gatehouse: .*eicar/i)
      expect((await fetch(`${scanning.url}/npm/ours/bad/-/bad-1.0.0.tgz`)).status).toBe(403)
      expect((await fetch(`${scanning.url}/npm/ours/clean/-/clean-1.0.0.tgz`)).status).toBe(200)
    } finally {
      await one.close()
      await scanning.close()
      await clamd.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
})

describe.each(OTHER_CLIENTS)('$name', ({ name, variable, program, files, add, prepare, publish: publishArgs }) => {
  const path = npmClient(variable, program)
  test.skipIf(path === undefined)(
    `${name} publishes, installs, and gets the newest version that is not held (needs ${program} on PATH, or ${variable})`,
    async () => {
      const credential = await apiToken(`by ${name}`, ['maintainer'])
      const one = await homeFor(credential, ['always-auth=true'])
      const set = files(`${daemon.url}/npm/ours`, credential)
      const call = async (cwd: string, args: readonly string[]): Promise<Ran> => one.run(path ?? '', args, cwd)
      for (const packageName of [`by-${program}`, `@ours/by-${program}`]) {
        for (const [version, more] of [
          ['1.0.0', {}],
          ['1.1.0', { scripts: { postinstall: 'node index.js' } }],
        ] as const) {
          const place = await one.project({ ...pkg(packageName, version, more), ...set })
          if (prepare !== undefined) expect(await call(place, prepare)).toMatchObject({ code: 0 })
          const ran = await call(place, publishArgs)
          expect(ran.code, ran.all).toBe(0)
        }
        const project = await one.project({ ...app(), ...set })
        const ran = await call(project, add(`${packageName}@^1.0.0`))
        expect(ran.code, ran.all).toBe(0)
        expect(await installed(project, packageName)).toBe('1.0.0')
        const pinned = await call(project, add(`${packageName}@1.1.0`))
        expect(pinned.code).not.toBe(0)
      }
    },
  )
})
