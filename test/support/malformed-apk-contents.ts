import type { Row } from './malformed-apk-parts.ts'
import { END, FILE, INFO, USR, withData, withDataTar, withFields, withInfo } from './malformed-apk-parts.ts'
import type { ApkSpec } from './packages-apk.ts'
import type { TarSpec } from './packages.ts'
import { pax, tarEntry } from './packages.ts'

export function names(): Row[] {
  const data = (name: string, entries: readonly TarSpec[], why: RegExp): Row => [name, withData([USR, ...entries]), why]
  return [
    data('absolute name', [{ name: '/etc/passwd', body: 'x' }], /is absolute/),
    data('name that begins with ..', [{ name: '../evil', body: 'x' }], /with \.\./),
    data('name with .. inside', [{ name: 'usr/../../etc/passwd', body: 'x' }], /with \.\./),
    data('folder named ..', [{ name: 'usr/..', type: '5' }], /with \.\./),
    data('.. in a pax path', [pax('path', 'usr/../../evil'), FILE], /with \.\./),
    data('GNU long name with ..', [{ name: `usr/${'x/'.repeat(80)}../../etc/passwd`, body: 'x' }], /with \.\./),
    data('names behind ./', [{ name: './usr/bin/x', body: 'x' }], /begins with a dot/),
    data('newline in a name', [{ name: 'usr/a\nb', body: 'x' }], /control character/),
    data('name that is not UTF-8', [{ name: Buffer.from([0x75, 0xe9, 0xff]), body: 'x' }], /not UTF-8/),
    data('empty name', [{ name: '', body: 'x' }], /empty name/),
    data('root as a symlink', [{ name: '.', type: '2', link: '/etc' }], /root is a symlink/),
    data('symlink above the root', [{ name: 'usr/l', type: '2', link: '../../../etc/passwd' }], /above the root/),
    data(
      'file through a symlink',
      [
        { name: 'usr/l', type: '2', link: '/etc' },
        { name: 'usr/l/passwd', body: 'x' },
      ],
      /a symlink of the same package/,
    ),
    data('hard link to an absolute name', [{ name: 'usr/h', type: '1', link: '/etc/shadow' }], /is absolute/),
    data('hard link with ..', [{ name: 'usr/h', type: '1', link: '../etc/shadow' }], /with \.\./),
    data('hard link to what is not there', [{ name: 'usr/h', type: '1', link: 'etc/shadow' }], /no file before it/),
    data(
      'symlink in place of a file',
      [FILE, { name: 'usr/file', type: '2', link: '/etc/passwd' }],
      /twice, as file and as symlink/,
    ),
  ]
}

