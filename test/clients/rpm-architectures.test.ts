import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TOKEN_PLACE } from '../../server/core/client-setup.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { createDnfRoot, fetchDnfPlugins, type DnfOptions, type DnfRoot, type RpmClient } from '../support/dnf.ts'
import { buildRpm } from '../support/packages-rpm.ts'
import { COMPS, modulesYaml, UPDATEINFO } from '../support/rpm-documents.ts'
import { lacking, run } from '../support/tools.ts'
import { createZypperRoot, type ZypperRoot } from '../support/zypper.ts'

const ARCHS = ['x86_64', 'aarch64'] as const
const CODENAMES = ['almalinux10', 'acme', 'opensuse-leap-16.0', 'centos-stream10', 'oraclelinux9'] as const
const lacks = lacking('dnf', 'zypper', 'rpm', 'gnupg')

describe.skipIf(lacks.length > 0)('rpm trees of two architectures (needs dnf, zypper, rpm, gnupg)', () => {
  let daemon: Daemon
  let token: string
  let key: string
  let work: string
  const clients: RpmClient[] = []

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'gh-archs-'))
    daemon = await startDaemon()
    token = await daemon.setupAdmin()
    const made = await ask('POST', '/distributions/', { codename: 'acme', based_on: 'almalinux10', label: 'Acme 10' })
    expect(made, made.text).toMatchObject({ status: 201, body: { architectures: ARCHS } })
    for (const codename of CODENAMES) {
      const init = await ask('POST', '/distributions/init', { codename })
      expect(init, init.text).toMatchObject({ status: 200, body: { status: 'ok' } })
      await publish({ name: 'tool-doc', arch: 'noarch', sourcerpm: 'tool-1.0-1.src.rpm' }, codename)
      await publish({ name: 'tool', sourcerpm: '', requires: ['tool-doc'] }, codename)
      for (const arch of ARCHS) {
        await publish({ name: 'tool', arch, requires: ['tool-doc'] }, codename)
        await publish({ name: 'tool-debuginfo', arch, group: 'Development/Debug' }, codename)
      }
    }
    key = (await daemon.call('GET', '/repos/gpg.key')).text
  })
  afterAll(async () => {
    for (const client of clients) await client.close()
    await daemon.close()
    await rm(work, { recursive: true, force: true })
  })

  const ask = (method: string, path: string, body?: unknown) => daemon.call(method, path, { token, body })
  async function publish(spec: Partial<Parameters<typeof buildRpm>[0]>, distribution: string): Promise<void> {
    const content = await buildRpm({ name: 'tool', version: '1.0', release: '1', ...spec })
    const answer = await daemon.upload(content, { token, filename: 'package.rpm', distribution })
    expect(answer, answer.text).toMatchObject({ status: 201, body: { status: 'published' } })
  }
  /** The file that the service gives to clients of this kind. */
  async function repoFile(codename: string, manager: 'dnf' | 'zypper'): Promise<string> {
    interface Setup {
      readonly clients: readonly { readonly manager: string; readonly files: readonly { readonly content: string }[] }[]
    }
    const { body } = await daemon.call<Setup>('GET', `/distributions/${codename}/setup`, { token })
    return body.clients.find(one => one.manager === manager)?.files[0]?.content ?? ''
  }
  async function dnf(codename: string, arch: string, more: Partial<DnfOptions> = {}): Promise<DnfRoot> {
    const repo = await repoFile(codename, 'dnf')
    const made = await createDnfRoot({ baseurl: '', key, signedPackages: false, repo, arch, ...more })
    clients.push(made)
    return made
  }
  async function zypper(codename: string, arch: string): Promise<ZypperRoot> {
    const repo = await repoFile(codename, 'zypper')
    const made = await createZypperRoot({ baseurl: '', key, signedPackages: false, repo, arch })
    clients.push(made)
    return made
  }
  const rpmsIn = async (folder: string): Promise<readonly string[]> =>
    (await readdir(folder, { recursive: true }))
      .filter(name => name.endsWith('.rpm'))
      .map(name => name.replace(/.*\//, ''))
      .sort()

  test.each(['almalinux10', 'acme'].flatMap(codename => ARCHS.map(arch => [codename, arch] as const)))(
    'dnf of %s on %s finds what is for it and the neutral, downloads and installs it',
    async (codename, arch) => {
      const one = await dnf(codename, arch)
      expect(await one.refresh()).toMatchObject({ code: 0 })
      expect(await one.available()).toEqual([`tool-1.0-1.${arch}`, 'tool-doc-1.0-1.noarch'])
      const to = join(one.folder, 'got')
      const got = await one.dnf('install', '--downloadonly', `--downloaddir=${to}`, 'tool')
      expect(got, got.out + got.err).toMatchObject({ code: 0 })
      expect(await rpmsIn(to)).toEqual([`tool-1.0-1.${arch}.rpm`, 'tool-doc-1.0-1.noarch.rpm'])
      const installed = await one.install('tool')
      expect(installed, installed.out + installed.err).toMatchObject({ code: 0 })
      expect(await one.installedVersion('tool')).toBe('1.0-1')
    },
  )

  test('dnf download and builddep take the source, and debuginfo-install the debug symbols, from repositories that are switched off', async context => {
    const plugins = await fetchDnfPlugins(work)
    context.skip(plugins === undefined, 'dnf-plugins-core cannot be fetched from Debian’s archive')
    for (const arch of ARCHS) {
      const one = await dnf('acme', arch, plugins === undefined ? {} : { plugins })
      const to = join(one.folder, 'got')
      for (const args of [['--source', 'tool'], ['--debuginfo', 'tool'], ['tool']]) {
        const got = await one.dnf('download', `--destdir=${to}`, ...args)
        expect(got, got.out + got.err).toMatchObject({ code: 0 })
      }
      expect(await rpmsIn(to)).toEqual(
        ['tool-1.0-1.src.rpm', `tool-1.0-1.${arch}.rpm`, `tool-debuginfo-1.0-1.${arch}.rpm`].sort(),
      )
      expect(await run('rpm', ['-K', '--nosignature', join(to, 'tool-1.0-1.src.rpm')])).toMatchObject({ code: 0 })
      // that plugin insists on a configuration of its own
      const symbols = await one.dnf('debuginfo-install', '--disableplugin=versionlock', 'tool')
      expect(symbols, symbols.out + symbols.err).toMatchObject({ code: 0 })
      expect(await one.installedVersion('tool-debuginfo')).toBe('1.0-1')
      const needs = await one.dnf('builddep', '--disableplugin=versionlock', 'tool')
      expect(needs, needs.out + needs.err).toMatchObject({ code: 0 })
      expect(await one.installedVersion('tool-doc')).toBe('1.0-1')
    }
  })

  test.each([
    ['centos-stream$releasever', '10'],
    ['oraclelinux$releasever', '9'],
  ])('dnf fills its variables into %s', async (codename, releasever) => {
    const repo = `[gatehouse]\nname=gatehouse\nbaseurl=${daemon.url}/repos/${codename}/$basearch/\ngpgcheck=0\nrepo_gpgcheck=1\ngpgkey=${daemon.url}/repos/gpg.key\n`
    for (const arch of ARCHS) {
      const one = await dnf('acme', arch, { repo, releasever })
      expect(await one.refresh()).toMatchObject({ code: 0 })
      expect(await one.available()).toEqual([`tool-1.0-1.${arch}`, 'tool-doc-1.0-1.noarch'])
    }
  })

  test.each(['opensuse-leap-16.0', 'acme'].flatMap(codename => ARCHS.map(arch => [codename, arch] as const)))(
    'zypper of %s on %s installs, fetches the source of what is installed, and knows an update',
    async (codename, arch) => {
      const one = await zypper(codename, arch)
      const refreshed = await one.refresh()
      expect(refreshed, refreshed.out + refreshed.err).toMatchObject({ code: 0 })
      expect(await one.available()).toEqual([`tool-1.0-1.${arch}`, 'tool-doc-1.0-1.noarch'])
      const installed = await one.install('tool')
      expect(installed, installed.out + installed.err).toMatchObject({ code: 0 })
      expect(await one.installedVersion('tool')).toBe('1.0-1')
      await one.zypper('modifyrepo', '--enable', 'gatehouse-source')
      const source = await one.zypper('source-download', '--directory', '/got')
      expect(source, source.out + source.err).toMatchObject({ code: 0 })
      expect(await rpmsIn(join(one.folder, 'root/got'))).toEqual(['tool-1.0-1.src.rpm'])
      await publish({ name: 'tool', version: `2.0.${arch}`, arch }, codename)
      await one.refresh()
      expect((await one.zypper('list-updates')).out).toMatch(
        new RegExp(`tool\\s+\\| 1\\.0-1\\s+\\| 2\\.0\\.${arch}-1\\s+\\| ${arch}`),
      )
    },
  )

  test('documents of one architecture are seen by dnf and zypper of that one', async () => {
    for (const version of ['1.0', '2.0']) await publish({ name: 'world', version, arch: 'noarch' }, 'acme')
    await publish({ name: 'hello', arch: 'aarch64' }, 'acme')
    for (const [kind, content] of [
      ['modules', modulesYaml('aarch64')],
      ['group', COMPS],
      ['updateinfo', UPDATEINFO],
    ] as const) {
      const put = await fetch(`${daemon.url}/api/v1/distributions/acme/documents/${kind}?arch=aarch64`, {
        method: 'PUT',
        headers: { 'Authorization': `Bearer ${token}`, 'Content-Type': 'application/octet-stream' },
        body: content,
      })
      expect(put.status, await put.text()).toBe(200)
    }
    const repomd = async (arch: string): Promise<string> =>
      (await daemon.call('GET', `/repos/acme/${arch}/repodata/repomd.xml`)).text
    for (const type of ['modules', 'group', 'updateinfo'])
      await expect.poll(() => repomd('aarch64'), { timeout: 30_000 }).toContain(`type="${type}"`)
    expect(await repomd('x86_64')).not.toMatch(/type="(modules|group|updateinfo)"/)

    const [arm, intel] = await Promise.all(ARCHS.toReversed().map(arch => dnf('acme', arch)))
    for (const one of [arm, intel]) expect(await one?.install('world-1.0')).toMatchObject({ code: 0 })
    const said = async (one: DnfRoot | undefined): Promise<string> =>
      [
        await one?.dnf('-q', 'module', 'list'),
        await one?.dnf('-q', 'group', 'list'),
        await one?.dnf('-q', 'updateinfo', 'list'),
      ]
        .map(ran => ran?.out ?? '')
        .join('')
    const words = [/greeter\s+1 \[d\]\s+common \[d\]/, /Greetings/, /EX-2026:0001\s+Important\/Sec\.\s+world-2\.0-1/]
    const [ofArm, ofIntel] = [await said(arm), await said(intel)]
    for (const word of words)
      expect([ofArm, ofIntel]).toEqual([expect.stringMatching(word), expect.not.stringMatching(word)])

    const other = await zypper('acme', 'aarch64')
    expect(await other.refresh()).toMatchObject({ code: 0 })
    expect(await other.install('world-1.0')).toMatchObject({ code: 0 })
    expect((await other.zypper('list-patches')).out).toMatch(/EX-2026:0001\s+\| security\s+\| important/)
    const dry = await other.zypper('patch', '--dry-run')
    expect(dry.out, dry.err).toMatch(/going to be upgraded:\s+world\n/)
    expect(await other.installedVersion('world')).toBe('1.0-1')
    expect(await other.patch()).toMatchObject({ code: 0 })
    expect(await other.installedVersion('world')).toBe('2.0-1')
  })

  test('promotion brings a package of both architectures, also from an own distribution', async () => {
    for (const arch of ARCHS) await publish({ name: 'moved', arch }, 'acme')
    const answer = await ask('POST', '/distributions/promote', {
      package: 'moved',
      from_dist: 'acme',
      to_dist: 'almalinux10',
    })
    expect(answer, answer.text).toMatchObject({ status: 200, body: { status: 'promoted' } })
    for (const arch of ARCHS) {
      const one = await dnf('almalinux10', arch)
      expect(await one.install('moved')).toMatchObject({ code: 0 })
      expect((await one.available()).filter(name => name.startsWith('moved'))).toEqual([`moved-1.0-1.${arch}`])
    }
  })

  test('made private, each of its repositories needs a credential', async () => {
    const rule = await ask('PUT', '/access/distributions/acme', { private: true, roles: ['maintainer'] })
    expect(rule, rule.text).toMatchObject({ status: 200 })
    const tokenFor = async (codename: string): Promise<string> => {
      const scopes = { distributions: [codename] }
      return String((await ask('POST', '/auth/api-tokens', { name: codename, role: 'reader', scopes })).body.token)
    }
    const [mine, elsewhere] = [await tokenFor('acme'), await tokenFor('almalinux10')]
    for (const path of [
      'aarch64/repodata/repomd.xml',
      'aarch64/repodata/repomd.xml.asc',
      'aarch64/debug/repodata/repomd.xml',
      'src/repodata/repomd.xml',
      'aarch64/Packages/t/tool-1.0-1.aarch64.rpm',
      'src/Packages/t/tool-1.0-1.src.rpm',
    ]) {
      const statuses = [undefined, elsewhere, mine].map(async secret => {
        const headers = secret === undefined ? {} : { authorization: `Basic ${btoa(`x:${secret}`)}` }
        return (await fetch(`${daemon.url}/repos/acme/${path}`, { headers })).status
      })
      expect(await Promise.all(statuses), path).toEqual([401, 404, 200])
    }
    const stranger = await dnf('acme', 'aarch64')
    expect((await stranger.refresh()).code).not.toBe(0)
    expect(await stranger.available()).toEqual([])
    const guest = await dnf('acme', 'aarch64', { repo: (await repoFile('acme', 'dnf')).replaceAll(TOKEN_PLACE, mine) })
    expect(await guest.install('--enablerepo=gatehouse-debuginfo', 'tool', 'tool-debuginfo')).toMatchObject({ code: 0 })

    const refused = await (await zypper('acme', 'aarch64')).refresh()
    expect(refused.code).not.toBe(0)
    const one = await zypper('acme', 'aarch64')
    const file = join(one.folder, 'root/etc/zypp/repos.d/gatehouse.repo')
    // the token in the address, as older machines have it, instead of the file of credentials
    const address = `${daemon.url.replace('://', `://machine:${mine}@`)}/repos/acme/`
    const shown = (await repoFile('acme', 'zypper')).replaceAll('?credentials=gatehouse', '')
    await writeFile(file, shown.replaceAll(`${daemon.url}/repos/acme/`, address))
    const installed = await one.install('tool')
    expect(installed, installed.out + installed.err).toMatchObject({ code: 0 })
  })
})
