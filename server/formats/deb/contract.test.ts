import { expect, test } from 'vitest'
import { getDistribution } from '../../../test/support/repositories.ts'
import type { PackageIdentity } from '../../core/identity.ts'
import { buildDeb, spoolBytes } from '../../../test/support/packages.ts'
import { testFormatContract } from '../contract-suite.ts'
import { testUpstreamContract, type UpstreamSamples } from '../../../test/support/upstream-suite.ts'
import { activeFormats } from '../index.ts'
import { deb } from './index.ts'

const id = (name: string, version: string, arch = 'amd64'): PackageIdentity => ({ format: 'deb', name, version, arch })

const samples: UpstreamSamples = {
  format: deb,
  distribution: getDistribution('bookworm'),
  build: ({ name, version, arch }, path, content) => buildDeb({ name, version, arch, files: { [path]: content } }),
  spool: spoolBytes,
  identities: [
    id('hello', '2.10-3'),
    id('hello', '2.10-3', 'all'),
    id('hello', '1:2.10-3'),
    id('hello', '2.10-3+b1'),
    id('libxyz1', '0~rc1'),
    id('g++-12', '12.2.0-14'),
    id('0ad', '0.0.26-3'),
  ],
  refused: [
    id('Hello', '1'),
    id('h', '1'),
    id('../x', '1'),
    id('hello', ''),
    id('hello', 'one'),
    id('hello', '1 2'),
    id('hello', '1', 'any'),
    id('hello', '1', ''),
    id('x'.repeat(120), '1'.repeat(120)),
  ],
  ascending: [
    '0~~',
    '0~~a',
    '0~',
    '0',
    '0a',
    '0.1',
    '1.0~rc1-1',
    '1.0~rc1-1+b1',
    '1.0',
    '1.0-1~bpo12+1',
    '1.0-1',
    '1.0-1+deb12u1',
    '1.0-1.1',
    '1.0+dfsg-1',
    '1.0.1',
    '1.9',
    '1.10',
    '2a',
    '2z',
    '2+',
    '20240101',
    '1:0',
    '1:0.1',
    '10:0',
  ],
  upstream: {
    place: { suite: 'bookworm', components: ['main'], archs: ['amd64'] },
    at: path => `dists/bookworm/${path}`,
  },
}

testFormatContract(samples)
testUpstreamContract(samples)

test.each([
  [id('hello', '2.10-3'), 'hello', 'h/hello/hello_2.10-3_amd64.deb'],
  [id('libxyz1', '1.0'), 'libxyz', 'libx/libxyz/libxyz1_1.0_amd64.deb'],
  [id('xyz-bin', '1:2:3-1', 'all'), 'libxyz', 'libx/libxyz/xyz-bin_1:2:3-1_all.deb'],
  [id('lib', '1'), 'lib', 'l/lib/lib_1_amd64.deb'],
])('a package lies in the pool beside its source: %j', (identity, source, path) => {
  expect(deb.poolName(identity, source, 'contrib')).toBe(`contrib/${path}`)
})

test.each([
  [id('hello', '2.10-3'), 'bookworm', 'pkg:deb/debian/hello@2.10-3?arch=amd64&distro=debian-12'],
  [
    id('g++-12', '1:12.2~rc1+b1', 'all'),
    'jammy',
    'pkg:deb/ubuntu/g%2B%2B-12@1:12.2~rc1%2Bb1?arch=all&distro=ubuntu-22.04',
  ],
])('a purl names vendor and distribution: %j', (identity, codename, purl) => {
  expect(deb.purl(identity, getDistribution(codename))).toBe(purl)
})

test('a purl names the source package, for advisories that are about sources', () => {
  expect(
    deb.purl(id('libssl3', '3.0.20-1'), getDistribution('bookworm'), { source: 'openssl', source_version: '3.0.20-1' }),
  ).toBe('pkg:deb/debian/libssl3@3.0.20-1?arch=amd64&distro=debian-12&upstream=openssl%403.0.20-1')
})

test.each([
  [undefined, ['deb']],
  ['all', ['deb']],
  ['apt', ['deb']],
  ['both', ['deb']],
  ['nonsense', ['deb']],
  ['', ['deb']],
  ['constructor', ['deb']],
  ['rpm', []],
  ['apk', []],
])('REPO_FORMAT %s takes the debs: %j', (repoFormat, ids) => {
  expect(
    activeFormats(repoFormat)
      .map(format => format.id)
      .filter(one => one === 'deb'),
  ).toEqual(ids)
})
