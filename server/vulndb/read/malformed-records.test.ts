import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { orders } from '../../../test/support/advisory-set.ts'
import { buildZip, osvRecord, osvZip } from '../../../test/support/zip.ts'
import { getDistribution, repositories } from '../../../test/support/repositories.ts'
import { coverageOf } from '../match/coverage.ts'
import { createDatabase } from '../store/database.ts'
import { importData, type ImportResult } from '../store/import.ts'
import { matchPackage } from '../match/match.ts'
import { createThreatIntel } from '../intel/threat-intel.ts'
import { ecosystemsOf } from '../match/ecosystems.ts'

/**
 * What upstreams publish by mistake, and what somebody may put into a feed on purpose: no record may spoil the others.
 */

let security: string
beforeEach(async () => {
  security = await mkdtemp(join(tmpdir(), 'gh-odd-'))
})
afterEach(async () => {
  await rm(security, { recursive: true, force: true })
})

const NOW = new Date('2026-06-01T00:00:00.000Z')
let files = 0
async function load(
  ...list: readonly (readonly [label: string, bytes: Buffer | string, whole?: boolean])[]
): Promise<ImportResult> {
  const inputs = await Promise.all(
    list.map(async ([label, bytes, whole = false]) => {
      const path = join(security, `input-${files++}`)
      await writeFile(path, bytes)
      return { path, label, whole }
    }),
  )
  return importData(
    { security, files: inputs, force: false, key: '', now: NOW.toISOString(), ecosystems: ecosystemsOf(repositories) },
    orders,
  )
}
async function ids(ecosystem: string, name: string, version: string): Promise<string[]> {
  const snapshot = await createDatabase({ security }).open()
  return matchPackage({ ecosystem, name, version }, (await snapshot?.rows(ecosystem, [name])) ?? [], orders)
    .findings.map(({ id }) => id)
    .sort()
}
const covers = async (now = NOW) =>
  coverageOf(getDistribution('bookworm'), {
    meta: (await createDatabase({ security }).open())?.meta,
    now,
    maxAgeDays: 14,
  })
const debian = (n: number, name: string, more: object = {}) =>
  osvRecord(`DEBIAN-CVE-2026-${10_000 + n}`, [['Debian:12', name, '2']], { modified: '2026-05-31T00:00:00Z', ...more })
const others = Array.from({ length: 120 }, (_, n) => debian(1_000 + n, `f${n}`))

