import { expect, test } from 'vitest'
import { feed } from '../../../test/support/advisory-set.ts'
import { versionsOfTags } from './tags.ts'

test.each([
  ['openssl', 'openssl-3.0.2', '3.0.2'],
  ['openssl', 'openssl-3.0.0-alpha1', '3.0.0-alpha1'],
  ['openssl', 'OpenSSL_1_1_1k', '1.1.1k'],
  ['openssl', 'OpenSSL_1_0_2-beta2', '1.0.2-beta2'],
  ['curl', 'curl-7_88_1', '7.88.1'],
  ['expat', 'R_2_4_9', '2.4.9'],
  ['libxml2', 'v2.9.14', '2.9.14'],
  ['libxml2', 'libxml2-2.9.1', '2.9.1'],
  ['sqlite', 'version-3.36.0', '3.36.0'],
  ['openssh', 'V_9_2_P1', '9.2'],
  ['zlib', 'v1.2.11', '1.2.11'],
  ['zlib', 'develop', undefined],
])('%s: the tag %s is %s', (name, tag, version) =>
  expect(versionsOfTags(name, [tag])).toEqual(version === undefined ? [] : [version]),
)

test('a record of OSS-Fuzz is about the versions whose tags it names', () => {
  const { osv, ids, skipped } = feed()
  const affected = (project: string, versions: readonly string[]) => ({
    package: { ecosystem: 'OSS-Fuzz', name: project },
    ranges: [{ type: 'GIT', repo: 'https://example.org', events: [{ introduced: '0' }] }],
    versions,
  })
  const modified = '2026-01-01T00:00:00Z'
  osv(
    { id: 'OSV-2023-10', modified, affected: [affected('sqlite3', ['version-3.36.0', 'version-3.37.0'])] },
    { id: 'OSV-2023-11', modified, affected: [affected('unheard-of', ['v1'])] },
  )
  expect([ids('native', 'sqlite', '3.36.0'), ids('native', 'sqlite', '3.38.0')]).toEqual([['OSV-2023-10'], []])
  expect(skipped).toEqual(['other_ecosystem'])
})
