import { describe, expect, test } from 'vitest'
import { report } from '../../test/support/machine-report.ts'
import { BadReport } from './bad-report.ts'
import { scannerOf } from './os-release.ts'
import { readReport } from './report.ts'

const read = (text: string | Buffer) => readReport(typeof text === 'string' ? Buffer.from(text) : text)
const why = (text: string | Buffer): string => {
  try {
    read(text)
    return 'taken'
  } catch (error) {
    if (error instanceof BadReport) return error.message
    throw error
  }
}

test('what a Debian machine tells is read: packages that are installed, held ones too, others not', () => {
  expect(
    read(
      report({
        lines: [
          'ii \tadduser\t3.134\tall\tadduser\t3.134',
          'hi \tlibc6\t2.36-9+deb12u7\tamd64\tglibc\t2.36-9+deb12u7',
          'rc \tgone\t1.0\tamd64\tgone\t1.0',
          'iU \thalf\t1.0\tamd64\thalf\t1.0',
          'un \tnever\t\t\t\t',
        ],
      }),
    ),
  ).toEqual({
    agent: undefined,
    hostname: 'plc-gw-07',
    system: { id: 'debian', version: '12', codename: 'bookworm', pretty: 'Debian GNU/Linux 12 (bookworm)' },
    scanner: 'debian:12',
    kernel: '6.1.0-21-amd64',
    uptimeSeconds: 3600.5,
    reboot: 'unknown',
    rebootSaid: 'Nothing on the machine tells whether it waits for a restart.',
    format: 'deb',
    packages: [
      { name: 'adduser', version: '3.134', arch: 'all', source: 'adduser', sourceVersion: '3.134' },
      { name: 'libc6', version: '2.36-9+deb12u7', arch: 'amd64', source: 'glibc', sourceVersion: '2.36-9+deb12u7' },
    ],
  })
})

test('of rpm the epoch belongs to the version, keys are no packages, and the source has a name and a version', () => {
  const { packages } = read(
    report({
      format: 'rpm',
      lines: [
        'bash\t0\t5.1.8-6.el9_1\tx86_64\tbash-5.1.8-6.el9_1.src.rpm',
        'vim-minimal\t2\t8.2.2637-20.el9_1\tx86_64\tvim-8.2.2637-20.el9_1.src.rpm',
        'gpg-pubkey\t0\t8483c65d-5ccc5b19\t(none)\t(none)',
        'vendor-tool\t0\t1.0-1\tnoarch\t(none)',
      ],
    }),
  )
  expect(packages).toEqual([
    { name: 'bash', version: '5.1.8-6.el9_1', arch: 'x86_64', source: 'bash', sourceVersion: '5.1.8-6.el9_1' },
    { name: 'vendor-tool', version: '1.0-1', arch: 'noarch', source: '', sourceVersion: '' },
    {
      name: 'vim-minimal',
      version: '2:8.2.2637-20.el9_1',
      arch: 'x86_64',
      source: 'vim',
      sourceVersion: '2:8.2.2637-20.el9_1',
    },
  ])
})

test("of apk's database each block is a package, and its origin the source", () => {
  const { packages } = read(
    report({
      format: 'apk',
      lines: ['P:musl', 'V:1.2.5-r0', 'A:x86_64', 'o:musl', '', 'P:own-tool', 'V:1-r0', 'A:noarch', ''],
    }),
  )
  expect(packages).toEqual([
    { name: 'musl', version: '1.2.5-r0', arch: 'x86_64', source: 'musl', sourceVersion: '1.2.5-r0' },
    { name: 'own-tool', version: '1-r0', arch: 'noarch', source: '', sourceVersion: '' },
  ])
})

