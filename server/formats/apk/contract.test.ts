import { expect, test } from 'vitest'
import { getDistribution } from '../../../test/support/repositories.ts'
import type { PackageIdentity } from '../../core/identity.ts'
import { buildApk } from '../../../test/support/packages-apk.ts'
import { spoolBytes } from '../../../test/support/packages.ts'
import { testFormatContract } from '../contract-suite.ts'
import { testUpstreamContract, type UpstreamSamples } from '../../../test/support/upstream-suite.ts'
import { activeFormats } from '../index.ts'
import { apk } from './index.ts'

const id = (name: string, version: string, arch = 'x86_64'): PackageIdentity => ({ format: 'apk', name, version, arch })

const samples: UpstreamSamples = {
  format: apk,
  distribution: getDistribution('alpine3.20'),
  build: ({ name, version, arch }, path, content) => buildApk({ name, version, arch, files: { [path]: content } }),
  spool: spoolBytes,
  identities: [
    id('hello', '2.10-r3'),
    id('hello', '2.10-r3', 'noarch'),
    id('hello', '2.10-r4'),
    id('libstdc++', '13.2.1_git20240309-r0'),
    id('gtk+3.0', '3.24.42-r0'),
    id('7zip', '23.01-r0', 'aarch64'),
    id('py3-yaml', '6.0.1_rc1'),
  ],
  refused: [
    id('-hello', '1'),
    id('.hello', '1'),
    id('', '1'),
    id('../x', '1'),
    id('a b', '1'),
    id('hello', ''),
    id('hello', 'one'),
    id('hello', '1-1'),
    id('hello', '1:1'),
    id('hello', '1', ''),
    id('hello', '1', 'X86'),
    id('hello', '1', '../x'),
    id('x'.repeat(129), '1'),
    id('x'.repeat(120), `1${'.1'.repeat(63)}`),
  ],
  ascending: [
    '0',
    '0.1_alpha',
    '0.1_alpha2',
    '0.1_beta',
    '0.1_pre',
    '0.1_rc1',
    '0.1',
    '0.1-r0',
    '0.1-r1',
    '0.1-r10',
    '0.1_git1',
    '0.1_p1',
    '0.1a',
    '0.1.0',
    '0.1.1',
    '0.9',
    '0.10',
    '1',
    '20240101-r0',
  ],
  upstream: { place: { archs: ['x86_64'] }, at: path => path.replace(/^main\//, '') },
}

testFormatContract(samples)
testUpstreamContract(samples)

test.each([
  [id('hello', '2.10-r3'), 'community/x86_64/hello-2.10-r3.apk'],
  [id('hello-doc', '2.10-r3', 'noarch'), 'community/noarch/hello-doc-2.10-r3.apk'],
])('a package has the name that clients ask for, in a folder for its architecture: %j', (identity, path) => {
  expect(apk.poolName(identity, 'hello', 'community')).toBe(path)
})

test.each([
  [id('hello', '2.10-r3'), undefined, 'pkg:apk/alpine/hello@2.10-r3?arch=x86_64&distro=alpine-3.20'],
  [
    id('hello-doc', '2.10-r3', 'noarch'),
    'hello',
    'pkg:apk/alpine/hello-doc@2.10-r3?arch=noarch&distro=alpine-3.20&upstream=hello',
  ],
  [
    id('libstdc++', '13.2.1-r0'),
    'gcc',
    'pkg:apk/alpine/libstdc%2B%2B@13.2.1-r0?arch=x86_64&distro=alpine-3.20&upstream=gcc',
  ],
])('a purl names distribution and origin: %j of %s', (identity, source, purl) => {
  expect(
    apk.purl(
      identity,
      getDistribution('alpine3.20'),
      source === undefined ? undefined : { source, source_version: '1-r0' },
    ),
  ).toBe(purl)
})

test.each([
  [undefined, true],
  ['all', true],
  ['apk', true],
  ['apt', false],
  ['both', false],
  ['nonsense', false],
])('REPO_FORMAT %s takes apks: %s', (repoFormat, expected) => {
  expect(activeFormats(repoFormat).some(format => format.id === 'apk')).toBe(expected)
})
