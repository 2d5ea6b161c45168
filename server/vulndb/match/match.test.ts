import { describe, expect, test } from 'vitest'
import { affected, feed, fixed, record } from '../../../test/support/advisory-set.ts'

describe('records', () => {
  test('what is withdrawn is dropped, what breaks the schema is counted', () => {
    const { osv, ids, skipped } = feed()
    osv(
      record('DEBIAN-CVE-2024-10001', [affected('Debian:12', 'a', fixed('2'))], { withdrawn: '2026-02-01T00:00:00Z' }),
      { id: 7 },
      record('DSA-1-1', [{ ranges: [] }]),
      record('DSA-2-1', [affected('Debian:12', '', fixed('2'))]),
    )
    expect([ids('debian-12', 'a', '1'), skipped]).toEqual([[], ['withdrawn', 'malformed', 'no_package', 'no_package']])
  })
  test('fixes that need a subscription, other product streams and live patches are left out', () => {
    const { osv, entries, skipped } = feed()
    osv(
      record('UBUNTU-CVE-2024-10001', [
        affected('Ubuntu:Pro:20.04:LTS', 'a', fixed('2')),
        affected('Red Hat:rhel_eus:9.2::appstream', 'a', fixed('2')),
        affected('SUSE:Linux Enterprise Server 15 SP6', 'a', fixed('2')),
        affected('Debian', 'a', fixed('2')),
        affected('Ubuntu:20.04:LTS', 'linux', fixed('2'), { ecosystem_specific: { module_name_regex: 'lkp_.*' } }),
        affected('Rocky Linux:8', 'kernel', fixed('2'), {
          package: {
            ecosystem: 'Rocky Linux:8',
            name: 'kernel',
            purl: 'pkg:rpm/rocky-linux/kernel?distro=rocky-linux-8-sig-cloud&epoch=0',
          },
        }),
      ]),
    )
    expect([entries, skipped]).toEqual([
      [],
      ['other_ecosystem', 'other_ecosystem', 'other_ecosystem', 'other_ecosystem'],
    ])
  })
  test.each([
    [
      'upstream',
      { upstream: ['CVE-2024-10001', 'UBUNTU-CVE-2024-10002'], related: ['CVE-2024-10009'] },
      ['CVE-2024-10001', 'CVE-2024-10002'],
    ],
    [
      'related, where there is nothing else',
      { related: ['CVE-2024-10001', 'DSA-1-1', 'CVE-2024-10002'] },
      ['CVE-2024-10001', 'CVE-2024-10002'],
    ],
    ['aliases', { aliases: ['CVE-2024-10001'] }, ['CVE-2024-10001']],
    ['nothing: its own id', {}, ['ALSA-2024:1']],
  ])('an announcement names its CVEs by %s', (_, more, expected) => {
    const { osv, ids } = feed()
    osv(record('ALSA-2024:1', [affected('AlmaLinux:9', 'a', fixed('2-1'))], more))
    expect(ids('almalinux-9', 'a', '1-1')).toEqual(expected)
  })
  test("an id that is a CVE's names it alone", () => {
    const { osv, ids } = feed()
    osv(
      record('UBUNTU-CVE-2024-10001', [affected('Ubuntu:22.04:LTS', 'a', fixed('2'))], {
        related: ['USN-1-1', 'CVE-2024-10002'],
      }),
    )
    expect(ids('ubuntu-22.04', 'a', '1')).toEqual(['CVE-2024-10001'])
  })
  test('a repair of an update that names no vulnerability is none', () => {
    const { osv, ids, skipped } = feed()
    osv(
      record('DLA-3114-2', [affected('Debian:10', 'a', fixed('2'))], {
        summary: 'a - regression update',
        upstream: [],
      }),
    )
    expect([ids('debian-10', 'a', '1'), skipped]).toEqual([[], ['not_security']])
  })
  test('what an update fixed stays fixed when its repair names the CVE again', () => {
    const { osv, ids } = feed()
    osv(
      record('DLA-1-1', [affected('Debian:10', 'a', fixed('2'))], {
        summary: 'a - security update',
        upstream: ['CVE-2024-10001'],
      }),
      record('DLA-1-2', [affected('Debian:10', 'a', fixed('3'))], {
        summary: 'a - regression update',
        upstream: ['CVE-2024-10001'],
      }),
    )
    expect(['1', '2', '3'].map(version => ids('debian-10', 'a', version).length)).toEqual([1, 0, 0])
  })
})

