import { describe, expect, test } from 'vitest'
import { affected, bytes, feed, fixed, record } from '../../../test/support/advisory-set.ts'
import { readAlpineSecdb, readDebianTracker } from './distribution-feeds.ts'

describe("Debian's tracker", () => {
  const tracker = JSON.stringify({
    a: {
      'CVE-2024-10001': {
        description: 'Open.',
        releases: { bookworm: { status: 'open', urgency: 'medium' }, sid: { status: 'open', urgency: 'medium' } },
      },
      'CVE-2024-10002': {
        releases: { bookworm: { status: 'resolved', fixed_version: '2-1', urgency: 'unimportant' } },
      },
      'CVE-2024-10003': { releases: { bookworm: { status: 'resolved', fixed_version: '0', urgency: 'high' } } },
      'CVE-2024-10004': { releases: { bookworm: { status: 'undetermined', urgency: 'high' } } },
      'CVE-2024-10005': { releases: { bookworm: { status: 'resolved', fixed_version: 'soon', urgency: 'low**' } } },
      'CVE-2024-10006': { releases: { bookworm: { status: 'open', urgency: 'not yet assigned' } } },
    },
    b: { 'TEMP-0000000-ABCDEF': { releases: { bookworm: { status: 'open', urgency: 'low' } } } },
  })
  test('open is without a fix, version 0 is not affected, and what cannot be read is counted', async () => {
    const { context, match, skipped } = feed()
    expect(await readDebianTracker(bytes(tracker), { ...context, source: 'debian/tracker' })).toEqual({
      records: 7,
      year: 2024,
    })
    const found = match({
      ecosystem: 'debian-12',
      name: 'liba',
      version: '1-1',
      source: { name: 'a', version: '1-1' },
    }).findings.map(({ id, severity, fixed_in: fix }) => [id, severity, fix])
    expect(found).toEqual([
      ['CVE-2024-10001', 'medium', undefined],
      ['CVE-2024-10002', 'negligible', '2-1'],
      ['CVE-2024-10006', 'unknown', undefined],
    ])
    expect(match({ ecosystem: 'debian-12', name: 'b', version: '1' }).findings.map(({ id }) => id)).toEqual([
      'TEMP-0000000-ABCDEF',
    ])
    expect(skipped).toEqual(['other_ecosystem', 'other_ecosystem', 'bad_version'])
  })
  test('says why an open issue has no update: postponed, ignored, out of support', async () => {
    const { context, match } = feed()
    const release = (more: object) => ({
      releases: { bookworm: { status: 'open', urgency: 'not yet assigned', ...more } },
    })
    const text = JSON.stringify({
      a: {
        'CVE-2024-10001': release({ nodsa: 'Minor issue', nodsa_reason: 'postponed' }),
        'CVE-2024-10002': release({ nodsa: 'Minor issue', nodsa_reason: 'ignored' }),
        'CVE-2024-10003': release({ nodsa: 'Minor issue', nodsa_reason: '' }),
        'CVE-2024-10004': release({ urgency: 'end-of-life' }),
        'CVE-2024-10005': release({}),
      },
    })
    await readDebianTracker(bytes(text), { ...context, source: 'debian/tracker' })
    expect(
      match({ ecosystem: 'debian-12', name: 'a', version: '1-1' }).findings.map(({ vendor_says: said }) => said),
    ).toEqual([
      'Debian: postponed (Minor issue).',
      'Debian: ignored (Minor issue).',
      'Debian: no security update is planned (Minor issue).',
      'Debian: the package is out of support in this release.',
      undefined,
    ])
  })
  test('it overrules announcements and other tables about the same CVE', async () => {
    const { context, osv, ids } = feed()
    osv(
      record('DSA-1-1', [affected('Debian:12', 'a', fixed('5-1'))], {
        upstream: ['CVE-2024-10002', 'CVE-2024-10003', 'CVE-2024-10009'],
      }),
      record('DEBIAN-CVE-2024-10003', [affected('Debian:12', 'a', [{ introduced: '0' }])]),
    )
    await readDebianTracker(bytes(tracker), { ...context, source: 'debian/tracker' })
    expect(ids('debian-12', 'a', '3-1')).toEqual(['CVE-2024-10001', 'CVE-2024-10006', 'CVE-2024-10009'])
  })
  test('a tracker that is cut off is refused', async () => {
    const { context } = feed()
    await expect(readDebianTracker(bytes(tracker.slice(0, -30)), context)).rejects.toThrow('the Debian tracker')
  })
})

test("Alpine's secdb: version 0 was never affected, remarks and several ids are read", () => {
  const { context, osv, ids, skipped } = feed()
  osv(record('ALPINE-CVE-2024-10003', [affected('Alpine:v3.20', 'a', [{ introduced: '0' }])]))
  readAlpineSecdb(
    {
      distroversion: 'v3.20',
      reponame: 'main',
      packages: [
        {
          pkg: {
            name: 'a',
            secfixes: {
              '1.2-r1': ['CVE-2024-10001 (+ regression fix)', 'CVE-2024-10002 GHSA-aaaa-bbbb-cccc', 'XSA-123'],
              '0': ['CVE-2024-10003'],
              'soon': ['CVE-2024-10004'],
            },
          },
        },
      ],
    },
    { ...context, source: 'alpine/v3.20/main' },
  )
  expect(ids('alpine-3.20', 'a', '1.2-r0')).toEqual(['CVE-2024-10001', 'CVE-2024-10002', 'XSA-123'])
  expect(ids('alpine-3.20', 'a', '1.2-r1')).toEqual([])
  expect(skipped).toEqual(['bad_version'])
})
