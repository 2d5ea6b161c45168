import { createReadStream, existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildDeb } from '../../test/support/packages.ts'
import { buildRpm } from '../../test/support/packages-rpm.ts'
import { lacking, mustRun } from '../../test/support/tools.ts'
import { isRefusal } from '../core/errors.ts'
import { trustKeys, type TrustedKeys } from '../signing/trusted-keys.ts'
import { deb } from './deb/index.ts'
import { rpm } from './rpm/index.ts'
import type { UpstreamPackage, UpstreamPlace, UpstreamReader } from './upstream.ts'

const lacks = lacking('apt-utils', 'reprepro', 'createrepo-c', 'gnupg', 'zstd', 'xz-utils')
if (lacks.length > 0) console.warn(`skipped: upstreams that other programs wrote, for want of ${lacks.join(', ')}`)

describe.skipIf(lacks.length > 0)('repositories that other programs wrote', () => {
  let folder: string
  let env: Record<string, string>
  let keys: TrustedKeys
  const gpg = (...args: string[]): Promise<string> =>
    mustRun('gpg', ['--batch', '--yes', '--pinentry-mode', 'loopback', '--passphrase', '', ...args], {
      env,
      cwd: folder,
    })

  async function open(
    reader: UpstreamReader | undefined,
    root: string,
    more: Partial<UpstreamPlace> = {},
  ): Promise<UpstreamPackage[]> {
    const fetch: UpstreamPlace['fetch'] = path => {
      const file = join(root, path)
      return Promise.resolve(existsSync(file) ? (createReadStream(file) as AsyncIterable<Buffer>) : undefined)
    }
    const opened = await (reader as UpstreamReader).open({ fetch, keys, now: new Date(), ...more })
    const found = []
    for await (const entry of opened.entries()) found.push(entry.read())
    return found.sort((a, b) => (a.identity.name < b.identity.name ? -1 : 1))
  }
  const fault = (reading: Promise<unknown>): Promise<unknown> =>
    reading.catch((error: unknown) => {
      if (isRefusal(error, 'upstream_refused')) return error.facts.fault
      throw error
    })

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'up-'))
    env = { GNUPGHOME: join(folder, 'gnupg') }
    await mkdir(join(folder, 'gnupg'), { mode: 0o700 })
    await gpg('--quick-gen-key', 'Up <up@example.test>', 'rsa2048', 'sign', 'never')
    keys = await trustKeys({ openpgp: [await gpg('--armor', '--export')], rsa: new Map(), now: () => new Date() })
  }, 60_000)
  afterAll(async () => {
    await mustRun('gpgconf', ['--kill', 'all'], { env }).catch(() => undefined)
    await rm(folder, { recursive: true, force: true })
  })

  const debs = async (into: string): Promise<void> => {
    await mkdir(into, { recursive: true })
    for (const [name, arch] of [
      ['hello', 'amd64'],
      ['hello-doc', 'all'],
    ] as const) {
      const fields = {
        Priority: 'optional',
        Depends: 'libc6 (>= 2.36) | musl',
        Section: 'utils',
        Source: 'hello-src (1.0)',
      }
      await writeFile(join(into, `${name}_1.0-1_${arch}.deb`), await buildDeb({ name, version: '1.0-1', arch, fields }))
    }
  }
  const apt = { suite: 'stable', components: ['main'], archs: ['amd64'] }
  const summary = (found: readonly UpstreamPackage[]): unknown[] =>
    found.map(({ identity, source, source_version, relations }) => [
      identity.name,
      identity.version,
      identity.arch,
      `${source} ${source_version}`,
      JSON.stringify(relations.depends ?? []),
    ])
  const mustBeThere = async (root: string, found: readonly UpstreamPackage[]): Promise<void> => {
    for (const { path, size, digests } of found) {
      const bytes = await readFile(join(root, path))
      expect([bytes.length, createHash('sha256').update(bytes).digest('hex')]).toEqual([size, digests.sha256])
    }
  }
  const DEPENDS = JSON.stringify([[{ name: 'libc6', op: '>=', version: '2.36' }, { name: 'musl' }]])
  const DEBS = [
    ['hello', '1.0-1', 'amd64', 'hello-src 1.0', DEPENDS],
    ['hello-doc', '1.0-1', 'all', 'hello-src 1.0', DEPENDS],
  ]

  test('a tree of reprepro', async () => {
    const root = join(folder, 'reprepro')
    await debs(join(root, 'in'))
    await mkdir(join(root, 'conf'))
    const conf = `Codename: stable\nArchitectures: amd64 arm64\nComponents: main\nSignWith: default\nDebIndices: Packages Release . .gz .xz\n`
    await writeFile(join(root, 'conf', 'distributions'), conf)
    for (const file of await readdir(join(root, 'in')))
      await mustRun('reprepro', ['-b', root, 'includedeb', 'stable', join(root, 'in', file)], { env })
    const found = await open(deb.upstream, root, apt)
    expect(summary(found)).toEqual(DEBS)
    await mustBeThere(root, found)
    expect(await open(deb.upstream, root, { ...apt, archs: ['arm64'] })).toHaveLength(1)
    expect(await fault(open(deb.upstream, root, { ...apt, suite: 'unstable' }))).toBe('missing')
    expect(await fault(open(deb.upstream, root, { ...apt, components: ['contrib'] }))).toBe('missing')
  }, 60_000)

  describe('a tree of apt-ftparchive', () => {
    let root: string
    const release = async (words: Readonly<Record<string, string>> = {}): Promise<void> => {
      const dist = join(root, 'dists', 'stable')
      for (const name of ['Release', 'Release.gpg', 'InRelease']) await rm(join(dist, name), { force: true })
      const made = await mustRun('apt-ftparchive', ['release', dist])
      const set = { Suite: 'stable', Architectures: 'amd64', ...words }
      const lines = made.split('\n').filter(line => !Object.keys(set).some(name => line.startsWith(`${name}:`)))
      const text = [...Object.entries(set).map(([name, value]) => `${name}: ${value}`), ...lines].join('\n')
      await writeFile(join(dist, 'Release'), text)
    }
    beforeAll(async () => {
      root = join(folder, 'ftparchive')
      await debs(join(root, 'pool'))
      const binary = join(root, 'dists', 'stable', 'main', 'binary-amd64')
      await mkdir(binary, { recursive: true })
      await writeFile(join(binary, 'Packages'), await mustRun('apt-ftparchive', ['packages', 'pool'], { cwd: root }))
      await mustRun('xz', ['-k', join(binary, 'Packages')])
    })

    test('with a detached signature, with a clear one, and with the plain index not served', async () => {
      await release()
      expect(await fault(open(deb.upstream, root, apt))).toBe('unsigned')
      expect(await open(deb.upstream, root, { ...apt, unsigned: true })).toHaveLength(2)
      await gpg('--armor', '-o', join(root, 'dists/stable/Release.gpg'), '-b', join(root, 'dists/stable/Release'))
      expect(summary(await open(deb.upstream, root, apt))).toEqual(DEBS)
      await gpg('-o', join(root, 'dists/stable/InRelease'), '--clearsign', join(root, 'dists/stable/Release'))
      await rm(join(root, 'dists/stable/main/binary-amd64/Packages'))
      const found = await open(deb.upstream, root, apt)
      expect(summary(found)).toEqual(DEBS)
      await mustBeThere(root, found)
    })

    test('past its end, ahead of the clock, or of another suite, it is refused', async () => {
      const sign = (): Promise<string> =>
        gpg('-o', join(root, 'dists/stable/InRelease'), '--clearsign', join(root, 'dists/stable/Release'))
      await release({ 'Valid-Until': 'Sat, 21 Nov 2020 03:00:00 UTC' })
      await sign()
      expect(await fault(open(deb.upstream, root, apt))).toBe('expired')
      expect(await open(deb.upstream, root, { ...apt, allowExpired: true })).toHaveLength(2)
      await release({ Date: 'Sat, 21 Nov 2099 03:00:00 UTC' })
      await sign()
      expect(await fault(open(deb.upstream, root, apt))).toBe('not_yet_valid')
      await release({ Suite: 'sid', Codename: 'sid' })
      await sign()
      expect(await fault(open(deb.upstream, root, apt))).toBe('other_suite')
    })

    test('without a suite, as a flat repository', async () => {
      const flat = join(folder, 'flat')
      await debs(flat)
      await writeFile(join(flat, 'Packages'), await mustRun('apt-ftparchive', ['packages', '.'], { cwd: flat }))
      await mustRun('gzip', ['-k', join(flat, 'Packages')])
      await writeFile(join(flat, 'Release'), await mustRun('apt-ftparchive', ['release', flat]))
      await gpg('-o', join(flat, 'InRelease'), '--clearsign', join(flat, 'Release'))
      const found = await open(deb.upstream, flat, { suite: './' })
      expect(summary(found)).toEqual(DEBS)
      await mustBeThere(flat, found)
    })
  })

  test.each(['gz', 'xz', 'bz2', 'zst'])('a tree of createrepo_c, packed with %s', async kind => {
    const root = join(folder, `rpm-${kind}`)
    await mkdir(root)
    for (const name of ['hello', 'libhello'])
      await writeFile(
        join(root, `${name}.rpm`),
        await buildRpm({ name, epoch: 1, version: '1.0', release: '1', arch: 'noarch' }),
      )
    // before 1.0 it writes no zstd; then the file is packed again, and named anew
    const own = kind === 'zst' ? 'gz' : kind
    await mustRun('createrepo_c', ['--no-database', '--general-compress-type', own, root])
    if (kind === 'zst') await packAgain(root)
    await gpg('--armor', '-b', join(root, 'repodata/repomd.xml'))
    const found = await open(rpm.upstream, root)
    expect(summary(found)).toEqual([
      ['hello', '1:1.0-1', 'noarch', 'hello 1.0-1', '[]'],
      ['libhello', '1:1.0-1', 'noarch', 'libhello 1.0-1', '[]'],
    ])
    await mustBeThere(root, found)
    await rm(join(root, 'repodata/repomd.xml.asc'))
    expect(await fault(open(rpm.upstream, root))).toBe('unsigned')
    expect(await open(rpm.upstream, root, { unsigned: true })).toHaveLength(2)
  })

  async function packAgain(root: string): Promise<void> {
    const names = await readdir(join(root, 'repodata'))
    const old = names.find(name => name.endsWith('-primary.xml.gz')) ?? ''
    await mustRun('sh', ['-c', `zcat ${old} > primary.xml && zstd -q --rm primary.xml`], {
      cwd: join(root, 'repodata'),
    })
    const bytes = await readFile(join(root, 'repodata', 'primary.xml.zst'))
    const text = await readFile(join(root, 'repodata', 'repomd.xml'), 'utf8')
    const at = text.indexOf('<data type="primary">')
    const data = text
      .slice(at, text.indexOf('</data>', at))
      .replace(
        /<checksum type="sha256">[0-9a-f]+/,
        `<checksum type="sha256">${createHash('sha256').update(bytes).digest('hex')}`,
      )
      .replace(/<size>\d+/, `<size>${bytes.length}`)
      .replace(old, 'primary.xml.zst')
    await writeFile(
      join(root, 'repodata', 'repomd.xml'),
      text.slice(0, at) + data + text.slice(text.indexOf('</data>', at)),
    )
  }
})
