import { expect, test } from 'vitest'
import { affected, feed, fixed, record } from '../../../test/support/advisory-set.ts'
import { OSV_ECOSYSTEMS, OSV_LANGUAGES } from '../../core/osv-ecosystems.ts'
import { readEcosystem } from './ecosystems.ts'

/** The name in the record, the one that is asked about, a version before the fix, the fix in another spelling. */
const CASES: Readonly<Record<keyof typeof OSV_LANGUAGES, readonly [string, string, string, string, string]>> = {
  'npm': ['@a/b', '@a/b', '1.2.0-rc.1', '1.2.0', 'v1.2.0'],
  'PyPI': ['Zope.Interface', 'zope_interface', '1.2rc1', '1.2', '1.2.0'],
  'Maven': ['org.a:b', 'org.a:b', '1.2-beta', '1.2', '1.2.Final'],
  'Go': ['github.com/BurntSushi/TOML', 'github.com/BurntSushi/toml', '0.7.0-rc.1', '0.7.0', 'v0.7.0'],
  'crates.io': ['time', 'time', '0.1.43', '0.2.0', '0.2.0+x'],
  'RubyGems': ['rack', 'rack', '2.0.0.pre1', '2.0', '2.0.0'],
  'Packagist': ['symfony/http-kernel', 'Symfony/Http-Kernel', 'v4.4.0-RC1', '4.4.0', 'v4.4'],
  'NuGet': ['Newtonsoft.Json', 'newtonsoft.json', '13.0.1-Beta', '13.0.1', '13.0.1.0'],
  'Pub': ['http', 'http', '0.13.3-dev', '0.13.3', '0.13.3+1'],
  'Hex': ['phoenix', 'phoenix', '1.6.14-rc.0', '1.6.14', 'v1.6.14'],
  'Hackage': ['aeson', 'aeson', '2.0.0.9', '2.0.1', '2.0.1.0'],
  'CRAN': ['commonmark', 'commonmark', '1.7', '1.8', '1.8-0'],
  'SwiftURL': ['https://github.com/Apple/swift-nio.git', 'github.com/apple/swift-nio', '2.39.0-b', '2.39.0', 'v2.39.0'],
  'GitHub Actions': ['tj-actions/changed-files', 'TJ-actions/changed-files', 'v45.0.7', '46', 'v46.0.0'],
}

test.each(Object.entries(CASES))('%s: names and versions are read as their registry reads them', (name, one) => {
  const [written, asked, before, fix, equal] = one
  const { osv, ids } = feed()
  osv(record('GHSA-aaaa-bbbb-cccc', [affected(name, written, fixed(fix))]))
  const ecosystem = readEcosystem(name) ?? ''
  expect([before, fix, equal].map(version => ids(ecosystem, asked, version))).toEqual([['GHSA-aaaa-bbbb-cccc'], [], []])
})

test('a repository behind the name of a language does not matter', () => {
  expect(['Maven:https://example.org/maven2', 'Packagist:https://example.org/8', 'Bitnami'].map(readEcosystem)).toEqual(
    ['maven', 'packagist', undefined],
  )
})

test('what is fetched by default is all that is read, without words that a feed would refuse', () => {
  expect(OSV_ECOSYSTEMS).toEqual(expect.arrayContaining([...Object.keys(OSV_LANGUAGES), 'Debian', 'openSUSE']))
  expect(OSV_ECOSYSTEMS.filter(name => !/^[A-Za-z0-9. -]{1,60}$/.test(name))).toEqual([])
})
