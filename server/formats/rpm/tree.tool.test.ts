import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDnfRoot, type RpmClient } from '../../../test/support/dnf.ts'
import { buildRpm } from '../../../test/support/packages-rpm.ts'
import { writeRpmTree } from '../../../test/support/rpm-tree.ts'
import { rpmbuild } from '../../../test/support/rpm-tools.ts'
import { lacking, mustRun, run } from '../../../test/support/tools.ts'
import { createZypperRoot } from '../../../test/support/zypper.ts'
import { getDistribution, layoutOf } from '../../../test/support/repositories.ts'
import { createSecretBox } from '../../lib/secret-box.ts'
import { createKeyring } from '../../signing/keyring.ts'
import type { Signer } from '../../signing/signer.ts'
import { rpmTree } from './tree.ts'

const noTools = lacking('rpm', 'createrepo-c').length > 0

/** Everything that a spec file can say about dependencies and files. */
const FULL_SPEC = `Name: full
Version: 1.0~rc1
Release: 3.el9
Epoch: 2
Summary: Everything & <all> "quoted" it's
License: MIT and GPLv2+
URL: https://example.test/?a=1&b=2
Vendor: Example, Inc.
Packager: Someone <some@example.test>
Group: System/Tools
Provides: virtual = 1:2.0-3
Provides: plain
Provides: ranged < 5
Requires: bash >= 4, libfoo.so.1()(64bit)
Requires: /bin/sh
Requires: plain
Requires(pre): shadow-utils
Requires(post): /sbin/ldconfig
Requires: (a or b >= 2)
Requires: dup
Requires(pre): dup
Requires: exact = 3:4-5, low < 1, atmost <= 1.2-3, above > 0
Requires: /usr/bin/full, /opt/etc/notstandard
Conflicts: evil <= 3
Obsoletes: old < 2
Recommends: rec
Suggests: sug = 1-1
Supplements: sup
Enhances: enh > 0:3
%description
A description, with <xml> & “unicode”.

  Second paragraph.	Tab.
%install
mkdir -p %{buildroot}/usr/bin %{buildroot}/etc/full.d %{buildroot}/usr/share/full/sub %{buildroot}/usr/lib %{buildroot}/bin %{buildroot}/opt/etc
echo hi > %{buildroot}/usr/bin/full
ln -s full %{buildroot}/usr/bin/full-link
echo c > %{buildroot}/etc/full.conf
echo c > "%{buildroot}/usr/share/full/with space & amp"
echo c > %{buildroot}/usr/share/full/sub/x
echo c > %{buildroot}/usr/lib/sendmail
echo c > %{buildroot}/bin/thing
echo c > %{buildroot}/opt/etc/notstandard
%pre
true
%post -p /sbin/ldconfig
%preun
true
%files
/usr/bin/full
/usr/bin/full-link
%config(noreplace) /etc/full.conf
%dir /etc/full.d
%dir /usr/share/full
"/usr/share/full/with space & amp"
/usr/share/full/sub
/usr/lib/sendmail
/bin/thing
/opt/etc/notstandard
%ghost /var/log/full.log
%ghost %dir /var/lib/full
%changelog
* Fri Nov 20 2026 A Person <a@example.test> - 2:1.0~rc1-3
- Third <change> & "more"
- and another line
* Thu Nov 19 2026 B Person <b@example.test> - 2:1.0~rc1-2
- Second
${Array.from({ length: 14 }, (_, n) => `* Wed Nov 18 2026 C <c${n}@example.test>\n- Entry ${n}`).join('\n')}
`
const BARE_SPEC = `Name: bare
Version: 1
Release: 1
Summary: s
License: MIT
BuildArch: noarch
%description
%files
`

let folder: string
let signer: Signer
let built: readonly Buffer[]
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rpm-tree-'))
  const layout = layoutOf(join(folder, 'keys'))
  await mkdir(layout.root)
  const keyring = createKeyring({ layout, box: createSecretBox('k'), clock: { now: () => new Date() } })
  await keyring.generate({ type: 'ed25519Legacy', name: 'Test', email: 'test@example.test', overlapDays: 30 })
  signer = await keyring.signer()
  const paths = noTools ? [] : [...(await rpmbuild(folder, FULL_SPEC)), ...(await rpmbuild(folder, BARE_SPEC))]
  built = await Promise.all(paths.map(path => readFile(path)))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const newFolder = (): Promise<string> => mkdtemp(join(folder, 'tree-'))

/** One index of a repository, unpacked. */
async function readIndex(repository: string, name: string): Promise<string> {
  const files = await readdir(join(repository, 'repodata'))
  const path = join(repository, 'repodata', files.find(file => file.endsWith(`${name}.xml.gz`)) ?? name)
  return gunzipSync(await readFile(path)).toString()
}

/**
 * The packages of an index, one text each. When the file was last touched is nobody's fact; an empty element has two
 * forms; and createrepo_c tells two equal needs apart when one that differs stands between them.
 */
function packagesOf(document: string): string[] {
  const needs = (list: string): string => [...new Set(list.split('\n'))].join('\n')
  return (document.match(/<package [^]*?<\/package>/g) ?? [])
    .map(text =>
      text
        .replace(/<time file="\d+"/, '<time file=""')
        .replaceAll(/<([\w:]+)><\/\1>/g, '<$1/>')
        .replace(/<rpm:requires>[^]*?<\/rpm:requires>/, needs),
    )
    .sort()
}