test.each([
  ['no date', 'soon'],
  ['a date that has not come', '2099-01-01T00:00:00Z'],
  ['a number', 7],
  ['another zone', '2026-05-31T23:00:00+09:00'],
])(
  'a record whose day of change is %s neither breaks nor refreshes what is known of the age of the others',
  async (_, modified) => {
    await load(['all.zip', osvZip([...others, debian(1, 'a', { modified })])])
    expect([
      await ids('debian-12', 'a', '1'),
      (await covers()).coverage,
      (await covers(new Date('2026-06-20'))).coverage,
    ]).toEqual([['CVE-2026-10001'], 'covered', 'stale'])
    expect((await covers()).data_at?.slice(0, 4)).toBe('2026')
  },
)
test('names that look like the lines of the tables are names', async () => {
  const names = ['x",[1', '"', '\\', '\\",[{"a":0}]', '__proto__', 'a\nb', '\u2028']
  await load(['all.zip', osvZip(names.map((name, n) => debian(n, name)))])
  await load(['all.zip', osvZip([debian(99, 'later')])])
  for (const [n, name] of names.entries()) expect(await ids('debian-12', name, '1')).toEqual([`CVE-2026-${10_000 + n}`])
})
test.each([
  ['an update that mends no vulnerability and has no end', osvRecord('ALBA-2026:1', [['AlmaLinux:9', 'a', '']])],
  ['a fix that is a rebuild', osvRecord('DEBIAN-CVE-2026-10001', [['Debian:12', 'a', '3.0+b2']])],
  ['a source that only signs another', osvRecord('DEBIAN-CVE-2026-10001', [['Debian:12', 'linux-signed-amd64', '']])],
])('%s does not keep the rest of an import out', async (_, odd) => {
  await load(['all.zip', osvZip([odd, debian(2, 'b')])])
  expect(await ids('debian-12', 'b', '1')).toEqual(['CVE-2026-10002'])
})
test('wrong types, deep nesting and what is from the future are read as far as they can be', async () => {
  const wrong = [
    { affected: 'all' },
    { affected: [null, 7, []] },
    { affected: [{ package: 'a', ranges: {} }] },
    { severity: { type: 'CVSS_V3' }, aliases: 'CVE-1', references: [null], summary: [] },
    { related: [{}], upstream: 7, database_specific: [] },
  ].map((more, n) => debian(n, `w${n}`, more))
  const deep = `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`
  const future = JSON.stringify({ ...debian(50, 'future'), schema_version: '9.1.0', unheard_of: { of: [1] } })
  const zip = buildZip([
    { name: 'dir/', body: '', stored: true },
    ...wrong.map((one, n) => ({ name: `dir/${n}.json`, body: JSON.stringify(one) })),
    { name: 'deep.json', body: `{"id":"DEBIAN-CVE-2026-10060","affected":[],"database_specific":${deep}}` },
    { name: 'cut.json', body: '{"id":"DEBIAN-CVE-2026-10061","affected":[' },
    { name: 'future.json', body: future },
    {
      name: 'windows.json',
      body: `\ufeff${JSON.stringify(debian(51, 'windows'), undefined, 2).replaceAll('\n', '\r\n')}`,
    },
  ])
  expect((await load(['all.zip', zip])).sources).toMatchObject([
    { name: 'osv/Debian', records: 8, skipped: { malformed: 1, no_package: 4 } },
  ])
  expect([
    await ids('debian-12', 'future', '1'),
    await ids('debian-12', 'windows', '1'),
    await ids('debian-12', 'w4', '1'),
  ]).toEqual([['CVE-2026-10050'], ['CVE-2026-10051'], ['CVE-2026-10004']])
})
test('a byte order mark in front of a feed is none of its content', async () => {
  const kev = {
    catalogVersion: '1',
    dateReleased: '2026-05-01',
    count: 1,
    vulnerabilities: [{ cveID: 'CVE-2026-10001', dateAdded: '2026-05-01' }],
  }
  await load(
    ['record.json', `\ufeff${JSON.stringify(debian(1, 'a'))}`],
    ['kev.json', `\ufeff${JSON.stringify(kev)}`],
    [
      'epss.csv',
      '\ufeff#model_version:v1,score_date:2026-05-01T00:00:00Z\r\ncve,epss,percentile\r\nCVE-2026-10001,0.5,0.9\r\n',
    ],
    [
      'tracker.json',
      `\ufeff${JSON.stringify({ b: { 'CVE-2026-10002': { releases: { bookworm: { status: 'open' } } } } })}`,
    ],
    [
      'main.json',
      `\ufeff${JSON.stringify({ distroversion: 'v3.20', reponame: 'main', packages: [{ pkg: { name: 'c', secfixes: { '2-r0': ['CVE-2026-10003'] } } }] })}`,
    ],
    [
      'updateinfo.xml',
      '\ufeff<?xml version="1.0"?>\r\n<updates><update type="security"><id>ALSA-2026:1</id><title>Low: d</title><references><reference id="CVE-2026-10004" href="x"/></references><pkglist><collection short="almalinux-9-for-x86_64-baseos-rpms"><package name="d" epoch="0" version="2" release="1" arch="x86_64"/></collection></pkglist></update></updates>',
    ],
  )
  const intel = createThreatIntel({ layout: { security } })
  expect([
    await ids('debian-12', 'a', '1'),
    await ids('debian-12', 'b', '1'),
    await ids('alpine-3.20', 'c', '1-r0'),
    await ids('almalinux-9', 'd', '1-1'),
  ]).toEqual([1, 2, 3, 4].map(n => [`CVE-2026-1000${n}`]))
  expect([(await intel.epss('CVE-2026-10001'))?.epss, (await intel.kev('CVE-2026-10001'))?.added]).toEqual([
    0.5,
    '2026-05-01',
  ])
})

const shared = (day: string, fixed: string, more: object = {}) =>
  osvRecord(
    'GHSA-aaaa-bbbb-cccc',
    [
      ['npm', 'a', fixed],
      ['PyPI', 'a', fixed],
      ['PyPI', 'b', fixed],
    ],
    { modified: `2026-05-${day}T00:00:00Z`, ...more },
  )
const both = async (version: string) =>
  [await ids('npm', 'a', version), await ids('pypi', 'a', version), await ids('pypi', 'b', version)].map(
    found => found.length,
  )

