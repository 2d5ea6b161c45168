import { expect, test } from 'vitest'
import { getDistribution } from '../../test/support/repositories.ts'
import { affected, feed, fixed, record } from '../../test/support/advisory-set.ts'
import { explain, queryFor } from './explain.ts'

const wish = (words: readonly string[], codename?: string, source?: string) => ({
  words,
  distribution: codename === undefined ? undefined : getDistribution(codename),
  source,
})

test.each([
  ['pkg:npm/%40babel/core@7.0.0', { ecosystem: 'npm', name: '@babel/core', version: '7.0.0' }],
  [
    'pkg:deb/debian/libssl3@3.0.13-1?arch=amd64&distro=debian-12&epoch=1&upstream=openssl%403.0.13-1',
    {
      ecosystem: 'debian-12',
      name: 'libssl3',
      version: '1:3.0.13-1',
      arch: 'amd64',
      source: { name: 'openssl', version: '3.0.13-1' },
    },
  ],
  ['pkg:deb/debian/hello@2.10-3?distro=bookworm', { ecosystem: 'debian-12', name: 'hello', version: '2.10-3' }],
])('%s is looked up as %j', (purl, query) => expect(queryFor(wish([purl]))).toEqual(query))

test('a name and a version need a distribution; what has no advisories is refused', () => {
  expect(queryFor(wish(['libssl3', '3.0.13-1'], 'jammy', 'openssl'))).toEqual({
    ecosystem: 'ubuntu-22.04',
    name: 'libssl3',
    version: '3.0.13-1',
    source: { name: 'openssl', version: '3.0.13-1' },
  })
  expect(() => queryFor(wish(['libssl3', '3.0.13-1']))).toThrow('--distribution')
  expect(() => queryFor(wish(['pkg:generic/x@1']))).toThrow('There are no advisories for pkg:generic/x@1.')
})

test('every finding has its proof, and records that do not concern the version are listed', async () => {
  const { osv, match, say } = feed()
  osv(
    record('GHSA-aaaa-bbbb-cccc', [affected('npm', 'a', [{ introduced: '1.0.0' }, { fixed: '2.0.0' }])], {
      aliases: ['CVE-2026-10001'],
    }),
    record('GHSA-dddd-eeee-ffff', [affected('npm', 'a', fixed('1.2.0'))]),
  )
  const scanner = { match: async () => [match(query)], explain: async () => say(query) }
  const query = { ecosystem: 'npm', name: 'a', version: '1.5.0' }
  expect(await explain(wish(['pkg:npm/a@1.5.0']), scanner, () => 'The advisories are of 2026-01-01.')).toEqual([
    'a 1.5.0 in the data for npm: 2 records name it, 1 finding.',
    'The advisories are of 2026-01-01.',
    'CVE-2026-10001: unknown, fixed in 2.0.0',
    '  It was looked up as a 1.5.0 in the data for npm.',
    '  GHSA-aaaa-bbbb-cccc, changed on 2026-01-01, in osv/test, names versions from 1.0.0 on and before 2.0.0.',
    'What does not concern this version:',
    '  GHSA-dddd-eeee-ffff, changed on 2026-01-01, in osv/test, names versions before 1.2.0.',
  ])
  const nothing = { match: async () => [{ findings: [], isUnreadable: false }], explain: async () => [] }
  expect(await explain(wish(['pkg:npm/b@1.0.0']), nothing, () => undefined)).toEqual([
    'b 1.0.0 in the data for npm: 0 records name it, 0 findings.',
    'The loaded data do not name it, so they say nothing about it.',
  ])
})
