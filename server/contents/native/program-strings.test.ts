import { expect, test } from 'vitest'
import { findings, purls } from '../../../test/support/contents.ts'
import { mutated } from '../../../test/support/mutate-program.ts'
import { openFile } from '../../../test/support/open-file.ts'
import { elf, pe, type Part } from '../../../test/support/programs.ts'
import { NATIVE_PRODUCTS } from '../../core/native-products.ts'
import { Malformed } from '../../lib/limited.ts'
import { libraryNames } from './libraries.ts'
import { PRODUCTS } from './products.ts'
import { visitNumbers } from './numbers-with-dots.ts'
import { programStrings } from './program-strings.ts'

const holding = (...texts: string[]): Part => ({
  name: '.rodata',
  bytes: Buffer.from(`\0${texts.join('\0')}\0`, 'latin1'),
})
const read = async (path: string, ...texts: string[]) =>
  (await purls([programStrings], path, elf([holding(...texts)]))).map(line => line.replace(' shipped probable', ''))

test.each([
  ['OpenSSL 3.0.2 15 Mar 2022', 'OPENSSLDIR: "/usr"', 'openssl@3.0.2'],
  ['OpenSSL 1.1.1k  25 Mar 2021', 'OPENSSLDIR: "/usr"', 'openssl@1.1.1k'],
  ['OpenSSL 1.0.2k-fips  26 Jan 2017', 'OPENSSLDIR: "/usr"', 'openssl@1.0.2k'],
  ['LibreSSL 3.8.2', 'OPENSSLDIR: "/usr"', 'libressl@3.8.2'],
  [' inflate 1.2.11 Copyright 1995-2017 Mark Adler ', '', 'zlib@1.2.11'],
  ['CLIENT libcurl 7.61.1', '', 'curl@7.61.1'],
  ['expat_2.2.5', '', 'expat@2.2.5'],
  ['1.0.6, 6-Sept-2010', 'bzip2/libbzip2', undefined],
  ['1.0.6, 06-Sep-2010', 'bzip2/libbzip2: internal error', 'bzip2@1.0.6'],
  ['BusyBox v1.28.1 (2018-02-15 14:34:02 CET)', '', 'busybox@1.28.1'],
  ['OpenSSH_7.4p1 Debian-10', '', 'openssh@7.4p1'],
  ['OpenSSH_6.6.1*', '', undefined],
  ['nginx version: nginx/1.18.0 (Ubuntu)', '', 'nginx@1.18.0'],
  ['Apache/2.4.49 (Unix)', 'ap_hook_handler', 'httpd@2.4.49'],
  ['Apache/2.4.49 (Unix)', '', undefined],
  ['HAProxy version 2.6.12-1+deb12u1, released 2023/12/16', '', 'haproxy@2.6.12'],
  ['PostgreSQL 15.5 (Debian 15.5-0+deb12u1) on x86_64-pc-linux-gnu', '', 'postgresql@15.5'],
  ['10.11.6-MariaDB-0+deb12u1', '', 'mariadb@10.11.6'],
  ['GNU C Library (GNU libc) stable release version 2.36.', '', 'glibc@2.36'],
  ['the release version 2.36.', '', undefined],
  ['OpenVPN 2.6.14 x86_64-pc-linux-gnu [SSL (OpenSSL)]', 'at least 2.6.0', 'openvpn@2.6.14'],
  ['FFmpeg version n5.1.2', '', 'ffmpeg@5.1.2'],
  ['3.40.1', 'malformed database schema (%s)', 'sqlite@3.40.1'],
  ['3.40.1', 'sqlite3_open', undefined],
  ['2.7.4-MariaDB', '', undefined],
  ['../../mysql-8.0.32/sql-common/client.cc', '', 'mysql@8.0.32'],
  ['88.0.4324.150', 'chrome://gpu', 'chromium@88.0.4324.150'],
  ['88.0.4324.150', '', undefined],
  ['Mozilla/5.0 Chrome/91.0.4472.124 Safari/537.36', 'chrome://gpu', undefined],
  ['Chrome/120.0.6099.109 Electron/28.1.0', '', 'electron@28.1.0'],
  ['Electron/28.1.0', '', undefined],
])('%s beside %s', async (text, beside, expected) => {
  expect(await read('opt/app/program', text, beside)).toEqual(expected === undefined ? [] : [`pkg:generic/${expected}`])
})