test.each([
  ['first', ['20', '10']],
  ['last', ['10', '20']],
])('of a record that comes twice the newest telling counts, also when it comes %s', async (_, days) => {
  const of = (day: string) => shared(day, day === '20' ? '2.0.0' : '')
  await load(['osv/npm/all.zip', osvZip([of(days[0] ?? '')])], ['osv/PyPI/all.zip', osvZip([of(days[1] ?? '')])])
  expect([await both('1.0.0'), await both('2.0.0')]).toEqual([
    [1, 1, 1],
    [0, 0, 0],
  ])
})
test('and when the newest says that it is withdrawn', async () => {
  await load(
    ['osv/npm/all.zip', osvZip([shared('20', '2.0.0', { withdrawn: '2026-05-20T00:00:00Z' })])],
    ['osv/PyPI/all.zip', osvZip([shared('10', '2.0.0')])],
  )
  expect(await both('1.0.0')).toEqual([0, 0, 0])
})
test('a dump of another ecosystem that is older brings no older telling of what both hold, and is taken', async () => {
  await load(['osv/PyPI/all.zip', osvZip([shared('20', '2.0.0')]), true])
  const { sources } = await load([
    'osv/npm/all.zip',
    osvZip([
      shared('10', ''),
      osvRecord('GHSA-dddd-eeee-ffff', [['npm', 'c', '2.0.0']], { modified: '2026-05-10T00:00:00Z' }),
    ]),
    true,
  ])
  expect(sources.map(({ name }) => name)).toEqual(['osv/npm'])
  expect([await both('1.0.0'), await both('2.0.0'), await ids('npm', 'c', '1.0.0')]).toEqual([
    [1, 1, 1],
    [0, 0, 0],
    ['GHSA-dddd-eeee-ffff'],
  ])
})

test('a zip of several ecosystems is not lost when the dump of one of them comes', async () => {
  const alma = osvRecord('ALSA-2026:1', [['AlmaLinux:9', 'd', '2-1']], {
    modified: '2026-05-10T00:00:00Z',
    related: ['CVE-2026-10003'],
  })
  const { sources } = await load([
    'osv-records.zip',
    osvZip([debian(1, 'a'), shared('10', '2.0.0'), alma, debian(2, 'b')]),
    true,
  ])
  expect(sources.map(({ name, records, as_of }) => [name, records, as_of.slice(0, 10)])).toEqual([
    ['osv/Debian', 2, '2026-05-31'],
    ['osv/npm', 1, '2026-05-10'],
    ['osv/AlmaLinux', 1, '2026-05-10'],
  ])
  await load(['osv/Debian/all.zip', osvZip([debian(3, 'a')]), true])
  expect([
    await ids('debian-12', 'a', '1'),
    await ids('debian-12', 'b', '1'),
    await both('1.0.0'),
    await ids('almalinux-9', 'd', '1-1'),
  ]).toEqual([['CVE-2026-10003'], [], [1, 1, 1], ['CVE-2026-10003']])
})
test('a zip of one ecosystem that stands alone is all there is of it, as its dump is', async () => {
  await load([
    'osv/npm/all.zip',
    osvZip([shared('10', '2.0.0'), osvRecord('GHSA-dddd-eeee-ffff', [['npm', 'c', '2.0.0']])]),
    true,
  ])
  const inTwo = osvRecord(
    'GHSA-gggg-hhhh-iiii',
    [
      ['PyPI', 'z', '1'],
      ['npm', 'z', '1.0.0'],
    ],
    { modified: '2026-05-10T00:00:00Z' },
  )
  expect(
    (await load(['all.zip', osvZip([shared('10', '2.0.0'), inTwo]), true])).sources.map(({ name, records }) => [
      name,
      records,
    ]),
  ).toEqual([['osv/npm', 2]])
  expect([await both('1.0.0'), await ids('npm', 'c', '1.0.0'), await ids('pypi', 'z', '0.1')]).toEqual([
    [1, 1, 1],
    [],
    ['GHSA-gggg-hhhh-iiii'],
  ])
})

test('a record of thousands of names and stretches is matched without working them out again for each', async () => {
  const events = Array.from({ length: 5_000 }, (_, n) => [{ introduced: `${n}.0` }, { fixed: `${n}.5` }]).flat()
  const of = (ecosystem: string) => [{ package: { ecosystem, name: 'y' }, ranges: [{ type: 'ECOSYSTEM', events }] }]
  const cves = Array.from({ length: 5_000 }, (_, n) => `CVE-2026-${10_000 + n}`)
  const modified = '2026-05-10T00:00:00Z'
  await load([
    'all.zip',
    osvZip([
      { id: 'GHSA-aaaa-bbbb-cccc', modified, aliases: cves, affected: of('PyPI') },
      { id: 'DSA-1-1', modified, upstream: cves, affected: of('Debian:12') },
    ]),
  ])
  const rows = (await (await createDatabase({ security }).open())?.rows('debian-12', ['y'])) ?? []
  let compared = 0
  const counting = {
    ...orders,
    deb: {
      ...orders.deb,
      compare: (a: string, b: string) => {
        compared++
        return orders.deb.compare(a, b)
      },
    },
  }
  const { findings } = matchPackage({ ecosystem: 'debian-12', name: 'y', version: '7.1' }, rows, counting)
  expect([findings.length, findings[4_999]?.fixed_in, compared < 100_000]).toEqual([5_000, '7.5', true])
  expect(await ids('pypi', 'y', '7.1')).toHaveLength(100)
})
