import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { oddRpms, uninstallableRpms } from '../../../test/support/odd-rpm.ts'
import type { RpmSpec } from '../../../test/support/packages-rpm.ts'
import {
  RPM_COMPRESSIONS,
  buildRpm,
  packRpm,
  packRpm3,
  packRpm6,
  rpmParts,
} from '../../../test/support/packages-rpm.ts'
import { spoolBytes, spoolPath } from '../../../test/support/packages.ts'
import { rpmbuild, rpmInstall } from '../../../test/support/rpm-tools.ts'
import { lacking, mustRun, run } from '../../../test/support/tools.ts'
import type { RpmDependency, RpmFacts } from './facts.ts'
import { inner } from './inner.ts'
import { inspect } from './inspect.ts'
import { printEvr } from './version.ts'

const signal = new AbortController().signal
const query = (path: string, format: string): string =>
  execFileSync('rpm', ['-qp', '--nosignature', '--queryformat', format, path], {
    maxBuffer: 2 ** 26,
    env: { ...process.env, LC_ALL: 'C.UTF-8' },
    stdio: ['ignore', 'pipe', 'ignore'],
  }).toString()
const lines = (path: string, format: string): string[] =>
  query(path, `[${format}\\n]`)
    .split('\n')
    .filter(line => line !== '' && line !== '(none)')

const print = ({ name, op, evr }: RpmDependency): string =>
  op === undefined || evr === undefined ? name : `${name} ${op} ${printEvr(evr)}`
const KINDS = [
  'provides',
  'requires',
  'conflicts',
  'obsoletes',
  'recommends',
  'suggests',
  'supplements',
  'enhances',
] as const
const NEVRS: Record<(typeof KINDS)[number], string> = {
  provides: 'PROVIDENEVRS',
  requires: 'REQUIRENEVRS',
  conflicts: 'CONFLICTNEVRS',
  obsoletes: 'OBSOLETENEVRS',
  recommends: 'RECOMMENDNEVRS',
  suggests: 'SUGGESTNEVRS',
  supplements: 'SUPPLEMENTNEVRS',
  enhances: 'ENHANCENEVRS',
}
const TEXTS: readonly (readonly [keyof RpmFacts, string])[] = [
  ['version', 'VERSION'],
  ['release', 'RELEASE'],
  ['epoch', 'EPOCHNUM'],
  ['summary', 'SUMMARY'],
  ['description', 'DESCRIPTION'],
  ['packager', 'PACKAGER'],
  ['url', 'URL'],
  ['built', 'BUILDTIME'],
  ['installed', 'SIZE'],
  ['archive', 'ARCHIVESIZE'],
  ['license', 'LICENSE'],
  ['vendor', 'VENDOR'],
  ['group', 'GROUP'],
  ['buildhost', 'BUILDHOST'],
  ['sourcerpm', 'SOURCERPM'],
]

/** Asks rpm for everything that we read, and compares. */
async function agree(path: string): Promise<RpmFacts> {
  const { identity, facts, paths: files } = await inspect(await spoolPath(path), signal)
  expect(`${identity.name} ${identity.version} ${identity.arch}`).toBe(
    query(path, '%{NAME} %|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE} %{ARCH}'),
  )
  for (const [key, tag] of TEXTS)
    expect(`${key}: ${String(facts[key])}`).toBe(`${key}: ${query(path, `%{${tag}}`).replace(/^\(none\)$/, '')}`)
  for (const kind of KINDS)
    expect(facts[kind].map(print), kind).toEqual(
      lines(path, `%{${NEVRS[kind]}}`).filter(line => !line.startsWith('rpmlib(')),
    )
  const listed = lines(path, '%{FILENAMES}\\t%{FILEFLAGS}\\t%{FILEMODES:perms}').map(line => line.split('\t'))
  expect(facts.files.map(({ path: name, type }) => [name, type])).toEqual(
    listed.map(([name, flags, mode = '']) => [
      name,
      mode.startsWith('d') ? 'dir' : (Number(flags) & 64) === 0 ? undefined : 'ghost',
    ]),
  )
  expect(files).toEqual(facts.files.filter(({ type }) => type === undefined).map(file => file.path.slice(1)))
  expect(facts.changelog.map(({ author, at }) => `${at} ${author}`)).toEqual(
    lines(path, '%{CHANGELOGTIME} %{CHANGELOGNAME}'),
  )
  return facts
}

