import { describe, expect, test } from 'vitest'
import { affected, bytes, feed, fixed, record } from '../../../test/support/advisory-set.ts'
import { readAlpineSecdb, readDebianTracker } from '../read/distribution-feeds.ts'
import { readUpdateinfo } from '../read/updateinfo.ts'

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
    expect(await readDebianTracker(bytes(tracker), { ...context, source: 'debian/tracker' })).toBe(7)
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

describe('updateinfo.xml', () => {
  const pkg = (name: string, version: string, release: string, { epoch = '0', arch = 'x86_64' } = {}) =>
    `<package name="${name}" epoch="${epoch}" version="${version}" release="${release}" arch="${arch}" src="a.src.rpm"><filename>f.rpm</filename></package>`
  const update = (
    id: string,
    body: string,
    { type = 'security', refs = '', head = '' } = {},
  ) => `<update from="x" status="final" type="${type}" version="1"><id>${id}</id><title>Important: a security update</title>
    <issued date="2026-01-02 03:04:05"/><updated date="2026-02-03 04:05:06"/><release>Rocky Linux 9</release><severity>Moderate</severity>${head}<references>${refs}</references><pkglist>${body}</pkglist></update>`
  const cve = (id: string) => `<reference href="https://example.test/${id}" id="${id}" type="cve" title="${id}"/>`
  const document = (...updates: string[]) => `<?xml version="1.0"?><updates>${updates.join('')}</updates>`

  test('epoch, architecture, severity and CVEs are taken; source packages and bug fixes are not', async () => {
    const { context, match, ids } = feed()
    const { records, newest, ecosystems } = await readUpdateinfo(
      bytes(
        document(
          update(
            'RLSA-2026:1',
            `<collection short="c"><name>c</name>${pkg('a', '2', '1.el9', { epoch: '3' })}${pkg('a', '2', '1.el9', { epoch: '3', arch: 'src' })}${pkg('b', '2', '1.el9', { arch: 'aarch64' })}</collection>`,
            { refs: cve('CVE-2026-10001') },
          ),
          update('RLBA-2026:2', `<collection short="c">${pkg('a', '9', '1.el9')}</collection>`, { type: 'bugfix' }),
          update('RLBA-2026:3', `<collection short="c">${pkg('c', '2', '1.el9')}</collection>`, {
            type: 'bugfix',
            refs: '<reference href="https://bugs.example.test/1" type="bugzilla" title="CVE-2026-10003 c: overflow"/>',
          }),
        ),
      ),
      context,
    )
    expect([records, newest, [...ecosystems]]).toEqual([3, '2026-02-03T04:05:06.000Z', ['rocky-9']])
    expect(match({ ecosystem: 'rocky-9', name: 'a', version: '3:1-1.el9', arch: 'x86_64' }).findings).toMatchObject([
      { id: 'CVE-2026-10001', severity: 'medium', fixed_in: '3:2-1.el9', advisories: ['RLSA-2026:1'] },
    ])
    expect(ids('rocky-9', 'a', '3:2-1.el9', { arch: 'x86_64' })).toEqual([])
    expect([ids('rocky-9', 'b', '1-1', { arch: 'x86_64' }), ids('rocky-9', 'b', '1-1', { arch: 'aarch64' })]).toEqual([
      [],
      ['CVE-2026-10001'],
    ])
    expect(ids('rocky-9', 'c', '1-1')).toEqual(['CVE-2026-10003'])
  })
  test('a module is named by its collection', async () => {
    const { context, ids } = feed()
    await readUpdateinfo(
      bytes(
        document(
          update(
            'RLSA-2026:1',
            `<collection short="c"><name>c</name><module name="php" stream="8.1" version="9" context="x" arch="x86_64"/>${pkg('php', '8.1.20', '1.module+el9.2.0+1+a')}</collection>`,
            { refs: cve('CVE-2026-10001') },
          ),
        ),
      ),
      context,
    )
    expect(ids('rocky-9', 'php', '8.1.10-1.module+el9.1.0+1+a', { module: 'php:8.1:9:x' })).toEqual(['CVE-2026-10001'])
    expect(ids('rocky-9', 'php', '8.0.30-1.module+el9.1.0+1+a', { module: 'php:8.0:9:x' })).toEqual([])
    expect(ids('rocky-9', 'php', '8.0.27-1.el9')).toEqual([])
  })
  test('one that names no distribution needs to be told', async () => {
    const { context, ids } = feed()
    const text = document(
      update('X-1', `<collection short="c">${pkg('a', '2', '1')}</collection>`, { refs: cve('CVE-2026-10001') }),
    ).replace('Rocky Linux 9', '0')
    await expect(readUpdateinfo(bytes(text), context)).rejects.toThrow('does not say which distribution')
    await readUpdateinfo(bytes(text), context, 'oracle-8')
    expect(ids('oracle-8', 'a', '1-1')).toEqual(['CVE-2026-10001'])
  })
  test('damage is refused', async () => {
    const { context } = feed()
    await expect(readUpdateinfo(bytes('<updates><update type="security"><id>1</id>'), context)).rejects.toThrow(
      'damaged',
    )
    await expect(readUpdateinfo(bytes('<html></html>'), context)).rejects.toThrow('no updateinfo')
  })
  test('a live patch of the C library is not its update', async () => {
    const { context, ids } = feed()
    await readUpdateinfo(
      bytes(
        document(
          update(
            'ELSA-2026:1',
            `<collection short="c">${pkg('glibc', '2.28', '164.0.1.ksplice1.el8', { epoch: '2' })}</collection>`,
            { refs: cve('CVE-2026-10001') },
          ),
        ),
      ),
      context,
      'oracle-8',
    )
    expect([ids('oracle-8', 'glibc', '2.28-151.el8'), ids('oracle-8', 'glibc', '2:2.28-151.0.1.ksplice1.el8')]).toEqual(
      [[], ['CVE-2026-10001']],
    )
  })
})

