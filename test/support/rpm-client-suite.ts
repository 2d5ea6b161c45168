import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { getDistribution } from './repositories.ts'
import { startDaemon, type Answer, type Daemon, type Uploaded } from './daemon.ts'
import type { RpmClient, RpmClientOptions } from './dnf.ts'
import { startAlteringProxy, type AlteringProxy } from './altering-proxy.ts'
import { buildRpm, type RpmSpec } from './packages-rpm.ts'
import { mustRun, run } from './tools.ts'

export interface RpmClientSuite {
  /** The program, for the names of the tests. */
  readonly program: string
  /** The missing programs, if any: the suite is then skipped. */
  readonly lacks: readonly string[]
  readonly create: (options: RpmClientOptions) => Promise<RpmClient>
  readonly codename: string
  /** How it says that the index is not signed by a key it knows. */
  readonly badIndex: RegExp
  /** How it says that a package is not signed. */
  readonly badPackage: RegExp
}

/** Publications during the loop of refreshes; the whole proof takes 200. */
const PUBLICATIONS = Number(process.env.PUBLICATIONS ?? 12)
const HEALS_MS = 1_000
const VERIFY = join(import.meta.dirname, '..', '..', 'server', 'cli', 'verify.ts')

/** Tests what every client of an RPM tree is promised, with the given client. */
export function describeRpmClient({ program, lacks, create, codename, badIndex, badPackage }: RpmClientSuite): void {
  describe.skipIf(lacks.length > 0)(`${program} (needs ${program}, rpm, gnupg)`, () => {
    let daemon: Daemon
    let mirror: AlteringProxy
    let token: string
    let work: string
    const clients: RpmClient[] = []

    beforeAll(async () => {
      work = await mkdtemp(join(tmpdir(), 'gh-rpm-'))
      daemon = await startDaemon()
      mirror = await startAlteringProxy(() => daemon.url)
      token = await daemon.setupAdmin()
      const init = await daemon.call('POST', '/distributions/init', { token, body: { codename } })
      expect(init, init.text).toMatchObject({ status: 200 })
    })
    afterAll(async () => {
      for (const client of clients) await client.close()
      await mirror.close()
      await daemon.close()
      await rm(work, { recursive: true, force: true })
    })

    const publicKey = async (): Promise<string> => (await daemon.call('GET', '/repos/gpg.key')).text
    async function client(more: Partial<RpmClientOptions> & { readonly through?: string } = {}): Promise<RpmClient> {
      const made = await create({
        baseurl: `${more.through ?? daemon.url}/repos/${codename}/x86_64/`,
        key: await publicKey(),
        signedPackages: false,
        ...more,
      })
      clients.push(made)
      return made
    }
    /** zypper trusts the key beside an index that it is told to import: no client may see the one before. */
    const keyIsBesideIndex = async (): Promise<void> =>
      expect
        .poll(async () => (await daemon.call('GET', `/repos/${codename}/x86_64/repodata/repomd.xml.key`)).text, {
          timeout: 60_000,
        })
        .toBe(await publicKey())
    const upload = async (content: Buffer): Promise<Answer<Uploaded>> =>
      daemon.upload(content, { token, filename: 'package.rpm', distribution: codename })
    async function publish(spec: Partial<RpmSpec> & Pick<RpmSpec, 'name'>): Promise<Answer<Uploaded>> {
      const answer = await upload(await buildRpm({ version: '1.0', release: '1', ...spec }))
      expect(answer, answer.text).toMatchObject({ status: 201, body: { status: 'published' } })
      return answer
    }
    const signPackages = async (isOn: boolean): Promise<void> => {
      expect(
        await daemon.call('PATCH', '/settings/', { token, body: { signing: { rpm_packages: isOn } } }),
      ).toMatchObject({ status: 200 })
    }

    /** What the distributor would say: 1.1 of this mends something. */
    const advisory = (
      name: string,
    ): string => `<updates><update type="security"><id>TEST-2026:1</id><title>Moderate: ${name} security update</title><severity>Moderate</severity>
      <release>${getDistribution(codename).label}</release><issued date="2026-02-01 00:00:00"/><references><reference href="https://e.example/CVE-2026-10001" id="CVE-2026-10001" type="cve"/></references>
      <pkglist><collection><package name="${name}" epoch="0" version="1.1" release="1" arch="x86_64"/></collection></pkglist></update></updates>`

    test('installs a package with what it needs, from a signed index', async () => {
      await publish({ name: 'needy', requires: ['libneeded.so.1()(64bit)', 'helper >= 2', '/usr/bin/tool'] })
      await publish({ name: 'libneeded', provides: ['libneeded.so.1()(64bit)'] })
      await publish({ name: 'helper', version: '2.0', arch: 'noarch' })
      await publish({ name: 'tools', files: { 'usr/bin/tool': '#!/bin/sh\n', 'usr/share/tools/data': 'data' } })
      const one = await client()
      expect(await one.refresh()).toMatchObject({ code: 0 })
      expect(await one.available()).toEqual([
        'helper-2.0-1.noarch',
        'libneeded-1.0-1.x86_64',
        'needy-1.0-1.x86_64',
        'tools-1.0-1.x86_64',
      ])
      const { code, out, err } = await one.install('needy')
      expect({ code, out, err }).toMatchObject({ code: 0 })
      for (const name of ['needy', 'libneeded', 'tools']) expect(await one.installedVersion(name)).toBe('1.0-1')
      expect(await one.installedVersion('helper')).toBe('2.0-1')
    })

    test('updates to the version that rpm calls newer, an epoch before everything', async () => {
      await publish({ name: 'aging', version: '1.9' })
      const one = await client()
      await one.refresh()
      expect(await one.install('aging')).toMatchObject({ code: 0 })
      await publish({ name: 'aging', version: '1.10~rc1' })
      await publish({ name: 'aging', version: '1.10' })
      expect(await one.refresh()).toMatchObject({ code: 0 })
      expect(await one.update()).toMatchObject({ code: 0 })
      expect(await one.installedVersion('aging')).toBe('1.10-1')
      await publish({ name: 'aging', version: '0.1', epoch: 1 })
      expect(await one.refresh()).toMatchObject({ code: 0 })
      expect(await one.update()).toMatchObject({ code: 0 })
      expect(await one.installedVersion('aging')).toBe('1:0.1-1')
    })

    test('refuses an altered index, and accepts it again when it is intact', async () => {
      const one = await client({ through: mirror.url })
      mirror.alter = (path, bytes) =>
        path.endsWith('repomd.xml') ? Buffer.from(bytes.toString().replace(/<revision>\d/, '<revision>9')) : undefined
      const { code, out, err } = await one.refresh()
      expect(code, out + err).not.toBe(0)
      expect(out + err).toMatch(badIndex)
      mirror.alter = (path, bytes) =>
        path.endsWith('primary.xml.gz')
          ? Buffer.concat([bytes.subarray(0, -1), Buffer.from([(bytes.at(-1) ?? 0) ^ 1])])
          : undefined
      expect((await one.refresh()).code).not.toBe(0)
      mirror.alter = path => (path.endsWith('repomd.xml.asc') ? null : undefined)
      expect((await one.refresh()).code).not.toBe(0)
      mirror.alter = undefined
      expect(await one.refresh()).toMatchObject({ code: 0 })
    })

    test('refuses an index that another key signed', async () => {
      const home = join(work, 'other')
      await mkdir(home, { mode: 0o700 })
      const env = { GNUPGHOME: home }
      await mustRun(
        'gpg',
        [
          '--batch',
          '-q',
          '--pinentry-mode',
          'loopback',
          '--passphrase',
          '',
          '--quick-gen-key',
          'Other <other@example.test>',
          'rsa3072',
          'sign',
          'never',
        ],
        { env },
      )
      // a client must not trust the key beside the index unless it was configured
      const one = await client({
        key: await mustRun('gpg', ['--armor', '--export', 'other@example.test'], { env }),
        through: mirror.url,
      })
      mirror.alter = path => (path.endsWith('repomd.xml.key') ? null : undefined)
      const { code, out, err } = await one.refresh()
      mirror.alter = undefined
      await run('gpgconf', ['--kill', 'gpg-agent'], { env })
      expect(code, out + err).not.toBe(0)
      expect(out + err).toMatch(badIndex)
    })

    test('with package signing on: installs what carries the signature, refuses what came before or was altered', async () => {
      await publish({ name: 'unsigned' })
      await signPackages(true)
      const content = await buildRpm({ name: 'sealed', version: '1.0', release: '1' })
      expect(await upload(content)).toMatchObject({ status: 201, body: { status: 'published' } })
      expect(await upload(content), 'the same bytes again').toMatchObject({
        status: 200,
        body: { status: 'already_imported' },
      })
      const served = Buffer.from(
        await (await fetch(`${daemon.url}/repos/${codename}/x86_64/Packages/s/sealed-1.0-1.x86_64.rpm`)).arrayBuffer(),
      )
      expect(served.equals(content)).toBe(false)
      expect(await upload(served), 'the bytes that clients get').toMatchObject({
        status: 200,
        body: { status: 'already_imported' },
      })

      const one = await client({ signedPackages: true, through: mirror.url })
      expect(await one.refresh()).toMatchObject({ code: 0 })
      const refused = await one.install('unsigned')
      expect(refused.code, refused.out + refused.err).not.toBe(0)
      expect(refused.out + refused.err).toMatch(badPackage)
      expect(await one.installedVersion('unsigned')).toBeUndefined()
      mirror.alter = (path, bytes) =>
        path.endsWith('.rpm')
          ? Buffer.concat([bytes.subarray(0, -1), Buffer.from([(bytes.at(-1) ?? 0) ^ 1])])
          : undefined
      expect((await one.install('sealed')).code).not.toBe(0)
      mirror.alter = undefined
      const { code, out, err } = await one.install('sealed')
      expect(code, out + err).toBe(0)
      expect(await one.installedVersion('sealed')).toBe('1.0-1')
    })

    test('the lines that the server gives for it work as they are', async () => {
      await publish({ name: 'from-setup' })
      const { body } = await daemon.call<{
        clients: { manager: string; files: { path: string; content: string }[] }[]
      }>('GET', `/distributions/${codename}/setup`, { token })
      const repo =
        body.clients.find(({ manager }) => manager === program)?.files.find(({ path }) => path.endsWith('.repo'))
          ?.content ?? ''
      expect(repo).toMatch(/^gpgcheck=1$/m)
      expect(repo).toMatch(/^repo_gpgcheck=1$/m)
      const one = await client({ repo, signedPackages: true })
      const { code, out, err } = await one.refresh()
      expect(code, out + err).toBe(0)
      expect(await one.install('from-setup')).toMatchObject({ code: 0 })
      expect((await one.install('unsigned')).code).not.toBe(0)
    })

    test('after a new signing key a client with the old one and a client with both refresh and install', async () => {
      const old = await client({ signedPackages: true })
      await old.refresh()
      const made = await daemon.call('POST', '/settings/gpg/generate', {
        token,
        body: { type: 'ed25519Legacy', overlap_days: 30 },
      })
      expect(made, made.text).toMatchObject({ status: 201 })
      await keyIsBesideIndex()
      const both = await client({ signedPackages: true })
      expect(await both.refresh()).toMatchObject({ code: 0 })
      expect(await old.refresh()).toMatchObject({ code: 0 })
      expect(await old.install('sealed')).toMatchObject({ code: 0 })
      await publish({ name: 'after-rotation' })
      expect(await both.refresh()).toMatchObject({ code: 0 })
      expect(await both.install('sealed', 'after-rotation')).toMatchObject({ code: 0 })
    })

    test('once the old key is retired, a client with the new one refuses packages of the old one until they are uploaded again; the health report names them', async () => {
      const warnings = async (): Promise<string> => (await daemon.call('GET', '/health')).text
      expect(await warnings()).toMatch(
        new RegExp(`Packages of ${codename} \\(\\d+\\) are signed with the key [0-9A-F]{16}, which retires on`),
      )
      expect(
        await daemon.call('POST', '/settings/gpg/generate', {
          token,
          body: { type: 'ed25519Legacy', overlap_days: 0 },
        }),
      ).toMatchObject({ status: 201 })
      await keyIsBesideIndex()
      const fresh = await client({ signedPackages: true })
      expect(await fresh.refresh()).toMatchObject({ code: 0 })
      const refused = await fresh.install('after-rotation')
      expect(refused.code, refused.out + refused.err).not.toBe(0)
      expect(await fresh.installedVersion('after-rotation')).toBeUndefined()
      await expect.poll(warnings).toMatch(/which is retired: .*upload them again/)
      expect(await daemon.call('DELETE', '/artifacts/after-rotation/1.0-1', { token })).toMatchObject({ status: 200 })
      await publish({ name: 'after-rotation' })
      expect(await fresh.refresh()).toMatchObject({ code: 0 })
      const { code, out, err } = await fresh.install('after-rotation')
      expect(code, out + err).toBe(0)
    })

    test('a package of the previous index can still be fetched after another publication', async () => {
      await publish({ name: 'early' })
      const one = await client({ signedPackages: true })
      await one.refresh()
      await publish({ name: 'late' })
      expect(await one.install('early')).toMatchObject({ code: 0 })
    })

    test(`${PUBLICATIONS} publications while it refreshes over and over: a failed refresh succeeds at a retry within a second`, async () => {
      const one = await client({ signedPackages: true })
      let isDone = false
      const publications = (async () => {
        for (let n = 0; n < PUBLICATIONS; n++) await publish({ name: `busy-${n}` })
      })().finally(() => {
        isDone = true
      })
      let [refreshes, healed] = [0, 0]
      const unhealed: string[] = []
      for (; !isDone; refreshes++) {
        const first = await one.refresh()
        if (first.code === 0) continue
        healed++
        const deadline = Date.now() + HEALS_MS
        let again = await one.refresh()
        while (again.code !== 0 && Date.now() < deadline) {
          await wait(50)
          again = await one.refresh()
        }
        if (again.code !== 0) unhealed.push(first.out + first.err + again.out + again.err)
      }
      await publications
      console.log(
        `${program}: ${refreshes} refreshes during ${PUBLICATIONS} publications, ${healed} failed at first, ${unhealed.length} also when tried again`,
      )
      expect(unhealed).toEqual([])
      expect(await one.refresh()).toMatchObject({ code: 0 })
      expect((await one.available()).filter(name => name.startsWith('busy-'))).toHaveLength(PUBLICATIONS)
    })

    test('is offered the update that fixes a vulnerability soon after the data name it, and installs only that one', async () => {
      for (const version of ['1.0', '1.1'])
        for (const name of ['mended', 'merely-newer']) await publish({ name, version })
      const one = await client()
      await one.refresh()
      expect(await one.install('mended-1.0-1', 'merely-newer-1.0-1')).toMatchObject({ code: 0 })
      expect((await one.patches()).out).not.toContain('TEST-2026')
      const loaded = await fetch(`${daemon.url}/api/v1/security/database`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}` },
        body: advisory('mended'),
      })
      expect(loaded.status, await loaded.text()).toBe(200)
      await expect
        .poll(async () => (await daemon.call('GET', `/repos/${codename}/x86_64/repodata/repomd.xml`)).text, {
          timeout: 30_000,
        })
        .toContain('updateinfo')
      expect(await one.refresh()).toMatchObject({ code: 0 })
      const { out } = await one.patches()
      for (const word of ['TEST-2026:1', 'CVE-2026-10001']) expect(out).toContain(word)
      expect(out).toMatch(/moderate/i)
      const { code, out: said, err } = await one.patch()
      expect(code, said + err).toBe(0)
      expect([await one.installedVersion('mended'), await one.installedVersion('merely-newer')]).toEqual([
        '1.1-1',
        '1.0-1',
      ])
      expect((await one.patches()).out).not.toContain('TEST-2026')
    })

    test('sees a rollback at its next refresh, and the way forward again', async () => {
      interface Kept {
        readonly generations: readonly { readonly n: number }[]
      }
      await publish({ name: 'turned' })
      const kept = await daemon.call<Kept>('GET', `/distributions/${codename}/generations`, { token })
      const [before] = kept.body.generations
      await publish({ name: 'turned', version: '2.0' })
      const [newest] = (await daemon.call<Kept>('GET', `/distributions/${codename}/generations`, { token })).body
        .generations
      const one = await client()
      const seen = async (): Promise<readonly string[]> => {
        expect(await one.refresh()).toMatchObject({ code: 0 })
        return (await one.available()).filter(name => name.startsWith('turned'))
      }
      expect(await seen()).toEqual(['turned-1.0-1.x86_64', 'turned-2.0-1.x86_64'])
      for (const [n, there] of [
        [before?.n, ['turned-1.0-1.x86_64']],
        [newest?.n, ['turned-1.0-1.x86_64', 'turned-2.0-1.x86_64']],
      ] as const) {
        const answer = await daemon.call('POST', `/distributions/${codename}/rollback`, {
          token,
          body: { generation: n },
        })
        expect(answer, answer.text).toMatchObject({ status: 200 })
        expect(await seen()).toEqual(there)
      }
    })

    test('and afterwards the verifier finds pool, database and tree in agreement', async () => {
      const address = daemon.databaseUrl === undefined ? {} : { DATABASE_URL: daemon.databaseUrl }
      const { out, err } = await run(process.execPath, [VERIFY, '--json'], {
        env: { REPOS_ROOT: daemon.root, ENV: 'test', ...address },
      })
      const { checked, differences } = JSON.parse(out || err) as { checked: { trees: number }; differences: unknown[] }
      expect(differences).toEqual([])
      expect(checked.trees).toBe(1)
    })
  })
}
