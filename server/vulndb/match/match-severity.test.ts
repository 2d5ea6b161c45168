import { describe, expect, test } from 'vitest'
import { affected, feed, fixed, record } from '../../../test/support/advisory-set.ts'

describe('severity', () => {
  const V31 = 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H'
  const V30 = 'CVSS:3.0/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:L'
  const V2 = 'AV:N/AC:L/Au:N/C:P/I:N/A:N'
  const V4 = 'CVSS:4.0/AV:N/AC:H/AT:P/PR:L/UI:N/VC:L/VI:L/VA:N/SC:N/SI:N/SA:N'
  const cvss = (...vectors: string[]) =>
    vectors.map(score => ({
      type: `CVSS_V${score.startsWith('CVSS:4') ? 4 : score.startsWith('CVSS') ? 3 : 2}`,
      score,
    }))
  test.each([
    [
      "Debian's urgency",
      'debian-12',
      record(
        'DEBIAN-CVE-2024-10001',
        [affected('Debian:12', 'a', fixed('2'), { ecosystem_specific: { urgency: 'unimportant' } })],
        { severity: cvss(V31) },
      ),
      'negligible',
    ],
    [
      'an urgency that says nothing',
      'debian-12',
      record(
        'DEBIAN-CVE-2024-10001',
        [affected('Debian:12', 'a', fixed('2'), { ecosystem_specific: { urgency: 'not yet assigned' } })],
        { severity: cvss(V31) },
      ),
      'critical',
    ],
    [
      "Ubuntu's priority",
      'ubuntu-22.04',
      record('UBUNTU-CVE-2024-10001', [affected('Ubuntu:22.04:LTS', 'a', fixed('2'))], {
        severity: [...cvss(V31), { type: 'Ubuntu', score: 'low' }],
      }),
      'low',
    ],
    [
      "Ubuntu's priority of the package",
      'ubuntu-22.04',
      record(
        'UBUNTU-CVE-2024-10001',
        [affected('Ubuntu:22.04:LTS', 'a', fixed('2'), { ecosystem_specific: { ubuntu_priority: 'high' } })],
        { severity: cvss(V2) },
      ),
      'high',
    ],
    [
      'Ubuntu: untriaged',
      'ubuntu-22.04',
      record('UBUNTU-CVE-2024-10001', [affected('Ubuntu:22.04:LTS', 'a', fixed('2'))], {
        severity: [...cvss(V2), { type: 'Ubuntu', score: 'untriaged' }],
      }),
      'medium',
    ],
    [
      'the word before the title',
      'almalinux-9',
      record('ALSA-2024:1', [affected('AlmaLinux:9', 'a', fixed('2'))], {
        related: ['CVE-2024-10001'],
        summary: 'Moderate: a security update',
        severity: cvss(V31),
      }),
      'medium',
    ],
    [
      '4.0 before 3.1',
      'npm',
      record('GHSA-aaaa-bbbb-cccc', [affected('npm', 'a', fixed('2.0.0'))], {
        severity: cvss(V31, V4),
        database_specific: { severity: 'CRITICAL' },
      }),
      'low',
    ],
    [
      '3.1 before 3.0 and 2.0',
      'npm',
      record('GHSA-aaaa-bbbb-cccc', [affected('npm', 'a', fixed('2.0.0'))], { severity: cvss(V2, V30, V31) }),
      'critical',
    ],
    [
      "GitHub's word, where there is no vector",
      'npm',
      record('GHSA-aaaa-bbbb-cccc', [affected('npm', 'a', fixed('2.0.0'))], {
        database_specific: { severity: 'MODERATE' },
      }),
      'medium',
    ],
    [
      'a vector that is none',
      'npm',
      record('GHSA-aaaa-bbbb-cccc', [affected('npm', 'a', fixed('2.0.0'))], {
        severity: [{ type: 'CVSS_V3', score: 'CVSS:3.1/AV:X' }],
      }),
      'unknown',
    ],
    [
      'malicious code',
      'npm',
      record('MAL-2024-1', [{ package: { ecosystem: 'npm', name: 'a' }, versions: ['1.0.0'] }]),
      'critical',
    ],
  ])('%s', (_, ecosystem, value, expected) => {
    const { osv, match } = feed()
    osv(value)
    expect(match({ ecosystem, name: 'a', version: '1.0.0' }).findings.map(({ severity }) => severity)).toEqual([
      expected,
    ])
  })
  test('malicious code goes by its own name, also where GitHub has one for it', () => {
    const { osv, match } = feed()
    osv(
      record('GHSA-aaaa-bbbb-cccc', [affected('npm', 'a', [{ introduced: '0' }])], { aliases: ['MAL-2024-1'] }),
      record('MAL-2024-1', [{ package: { ecosystem: 'npm', name: 'a' }, versions: ['1.0.0'] }]),
    )
    expect(
      ['1.0.0', '2.0.0'].map(version =>
        match({ ecosystem: 'npm', name: 'a', version }).findings.map(({ id, aliases, malicious }) => [
          id,
          aliases,
          malicious,
        ]),
      ),
    ).toEqual([[['MAL-2024-1', ['GHSA-aaaa-bbbb-cccc'], true]], [['MAL-2024-1', ['GHSA-aaaa-bbbb-cccc'], true]]])
  })
  test('a notice of Ubuntu rates each of its CVEs', () => {
    const { osv, match } = feed()
    osv(
      record(
        'USN-1-1',
        [
          affected('Ubuntu:22.04:LTS', 'a', fixed('2'), {
            database_specific: {
              cves_map: {
                cves: [
                  { id: 'CVE-2024-10001', severity: [{ type: 'Ubuntu', score: 'high' }] },
                  { id: 'CVE-2024-10002', severity: [{ type: 'Ubuntu', score: 'low' }] },
                ],
              },
            },
          }),
        ],
        { upstream: ['UBUNTU-CVE-2024-10001', 'UBUNTU-CVE-2024-10002'] },
      ),
    )
    expect(
      match({ ecosystem: 'ubuntu-22.04', name: 'a', version: '1' }).findings.map(({ id, severity }) => [id, severity]),
    ).toEqual([
      ['CVE-2024-10001', 'high'],
      ['CVE-2024-10002', 'low'],
    ])
  })
})
