import { describe, expect, test } from 'vitest'
import { affected, feed, fixed, record } from '../../../test/support/advisory-set.ts'

describe('ranges', () => {
  const inRange = (events: readonly object[], version: string): boolean => {
    const { osv, ids } = feed()
    osv(
      record(
        'DEBIAN-CVE-2024-1',
        [affected('Debian:12', 'a', events)].map(one => one),
        { id: 'DEBIAN-CVE-2024-10001' },
      ),
    )
    return ids('debian-12', 'a', version).length > 0
  }
  test.each([
    ['below the fix', fixed('1.2-3'), '1.2-2', true],
    ['at the fix', fixed('1.2-3'), '1.2-3', false],
    ['without a fix', [{ introduced: '0' }], '99', true],
    ['before it was introduced', [{ introduced: '2.0' }, { fixed: '3.0' }], '1.9', false],
    ['where it was introduced', [{ introduced: '2.0' }, { fixed: '3.0' }], '2.0', true],
    ['the last affected', [{ introduced: '0' }, { last_affected: '3.0' }], '3.0', true],
    ['behind the last affected', [{ introduced: '0' }, { last_affected: '3.0' }], '3.0-1', false],
    ['in the second stretch', [{ introduced: '0' }, { fixed: '1' }, { introduced: '2' }, { fixed: '3' }], '2.5', true],
    ['between two stretches', [{ introduced: '0' }, { fixed: '1' }, { introduced: '2' }, { fixed: '3' }], '1.5', false],
    ['events out of order', [{ fixed: '3' }, { introduced: '2' }, { fixed: '1' }, { introduced: '0' }], '1.5', false],
    [
      'fixed and introduced again at one version',
      [{ introduced: '0' }, { fixed: '1' }, { introduced: '1' }, { fixed: '2' }],
      '1',
      true,
    ],
    ['behind a limit', [{ introduced: '0' }, { limit: '2' }], '2.1', false],
    ['a limit that is none', [{ introduced: '0' }, { limit: '*' }], '2.1', true],
    ['a tilde before the fix', fixed('1.2-3'), '1.2-3~bpo12+1', true],
    ['a rebuild of the version before', fixed('1.2-3+deb12u1'), '1.2-3+b1', true],
  ])('%s', (_, events, version, expected) => expect(inRange(events, version)).toBe(expected))

  test('several ranges are alternatives', () => {
    const { osv, ids } = feed()
    osv(
      record('DEBIAN-CVE-2024-10001', [
        {
          package: { ecosystem: 'Debian:12', name: 'a' },
          ranges: [
            { type: 'ECOSYSTEM', events: fixed('1') },
            { type: 'ECOSYSTEM', events: [{ introduced: '5' }, { fixed: '6' }] },
          ],
        },
      ]),
    )
    expect(['0.5', '2', '5.5', '6'].map(version => ids('debian-12', 'a', version).length)).toEqual([1, 0, 1, 0])
  })
  test.each([
    ['bad_version', [{ introduced: '0' }, { fixed: '<unfixed>' }]],
    ['bad_version', [{ introduced: '0' }, { fixed: 'unknown' }]],
    ['no_introduced', [{ fixed: '1.0' }]],
    ['malformed', [{ introduced: 0 }]],
    ['malformed', 'nonsense'],
  ] as const)('%s is counted and left out, never read as unfixed: %j', (why, events) => {
    const { osv, ids, skipped } = feed()
    osv(record('DEBIAN-CVE-2024-10001', [affected('Debian:12', 'a', events as never)]))
    expect([ids('debian-12', 'a', '0.1'), skipped]).toEqual([[], [why]])
  })
  test('git ranges say nothing; versions that are listed are affected', () => {
    const { osv, ids } = feed()
    osv(
      record('GHSA-aaaa-bbbb-cccc', [
        {
          package: { ecosystem: 'PyPI', name: 'a' },
          ranges: [{ type: 'GIT', events: fixed('8f46ba3f') }],
          versions: ['1.0', '1.1'],
        },
      ]),
    )
    expect(['1.0', '1.1.0', '1.2'].map(version => ids('pypi', 'a', version).length)).toEqual([1, 1, 0])
  })
  test('a listed version counts beside a range', () => {
    const { osv, ids } = feed()
    osv(
      record('GHSA-aaaa-bbbb-cccc', [
        affected('npm', 'a', [{ introduced: '1.0.0' }, { fixed: '1.2.0' }], { versions: ['0.9.0'] }),
      ]),
    )
    expect(['0.9.0', '0.9.1', '1.1.9', '1.2.0'].map(version => ids('npm', 'a', version).length)).toEqual([1, 0, 1, 0])
  })
})