async function unpacked(path: string, name: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const stream of inner(await spoolPath(path)))
    if (stream.name === name) for await (const chunk of stream.open()) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const SPEC = `Name: vendor
Epoch: 2
Version: 1.0~rc1
Release: 3%{?dist}
Summary: built by rpmbuild
Summary(de): gebaut
License: MIT and GPL
URL: https://example.test/
Vendor: Example
Packager: A Person <a@example.test>
Group: System/Tools
Requires: /bin/sh, libfoo >= 1:2.0-1, (a or b), ((c with d) if e)
Requires(pre): shadow-utils
Requires(post): /sbin/ldconfig
Provides: virt = 4, other, config(thing) = 1-1
Conflicts: bad < 2
Obsoletes: old <= 1.0
Recommends: rec
Suggests: sug >= 3
Supplements: (sup and x)
Enhances: enh
%description
Long text.

 * list
%install
mkdir -p %{buildroot}/usr/bin %{buildroot}/etc/vendor %{buildroot}/usr/share/vendor/äöü %{buildroot}/var/log %{buildroot}/var/lib/vendor
printf '#!/bin/sh\\necho hi\\n' > %{buildroot}/usr/bin/vendor; chmod 755 %{buildroot}/usr/bin/vendor
ln %{buildroot}/usr/bin/vendor %{buildroot}/usr/bin/hard
ln %{buildroot}/usr/bin/vendor %{buildroot}/usr/bin/another
ln -s vendor %{buildroot}/usr/bin/alias
echo conf > %{buildroot}/etc/vendor/vendor.conf
echo x > %{buildroot}/usr/share/vendor/äöü/file
head -c 300000 /dev/zero > %{buildroot}/usr/share/vendor/zeros
touch %{buildroot}/var/log/vendor.log
%pre
echo pre
%post -p /sbin/ldconfig
%preun
echo preun
%triggerin -- bash
echo trigger
%transfiletriggerin -- /usr/share/fonts
echo fonts
%files
%dir /etc/vendor
%config(noreplace) /etc/vendor/vendor.conf
/usr/bin/*
/usr/share/vendor
%dir %attr(0750,root,root) /var/lib/vendor
%ghost /var/log/vendor.log
%changelog
* Tue Nov 17 2026 B <b@example.test> - 2:1.0~rc1-3
- second
- third
* Mon Nov 16 2026 A <a@example.test> - 1.0-1
- first
`

const missing = lacking('rpm')