describe('names', () => {
  test('Debian, Ubuntu and Alpine are asked by source package and its version', () => {
    const { osv, ids } = feed()
    osv(
      record('DEBIAN-CVE-2024-10001', [affected('Debian:12', 'openssl', fixed('3.0.14-1'))]),
      record('ALPINE-CVE-2024-10001', [affected('Alpine:v3.20', 'openssl', fixed('3.3.1-r0'))]),
    )
    expect(ids('debian-12', 'libssl3', '1:9.9-1', { source: { name: 'openssl', version: '3.0.13-1' } })).toEqual([
      'CVE-2024-10001',
    ])
    expect(ids('debian-12', 'openssl', '3.0.13-1', { source: { name: 'other', version: '3.0.13-1' } })).toEqual([])
    expect(ids('alpine-3.20', 'libcrypto3', '3.3.0-r3', { source: { name: 'openssl', version: '3.3.0-r3' } })).toEqual([
      'CVE-2024-10001',
    ])
    expect(ids('alpine-3.20', 'libcrypto3', '3.3.1-r0', { source: { name: 'openssl', version: '3.3.1-r0' } })).toEqual(
      [],
    )
  })
  test('AlmaLinux and Red Hat are asked by installed package, with its epoch', () => {
    const { osv, ids } = feed()
    osv(
      record('ALSA-2024:1', [affected('AlmaLinux:9', 'bind-libs', fixed('32:9.16.23-18.el9'))], {
        related: ['CVE-2024-10001'],
      }),
    )
    expect(
      ids('almalinux-9', 'bind-libs', '32:9.16.23-15.el9', { source: { name: 'bind', version: '9.16.23-15.el9' } }),
    ).toEqual(['CVE-2024-10001'])
    expect(ids('almalinux-9', 'bind-libs', '33:1.0-1.el9', { source: { name: 'bind', version: '1.0-1.el9' } })).toEqual(
      [],
    )
    expect(
      ids('almalinux-9', 'bind', '9.16.23-15.el9', { source: { name: 'bind-libs', version: '9.16.23-15.el9' } }),
    ).toEqual([])
  })
  test('Rocky Linux is asked by source, and a source RPM has no epoch', () => {
    const { osv, ids } = feed()
    osv(
      record('RLSA-2024:1', [affected('Rocky Linux:9', 'java-11-openjdk', fixed('1:11.0.23-1.el9'))], {
        upstream: ['CVE-2024-10001'],
      }),
    )
    expect(
      ids('rocky-9', 'java-11-openjdk-headless', '1:11.0.22-1.el9', {
        source: { name: 'java-11-openjdk', version: '11.0.22-1.el9' },
      }),
    ).toEqual(['CVE-2024-10001'])
    expect(
      ids('rocky-9', 'java-11-openjdk-headless', '1:11.0.23-1.el9', {
        source: { name: 'java-11-openjdk', version: '11.0.23-1.el9' },
      }),
    ).toEqual([])
  })
  test('openSUSE lists its binaries, each with a version of its own', () => {
    const { osv, ids } = feed()
    osv(
      record(
        'openSUSE-SU-2024:1',
        [
          affected('openSUSE:Leap 15.6', 'chromium', fixed('51.0-85.3'), {
            ecosystem_specific: { binaries: [{ chromium: '51.0-85.3', imlib2: '1.4.5-5.1' }] },
          }),
        ],
        { related: ['CVE-2024-10001'] },
      ),
    )
    expect(
      ids('opensuse-leap-15.6', 'imlib2', '1.4.5-5.0', { source: { name: 'imlib2', version: '1.4.5-5.0' } }),
    ).toEqual(['CVE-2024-10001'])
    expect(
      ids('opensuse-leap-15.6', 'imlib2', '1.4.5-5.1', { source: { name: 'imlib2', version: '1.4.5-5.1' } }),
    ).toEqual([])
    expect(
      ids('opensuse-leap-15.6', 'chromium', '50.0-1', { source: { name: 'chromium', version: '50.0-1' } }),
    ).toEqual(['CVE-2024-10001'])
  })
  test('Python names are spelled alike', () => {
    const { osv, ids } = feed()
    osv(record('PYSEC-2024-1', [affected('PyPI', 'Zope.Interface_x', fixed('2'))], { aliases: ['CVE-2024-10001'] }))
    expect(ids('pypi', 'zope-interface.X', '1.9rc1')).toEqual(['CVE-2024-10001'])
  })
  test.each([
    ['npm', '@scope/a', '1.0.0', '1.0.0-rc.1'],
    ['maven', 'org.example:a', '1.0', '1.0-SNAPSHOT'],
    ['pypi', 'a', '1.0', '1.0.dev3'],
  ])('%s versions compare as there', (ecosystem, name, fix, before) => {
    const { osv, ids } = feed()
    osv(
      record('GHSA-aaaa-bbbb-cccc', [
        affected({ npm: 'npm', maven: 'Maven', pypi: 'PyPI' }[ecosystem] ?? '', name, fixed(fix)),
      ]),
    )
    expect([ids(ecosystem, name, before), ids(ecosystem, name, fix)]).toEqual([['GHSA-aaaa-bbbb-cccc'], []])
  })
})

