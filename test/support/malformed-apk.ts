import { deflateSync, zstdCompressSync } from 'node:zlib'
import { fields, names, tars } from './malformed-apk-contents.ts'
import type { Row } from './malformed-apk-parts.ts'
import {
  END,
  FILE,
  INFO,
  PKGINFO,
  parts,
  signature,
  withControl,
  withDataMember,
  withDataTar,
} from './malformed-apk-parts.ts'
import type { MalformedPackage } from './malformed-suite.ts'
import { cutTar, gz, packApk, posixTar } from './packages-apk.ts'
import type { TarSpec } from './packages.ts'
import { tarEntry } from './packages.ts'

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

/** Every way we know to build a wrong .apk. Takes about a second: one of them has 300,001 entries. */
export function malformedApks(): MalformedPackage[] {
  return [structure(), signatures(), controls(), names(), tars(), fields()]
    .flat()
    .map(([name, bytes, why]) => ({ name, bytes, why }))
}
