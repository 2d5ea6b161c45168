import * as openpgp from 'openpgp'
import { beforeAll, describe, expect, test } from 'vitest'
import { buildChanges, buildSource, dscName, listFiles, printParagraph } from '../../../../test/support/sources.ts'
import { Malformed } from '../../../lib/limited.ts'
import { parseBuildInfo } from './buildinfo.ts'
import { parseBuildRelations } from './build-relation.ts'
import { parseChanges } from './changes.ts'
import { parseDsc } from './dsc.ts'
import { mustMatch } from './file-list.ts'

const spec = { name: 'acme', version: '1:1.0-1' }
const files = buildSource(spec)
const dsc = files[dscName(spec)] ?? Buffer.alloc(0)
const text = dsc.toString()

let signed: string
beforeAll(async () => {
  const { privateKey } = await openpgp.generateKey({
    type: 'ecc',
    curve: 'ed25519Legacy',
    userIDs: [{ name: 'Jo', email: 'jo@example.test' }],
    format: 'object',
  })
  const message = await openpgp.createCleartextMessage({ text })
  signed = (await openpgp.sign({ message, signingKeys: privateKey })).replaceAll('\r\n', '\n')
})

/** Why bytes are refused. */
function refusal(read: () => unknown): string {
  try {
    read()
  } catch (error) {
    if (error instanceof Malformed) return error.why
    throw error
  }
  return 'it was taken'
}