describe.skipIf(noTools)('beside createrepo_c (needs rpm, createrepo-c)', () => {
  let ours: string
  let theirs: string
  beforeAll(async () => {
    const tree = await newFolder()
    const odd = await buildRpm({
      name: 'odd+name',
      version: '1^git',
      release: '0',
      summary: '',
      description: '',
      vendor: '',
      group: '',
      url: '',
      files: {
        'usr/share/odd/&<>': 'x',
        'usr/share/odd/täst': 'x',
        'etc/odd': { ghost: true },
        'usr/sbin': { dir: true },
      },
      requires: ['needs = 0', 'pre:scripts >= 1:2-3'],
      scripts: { post: 'true' },
    })
    await writeRpmTree(tree, { packages: [...built, odd], signer })
    ours = join(tree, 'x86_64')
    theirs = await newFolder()
    await mustRun('cp', ['-r', join(ours, 'Packages'), theirs])
    await mustRun('createrepo_c', ['-q', '--no-database', theirs])
  })

  test.each(['primary', 'filelists', 'other'])('%s.xml says the same of each package, field by field', async name => {
    const [mine, yours] = [packagesOf(await readIndex(ours, name)), packagesOf(await readIndex(theirs, name))]
    expect(mine).toHaveLength(3)
    expect(mine).toEqual(yours)
  })

  test.each(['primary', 'filelists', 'other'])('%s.xml is framed in the same way', async name => {
    const [mine, yours] = [await readIndex(ours, name), await readIndex(theirs, name)]
    const frame = (document: string): string => document.replace(/<package [^]*<\/package>/, '').trim()
    expect(frame(mine)).toBe(frame(yours))
  })

  test('repomd.xml names each index as it does, and its own parser takes every package from our tree', async () => {
    const fields = async (repository: string): Promise<string[]> => {
      const document = await readFile(join(repository, 'repodata/repomd.xml'), 'utf8')
      return document
        .replaceAll(/>[0-9a-f]+</g, '><')
        .replaceAll(/[0-9a-f]{64}/g, '')
        .split('\n')
    }
    expect(await fields(ours)).toEqual(await fields(theirs))
    const copy = await newFolder()
    await mustRun('cp', ['-r', `${ours}/.`, copy])
    // with the files' times left out of it, what it has read is what it need not read from the packages
    const { err, out } = await run('createrepo_c', ['--update', '--skip-stat', '--no-database', '-v', copy])
    expect((out + err).match(/CACHE HIT/g)).toHaveLength(3)
    expect(out + err).not.toMatch(/warning|error/i)
    expect(packagesOf(await readIndex(copy, 'primary'))).toEqual(packagesOf(await readIndex(ours, 'primary')))
  })
})

describe('repomd.xml', () => {
  const read =
    (tree: string) =>
    (path: string): Promise<Buffer> =>
      readFile(join(tree, path))
  const distribution = getDistribution('almalinux9')

  test('is signed, carries the key beside it, and is refused after a changed byte, with a torn end or without its signature', async () => {
    const tree = await newFolder()
    await writeRpmTree(tree, { packages: [], signer, at: new Date('2026-11-21T03:00:00Z') })
    const path = join(tree, 'x86_64/repodata/repomd.xml')
    const document = await readFile(path, 'utf8')
    expect(document).toContain(`<revision>${Date.parse('2026-11-21T03:00:00Z') / 1000}</revision>`)
    expect(document.match(/type="\w+"/g)?.filter(type => !type.includes('sha256'))).toEqual(
      ['primary', 'filelists', 'other'].map(type => `type="${type}"`),
    )
    expect(await readFile(`${path}.key`)).toEqual(signer.publicKey('armored'))
    expect(await rpmTree.verifyRoot(read(tree), signer, distribution)).toBe(true)

    await writeFile(path, document.replace('1', '2'))
    expect(await rpmTree.verifyRoot(read(tree), signer, distribution)).toBe(false)
    const torn = document.replace('</repomd>\n', '')
    await writeFile(path, torn)
    await writeFile(`${path}.asc`, await signer.detach(Buffer.from(torn)))
    expect(await rpmTree.verifyRoot(read(tree), signer, distribution)).toBe(false)
    await writeFile(path, document)
    await rm(`${path}.asc`)
    await expect(rpmTree.verifyRoot(read(tree), signer, distribution)).rejects.toThrow('ENOENT')
  })
})

describe.each([
  ['dnf', createDnfRoot, ['dnf'] as const],
  ['zypper', createZypperRoot, ['zypper'] as const],
] as const)('%s over a folder', (_, create, tools) => {
  let client: RpmClient | undefined
  afterAll(async () => {
    await client?.close()
  })

  test.skipIf(noTools || lacking(...tools).length > 0)(
    `reads the pieces of each index, and installs a signed package (needs rpm, ${tools[0]})`,
    async () => {
      const tree = await newFolder()
      const packages = await Promise.all(
        ['one', 'two', 'three'].map(name =>
          buildRpm({ name, version: '1.0', release: '1', files: { [`usr/share/${name}`]: name } }),
        ),
      )
      await writeRpmTree(tree, { packages, signer, signedPackages: true })
      client = await create({
        baseurl: `file://${join(tree, 'x86_64')}`,
        key: signer.publicKey('armored'),
        signedPackages: true,
      })
      expect(await client.refresh()).toMatchObject({ code: 0 })
      expect(await client.available()).toEqual(['one-1.0-1.x86_64', 'three-1.0-1.x86_64', 'two-1.0-1.x86_64'])
      expect(await client.install('two')).toMatchObject({ code: 0 })
      expect(await client.installedVersion('two')).toBe('1.0-1')
    },
  )
})