describe('a report that is not whole is refused with the reason', () => {
  const good = report({ lines: ['ii \tadduser\t3.134\tall\tadduser\t3.134'] })
  test.each<[string, string | Buffer, string]>([
    ['cut in the list', good.slice(0, good.indexOf('3.134\tall')), 'it was cut off: its last mark is missing'],
    ['cut before its end', good.replace('==> end', ''), 'it was cut off: its last mark is missing'],
    ['nothing', '', 'its first mark is missing, or of another release of the reporter'],
    ['a page of a proxy', '<html>', 'its first mark is missing, or of another release of the reporter'],
    ['no list', good.replace('==> packages deb', '==> other'), 'it has no list of packages'],
    ['an empty list', report({ lines: [] }), 'its list of packages is empty'],
    [
      'a list that failed',
      good.replace('==> end', '==> failed deb\n==> end'),
      'the machine could not list its deb packages',
    ],
    [
      'no package manager',
      good.replace('==> packages deb', '==> packages none'),
      'there is neither a dpkg, an rpm nor an apk database on the machine',
    ],
    ['not UTF-8', Buffer.concat([Buffer.from(good), Buffer.from([0xff])]), 'it is not UTF-8'],
    ['too large', Buffer.alloc(8 * 1024 * 1024 + 1, 0x20), 'it is larger than 8 MB'],
    ['two lists', good.replace('==> end', '==> packages deb\n==> end'), 'it has the section packages deb twice'],
    [
      'a line with too few fields',
      report({ lines: ['ii \tadduser\t3.134'] }),
      'line 1 of its dpkg list has 3 fields where 6 belong',
    ],
    [
      'a line without a version',
      report({ lines: ['ii \ta\t\tall\ta\t1'] }),
      'line 1 of its dpkg list has no version or no architecture',
    ],
    [
      'a name of two words',
      report({ lines: ['ii \ta b\t1\tall\ta\t1'] }),
      'line 1 of its dpkg list has no usable field 2',
    ],
    [
      'a name with a NUL',
      report({ lines: ['ii \ta\u0000\t1\tall\ta\t1'] }),
      'line 1 of its dpkg list has no usable field 2',
    ],
    [
      'a line of words',
      report({ lines: ['dpkg-query: error'] }),
      'line 1 of its dpkg list has 1 fields where 6 belong',
    ],
    [
      'an epoch that is none',
      report({ format: 'rpm', lines: ['a\t(none)\t1-1\tnoarch\t(none)'] }),
      'line 1 of its rpm list has no epoch',
    ],
    [
      'half a block',
      report({ format: 'apk', lines: ['P:musl', 'V:1', '', 'P:b', 'V:1', 'A:x', ''] }),
      'the apk list lacks name, version or architecture of a package before line 3',
    ],
    [
      'two blocks in one',
      report({ format: 'apk', lines: ['P:musl', 'V:1', 'A:x', 'P:b', 'V:1', 'A:x', ''] }),
      'line 4 of its apk list has a second P for one package',
    ],
  ])('%s', (_, text, expected) => {
    expect(why(text)).toBe(expected)
  })
})

test.each([
  [
    'needed',
    ['needed', 'linux-image-6.1.0-22-amd64 libc6 '],
    'needed',
    'The system says that it waits for a restart, for linux-image-6.1.0-22-amd64 libc6.',
  ],
  ['without a reason', ['needed'], 'needed', 'The system says that it waits for a restart.'],
  [
    'a kernel that is gone',
    ['needed', 'kernel 6.1.0-20'],
    'needed',
    'The kernel that runs, 6.1.0-20, is no longer installed.',
  ],
  ['not needed', ['no'], 'no', 'The system says that it does not wait for a restart.'],
  ['nobody tells', [], 'unknown', 'Nothing on the machine tells whether it waits for a restart.'],
])('a restart: %s', (_, reboot, state, said) => {
  const lines = ['ii \ta\t1\tall\ta\t1']
  expect(read(report({ lines, reboot }))).toMatchObject({ reboot: state, rebootSaid: said })
})

test.each([
  [{ id: 'debian', version: '12', codename: 'bookworm' }, 'debian:12'],
  [{ id: 'debian', version: undefined, codename: 'trixie' }, 'debian:13'],
  [{ id: 'debian', version: undefined, codename: 'sid' }, undefined],
  [{ id: 'ubuntu', version: '24.04', codename: 'noble' }, 'ubuntu:24.04'],
  [{ id: 'almalinux', version: '9.4', codename: undefined }, 'almalinux:9'],
  [{ id: 'ol', version: '9.4', codename: undefined }, 'oracle:9'],
  [{ id: 'rhel', version: '8.10', codename: undefined }, 'redhat:8'],
  [{ id: 'alpine', version: '3.20.3', codename: undefined }, 'alpine:3.20'],
  [{ id: 'opensuse-leap', version: '15.6', codename: undefined }, 'opensuse.leap:15.6'],
  [{ id: 'opensuse-tumbleweed', version: '20261101', codename: undefined }, 'opensuse.tumbleweed:rolling'],
  [{ id: 'linuxmint', version: '22', codename: 'wilma' }, undefined],
  [{ id: 'constructor', version: '1', codename: undefined }, undefined],
])('%o is %s', (system, expected) => {
  expect(scannerOf({ ...system, pretty: undefined })).toBe(expected)
})