test('every product has an entry that says how the NVD calls it', () => {
  const names = [...PRODUCTS.map(({ name }) => name), ...libraryNames()]
  expect(names.filter(name => !Object.hasOwn(NATIVE_PRODUCTS, name))).toEqual([])
})

test('a program that only links OpenSSL does not have it', async () => {
  expect(await read('usr/sbin/haproxy', 'OpenSSL 3.0.22 25 Aug 2026', 'OPENSSL_init_ssl')).toEqual([])
})

test.each([
  ['2022-12-28 14:03:47', ['3.40.1', '3.0.17'], 'sqlite@3.40.1'],
  ['2022-11-16 12:10:08', ['3.40.1', '3.40.0'], 'sqlite@3.40.0'],
  ['2026-06-26 20:14:12', ['3.53.3', '3.5.7'], 'sqlite@3.53.3'],
  ['2022-12-27 00:00:00', ['3.40.1', '3.0.17'], 'sqlite'],
  ['', ['3.40.1', '3.0.17'], 'sqlite'],
])('of several versions that of SQLite has sources of the day it names: %s', async (time, versions, expected) => {
  const source = time === '' ? [] : [`${time} df5c253c0b3dd24916e4ec7cf77d3db5294cc9fd45ae7b9c5e82ad8197f3alt1`]
  expect(await read('opt/program', 'malformed database schema (%s)', ...versions, ...source)).toEqual([
    `pkg:generic/${expected}`,
  ])
})

test('a program with two copies has both, and Redis is the newest of the versions that it names', async () => {
  const copies = [' deflate 1.3.1 Copyright 1995-2024 ', ' inflate 1.2.13 Copyright 1995-2022 ']
  expect(await read('usr/bin/node', ...copies)).toEqual(['pkg:generic/zlib@1.3.1', 'pkg:generic/zlib@1.2.13'])
  const commands = ['6.2.0', '7.0.15', '7.0.3']
  expect(await read('usr/bin/redis-server', 'Redis version=%s, bits=%d', ...commands)).toEqual([
    'pkg:generic/redis@7.0.15',
  ])
  expect(await read('usr/bin/client', 'redis_version:', ...commands)).toEqual([])
})

test.each([
  ['libpng16-1d1ba958.so.16.58.0', [], 'libpng@1.6.58'],
  ['libxml2.so.2.9.14', [], 'libxml2@2.9.14'],
  ['libfreetype.so.6.18.3', [], 'freetype'],
  ['libzstd.so.1', ['1.5.4'], 'zstd@1.5.4'],
  ['libzstd.so.1', ['1.5.4', '1.3.0'], 'zstd'],
  ['libpython3.11.so.1.0', ['3.11.2', '1.2.13'], 'python@3.11.2'],
  ['libother.so.1', ['1.5.4', '3.11.2'], undefined],
])('%s is known by its name', async (name, texts, expected) => {
  const found = (await read(`opt/lib/${name}`, ...texts)).filter(
    line => !(expected ?? '').includes('@') || line.includes('@'),
  )
  expect(found).toEqual(expected === undefined ? [] : [`pkg:generic/${expected}`])
})

test('Node.js with an application in it is named as unopened, Node.js itself is not', async () => {
  const node = (mark: string) =>
    findings(
      [programStrings],
      'opt/app',
      elf([holding('node.js/v20.1.0', `NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:${mark}`)]),
    )
  expect(await node('0')).toMatchObject([{ name: 'node', version: '20.1.0' }])
  expect(await node('1')).toMatchObject({
    found: [{ name: 'node' }],
    unopened: [
      { path: 'opt/app', why: 'It is Node.js with an application in it (single executable), which is not opened.' },
    ],
  })
})