export function tars(): Row[] {
  const data = (name: string, entries: readonly TarSpec[], why: RegExp): Row => [name, withData([USR, ...entries]), why]
  const file = tarEntry({ ...FILE, magic: 'ustar\u000000' })
  const head = tarEntry({ ...USR, magic: 'ustar\u000000' })
  const many = Buffer.concat([
    Buffer.alloc(300_001 * 512, tarEntry({ name: 'x/', type: '5', magic: 'ustar\u000000' })),
    END,
  ])
  const binarySize = Buffer.alloc(12)
  binarySize[0] = 0x80
  binarySize[11] = 5
  return [
    data('wrong tar checksum', [{ ...FILE, checksumOff: 1 }], /checksum is wrong/),
    data('tar size not octal', [{ ...FILE, size: '9999999999\0' }], /not an octal number/),
    data('negative tar size', [{ ...FILE, size: '-0000000001' }], /not an octal number/),
    data('binary tar size', [{ ...FILE, size: binarySize.toString('latin1') }], /not an octal number/),
    data('tar size behind a blank', [{ ...FILE, size: ' 0000000005\0' }], /the size of "usr\/file" is " 0000000005/),
    ...['mode 100', 'owner 108', 'group 116', 'device 329', 'device 337'].flatMap(field => {
      const [name, at = ''] = field.split(' ')
      const bent = (kind: string, text: string): Row =>
        data(`${kind} ${field}`, [{ ...FILE, raw: { [at]: text } }], new RegExp(`the ${name} of "usr/file" is `))
      return [
        bent('binary', '\x80\0\0\0\0\0\0\x05'),
        bent('negative', '-1\0\0\0\0\0\0'),
        bent('behind a blank', ' 000755\0'),
        bent('behind a NUL', '\x00000755\0'),
      ]
    }),
    data('time that is no number', [{ ...FILE, raw: { 136: '9'.repeat(12) } }], /the time of/),
    data('tar size too small', [{ ...FILE, body: 'x'.repeat(2000), size: 100 }], /checksum|not ustar|empty name/),
    data('tar size too large', [{ ...FILE, size: 512 * 100 }], /without an end mark/),
    data('tar size of 8 GiB', [{ ...FILE, size: '77777777777\0' }], /without an end mark/),
    data(
      'symlink with a size',
      [{ name: 'usr/l', type: '2', link: 'x', size: 512, body: 'x' }],
      /is a symlink and says it has/,
    ),
    data('GNU sparse file', [{ name: 'usr/s', type: 'S' }], /not every reader knows/),
    data('entry of no type, which apk passes over', [{ ...FILE, type: '\0' }], /of no type/),
    data('tar of before POSIX, which apk refuses', [{ ...FILE, magic: '\0' }], /not ustar/),
    data(
      'GNU long link target, which apk cuts off',
      [{ name: 'usr/l', type: '2', link: `/usr/${'x'.repeat(120)}` }],
      /GNU long link target/,
    ),
    data('GNU header with a prefix', [{ ...FILE, magic: 'ustar  \0', prefix: 'etc' }], /GNU header with a prefix/),
    data(
      'two pax headers about one file',
      [pax('path', 'usr/a'), pax('comment', 'x'), FILE],
      /two headers about one entry/,
    ),
    data(
      'pax header and GNU long name about one file',
      [pax('path', 'usr/a'), { name: '././@LongLink', type: 'L', body: 'usr/b\0' }, FILE],
      /two headers about one entry/,
    ),
    data('huge pax header', [pax('comment', 'x'.repeat(70_000)), FILE], /pax header of \d+ bytes/),
    data('damaged pax header', [{ name: 'PaxHeader', type: 'x', body: '99 path=x\n' }, FILE], /damaged pax header/),
    data('pax header with another size', [pax('size', '100'), FILE], /two different sizes/),
    data('global pax path', [pax('path', 'usr/x', 'g'), FILE], /global pax header/),
    ['data without an end mark', withDataTar(Buffer.concat([head, file])), /without an end mark/],
    ['file behind the end mark', withDataTar(Buffer.concat([head, END, file, END])), /behind its end mark/],
    [
      'file behind one empty block',
      withDataTar(Buffer.concat([head, Buffer.alloc(512), file, END])),
      /behind its end mark/,
    ],
    ['300,001 entries', withDataTar(many), /more than 300000 entries/],
  ]
}

export function fields(): Row[] {
  const text = (name: string, info: string | Buffer, why: RegExp): Row => [name, withInfo(info), why]
  const value = (name: string, set: NonNullable<ApkSpec['fields']>, why: RegExp): Row => [name, withFields(set), why]
  const without = (field: string): Row => [
    `no ${field}`,
    withInfo(INFO.replace(new RegExp(`^${field} = .*\n`, 'm'), '')),
    new RegExp(`no field ${field}`),
  ]
  return [
    without('pkgname'),
    without('pkgver'),
    without('arch'),
    without('datahash'),
    text('empty .PKGINFO', '', /no field pkgname/),
    text(
      '.PKGINFO that is not UTF-8',
      Buffer.concat([Buffer.from(INFO), Buffer.from([0x78, 0x20, 0x3d, 0x20, 0xe9, 0x0a])]),
      /not UTF-8/,
    ),
    text('NUL', `${INFO}pkgdesc2 = a\0b\n`, /control character/),
    text('carriage returns', INFO.replaceAll('\n', '\r\n'), /control character/),
    text('line without a sign', `${INFO}hello\n`, /a name, " = " and a value/),
    text('sign without blanks', `${INFO}packager2=x\n`, /a name, " = " and a value/),
    text('pkgver twice', `${INFO}pkgver = 9.0-r0\n`, /the field pkgver twice/),
    text('datahash twice', `${INFO}datahash = ${'0'.repeat(64)}\n`, /the field datahash twice/),
    text('huge .PKGINFO', `${INFO}x = ${'x'.repeat(300_000)}\n`, /at most 256 KiB/),
    text('30,000 lines', INFO + '#\n'.repeat(30_000), /more than 20000 lines/),
    value('empty pkgver', { pkgver: '' }, /no field pkgver/),
    value('wrong datahash', { datahash: '0'.repeat(64) }, /data member has the SHA-256/),
    value('datahash that is none', { datahash: 'abc' }, /field datahash/),
    value('name with a path', { pkgname: '../odd' }, /package name/),
    value('name with a blank', { pkgname: 'odd one' }, /package name/),
    value('name that begins with a hyphen', { pkgname: '-odd' }, /package name/),
    value('name of 200 characters', { pkgname: 'o'.repeat(200) }, /at most 128/),
    value('version that begins with a letter', { pkgver: 'v1.0' }, /must begin with a digit/),
    value('version of Debian', { pkgver: '1:1.0-1' }, /apk-package\(5\) wants/),
    value('version with a path', { pkgver: '1.0/../../x' }, /apk-package\(5\) wants/),
    value('version with an unknown suffix', { pkgver: '1.0_final' }, /apk-package\(5\) wants/),
    value('version with 20 digits', { pkgver: '1'.repeat(20) }, /more than 17 digits/),
    value('two architectures', { arch: 'x86_64 aarch64' }, /architecture/),
    value('architecture with a path', { arch: '../x86_64' }, /architecture/),
    value('size that is no number', { size: '-1' }, /field size/),
    value('build date that is no number', { builddate: 'yesterday' }, /field builddate/),
    value('huge size', { size: '9'.repeat(30) }, /field size/),
    value('bad origin', { origin: '../../etc' }, /field origin/),
    value('relation that is none', { depend: ['musl', 'a>='] }, /field depend holds/),
    value('relation with a bad version', { depend: ['a>=one'] }, /field depend asks for/),
    value('relation with a tag', { depend: ['a@edge'] }, /field depend holds/),
    value('relation with a checksum', { depend: ['a><Q1AAAA'] }, /field depend asks for/),
    value('endless relation', { depend: ['x'.repeat(300)] }, /field depend holds/),
    value('provides a bound', { provides: ['a>=1'] }, /field provides holds/),
    value('bad replaces', { replaces: ['a=one'] }, /field replaces/),
    value('bad install_if', { install_if: ['a=one'] }, /field install_if/),
    value('70 KiB of relations', { depend: Array.from({ length: 7000 }, (_, n) => `depend-${n}`) }, /more than 64 KiB/),
    value('description that apk cannot keep', { pkgdesc: 'x'.repeat(3000) }, /apk cannot keep/),
    value('bad priority', { provider_priority: 'high' }, /field provider_priority/),
  ]
}