describe.skipIf(missing.length > 0)('rpm and we read the same', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rpm-vendor-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test.each(['w9.gzdio', 'w6.xzdio', 'w7T2.xzdio', 'w19.zstdio', 'w9.bzdio', 'w7.lzdio', 'w.ufdio'])(
    'a package that rpmbuild made with the payload %s',
    async how => {
      const [path = ''] = await rpmbuild(folder, SPEC, { defines: { _binary_payload: how } })
      const facts = await agree(path)
      expect(facts.files.length).toBe(12)
      expect(facts.changelog.map(({ text }) => text)).toEqual(['- second\n- third', '- first'])
      expect(facts.requires.filter(({ pre }) => pre === true).map(({ name }) => name)).toEqual([
        '/bin/sh',
        '/sbin/ldconfig',
        '/sbin/ldconfig',
        'shadow-utils',
      ])
      expect((await unpacked(path, 'payload.cpio')).includes('TRAILER!!!')).toBe(true)
      const scripts = (await unpacked(path, 'scripts')).toString()
      for (const text of ['echo pre', 'echo preun', 'echo trigger', 'echo fonts']) expect(scripts).toContain(text)
    },
  )

  test('the payload comes out byte for byte as rpm2cpio unpacks it', async () => {
    const [path = ''] = await rpmbuild(folder, SPEC, { defines: { _binary_payload: 'w19.zstdio' } })
    expect(
      (await unpacked(path, 'payload.cpio')).equals(execFileSync('rpm2cpio', [path], { maxBuffer: 2 ** 26 })),
    ).toBe(true)
  })

  test('the digests of unusual packages are right, says rpm -K', async () => {
    for (const { name, bytes } of await oddRpms()) {
      const { path } = await spoolBytes(folder, 'k.rpm', bytes)
      expect(await run('rpm', ['-K', '--nosignature', path]), name).toMatchObject({
        code: 0,
        out: expect.stringContaining('digests OK') as string,
      })
    }
  })

  test('several packages of one source, without files and without an architecture', async () => {
    const spec =
      'Name: many\nVersion: 1\nRelease: 1\nSummary: s\nLicense: MIT\nBuildArch: noarch\n%description\nd\n%package sub\nSummary: t\nRequires: many = %{version}-%{release}\n' +
      '%description sub\ne\n%package -n other\nSummary: u\n%description -n other\nf\n%files\n%files sub\n%files -n other\n'
    const paths = await rpmbuild(folder, spec)
    expect(paths.length).toBe(3)
    for (const path of paths) expect((await agree(path)).sourcerpm).toBe('many-1-1.src.rpm')
  })

  test('a source package of rpmbuild is one: its needs are those of the build, its payload is looked into', async () => {
    const [path = ''] = await rpmbuild(folder, SPEC.replace('%description', 'BuildRequires: gcc >= 4\n%description'), {
      what: '-bs',
    })
    const { identity, kind, about, facts } = await inspect(await spoolPath(path), signal)
    expect({ kind, arch: identity.arch, provides: about.provides }).toEqual({
      kind: 'source',
      arch: 'src',
      provides: [],
    })
    expect(about.depends).toContainEqual([expect.objectContaining({ name: 'gcc' })])
    expect(facts.files.map(file => file.path).sort()).toEqual(lines(path, '%{FILENAMES}').sort())
    expect(
      (await unpacked(path, 'payload.cpio')).equals(execFileSync('rpm2cpio', [path], { maxBuffer: 2 ** 26 })),
    ).toBe(true)
  })

  const OURS: RpmSpec = {
    name: 'ours',
    version: '1.0^git1',
    release: '2.el9',
    epoch: 3,
    arch: 'noarch',
    vendor: 'V',
    url: 'https://example.test/',
    packager: 'P',
    files: {
      'usr/bin/ours': '#!/bin/sh\n',
      'usr/bin/again': { hardlink: 'usr/bin/ours' },
      'usr/lib/ours': { dir: true },
      'usr/lib/ours/link': { symlink: '../../bin/ours' },
      'var/log/ours.log': { ghost: true },
      'etc/ours': { content: 'x', mode: 0o600 },
    },
    requires: ['/bin/sh', 'libfoo >= 1:2.0-1', '(a or b)', 'pre:shadow'],
    provides: ['virt = 4', 'other'],
    conflicts: ['bad < 2'],
    obsoletes: ['old <= 1'],
    recommends: ['rec'],
    suggests: ['sug >= 3'],
    supplements: ['sup'],
    enhances: ['enh'],
    scripts: { pre: 'echo pre\n', post: 'echo post\n' },
    changelog: [
      { author: 'B <b@example.test> - 1-2', at: 1_763_380_800, text: '- second' },
      { author: 'A', at: 1_763_300_000, text: '- first' },
    ],
  }
  test.each(RPM_COMPRESSIONS)('a package that we made with the payload %s', async compression => {
    const file = await spoolBytes(folder, `ours-${compression}.rpm`, await buildRpm({ ...OURS, compression }))
    await agreeOn(file.path)
    expect(await mustRun('rpm', ['-K', '--nosignature', file.path])).toContain('digests OK')
    expect(
      (await unpacked(file.path, 'payload.cpio')).equals(execFileSync('rpm2cpio', [file.path], { maxBuffer: 2 ** 26 })),
    ).toBe(true)
  })
  const agreeOn = async (path: string): Promise<void> => {
    expect((await agree(path)).files.length).toBe(6)
  }

  test('the payload of the form for large files is given its names back', async () => {
    const plain = await spoolBytes(folder, 'plain.rpm', await buildRpm(OURS))
    const large = await spoolBytes(folder, 'large.rpm', await buildRpm({ ...OURS, large: true }))
    await agreeOn(large.path)
    const names = (bytes: Buffer): string[] => bytes.toString('latin1').match(/\.\/[a-z/.]+/g) ?? []
    expect(names(await unpacked(large.path, 'payload.cpio'))).toEqual(names(await unpacked(plain.path, 'payload.cpio')))
    expect((await unpacked(large.path, 'payload.cpio')).toString()).toContain('#!/bin/sh')
  })

  test('rpm installs what we make', async () => {
    const root = join(folder, 'root')
    mkdirSync(root)
    const file = await spoolBytes(folder, 'install.rpm', await buildRpm({ ...OURS, scripts: {}, large: true }))
    const { code, err } = await rpmInstall(root, file.path, '--dbpath', '/db')
    expect(err.replace(/warning:.*\n/g, '')).toBe('')
    expect(code).toBe(0)
    expect(await readFile(join(root, 'usr/bin/again'), 'utf8')).toBe('#!/bin/sh\n')
  })

  test('rpm installs every unusual package that we take, and none of those that we refuse because it does not', async () => {
    const { code: isRoot } = await run('test', ['-w', '/'])
    const [odd, bad] = [await oddRpms(), isRoot === 0 ? uninstallableRpms() : []]
    for (const { name, bytes } of [...odd, ...bad]) {
      const root = await mkdtemp(join(folder, 'root-'))
      const file = await spoolBytes(folder, 'odd.rpm', bytes)
      const { code, err } = await rpmInstall(root, file.path)
      await rm(root, { recursive: true })
      expect(`${name}: ${code === 0 ? 'installed' : 'refused'}`, err).toBe(
        `${name}: ${odd.some(one => one.name === name) ? 'installed' : 'refused'}`,
      )
    }
  })

  test('a package of rpm 3, without regions, digests and folders apart', async () => {
    const spec = {
      ...OURS,
      compression: 'gz',
      epoch: 1,
      recommends: [],
      suggests: [],
      supplements: [],
      enhances: [],
      requires: ['/bin/sh'],
    } as const
    const paths = (await agree((await spoolBytes(folder, 'v4.rpm', await buildRpm(spec))).path)).files.map(
      ({ path }) => path,
    )
    // its own name was not among what it provides yet
    const parts = await rpmParts(spec)
    const old = { ...parts, tags: parts.tags.filter(({ tag }) => ![1047, 1112, 1113].includes(tag)) }
    const file = await spoolBytes(folder, 'v3.rpm', packRpm3(old, paths))
    await agreeOn(file.path)
    expect((await unpacked(file.path, 'payload.cpio')).toString()).toContain('#!/bin/sh')
  })

  test('a package of rpm 6, with its own digests and sizes', async () => {
    const parts = await rpmParts({ ...OURS, large: true, compression: 'zst' })
    const { payload: cpio } = await rpmParts({ ...OURS, large: true, compression: 'none' })
    const file = await spoolBytes(folder, 'v6.rpm', packRpm6(parts, cpio))
    await agree(file.path).catch((error: unknown) => {
      // rpm 4.18 knows no payload size but that of the signature header
      if (!String(error).includes('archive')) throw error
    })
    expect((await inspect(file, signal)).facts.archive).toBe(cpio.length)
    const changed = Buffer.from(packRpm6(parts, cpio))
    changed[changed.length - 20] = (changed[changed.length - 20] ?? 0) ^ 1
    await expect(inspect(await spoolBytes(folder, 'v6-changed.rpm', changed), signal)).rejects.toMatchObject({
      code: 'bad_package',
    })
  })

  test('a value of every type in place of every type is taken where rpm loads it', async () => {
    const sample: Readonly<Record<number, Buffer>> = {
      1: Buffer.from([1]),
      2: Buffer.from([1]),
      3: Buffer.from([0, 1]),
      4: Buffer.from([0, 0, 0, 1]),
      5: Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]),
      6: Buffer.from('x\0'),
      7: Buffer.from([1]),
      8: Buffer.from('x\0'),
      9: Buffer.from('x\0'),
    }
    const parts = await rpmParts({ name: 'typed', version: '1', release: '1', compression: 'none' })
    // we use none of them, so nothing but their type can be wrong: one of each type, and one that may be anything
    for (const tag of [1029, 1033, 1119, 1043, 1094, 5002, 1199]) {
      for (const type of [1, 2, 3, 4, 5, 6, 7, 8, 9]) {
        const file = await spoolBytes(
          folder,
          'typed.rpm',
          packRpm({
            ...parts,
            tags: [
              ...parts.tags.filter(one => one.tag !== tag),
              { tag, type, count: 1, data: sample[type] ?? Buffer.alloc(0) },
            ],
          }),
        )
        const theirs = await run('rpm', ['-K', '--nosignature', file.path])
        const ours = await inspect(file, signal).then(
          () => 0,
          () => 1,
        )
        expect(`${tag} as ${type}: ${ours}`).toBe(`${tag} as ${type}: ${theirs.code}`)
      }
    }
  })

  test.each([
    ['between two values', { tag: 1004, type: 6, count: 1, data: Buffer.from('x\0hidden') }],
    ['behind the last one', { tag: 5200, type: 6, count: 1, data: Buffer.from('x\0hidden') }],
  ])('bytes %s of a header are refused by both', async (_where, tag) => {
    const parts = await rpmParts({ name: 'gap', version: '1', release: '1' })
    const file = await spoolBytes(
      folder,
      'gap.rpm',
      packRpm({ ...parts, tags: [...parts.tags.filter(one => one.tag !== tag.tag), tag] }),
    )
    expect((await run('rpm', ['-qp', '--nosignature', file.path])).err).toContain('hdr load: BAD')
    await expect(inspect(file, signal)).rejects.toMatchObject({ code: 'bad_package' })
  })
})