test('a library under another name is known by what it calls itself', async () => {
  const names = { name: '.dynstr', bytes: Buffer.from('\0libpng16.so.16.39.0\0') }
  const dynamic = Buffer.alloc(32)
  dynamic.writeUInt32LE(14, 0)
  dynamic.writeUInt32LE(1, 8)
  const program = elf([{ name: '.dynamic', bytes: dynamic }, names])
  expect(await purls([programStrings], 'opt/vendor/png.bin', program)).toEqual([
    'pkg:generic/libpng@1.6.39 shipped probable',
  ])
})

const PATHS = [
  'called `Option::unwrap()`/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/time-0.1.43/src/lib.rs',
  String.raw`C:\Users\me\.cargo\registry\src\github.com-1ecc6299db9ec823\smallvec-1.9.0-rc.1\src\lib.rs`,
  '/usr/share/cargo/registry/pyo3-ffi-0.17.3/src/err.rs',
  '/registry/srcs/other-1.2.3/lib.rs',
]

test('a program in Rust without a list of crates names those that can panic, and says that there can be more', async () => {
  const why =
    'It is a program in Rust without the list of its crates: only those that its messages name are known, and there can be more.'
  const crates = [
    ['time', '0.1.43'],
    ['smallvec', '1.9.0-rc.1'],
    ['pyo3-ffi', '0.17.3'],
  ].map(([name, version]) => ({
    type: 'cargo',
    name,
    version,
    presence: 'shipped',
    rule: 'crate-paths',
    confidence: 'probable',
  }))
  const program = elf([holding(...PATHS)])
  const unopened = [{ path: 'usr/bin/tool', size: program.length, why }]
  expect(await findings([programStrings], 'usr/bin/tool', program)).toEqual({ found: crates, unopened })
  const small = elf([holding('rustc version 1.75.0 (82e1608df 2023-12-21)')])
  expect(await findings([programStrings], 'a', small)).toEqual({
    found: [],
    unopened: [{ path: 'a', size: small.length, why }],
  })
  const listed = elf([{ name: '.dep-v0', bytes: Buffer.alloc(8) }, holding(...PATHS)])
  expect(await findings([programStrings], 'usr/bin/tool', listed)).toEqual([])
})

test('versions are found wherever they lie, also across the windows of a large file', async () => {
  const text = Buffer.from('\0 inflate 1.2.11 Copyright 1995-2017 \0')
  for (const at of [2 ** 20 - 400, 2 ** 20 - 20, 2 ** 20 - 10, 2 ** 20, 2 ** 20 + 1, 3 * 2 ** 20 - text.length]) {
    const bytes = Buffer.alloc(3 * 2 ** 20)
    elf([]).copy(bytes)
    text.copy(bytes, at)
    expect(await purls([programStrings], 'a', bytes)).toEqual(['pkg:generic/zlib@1.2.11 shipped probable'])
  }
  const seen: string[] = []
  await visitNumbers(openFile('a', '1.2.3 4. .5 10.11'), (bytes, from) =>
    seen.push(bytes.toString('latin1', from, from + 3)),
  )
  expect(seen).toEqual(['1.2', '10.'])
})

test('a damaged table of sections hides no version; the readers of sections say that it is damaged', async () => {
  const program = elf([holding('BusyBox v1.28.1')]).subarray(0, 0x4000 + 100)
  expect(await purls([programStrings], 'bin/busybox', program)).toEqual(['pkg:generic/busybox@1.28.1 shipped probable'])
})

test('whatever the bytes are, the answer comes, and in time', async () => {
  const program = elf([
    holding('3.40.1', 'OpenSSL 3.0.2 15 Mar 2022', ...PATHS),
    { name: '.dynamic', bytes: Buffer.alloc(64) },
  ])
  for (const bytes of [...mutated(program, 200), ...mutated(pe([holding(...PATHS)]), 100)])
    await findings([programStrings], 'a.so', bytes).catch(error => expect(error).toBeInstanceOf(Malformed))
  for (const piece of ['1.1', '1.', 'OpenSSL 1.1.1 ', '-1.1', '/cargo/registry/a-1.1', '\0' + '1.1.1', 'version 1.1'])
    await findings([programStrings], 'python3.11', Buffer.concat([elf([]), Buffer.alloc(4 * 2 ** 20, piece)]))
}, 20_000)