describe('a .dsc', () => {
  test('says what the package is, what it is made of and what building it needs', () => {
    const sent = printParagraph({
      'Format': '3.0 (quilt)',
      'Source': 'acme',
      'Binary': 'acme, acme-doc,\n acme-dev',
      'Architecture': 'any all',
      'Version': '1:1.0-1',
      'Maintainer': 'Jo <jo@example.test>',
      'Homepage': 'https://example.test/',
      'Build-Depends':
        'debhelper-compat (= 13), zlib1g-dev [amd64 arm64] <!nocheck>, python3:any (>> 3.9), x <stage1>, a | b [!i386],',
      'Build-Depends-Indep': 'sphinx',
      'Package-List': '\n acme deb utils optional arch=any',
      ...listFiles(Object.fromEntries(Object.entries(files).filter(([name]) => !name.endsWith('.dsc')))),
    })
    const { control, text: read, ...rest } = parseDsc(Buffer.from(sent))
    expect(read).toBe(sent)
    expect(rest).toEqual({
      identity: { format: 'deb', name: 'acme', version: '1:1.0-1', arch: 'source' },
      format: '3.0 (quilt)',
      about: {
        summary: 'Source of acme, acme-doc, acme-dev',
        description: '',
        source: 'acme',
        source_version: '1:1.0-1',
        homepage: 'https://example.test/',
        maintainer: 'Jo <jo@example.test>',
        section: 'utils',
        depends: [
          [{ name: 'debhelper-compat', op: '=', version: '13' }],
          [{ name: 'zlib1g-dev' }],
          [{ name: 'python3', arch: 'any', op: '>', version: '3.9' }],
          [{ name: 'a' }, { name: 'b' }],
          [{ name: 'sphinx' }],
        ],
        provides: [],
        conflicts: [],
      },
      files: ['acme_1.0.orig.tar.gz', 'acme_1.0-1.debian.tar.gz'].map(name => ({
        name,
        size: files[name]?.length,
        md5: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
        sha1: expect.stringMatching(/^[0-9a-f]{40}$/) as string,
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      })),
    })
    expect(control).toMatch(
      /^Package: acme\nFormat: 3\.0 \(quilt\)\nBinary: acme, acme-doc,\n acme-dev\nArchitecture: any all\n/,
    )
    expect(control).not.toMatch(/^(Source|Files|Checksums-\w+):|\n$/m)
  })

  test.each(['1.0', '3.0 (native)', '3.0 (quilt)'] as const)('of format %s is read', format => {
    const version = format === '3.0 (native)' ? '1.0' : '1.0-1'
    const made = buildSource({ name: 'acme', version, format })
    const read = parseDsc(made[`acme_${version}.dsc`] ?? Buffer.alloc(0))
    expect(read.format).toBe(format)
    expect(read.files.map(({ name }) => name).sort()).toEqual(
      Object.keys(made)
        .filter(name => !name.endsWith('.dsc'))
        .sort(),
    )
  })

  test('that is signed is read the same, and keeps the signed document for the check', () => {
    const { document, ...rest } = parseDsc(Buffer.from(signed))
    expect(rest).toEqual(parseDsc(dsc))
    expect(document).toBe(signed)
    expect(parseDsc(Buffer.from(signed.replaceAll('\n', '\r\n')))).toEqual({ ...rest, document: signed })
  })

  test('may have what only a signature protects, and nothing beside it', () => {
    const [before, behind] = [`Source: evil\n\n${signed}`, `${signed}\nSource: evil\n`]
    expect(refusal(() => parseDsc(Buffer.from(before)))).toMatch(/does not begin with "-----BEGIN PGP SIGNED/)
    expect(refusal(() => parseDsc(Buffer.from(behind)))).toMatch(/goes on behind its signature/)
    expect(refusal(() => parseDsc(Buffer.from(`${signed}${signed}`)))).toMatch(/twice/)
    expect(refusal(() => parseDsc(Buffer.from(signed.replace(/\nHash: /, '\nSource: evil\nHash: '))))).toMatch(
      /header "Source: evil"/,
    )
    expect(refusal(() => parseDsc(Buffer.from(signed.replace('-----BEGIN PGP SIGNATURE-----', ''))))).toMatch(
      /no signature follows/,
    )
    expect(refusal(() => parseDsc(Buffer.from(signed.replace('\nFormat', '\n-Format'))))).toMatch(
      /RFC 9580 writes "- "/,
    )
    expect(refusal(() => parseDsc(Buffer.from(signed.slice(0, -40))))).toMatch(/cut off/)
    expect(
      refusal(() =>
        parseDsc(
          Buffer.from(
            `-----BEGIN PGP SIGNED MESSAGE-----\n${text.replaceAll('\n\n', '\n')}-----END PGP SIGNATURE-----\n`,
          ),
        ),
      ),
    ).toMatch(/no blank line/)
  })

  const line = (field: string, name: string): RegExp =>
    new RegExp(`(${field}:\\n(?: .*\\n)*?) \\S+ \\d+ ${name.replaceAll('.', '\\.')}\\n`)
  const orig = 'acme_1.0.orig.tar.gz'
  const debianTar = 'acme_1.0-1.debian.tar.gz'
  test.each([
    ['no Format', text.replace(/^Format.*\n/m, ''), /no field Format/],
    ['another format', text.replace('3.0 (quilt)', '2.0'), /format "2\.0"; taken are 1\.0/],
    ['a git format', text.replace('3.0 (quilt)', '3.0 (git)'), /format "3\.0 \(git\)"/],
    ['a folder in the name', text.replaceAll('Source: acme', 'Source: ../acme'), /source package name "\.\.\/acme"/],
    ['a bad version', text.replace('Version: 1:1.0-1', 'Version: one'), /version "one"/],
    ['no SHA-256', text.replace(/Checksums-Sha256:\n( .*\n)+/, ''), /no field Checksums-Sha256/],
    ['no Files', text.replace(/Files:\n( .*\n)+/, ''), /no field Files/],
    [
      'a file that only Files names',
      text.replace(line('Checksums-Sha256', orig), '$1'),
      /Checksums-Sha1 names the file acme_1\.0\.orig\.tar\.gz, and Checksums-Sha256 does not/,
    ],
    ['a file that Files does not name', text.replace(line('Files', orig), '$1'), /and Files does not/],
    [
      'another size',
      text.replace(/(Files:\n \S+ )\d+/, '$17'),
      /bytes by the field Checksums-Sha256, and 7 bytes by Files/,
    ],
    ['a file twice', text.replace(/(Files:\n)( .*\n)/, '$1$2$2'), /names the file acme_1\.0\.orig\.tar\.gz twice/],
    ['a path in a name', text.replaceAll(orig, `../../${orig}`), /plain name without a folder/],
    ['a hidden file', text.replaceAll(orig, '.htaccess'), /plain name/],
    [
      'a file of another package',
      text.replaceAll(orig, 'other_1.0.orig.tar.gz'),
      /none of format 3\.0 \(quilt\) for acme/,
    ],
    ['a file of another version', text.replaceAll(orig, 'acme_2.0.orig.tar.gz'), /none of format/],
    [
      'no upstream tarball',
      text.replaceAll(new RegExp(` \\S+ \\d+ ${orig}\\n`, 'g'), ''),
      /made of one \.orig\.tar and one \.debian\.tar; it names acme_1\.0-1\.debian/,
    ],
    ['two debian tarballs', text.replaceAll(orig, debianTar.replace('.gz', '.xz')), /made of one \.orig\.tar/],
    ['a short digest', text.replace(/(Checksums-Sha256:\n )[0-9a-f]{8}/, '$1'), /64 lower-case hexadecimal digits/],
    [
      'a digest in capitals',
      text.replace(/(Checksums-Sha256:\n )[0-9a-f]{64}/, `$1${'A'.repeat(64)}`),
      /64 lower-case/,
    ],
    ['a negative size', text.replace(/(Files:\n \S+ )\d+/, '$1-7'), /the size "-7"/],
    ['a line too short', text.replace(/(Files:\n \S+ )\d+ /, '$1'), /digest, size and file/],
    ['a second paragraph', `${text}\nSource: evil\n`, /second paragraph/],
    ['a field twice', `${text}Version: 2\n`, /the field Version twice/],
    [
      'more files than anybody has',
      text.replace(
        /(Files:\n)/,
        `$1${Array.from({ length: 501 }, (_, n) => ` ${'0'.repeat(32)} 1 acme_${n}\n`).join('')}`,
      ),
      /more than 500 files/,
    ],
    ['a need that is none', `${text}Build-Depends: a b\n`, /Build-Depends holds "a b"/],
    ['an architecture list that is none', `${text}Build-Depends: a [AMD/64]\n`, /"AMD\/64" is no architecture/],
    ['a profile list that is cut off', `${text}Build-Depends: a <!nocheck\n`, /lists stand as/],
    ['nothing in it', '', /no newline|does not end with a newline/],
    ['a NUL', text.replace('Jo', 'J\0o'), /control character/],
  ])('with %s is refused', (_, bad, why) => {
    expect(bad).not.toBe(text)
    expect(refusal(() => parseDsc(Buffer.from(bad)))).toMatch(why)
  })
})

test.each([
  ['a <stage1>, b <!nocheck !nodoc>, c <stage1> <!cross>', ['b', 'c']],
  ['a:native (>= 1~) [any-amd64 !hurd-i386]', ['a']],
  ['a | b <stage1> | c', ['a', 'c']],
  ['', []],
  ['a (<< 2)', ['a']],
  ['a (< 2) [i386]', ['a']],
])('Build-Depends %j needs %j where no profile is active', (value, names) => {
  expect(
    parseBuildRelations(value, 'Build-Depends')
      .flat()
      .map(({ name }) => name),
  ).toEqual(names)
})

describe('a .changes', () => {
  const changes = buildChanges({ source: 'acme', version: '1:1.0-1', distribution: 'bookworm', files })
  test('says what is uploaded where', () => {
    expect(parseChanges(changes)).toEqual({
      text: changes.toString(),
      source: 'acme',
      version: '1:1.0-1',
      sourceVersion: '1:1.0-1',
      distribution: 'bookworm',
      architectures: ['source', 'all'],
      binaries: ['acme'],
      urgency: 'medium',
      maintainer: 'Jo <jo@example.test>',
      changedBy: 'Jo <jo@example.test>',
      closes: ['123', '45'],
      changes: 'acme (1:1.0-1) bookworm; urgency=medium\n\n  * New. Closes: #123, #45',
      files: Object.entries(files).map(([name, { length }]) => ({
        name,
        size: length,
        md5: expect.any(String) as string,
        sha1: expect.any(String) as string,
        sha256: expect.any(String) as string,
        section: 'utils',
        priority: 'optional',
      })),
    })
  })

  test.each([
    ['no Distribution', changes.toString().replace(/^Distribution.*\n/m, ''), /no field Distribution/],
    [
      'two distributions',
      changes.toString().replace('Distribution: bookworm', 'Distribution: bookworm sid'),
      /names one distribution/,
    ],
    [
      'a path for a distribution',
      changes.toString().replace('Distribution: bookworm', 'Distribution: ../x'),
      /names one distribution/,
    ],
    ['no section', changes.toString().replaceAll('utils optional ', ''), /digest, size, section, priority and file/],
    ['a path in a name', changes.toString().replaceAll('acme_1.0-1.dsc', 'a/acme_1.0-1.dsc'), /plain name/],
    ['another format', changes.toString().replace('Format: 1.8', 'Format: 3.0 (quilt)'), /1\.8 is known/],
    ['a bad source name', changes.toString().replace('Source: acme', 'Source: Acme'), /field Source is "Acme"/],
  ])('with %s is refused', (_, bad, why) => {
    expect(refusal(() => parseChanges(Buffer.from(bad)))).toMatch(why)
  })
})

describe('a .buildinfo', () => {
  const buildinfo = printParagraph({
    'Format': '1.0',
    'Source': 'acme (1.0-1)',
    'Binary': 'acme',
    'Architecture': 'amd64 source',
    'Version': '1.0-1+b1',
    ...Object.fromEntries(
      Object.entries(listFiles(files)).map(([key, value]) => [key === 'Files' ? 'Checksums-Md5' : key, value]),
    ),
    'Build-Origin': 'Debian',
    'Build-Date': 'Sun, 22 Nov 2026 15:07:53 +0000',
    'Installed-Build-Depends': '\n autoconf (= 2.71-3),\n automake (= 1:1.16.5-1.3)',
  })
  test('says what came out of which build', () => {
    expect(parseBuildInfo(Buffer.from(buildinfo))).toEqual({
      source: 'acme',
      version: '1.0-1+b1',
      architectures: ['amd64', 'source'],
      origin: 'Debian',
      date: 'Sun, 22 Nov 2026 15:07:53 +0000',
      files: Object.keys(files).map(name => expect.objectContaining({ name }) as object),
    })
  })
  test('without what was installed is refused', () => {
    expect(
      refusal(() => parseBuildInfo(Buffer.from(buildinfo.replace(/Installed-Build-Depends:\n( .*\n)+/, '')))),
    ).toMatch(/Installed-Build-Depends/)
  })
})

test('a file that is not the announced one is told by what differs', () => {
  const [named] = parseDsc(dsc).files
  if (named === undefined) throw new Error('a source package has files')
  const is = { size: named.size, md5: named.md5 ?? '', sha1: named.sha1 ?? '', sha256: named.sha256 }
  expect(refusal(() => mustMatch(named, is))).toBe('it was taken')
  expect(refusal(() => mustMatch(named, { ...is, size: 1 }))).toMatch(/has 1 bytes; \d+ were announced/)
  expect(refusal(() => mustMatch(named, { ...is, sha256: '0'.repeat(64) }))).toMatch(
    /has the SHA-256 0{64}; [0-9a-f]{64} was announced/,
  )
  expect(refusal(() => mustMatch(named, { ...is, md5: '0'.repeat(32) }))).toMatch(/has the MD5 0{32}/)
})