describe('module streams', () => {
  const postgres = (stream: string, fix: string) =>
    record(
      `ALSA-2024:${stream}`,
      [affected('AlmaLinux:8', 'postgresql', fixed(`${fix}-1.module_el8.9.0+3627+db8ec155`))],
      { related: ['CVE-2024-10001'], summary: `Important: postgresql:${stream} security update` },
    )
  const untitled = (n: number, fix: string) =>
    record(`ALSA-2024:${n}`, [affected('AlmaLinux:8', 'postgresql', fixed(`${fix}-1.module_el8.9.0+3627+db8ec155`))], {
      related: ['CVE-2024-10001'],
      summary: 'Important: postgresql security update',
    })

  test('a package is only compared with fixes of its own stream', () => {
    const { osv, ids } = feed()
    osv(postgres('10', '10.23'), postgres('12', '12.15'), postgres('13', '13.11'))
    const at = (version: string, module?: string) =>
      ids('almalinux-8', 'postgresql', version, module === undefined ? {} : { module }).length
    expect([
      at('10.23-1.module_el8.9.0+3627+db8ec155', 'postgresql:10:8090020230:a'),
      at('10.21-1.module_el8.6.0+1+a', 'postgresql:10:8060020220:a'),
    ]).toEqual([0, 1])
    expect([
      at('12.15-1.module_el8.9.0+3627+db8ec155'),
      at('12.12-1.module_el8.6.0+1+a'),
      at('9.6.22-1.module_el8.3.0+1+a'),
    ]).toEqual([0, 1, 0])
  })
  test('where nobody names the stream the first number of the version has to', () => {
    const { osv, ids } = feed()
    osv(untitled(1, '10.23'), untitled(2, '12.15'))
    expect(
      [
        '10.23-1.module_el8.9.0+3627+db8ec155',
        '10.22-1.module_el8.9.0+1+a',
        '12.14-1.module_el8.9.0+1+a',
        '13.1-1.module_el8.9.0+1+a',
      ].map(version => ids('almalinux-8', 'postgresql', version).length),
    ).toEqual([0, 1, 1, 0])
  })
  test("a package outside modules and a module's fix say nothing of each other", () => {
    const { osv, ids } = feed()
    osv(
      postgres('12', '12.15'),
      record('ALSA-2024:9', [affected('AlmaLinux:8', 'nginx', fixed('1:1.20-1.el8'))], { related: ['CVE-2024-10002'] }),
    )
    expect(ids('almalinux-8', 'postgresql', '12.1-1.el8')).toEqual([])
    expect(ids('almalinux-8', 'nginx', '1:1.14-1.module_el8.3.0+1+a', { module: 'nginx:1.14:1:a' })).toEqual([])
  })
  test('streams within one first number are told apart by the label', () => {
    const { osv, ids } = feed()
    const php = (stream: string, fix: string) =>
      record(`ALSA-2023:${stream}`, [affected('AlmaLinux:8', 'php', fixed(`${fix}-1.module_el8.7.0+1+a`))], {
        related: ['CVE-2023-10001'],
        summary: `Moderate: php:${stream} security update`,
      })
    osv(php('7.2', '7.2.34'), php('7.4', '7.4.33'))
    expect(ids('almalinux-8', 'php', '7.2.34-1.module_el8.7.0+1+a')).toEqual([])
    expect(ids('almalinux-8', 'php', '7.4.19-1.module_el8.6.0+1+a')).toEqual(['CVE-2023-10001'])
  })
  test('of several builds in one update each has the fix', () => {
    const { osv, ids } = feed()
    osv(
      record(
        'ALSA-2024:2084',
        ['3627', '3821'].map(build =>
          affected('AlmaLinux:8', 'aardvark-dns', fixed(`2:1.0.1-38.module_el8.9.0+${build}+db8ec155`)),
        ),
        { related: ['CVE-2024-10001'], summary: 'Important: container-tools:4.0 security update' },
      ),
    )
    const at = (version: string) =>
      ids('almalinux-8', 'aardvark-dns', version, { module: 'container-tools:4.0:8090020240:a' }).length
    expect([at('2:1.0.1-38.module_el8.9.0+3627+db8ec155'), at('2:1.0.1-37.module_el8.8.0+3400+aaaaaaaa')]).toEqual([
      0, 1,
    ])
    expect(
      ids('almalinux-8', 'aardvark-dns', '2:1.0.1-37.module_el8.8.0+1+a', { module: 'container-tools:rhel8:1:a' }),
    ).toEqual([])
  })
  test('the record itself may name the module', () => {
    const { osv, ids } = feed()
    osv(
      record(
        'ALSA-2021:4537',
        [
          affected('AlmaLinux:8', 'httpd', fixed('2.4.37-43.module_el8.5.0+1+a'), {
            ecosystem_specific: { rpm_modularity: 'httpd:2.4' },
          }),
        ],
        { related: ['CVE-2021-10001'] },
      ),
    )
    expect([
      ids('almalinux-8', 'httpd', '2.4.37-40.module_el8.4.0+1+a', { module: 'httpd:2.4:1:a' }),
      ids('almalinux-8', 'httpd', '2.4.37-40.module_el8.4.0+1+a', { module: 'httpd:2.6:1:a' }),
    ]).toEqual([['CVE-2021-10001'], []])
  })
})

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

test('a version that cannot be read is told, not passed over', () => {
  const { osv, match } = feed()
  osv(record('GHSA-aaaa-bbbb-cccc', [affected('npm', 'a', fixed('2.0.0'))]))
  expect(match({ ecosystem: 'npm', name: 'a', version: 'git+https://example.test/a' })).toEqual({
    findings: [],
    isUnreadable: true,
  })
})
