import { gzipSync } from 'node:zlib'
import {
  FILE,
  INFO,
  PKGINFO,
  README,
  SPEC,
  USR,
  parts,
  signature,
  withControl,
  withData,
  withDataTar,
  withFields,
  withInfo,
} from './malformed-apk-parts.ts'
import type { OddPackage } from './malformed-suite.ts'
import { buildApk, cutTar, gz, packApk, pkginfoText, sha256Hex } from './packages-apk.ts'
import { pax } from './packages.ts'

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