describe('one finding per CVE', () => {
  test('advisories of one vulnerability are joined by their aliases, also over a third', () => {
    const { osv, match } = feed()
    osv(
      record('PYSEC-2024-1', [affected('PyPI', 'a', fixed('2'))], { aliases: ['GHSA-aaaa-bbbb-cccc'] }),
      record('GHSA-aaaa-bbbb-cccc', [affected('PyPI', 'a', fixed('1'))], { aliases: ['CVE-2024-10001'] }),
    )
    expect(match({ ecosystem: 'pypi', name: 'a', version: '1.5' }).findings).toMatchObject([
      {
        id: 'CVE-2024-10001',
        package: 'a',
        advisories: ['PYSEC-2024-1'],
        aliases: ['GHSA-aaaa-bbbb-cccc', 'PYSEC-2024-1'],
        fixed_in: '2',
        detected_by: ['osv'],
      },
    ])
  })
  test('what is only related stays apart', () => {
    const { osv, ids } = feed()
    osv(
      record('GHSA-aaaa-bbbb-cccc', [affected('npm', 'a', fixed('2.0.0'))], {
        aliases: ['CVE-2024-10001'],
        related: ['CVE-2024-10002'],
      }),
      record('GHSA-dddd-eeee-ffff', [affected('npm', 'a', fixed('2.0.0'))], {
        aliases: ['CVE-2024-10002'],
        related: ['GHSA-aaaa-bbbb-cccc'],
      }),
    )
    expect(ids('npm', 'a', '1.0.0')).toEqual(['CVE-2024-10001', 'CVE-2024-10002'])
  })
  test('announcements of one CVE are one finding, and the highest of their fixes repairs it', () => {
    const { osv, match } = feed()
    osv(
      record('RLSA-2024:1', [affected('Rocky Linux:9', 'a', fixed('0:2-1'))], {
        upstream: ['CVE-2024-10001'],
        summary: 'Moderate: a security update',
      }),
      record('RLSA-2024:2', [affected('Rocky Linux:9', 'a', fixed('0:3-1'))], {
        upstream: ['CVE-2024-10001'],
        summary: 'Important: a security update',
      }),
    )
    expect(match({ ecosystem: 'rocky-9', name: 'a', version: '1-1' }).findings).toMatchObject([
      { id: 'CVE-2024-10001', severity: 'high', fixed_in: '0:3-1', advisories: ['RLSA-2024:1', 'RLSA-2024:2'] },
    ])
  })
})

test('a version that cannot be read is told, not passed over', () => {
  const { osv, match } = feed()
  osv(record('GHSA-aaaa-bbbb-cccc', [affected('npm', 'a', fixed('2.0.0'))]))
  expect(match({ ecosystem: 'npm', name: 'a', version: 'git+https://example.test/a' })).toEqual({
    findings: [],
    isUnreadable: true,
  })
})
