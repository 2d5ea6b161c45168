import { expect, test } from 'vitest'
import { getDistribution } from '../../../test/support/repositories.ts'
import type { PackageIdentity } from '../../core/identity.ts'
import { buildRpm } from '../../../test/support/packages-rpm.ts'
import { spoolBytes } from '../../../test/support/packages.ts'
import { testFormatContract } from '../contract-suite.ts'
import { testUpstreamContract, type UpstreamSamples } from '../../../test/support/upstream-suite.ts'
import { activeFormats } from '../index.ts'
import { rpm } from './index.ts'
import { parseEvr } from './version.ts'

const id = (name: string, version: string, arch = 'x86_64'): PackageIdentity => ({ format: 'rpm', name, version, arch })

const samples: UpstreamSamples = {
  format: rpm,
  distribution: getDistribution('almalinux9'),
  build({ name, version, arch }, path, content) {
    const { epoch, version: upstream, release = '' } = parseEvr(version)
    return buildRpm({
      name,
      version: upstream,
      release,
      arch,
      files: { [path]: content },
      ...(epoch === undefined ? {} : { epoch: Number(epoch) }),
    })
  },
  spool: spoolBytes,
  identities: [
    id('hello', '2.10-3'),
    id('hello', '2.10-3', 'noarch'),
    id('hello', '1:2.10-3'),
    id('hello', '2.10-3.el9'),
    id('libstdc++', '11.4.1~rc1-2.1'),
    id('R', '4.3.1-1'),
    id('python3.11-foo_bar', '0^20240101git1-1'),
    id('0ad', '0.0.26-3'),
  ],
  refused: [
    id('', '1-1'),
    id('../x', '1-1'),
    id('.hidden', '1-1'),
    id('hello world', '1-1'),
    id('hello', ''),
    id('hello', '1'),
    id('hello', '1-'),
    id('hello', '-1'),
    id('hello', '1 2-1'),
    id('hello', '~-1'),
    id('hello', '0:1-1'),
    id('hello', '4294967296:1-1'),
    id('hello', '1-1', 'nosrc'),
    id('hello', '1-1', ''),
    id('hello', '1-1', '../x'),
    id('x'.repeat(120), `${'1'.repeat(118)}-1`),
  ],
  ascending: [
    '0~~a-1',
    '0~a-1',
    '0-1',
    '0^-1',
    '0a-1',
    '0.1-1',
    '1.0~rc1-1',
    '1.0~rc1^git2-1',
    '1.0-0.1',
    '1.0-1',
    '1.0-1^post',
    '1.0-1.el9',
    '1.0-1.1',
    '1.0-9',
    '1.0-10',
    '1.0^20240101-1',
    '1.0a-1',
    '1.0.1-1',
    '1.9-1',
    '1.10-1',
    '20240101-1',
    '1:0-1',
    '1:0.1-1',
    '10:0-1',
  ],
  upstream: { place: {}, at: path => path.replace(/^x86_64\//, '') },
}

testFormatContract(samples)
testUpstreamContract(samples)

test.each([
  [id('hello', '2.10-3'), 'h/hello-2.10-3.x86_64.rpm'],
  [id('R', '4.3.1-1', 'noarch'), 'r/R-4.3.1-1.noarch.rpm'],
  [id('hello', '2:2.10-3'), 'h/e2/hello-2.10-3.x86_64.rpm'],
])(
  'a package lies in the pool under the name that rpm gives its file, versions with an epoch apart: %j',
  (identity, path) => {
    expect(rpm.poolName(identity, 'anything', 'main')).toBe(path)
  },
)

test.each([
  [id('hello', '2.10-3'), 'almalinux9', 'pkg:rpm/almalinux/hello@2.10-3?arch=x86_64&distro=almalinux-9'],
  [
    id('libstdc++', '1:12~rc1-2', 'noarch'),
    'opensuse-leap-15.6',
    'pkg:rpm/opensuse/libstdc%2B%2B@12~rc1-2?arch=noarch&distro=opensuse-leap-15.6&epoch=1',
  ],
  [id('hello', '1^git2-1'), 'oraclelinux8', 'pkg:rpm/oracle/hello@1%5Egit2-1?arch=x86_64&distro=ol-8'],
])('a purl names vendor and distribution, and its epoch apart: %j', (identity, codename, purl) => {
  expect(rpm.purl(identity, getDistribution(codename))).toBe(purl)
})

test('a purl names the source package by its file, for advisories that are about sources', () => {
  expect(rpm.purl(id('libfoo', '2:1.0-1'), getDistribution('rocky9'), { source: 'foo', source_version: '1.0-1' })).toBe(
    'pkg:rpm/rocky/libfoo@1.0-1?arch=x86_64&distro=rocky-9&epoch=2&upstream=foo-1.0-1.src.rpm',
  )
})

test('the line that installs a package names exactly this version', () => {
  expect(rpm.installCommand(id('hello', '1:2.10-3'))).toBe('dnf install hello-1:2.10-3')
  expect(rpm.installCommand(id('hello', '1:2.10-3'), { manager: 'zypper' })).toBe('zypper install hello=1:2.10-3')
})

test.each([
  [undefined, 1],
  ['all', 1],
  ['both', 1],
  ['rpm', 1],
  ['apt', 0],
  ['apk', 0],
  ['nonsense', 0],
  ['', 0],
])('REPO_FORMAT %s takes rpms: %i', (repoFormat, count) => {
  expect(activeFormats(repoFormat).filter(format => format.id === 'rpm').length).toBe(count)
})
