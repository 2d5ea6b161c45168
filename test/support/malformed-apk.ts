// A table of packages, so longer than other files.
import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import {
  apkParts,
  buildApk,
  cutTar,
  gz,
  packApk,
  pkginfoText,
  posixTar,
  sha256Hex,
  type ApkSpec,
} from './packages-apk.ts'
import { pax, tarEntry, type TarSpec } from './packages.ts'
import type { MalformedPackage, OddPackage } from './malformed-suite.ts'

type Row = readonly [name: string, bytes: Buffer, why: RegExp]

const SPEC: ApkSpec = { name: 'odd', version: '1.0-r1' }
const README = 'usr/share/doc/odd/README'
const parts = apkParts(SPEC)
const USR: TarSpec = { name: 'usr/', type: '5' }
const FILE: TarSpec = { name: 'usr/file', body: 'hello' }
const END = Buffer.alloc(1024)

/** A whole package over this data tar, with the right datahash. */
const withDataTar = (data: Buffer): Buffer =>
  packApk({ control: cutTar([{ name: '.PKGINFO', body: pkginfoText(SPEC, sha256Hex(gz(data))) }]), data })
const withData = (entries: readonly TarSpec[]): Buffer => withDataTar(posixTar(entries))
/** A data member as raw as it is, with the right datahash. */
const withDataMember = (member: Buffer): Buffer =>
  Buffer.concat([gz(cutTar([{ name: '.PKGINFO', body: pkginfoText(SPEC, sha256Hex(member)) }])), member])
const INFO = pkginfoText(SPEC, sha256Hex(gz(parts.data)))
const withControl = (entries: readonly TarSpec[]): Buffer => packApk({ control: cutTar(entries), data: parts.data })
const withInfo = (text: string | Buffer): Buffer => withControl([{ name: '.PKGINFO', body: text }])
const withFields = (fields: NonNullable<ApkSpec['fields']>): Buffer =>
  withInfo(pkginfoText({ ...SPEC, fields }, sha256Hex(gz(parts.data))))
const PKGINFO: TarSpec = { name: '.PKGINFO', body: INFO }
/** A member with a signature file of these bytes. */
const signature = (name = '.SIGN.RSA.test.rsa.pub', body: string | Buffer = Buffer.alloc(256, 7)): Buffer =>
  gz(cutTar([{ name, body }]))

