import { describe, expect, test } from 'vitest'
import { affected, bytes, feed, fixed, record } from '../../../test/support/advisory-set.ts'
import { readAlpineSecdb } from '../read/distribution-feeds.ts'
import { readUpdateinfo } from '../read/updateinfo.ts'

const V31 = [{ type: 'CVSS_V3', score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H' }]
const CVE = ['CVE-2026-10001']

describe('kernels of Debian and Ubuntu are built by one source and signed by another', () => {
  const { osv, lines } = feed()
  osv(
    record('DEBIAN-CVE-2026-10001', [affected('Debian:12', 'linux', fixed('6.1.76-1'))], { upstream: CVE }),
    record(
      'UBUNTU-CVE-2026-10001',
      [
        affected('Ubuntu:22.04:LTS', 'linux', fixed('5.15.0-101.111')),
        affected('Ubuntu:22.04:LTS', 'linux-hwe-6.5', fixed('6.5.0-26.26~22.04.1')),
      ],
      { upstream: CVE },
    ),
  )
  test.each<[string, string, string, string, string, string[]]>([
    [
      'debian-12',
      'linux-image-6.1.0-17-amd64',
      '6.1.69-1',
      'linux-signed-amd64',
      '6.1.69+1',
      ['CVE-2026-10001 unknown 6.1.76-1'],
    ],
    ['debian-12', 'linux-image-6.1.0-18-amd64', '6.1.76-1', 'linux-signed-amd64', '6.1.76+1', []],
    [
      'ubuntu-22.04',
      'linux-image-5.15.0-100-generic',
      '5.15.0-100.110',
      'linux-signed',
      '5.15.0-100.110',
      ['CVE-2026-10001 unknown 5.15.0-101.111'],
    ],
    ['ubuntu-22.04', 'linux-image-5.15.0-101-generic', '5.15.0-101.111', 'linux-signed', '5.15.0-101.111', []],
    [
      'ubuntu-22.04',
      'linux-image-6.5.0-25-generic',
      '6.5.0-25.25~22.04.1',
      'linux-signed-hwe-6.5',
      '6.5.0-25.25~22.04.1',
      ['CVE-2026-10001 unknown 6.5.0-26.26~22.04.1'],
    ],
    ['ubuntu-22.04', 'linux-image-generic', '5.15.0.100.97', 'linux-meta', '5.15.0.100.97', []],
  ])('%s: %s %s', (ecosystem, name, version, source, source_version, expected) => {
    expect(lines({ ecosystem, name, version, source: { name: source, version: source_version } })).toEqual(expected)
  })
})

describe("a distribution's own word stands before the scores, wherever the record has it", () => {
  const places: [string, object, object][] = [
    ['beside the scores', { severity: [...V31, { type: 'Red Hat', score: 'Moderate' }] }, {}],
    ['in the record', { severity: V31, database_specific: { severity: 'Moderate' } }, {}],
    ['beside the package', { severity: V31 }, { ecosystem_specific: { severity: 'moderate' } }],
    ['in what its database adds', { severity: V31 }, { database_specific: { severity: 'MODERATE' } }],
    ['in the title', { severity: V31, summary: 'Moderate: a security update' }, {}],
  ]
  test.each(
    ['AlmaLinux:9 almalinux-9', 'Rocky Linux:9 rocky-9', 'Red Hat:enterprise_linux:9::appstream redhat-9'].flatMap(
      both =>
        places.map(
          place => [both.slice(0, both.lastIndexOf(' ')), both.slice(both.lastIndexOf(' ') + 1), ...place] as const,
        ),
    ),
  )('%s (%s) %s', (name, ecosystem, _, more, beside) => {
    const { osv, lines } = feed()
    osv(record('XXSA-2026:1', [affected(name, 'a', fixed('2-1'), beside)], { related: CVE, ...more }))
    expect(lines({ ecosystem, name: 'a', version: '1-1' })).toEqual(['CVE-2026-10001 medium 2-1'])
  })
  test("GitHub's does not: its score is the finer word", () => {
    const { osv, lines } = feed()
    osv(
      record(
        'GHSA-aaaa-bbbb-cccc',
        [affected('npm', 'a', fixed('2.0.0'), { database_specific: { severity: 'LOW' } })],
        { severity: V31, database_specific: { severity: 'MODERATE' } },
      ),
    )
    expect(lines({ ecosystem: 'npm', name: 'a', version: '1.0.0' })).toEqual(['GHSA-aaaa-bbbb-cccc critical 2.0.0'])
  })
  test("a CVE's own record rates it for every distribution, also where it only names commits", () => {
    const { osv, vectors, entries } = feed()
    osv(
      record(
        'CVE-2026-10001',
        [{ ranges: [{ type: 'GIT', repo: 'https://example.test/a', events: fixed('8f46ba3f') }] }],
        { severity: V31 },
      ),
    )
    expect([[...vectors], entries]).toEqual([[['CVE-2026-10001', [V31[0]?.score]]], []])
  })
})

describe('updates that repair no vulnerability', () => {
  test.each([
    ['ALBA-2026:1', 'AlmaLinux:9', 'almalinux-9'],
    ['ALEA-2026:1', 'AlmaLinux:9', 'almalinux-9'],
    ['RLBA-2026:1', 'Rocky Linux:9', 'rocky-9'],
    ['RHEA-2026:1', 'Red Hat:enterprise_linux:9::baseos', 'redhat-9'],
    ['openSUSE-RU-2026:1-1', 'openSUSE:Leap 15.6', 'opensuse-leap-15.6'],
    ['SUSE-FU-2026:1-1', 'openSUSE:Leap 15.6', 'opensuse-leap-15.6'],
  ])('%s is no finding, unless it names a CVE', (id, name, ecosystem) => {
    const of = (more: object): string[] => {
      const { osv, ids } = feed()
      osv(record(id, [affected(name, 'a', fixed('2-1'))], more))
      return ids(ecosystem, 'a', '1-1')
    }
    expect([of({}), of({ related: CVE })]).toEqual([[], CVE])
  })
})

describe('updates of one distribution', () => {
  test('what an earlier one fixed in part a later one may fix again: whichever feed tells of which', async () => {
    const { osv, context, lines } = feed()
    osv(
      record('ALSA-2026:2', [affected('AlmaLinux:9', 'a', fixed('3-1'))], {
        related: CVE,
        summary: 'Important: a security update',
      }),
    )
    await readUpdateinfo(
      bytes(`<updates><update type="security"><id>ALSA-2026:1</id><title>Low: a security update</title><references><reference id="CVE-2026-10001" href="x"/></references>
      <pkglist><collection short="almalinux-9-for-x86_64-baseos-rpms"><package name="a" epoch="0" version="2" release="1" arch="x86_64"/></collection></pkglist></update></updates>`),
      context,
    )
    const at = (version: string): string[] => lines({ ecosystem: 'almalinux-9', name: 'a', version, arch: 'x86_64' })
    expect([at('1-1'), at('2-1'), at('3-1')]).toEqual([['CVE-2026-10001 high 3-1'], ['CVE-2026-10001 high 3-1'], []])
  })
  test('of one update that two feeds tell of, the one that knows the module decides', async () => {
    const { osv, context, ids } = feed()
    osv(
      record('RLSA-2026:1', [affected('Rocky Linux:9', 'a', fixed('0:1.5-2.module+el9.4.0+1+a'))], {
        upstream: CVE,
        summary: 'Important: a security update',
      }),
    )
    await readUpdateinfo(
      bytes(`<updates><update type="security"><id>RLSA-2026:1</id><title>t</title><release>Rocky Linux 9</release><references><reference id="CVE-2026-10001" href="x"/></references>
      <pkglist><collection><module name="m" stream="rhel9" version="1" context="c" arch="x86_64"/><package name="a" epoch="0" version="1.5" release="2.module+el9.4.0+1+a" arch="x86_64"/></collection></pkglist></update></updates>`),
      context,
    )
    expect(ids('rocky-9', 'a', '1.5-2.module+el9.4.0+1+a', { module: 'm:rhel9:1:c', arch: 'x86_64' })).toEqual([])
    expect(ids('rocky-9', 'a', '1.4-2.module+el9.3.0+1+a', { module: 'm:rhel9:1:c', arch: 'x86_64' })).toEqual(CVE)
  })
  test('builds of one version each have the fix; of two versions only the higher one is surely fixed', () => {
    const { osv, ids } = feed()
    osv(
      record(
        'ALSA-2026:1',
        [
          affected('AlmaLinux:8', 'vim', fixed('2:8.0-16.el8_5.13')),
          affected('AlmaLinux:8', 'vim', fixed('2:8.0-16.el8')),
        ],
        { related: CVE },
      ),
      record(
        'ALSA-2026:2',
        [
          affected('AlmaLinux:8', 'b', fixed('1.0-1')),
          affected('AlmaLinux:8', 'b', [{ introduced: '2.0-1' }, { fixed: '3.0-1' }]),
        ],
        { related: CVE },
      ),
      record(
        'ALSA-2026:3',
        [affected('AlmaLinux:8', 'c', fixed('1.0-1')), affected('AlmaLinux:8', 'c', fixed('2.0-1'))],
        { related: CVE },
      ),
    )
    expect(
      ['2:8.0-15.el8', '2:8.0-16.el8', '2:8.0-16.el8_5.13'].map(version => ids('almalinux-8', 'vim', version).length),
    ).toEqual([1, 0, 0])
    expect(['0.9-1', '1.5-1', '2.5-1', '3.0-1'].map(version => ids('almalinux-8', 'b', version).length)).toEqual([
      1, 0, 1, 0,
    ])
    expect(['0.9-1', '1.5-1', '2.0-1'].map(version => ids('almalinux-8', 'c', version).length)).toEqual([1, 1, 0])
  })
})

describe('module streams of packages with a version of their own', () => {
  const notice = (stream: string, fix: string): object =>
    record(`RLSA-2026:${stream}`, [affected('Rocky Linux:8', 'nodejs', fixed(`1:${fix}.module+el8.8.0+1450+1`))], {
      upstream: CVE,
      summary: `Important: nodejs:${stream} security update`,
    })
  test('are told apart by what the advisory names, their source', () => {
    const { osv, lines } = feed()
    osv(notice('16', '16.20.2-1'), notice('18', '18.17.1-1'))
    const npm = (own: string, source: string): string[] =>
      lines({
        ecosystem: 'rocky-8',
        name: 'npm',
        version: `1:${own}.module+el8.8.0+1450+1`,
        source: { name: 'nodejs', version: `${source}.module+el8.8.0+1450+1` },
      })
    expect(npm('8.19.2-1.16.18.1.3', '16.18.1-3')).toEqual(['CVE-2026-10001 high 1:16.20.2-1.module+el8.8.0+1450+1'])
    expect(npm('8.19.4-1.16.20.2.1', '16.20.2-1')).toEqual([])
    expect(npm('9.6.7-1.18.17.1.1', '18.17.1-1')).toEqual([])
  })
  const alma = (id: string, name: string, stream: string, fix: string): object =>
    record(id, [affected('AlmaLinux:9', name, fixed(fix))], {
      related: CVE,
      summary: `Moderate: ${stream} security update`,
    })
  test('a subpackage that follows its stream is compared in it, without a label', () => {
    const { osv, ids } = feed()
    osv(
      alma('ALSA-2026:1', 'php-bcmath', 'php:8.2', '8.2.30-1.module_el9.8.0+1+a'),
      alma('ALSA-2026:2', 'php-bcmath', 'php:8.3', '8.3.29-1.module_el9.8.0+2+b'),
    )
    expect(
      [
        '8.2.29-1.module_el9.7.0+9+c',
        '8.2.30-1.module_el9.8.0+1+a',
        '8.1.32-1.module_el9.5.0+8+d',
        '8.3.1-1.module_el9.7.0+7+e',
      ].map(version => ids('almalinux-9', 'php-bcmath', version).length),
    ).toEqual([1, 0, 0, 1])
  })
  test('one that follows none is from the stream whose build it shares', () => {
    const { osv, ids } = feed()
    osv(
      alma('ALSA-2026:1', 'rubygem-pg', 'ruby:3.1', '1.3.5-1.module_el9.4.0+1+a'),
      alma('ALSA-2026:2', 'rubygem-pg', 'ruby:3.3', '1.5.4-1.module_el9.5.0+2+b'),
    )
    expect(ids('almalinux-9', 'rubygem-pg', '1.3.5-1.module_el9.4.0+1+a')).toEqual([])
    expect(ids('almalinux-9', 'rubygem-pg', '1.3.2-1.module_el9.4.0+1+a')).toEqual(CVE)
  })
})

describe('updateinfo.xml of every distribution', () => {
  const pkg = (name: string, version: string, release: string): string =>
    `<package name="${name}" epoch="0" version="${version}" release="${release}" arch="x86_64" src="x.src.rpm"><filename>f</filename></package>`
  const update = (head: string, list: string): string =>
    `<updates><update type="security" from="x" status="final" version="1">${head}<references><reference href="https://x.test/CVE-2026-10001" id="CVE-2026-10001" title="CVE-2026-10001 a: overflow" type="cve"/></references><pkglist>${list}</pkglist></update></updates>`
  test.each([
    [
      'almalinux-9',
      '<id>ALSA-2026:1</id><title>Important: a security update</title><release>0</release>',
      '<collection short="almalinux-9-for-x86_64-baseos-rpms__9_1_default"><name>almalinux-9-for-x86_64-baseos-rpms__9_1_default</name>',
    ],
    [
      'rocky-8',
      '<id>RLSA-2026:1</id><title>Important: a</title><release>Rocky Linux 8</release><severity>Important</severity>',
      '<collection short="rocky-linux-8-x86-64-baseos-rpms"><name>x</name>',
    ],
    [
      'oracle-8',
      '<id>ELSA-2026-1</id><title>ELSA-2026-1: a security update</title><release>Oracle Linux 8</release><severity>IMPORTANT</severity>',
      '<collection short="ol8_baseos_latest"><name>Oracle Linux 8 BaseOS Latest</name>',
    ],
    [
      'opensuse-leap-15.6',
      '<id>openSUSE-SLE-15.6-2026-1</id><title>Security update for a</title><severity>important</severity><release>openSUSE Leap 15.6 Update</release><issued date="1722345678"/>',
      '<collection>',
    ],
    [
      'opensuse-leap-15.6',
      '<id>openSUSE-2026-139</id><title>Security update for a</title><severity>important</severity><release>openSUSE Backports SLE-15-SP6 Update</release>',
      '<collection short="openSUSE-Leap-15.6">',
    ],
    [
      'fedora-40',
      '<id>FEDORA-2026-a</id><title>a-2-1.fc40</title><release>Fedora 40</release><severity>Important</severity>',
      '<collection short="F40"><name>Fedora 40</name>',
    ],
    [
      'amazon-2',
      '<id>ALAS-2026-1</id><title>Amazon Linux 2 2017.12 - ALAS-2026-1: important priority package update for a</title><severity>important</severity>',
      '<collection short="amazon-linux-2"><name>Amazon Linux 2</name>',
    ],
  ])('%s: %s', async (ecosystem, head, collection) => {
    const { context, lines, entries } = feed()
    await readUpdateinfo(bytes(update(head, `${collection}${pkg('a', '2', '1')}</collection>`)), context)
    expect([
      entries.map(entry => entry.ecosystem),
      lines({ ecosystem, name: 'a', version: '1-1', arch: 'x86_64' }),
      lines({ ecosystem, name: 'a', version: '2-1', arch: 'x86_64' }),
    ]).toEqual([[ecosystem], ['CVE-2026-10001 high 2-1'], []])
  })
  const both = update(
    '<id>RLSA-2026:1</id>',
    `<collection short="rocky-linux-8-x86-64-baseos-rpms">${pkg('a', '2', '1.el8')}</collection><collection short="rocky-linux-9-x86-64-baseos-rpms">${pkg('a', '3', '1.el9')}</collection>`,
  )
  test('an update of two releases says of each what its own repository has', async () => {
    const { context, ids } = feed()
    await readUpdateinfo(bytes(both), context)
    expect([
      ids('rocky-8', 'a', '1-1.el8'),
      ids('rocky-8', 'a', '2-1.el8'),
      ids('rocky-9', 'a', '2-1.el9'),
      ids('rocky-9', 'a', '3-1.el9'),
    ]).toEqual([CVE, [], CVE, []])
  })
  test('and where it was loaded for one of them, what is for the other is left out', async () => {
    const { context, ids, skipped } = feed()
    await readUpdateinfo(bytes(both), context, 'rocky-9')
    expect([ids('rocky-9', 'a', '2-1.el9'), ids('rocky-9', 'a', '3-1.el9'), skipped]).toEqual([
      CVE,
      [],
      ['other_ecosystem'],
    ])
  })
  test('an epoch that is none is 0', async () => {
    const { context, ids, skipped } = feed()
    await readUpdateinfo(bytes(both.replaceAll('epoch="0"', 'epoch="None"')), context)
    expect([ids('rocky-8', 'a', '1-1.el8'), ids('rocky-8', 'a', '2-1.el8'), skipped]).toEqual([CVE, [], []])
  })
  test('a module holds for its own collection only', async () => {
    const { context, ids } = feed()
    const module = (stream: string): string =>
      `<collection><module name="nodejs" stream="${stream}" version="1" context="c" arch="x86_64"/>${pkg('nodejs', `${stream}.9.0`, '1.module+el8.8.0+1+a')}</collection>`
    await readUpdateinfo(
      bytes(
        update(
          '<id>RLSA-2026:1</id><release>Rocky Linux 8</release>',
          `${module('16')}${module('18')}<collection>${pkg('b', '2', '1.el8')}</collection>`,
        ),
      ),
      context,
    )
    expect(
      ['16.1.0', '16.9.0'].map(
        version => ids('rocky-8', 'nodejs', `${version}-1.module+el8.8.0+1+a`, { module: 'nodejs:16:1:a' }).length,
      ),
    ).toEqual([1, 0])
    expect([
      ids('rocky-8', 'nodejs', '18.1.0-1.module+el8.8.0+1+a', { module: 'nodejs:18:1:a' }),
      ids('rocky-8', 'b', '1-1.el8'),
    ]).toEqual([CVE, CVE])
  })
})

describe('the fix', () => {
  test('is the lowest version that no advisory of the vulnerability calls affected', () => {
    const { osv, lines } = feed()
    osv(
      record('PYSEC-2026-1', [{ package: { ecosystem: 'PyPI', name: 'a' }, versions: ['1.0', '1.1'] }], {
        aliases: CVE,
      }),
      record('GHSA-aaaa-bbbb-cccc', [affected('PyPI', 'a', fixed('1.2'))], { aliases: CVE }),
      record('PYSEC-2026-2', [affected('PyPI', 'b', [{ introduced: '0' }, { last_affected: '1.5' }])], {
        aliases: CVE,
      }),
      record('GHSA-dddd-eeee-ffff', [affected('PyPI', 'b', fixed('1.6'))], { aliases: CVE }),
      record(
        'GHSA-gggg-hhhh-iiii',
        [affected('PyPI', 'c', fixed('1.6')), affected('PyPI', 'c', [{ introduced: '0' }])],
        { aliases: CVE },
      ),
    )
    expect(['a', 'b', 'c'].map(name => lines({ ecosystem: 'pypi', name, version: '1.1' }))).toEqual([
      ['CVE-2026-10001 unknown 1.2'],
      ['CVE-2026-10001 unknown 1.6'],
      ['CVE-2026-10001 unknown -'],
    ])
  })
})

describe('versions at the edge of what can be compared', () => {
  test('what is affected from the first version on, without a fix, is so however it is written', () => {
    const { osv, ids, match } = feed()
    osv(
      record('PYSEC-2026-1', [affected('PyPI', 'a', [{ introduced: '0' }])], { aliases: CVE }),
      record('PYSEC-2026-2', [affected('PyPI', 'b', fixed('2.0'))], { aliases: CVE }),
    )
    expect([
      ids('pypi', 'a', 'trunk'),
      ids('pypi', 'b', 'trunk'),
      match({ ecosystem: 'pypi', name: 'b', version: 'trunk' }).isUnreadable,
    ]).toEqual([CVE, [], true])
  })
  test('what came before PEP 440 stands before all that it knows', () => {
    const { osv, ids } = feed()
    osv(
      record('PYSEC-2026-1', [affected('PyPI', 'a', fixed('2.0'))], { aliases: CVE }),
      record('PYSEC-2026-2', [affected('PyPI', 'b', [{ introduced: '1.0' }, { fixed: '2.0' }])], { aliases: CVE }),
      record('PYSEC-2026-3', [affected('PyPI', 'c', fixed('2004f'))], { aliases: CVE }),
    )
    expect([ids('pypi', 'a', '2004d'), ids('pypi', 'b', '2004d'), ids('pypi', 'c', '2004d')]).toEqual([CVE, [], CVE])
  })
  test('a fix that is a rebuild tells rebuilds apart; another fix does not', () => {
    const { osv, ids } = feed()
    osv(
      record('DEBIAN-CVE-2026-10001', [
        affected('Debian:12', 'a', fixed('3.0-1+b2')),
        affected('Debian:12', 'b', fixed('3.0-1')),
      ]),
    )
    expect(
      ['3.0-1', '3.0-1+b1', '3.0-1+b2', '3.0-1+b10'].map(version => ids('debian-12', 'a', version).length),
    ).toEqual([1, 1, 0, 0])
    expect(['3.0-1~rc1+b1', '3.0-1', '3.0-1+b1'].map(version => ids('debian-12', 'b', version).length)).toEqual([
      1, 0, 0,
    ])
  })
  test('a local build of a Python version is as affected as the version is', () => {
    const { osv, ids } = feed()
    osv(
      record('PYSEC-2026-1', [affected('PyPI', 'a', [{ introduced: '1.0' }, { last_affected: '2.0.0' }])], {
        aliases: CVE,
      }),
      record('PYSEC-2026-2', [{ package: { ecosystem: 'PyPI', name: 'b' }, versions: ['2.0.0'] }], { aliases: CVE }),
      record('PYSEC-2026-3', [affected('PyPI', 'c', fixed('2.0.0+fix1'))], { aliases: CVE }),
    )
    expect(
      ['0.9+cu118', '1.0+cu118', '2.0.0+cu118', '2.0.1+cu118'].map(version => ids('pypi', 'a', version).length),
    ).toEqual([0, 1, 1, 0])
    expect([ids('pypi', 'b', '2.0.0+cu118'), ids('pypi', 'b', '2.0.1+cu118')]).toEqual([CVE, []])
    expect(
      ['2.0.0', '2.0.0+fix0', '2.0.0+fix1', '2.0.0+fix2'].map(version => ids('pypi', 'c', version).length),
    ).toEqual([1, 1, 0, 0])
  })
  test('Maven versions may be words with the mark of a release, but not any word', () => {
    const { osv, ids, skipped } = feed()
    osv(
      record(
        'GHSA-aaaa-bbbb-cccc',
        [affected('Maven', 'g:a', [{ introduced: 'Greenwich.RELEASE' }, { fixed: 'Hoxton.SR8' }])],
        { aliases: CVE },
      ),
      record('GHSA-dddd-eeee-ffff', [affected('Maven', 'g:b', fixed('unknown'))], { aliases: CVE }),
    )
    expect([
      ...['Finchley.SR9', 'Greenwich.RELEASE', 'Hoxton.SR1', 'Hoxton.SR8'].map(
        version => ids('maven', 'g:a', version).length,
      ),
      ids('maven', 'g:b', '1'),
      skipped,
    ]).toEqual([0, 1, 1, 0, [], ['bad_version']])
  })
  test('events of kinds that a later schema brings do not hide those that are known', () => {
    const { osv, ids, skipped } = feed()
    osv(
      record('PYSEC-2026-1', [affected('PyPI', 'a', [{ introduced: '0' }, { mitigated: '0.9' }, { fixed: '1.0' }])], {
        aliases: CVE,
      }),
      record('PYSEC-2026-2', [affected('PyPI', 'b', [{ introduced: '0' }, { fixed: null }])], { aliases: CVE }),
    )
    expect([ids('pypi', 'a', '0.5'), ids('pypi', 'a', '1.0'), ids('pypi', 'b', '0.5'), skipped]).toEqual([
      CVE,
      [],
      [],
      ['malformed'],
    ])
  })
  test('a Maven package is the same one in whichever repository its record says it lies', () => {
    const { osv, ids } = feed()
    osv(
      record('GHSA-aaaa-bbbb-cccc', [affected('Maven:https://repo.example.test/releases/', 'g:a', fixed('2.0'))], {
        aliases: CVE,
      }),
    )
    expect(ids('maven', 'g:a', '1.0')).toEqual(CVE)
  })
  test('a source of openSUSE that builds no package of its name is found by it nevertheless', () => {
    const { osv, ids } = feed()
    osv(
      record(
        'SUSE-SU-2026:1-1',
        [
          affected('openSUSE:Leap 15.6', 'libxml2', fixed('2.9-3'), {
            ecosystem_specific: { binaries: [{ 'libxml2-2': '2.9-3' }] },
          }),
        ],
        { upstream: CVE },
      ),
    )
    expect([
      ids('opensuse-leap-15.6', 'libxml2', '2.9-1'),
      ids('opensuse-leap-15.6', 'libxml2', '2.9-3'),
      ids('opensuse-leap-15.6', 'libxml2-2', '2.9-1', { source: { name: 'libxml2', version: '2.9-1' } }),
      ids('opensuse-leap-15.6', 'libxml2-2-debuginfo', '2.9-1', { source: { name: 'libxml2', version: '2.9-1' } }),
    ]).toEqual([CVE, [], CVE, []])
  })
  test('ranges of semantic versions hold for a Python package by its own order', () => {
    const { osv, ids, match } = feed()
    osv(
      record('GHSA-aaaa-bbbb-cccc', [
        { package: { ecosystem: 'PyPI', name: 'a' }, ranges: [{ type: 'SEMVER', events: fixed('1.0.0') }] },
      ]),
    )
    expect([
      ids('pypi', 'a', '1.0rc1').length,
      ids('pypi', 'a', '1.0.post1').length,
      match({ ecosystem: 'pypi', name: 'a', version: '1.0rc1' }).isUnreadable,
    ]).toEqual([1, 0, false])
  })
})

describe("names of vulnerabilities in Alpine's secdb", () => {
  test.each([
    ['CVE_2026-10001', CVE],
    ['CVE 2026-10001', CVE],
    ['CVE-2026-10001 XSA-7', CVE],
    ['CVE-????-?????  XSA-7', ['XSA-7']],
    ['CVE N/A ZBX-7', ['ZBX-7']],
    ['XSA-7', ['XSA-7']],
    ['GHSA-aaaa-bbbb-cccc', ['GHSA-aaaa-bbbb-cccc']],
    ['CVE-????-?????', []],
    ['not known', []],
  ])('%s', (text, expected) => {
    const { context, ids } = feed()
    readAlpineSecdb(
      { distroversion: 'v3.20', packages: [{ pkg: { name: 'a', secfixes: { '2-r0': [text] } } }] },
      context,
    )
    expect([ids('alpine-3.20', 'a', '1-r0'), ids('alpine-3.20', 'a', '2-r0')]).toEqual([expected, []])
  })
})