function structure(): Row[] {
  const [control, data] = [gz(parts.control), gz(parts.data)]
  const whole = Buffer.concat([control, data])
  const bent = (at: number, byte: number): Buffer => {
    const copy = Buffer.from(whole)
    copy[at < 0 ? copy.length + at : at] = byte
    return copy
  }
  const adb = (kind: string): Buffer => Buffer.concat([Buffer.from(`ADB${kind}`), Buffer.alloc(600, 1)])
  return [
    ['empty file', Buffer.alloc(0), /ends at byte|does not begin as a gzip/],
    ['one byte', whole.subarray(0, 1), /does not begin as a gzip/],
    ['no archive at all', Buffer.from('#!/bin/sh\necho hello\n'.repeat(40)), /does not begin as a gzip/],
    ['a package of apk-tools 3, plain', adb('.'), /apk-tools 3 \(ADB\)/],
    ['a package of apk-tools 3, deflated', adb('d'), /apk-tools 3 \(ADB\)/],
    ['a package of apk-tools 3, with zstd', adb('c'), /apk-tools 3 \(ADB\)/],
    [
      'zlib in place of gzip',
      Buffer.concat([deflateSync(parts.control), deflateSync(parts.data)]),
      /does not begin as a gzip/,
    ],
    [
      'zstd in place of gzip',
      Buffer.concat([zstdCompressSync(parts.control), zstdCompressSync(parts.data)]),
      /does not begin as a gzip/,
    ],
    ['truncated in the header', whole.subarray(0, 8), /does not begin as a gzip/],
    ['truncated in the control member', whole.subarray(0, control.length - 30), /first member is damaged or cut off/],
    [
      'truncated in the checksum of the control member',
      whole.subarray(0, control.length - 3),
      /first member is damaged or cut off/,
    ],
    ['control member alone', control, /ends where its data member should begin/],
    [
      'truncated in the header of the data member',
      whole.subarray(0, control.length + 5),
      /data member does not begin as a gzip/,
    ],
    ['truncated in the data member', whole.subarray(0, whole.length - 40), /data member is damaged or cut off/],
    [
      'truncated in the checksum of the data member',
      whole.subarray(0, whole.length - 4),
      /data member is damaged or cut off/,
    ],
    ['data member alone', data, /no file of the package's own/],
    ['data before control', Buffer.concat([data, control]), /no file of the package's own/],
    ['everything in one member', gz(Buffer.concat([parts.control, parts.data])), /no file of the package's own/],
    ['unknown compression method', bent(2, 7), /unknown kind/],
    ['reserved gzip flags', bent(3, 0x80), /unknown kind/],
    [
      'gzip header with an endless name',
      Buffer.concat([control.subarray(0, 3), Buffer.from([8]), control.subarray(4, 10), Buffer.alloc(6000, 'n')]),
      /gzip header/,
    ],
    [
      'gzip header with a huge extra field',
      Buffer.concat([
        control.subarray(0, 3),
        Buffer.from([4]),
        control.subarray(4, 10),
        Buffer.from([0xff, 0xff]),
        whole.subarray(10),
      ]),
      /gzip header/,
    ],
    [
      'wrong checksum of the control member',
      (() => {
        const copy = Buffer.from(whole)
        copy[control.length - 8] = (copy[control.length - 8] ?? 0) ^ 1
        return copy
      })(),
      /checksum is wrong/,
    ],
    [
      'wrong length of the data member',
      (() => {
        const copy = Buffer.from(whole)
        copy[copy.length - 1] = 9
        return copy
      })(),
      /checksum is wrong/,
    ],
    [
      'corrupt stream',
      withDataMember(
        (() => {
          const copy = Buffer.from(data)
          copy.fill(0xaa, 20, 60)
          return copy
        })(),
      ),
      /damaged|wrong/,
    ],
    ['trailing garbage', Buffer.concat([whole, Buffer.from('garbage')]), /7 bytes follow the data member/],
    ['trailing zeros', Buffer.concat([whole, Buffer.alloc(512)]), /512 bytes follow the data member/],
    [
      'a fourth member',
      packApk(parts).length === 0 ? whole : Buffer.concat([signature(), whole, gz(posixTar([FILE]))]),
      /bytes follow the data member/,
    ],
    ['a second data member', Buffer.concat([whole, data]), /bytes follow the data member/],
    ['an empty member behind the data', Buffer.concat([whole, gz(Buffer.alloc(0))]), /bytes follow the data member/],
    [
      'data cut into two members',
      Buffer.concat([control, gz(parts.data.subarray(0, 1024)), gz(parts.data.subarray(1024))]),
      /bytes follow the data member/,
    ],
    [
      'control cut into two members',
      Buffer.concat([gz(parts.control.subarray(0, 512)), gz(parts.control.subarray(512)), data]),
      /in the middle of an entry/,
    ],
    ['an empty control member', Buffer.concat([gz(Buffer.alloc(0)), data]), /no file named \.PKGINFO/],
    ['an empty data member', withDataTar(Buffer.alloc(0)), /without an end mark/],
    [
      'control bomb',
      packApk({
        control: cutTar([PKGINFO, { name: '.post-install', body: Buffer.alloc(40 * 2 ** 20) }]),
        data: parts.data,
      }),
      /unpacks to more than 32 MiB/,
    ],
    ['text in place of a tar', packApk({ control: Buffer.alloc(2048, 'text'), data: parts.data }), /checksum|octal/],
    ['gzip of gzip', gz(whole), /checksum|octal|in the middle/],
  ]
}

function signatures(): Row[] {
  const whole = packApk(parts)
  return [
    ['signature alone', signature(), /ends where its control member should begin/],
    [
      'signature twice, as members',
      Buffer.concat([signature(), signature(), whole]),
      /control member holds the signature/,
    ],
    [
      'signature behind the control',
      Buffer.concat([gz(parts.control), signature(), gz(parts.data)]),
      /follow the data member|end mark|middle/,
    ],
    [
      'signature with an end mark',
      Buffer.concat([gz(posixTar([{ name: '.SIGN.RSA.test.rsa.pub', body: 'x' }])), whole]),
      /has an end mark/,
    ],
    [
      'signature and .PKGINFO in one member',
      Buffer.concat([gz(cutTar([{ name: '.SIGN.RSA.test.rsa.pub', body: 'x' }, PKGINFO])), whole]),
      /signature member holds "\.PKGINFO"/,
    ],
    ['signature of no kind', Buffer.concat([signature('.SIGN.RSA'), whole]), /files are named/],
    ['signature in a folder', Buffer.concat([signature('.SIGN.RSA.../../key'), whole]), /no file of the package's own/],
    [
      'huge signature',
      Buffer.concat([signature('.SIGN.RSA.test.rsa.pub', Buffer.alloc(100_000, 1)), whole]),
      /at most 64 KiB/,
    ],
    [
      '300 signatures',
      Buffer.concat([
        gz(cutTar(Array.from({ length: 1200 }, (_, n) => ({ name: `.SIGN.RSA.key${n}.rsa.pub`, body: 'x' })))),
        whole,
      ]),
      /more than 1000 entries/,
    ],
    [
      'signature as a symlink',
      Buffer.concat([gz(cutTar([{ name: '.SIGN.RSA.test.rsa.pub', type: '2', link: '/etc/passwd' }])), whole]),
      /only plain files/,
    ],
  ]
}

function controls(): Row[] {
  const more = (name: string, entry: TarSpec, why: RegExp): Row => [name, withControl([PKGINFO, entry]), why]
  return [
    ['no .PKGINFO', withControl([{ name: '.post-install', body: '#!/bin/sh\n' }]), /no file named \.PKGINFO/],
    ['two .PKGINFO', withControl([PKGINFO, PKGINFO]), /two files named \.PKGINFO/],
    ['.PKGINFO behind ./', withControl([{ ...PKGINFO, name: './.PKGINFO' }]), /no file of the package's own/],
    ['.PKGINFO as a symlink', withControl([{ name: '.PKGINFO', type: '2', link: '/etc/passwd' }]), /only plain files/],
    [
      '.PKGINFO as a hard link',
      withControl([
        { name: '.x', body: INFO },
        { name: '.PKGINFO', type: '1', link: '.x' },
      ]),
      /only plain files/,
    ],
    more('two scripts of one name', { name: '.PKGINFO', body: 'x' }, /two files named/),
    more('control: plain file', { name: 'usr/evil', body: 'x' }, /no file of the package's own/),
    more('control: ..', { name: '..', type: '5' }, /only plain files/),
    more('control: ../', { name: '../evil', body: 'x' }, /no file of the package's own/),
    more('control: absolute name', { name: '/tmp/evil', body: 'x' }, /no file of the package's own/),
    more('control: folder', { name: '.sub/', type: '5' }, /no file of the package's own|only plain files/),
    more('control: device node', { name: '.null', type: '3' }, /only plain files/),
    more('control: .INSTALL of before', { name: '.INSTALL', body: 'x' }, /\.INSTALL/),
    more('control: a signature', { name: '.SIGN.RSA.test.rsa.pub', body: 'x' }, /control member holds the signature/),
    [
      'control with an end mark',
      packApk({ control: Buffer.concat([parts.control, END]), data: parts.data }),
      /has an end mark/,
    ],
    [
      'control with one empty block',
      packApk({ control: Buffer.concat([parts.control, Buffer.alloc(512)]), data: parts.data }),
      /has an end mark/,
    ],
    [
      'entries behind an end mark in control',
      packApk({
        control: Buffer.concat([parts.control, END, cutTar([{ name: '.post-install', body: 'x' }])]),
        data: parts.data,
      }),
      /has an end mark/,
    ],
    [
      '1,001 entries in control',
      packApk({
        control: Buffer.alloc(1001 * 512, tarEntry({ name: '.x', magic: 'ustar\u000000' })),
        data: parts.data,
      }),
      /more than 1000 entries/,
    ],
    [
      'control cut in a tar header',
      packApk({ control: Buffer.concat([parts.control, parts.control.subarray(0, 200)]), data: parts.data }),
      /in the middle of an entry/,
    ],
  ]
}

function names(): Row[] {
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

function tars(): Row[] {
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

function fields(): Row[] {
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

/** Every way we know to build a wrong .apk. Takes about a second: one of them has 300,001 entries. */
export function malformedApks(): MalformedPackage[] {
  return [structure(), signatures(), controls(), names(), tars(), fields()]
    .flat()
    .map(([name, bytes, why]) => ({ name, bytes, why }))
}

/** Unusual packages that apk reads and that must be taken. */
export async function oddApks(): Promise<OddPackage[]> {
  const long = `usr/share/${'long-name-'.repeat(12)}/file`
  const named = Buffer.concat([
    gz(parts.control).subarray(0, 3),
    Buffer.from([8]),
    gz(parts.control).subarray(4, 10),
    Buffer.from('control.tar\0'),
    gz(parts.control).subarray(10),
    gz(parts.data),
  ])
  const rows: readonly (readonly [string, Buffer, readonly string[]])[] = [
    ['signed by a key that nobody knows', Buffer.concat([signature(), packApk(parts)]), [README]],
    [
      'signed in several kinds',
      Buffer.concat([
        gz(
          cutTar([
            { name: '.SIGN.RSA512.a.rsa.pub', body: 'x' },
            { name: '.SIGN.DSA.b.pub', body: 'x' },
            { name: '.SIGN.RSA.a.rsa.pub', body: 'x' },
          ]),
        ),
        packApk(parts),
      ]),
      [README],
    ],
    [
      'scripts',
      await buildApk({
        ...SPEC,
        scripts: { 'post-install': '#!/bin/sh\n', 'pre-deinstall': '#!/bin/sh\n', 'trigger': '#!/bin/sh\n' },
      }),
      [README],
    ],
    [
      'a file of its own that apk does not know',
      withControl([PKGINFO, { name: '.melange.yaml', body: 'x' }]),
      [README],
    ],
    ['.PKGINFO behind a script', withControl([{ name: '.post-install', body: '#!/bin/sh\n' }, PKGINFO]), [README]],
    ['pax headers in control', withControl([pax('mtime', '1700000000.5'), PKGINFO]), [README]],
    ['nothing but .dummy', withData([{ name: '.dummy', body: '' }]), []],
    ['no file at all', withData([]), []],
    ['the root as a folder', withData([{ name: './', type: '5' }, USR, FILE]), ['usr/file']],
    ['pax headers', withData([USR, pax('path', `usr/${'p'.repeat(120)}`), FILE]), [`usr/${'p'.repeat(120)}`]],
    [
      'checksums of files in pax headers, as abuild-tar writes them',
      withData([USR, pax('APK-TOOLS.checksum.SHA1', 'a'.repeat(40)), FILE]),
      ['usr/file'],
    ],
    ['extended attributes', withData([USR, pax('SCHILY.xattr.user.x', 'value'), FILE]), ['usr/file']],
    ['GNU long names', withData([{ name: long, body: 'x', magic: 'ustar  \0' }]), [long]],
    ['ustar with a prefix', withData([USR, { name: 'file', prefix: 'usr', body: 'x' }]), ['usr/file']],
    [
      'hard links and symlinks',
      await buildApk({
        ...SPEC,
        files: { 'usr/a': 'x', 'usr/b': { hardlink: 'usr/a' }, 'usr/c': { symlink: '/etc/x' } },
      }),
      ['usr/a', 'usr/b', 'usr/c'],
    ],
    [
      'device nodes and a fifo',
      withData([
        USR,
        { name: 'usr/null', type: '3' },
        { name: 'usr/disk', type: '4' },
        { name: 'usr/pipe', type: '6' },
      ]),
      ['usr/null', 'usr/disk', 'usr/pipe'],
    ],
    ['setuid file', await buildApk({ ...SPEC, files: { 'bin/su': { content: 'x', mode: 0o4755 } } }), ['bin/su']],
    [
      'data padded to 10 KiB',
      withDataTar(Buffer.concat([parts.data, Buffer.alloc(10240 - (parts.data.length % 10240))])),
      [README],
    ],
    ['names in the gzip headers', named, [README]],
    [
      'packed by zopfli or not at all',
      Buffer.concat([
        gzipSync(
          cutTar([{ name: '.PKGINFO', body: pkginfoText(SPEC, sha256Hex(gzipSync(parts.data, { level: 0 }))) }]),
          { level: 1 },
        ),
        gzipSync(parts.data, { level: 0 }),
      ]),
      [README],
    ],
    [
      'every field',
      withFields({
        commit: 'abc',
        depend: ['musl', 'so:libc.musl-x86_64.so.1', '!bye', 'python3~3.12'],
        provides: ['cmd:odd=1.0-r1', 'odd-virtual'],
        replaces: ['bye'],
        install_if: 'docs odd=1.0-r1',
        triggers: '/usr/lib',
        provider_priority: '10',
        replaces_priority: '2',
      }),
      [README],
    ],
    [
      'empty fields',
      withInfo(INFO.replace('license = MIT', 'license =').replace(/maintainer = .*/, 'maintainer = ')),
      [README],
    ],
    [
      'the fewest fields',
      withInfo(`pkgname = odd\npkgver = 1.0-r1\narch = x86_64\ndatahash = ${sha256Hex(gz(parts.data))}\n`),
      [README],
    ],
    ['fields that nobody knows', withInfo(`${INFO}x_y = z\n# comment\n\n`), [README]],
    ['no newline at the end', withInfo(INFO.trimEnd()), [README]],
    [
      'upper-case datahash',
      withInfo(INFO.replace(/datahash = (.*)/, (_, hash: string) => `datahash = ${hash.toUpperCase()}`)),
      [README],
    ],
  ]
  return rows.map(([name, bytes, files]) => ({ name, bytes, files }))
}
