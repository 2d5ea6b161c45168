import { existsSync, readdirSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import * as openpgp from 'openpgp'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { buildZip, osvRecord, osvZip } from '../../../test/support/zip.ts'
import { tar } from '../../../test/support/packages.ts'
import { compareVersions as apk } from '../../formats/apk/version.ts'
import { compareVersions as deb } from '../../formats/deb/version.ts'
import { compareVersions as rpm } from '../../formats/rpm/version.ts'
import { packBundle } from '../read/bundle.ts'
import { createDatabase } from './database.ts'
import { OlderData } from './carry-over.ts'
import { importData, type ImportResult } from './import.ts'
import { matchPackage } from '../match/match.ts'
import { createOrders } from '../versions/orders.ts'
import { createVulndbLayout, currentGeneration, useNewest } from './layout.ts'
import type { ImportFile } from '../read/run.ts'
import { createThreatIntel } from '../intel/threat-intel.ts'
import { ecosystemsOf } from '../match/ecosystems.ts'
import { repositories } from '../../../test/support/repositories.ts'

const compare = { deb, rpm, apk }
const orders = createOrders({ compare: (format, a, b) => compare[format](a, b) })

let security: string
beforeEach(async () => {
  security = await mkdtemp(join(tmpdir(), 'gh-vulndb-'))
})
afterEach(async () => {
  await rm(security, { recursive: true, force: true })
})

let files = 0
async function file(bytes: Buffer | string, label: string, more: Partial<ImportFile> = {}): Promise<ImportFile> {
  const path = join(security, `input-${files++}`)
  await writeFile(path, bytes)
  return { path, label, ...more }
}
const load = async (list: readonly ImportFile[], more: { force?: boolean; key?: string } = {}): Promise<ImportResult> =>
  importData(
    {
      security,
      files: list,
      force: false,
      key: '',
      now: new Date().toISOString(),
      ecosystems: ecosystemsOf(repositories),
      ...more,
    },
    orders,
  )
async function ids(ecosystem: string, name: string, version: string): Promise<string[]> {
  const snapshot = await createDatabase({ security }).open()
  return matchPackage({ ecosystem, name, version }, (await snapshot?.rows(ecosystem, [name])) ?? [], orders)
    .findings.map(({ id }) => id)
    .sort()
}
const day = (n: number): string => new Date(Date.UTC(2026, 0, n)).toISOString()
const debian = (id: string, name: string, fixed: string, more: object = {}) =>
  osvRecord(id, [['Debian:12', name, fixed]], more)

test('what was loaded stays beside what comes in, and a record that comes again replaces itself', async () => {
  await load([
    await file(
      osvZip([debian('DEBIAN-CVE-2026-10001', 'a', '2'), debian('DEBIAN-CVE-2026-10002', 'b', '2')]),
      'all.zip',
    ),
  ])
  const second = await load([
    await file(
      osvZip([
        debian('DEBIAN-CVE-2026-10001', 'c', '2'),
        osvRecord('ALSA-2026:1', [['AlmaLinux:9', 'd', '2-1']], { related: ['CVE-2026-10003'] }),
      ]),
      'all.zip',
    ),
  ])
  expect(second).toMatchObject({ status: 'imported', generation: 2 })
  expect([
    await ids('debian-12', 'a', '1'),
    await ids('debian-12', 'b', '1'),
    await ids('debian-12', 'c', '1'),
    await ids('almalinux-9', 'd', '1-1'),
  ]).toEqual([[], ['CVE-2026-10002'], ['CVE-2026-10001'], ['CVE-2026-10003']])
})
test('a dump that is whole takes what it no longer holds with it; others stay', async () => {
  await load([
    await file(osvZip([debian('DEBIAN-CVE-2026-10001', 'a', '2')]), 'osv/Debian/all.zip', { whole: true }),
    await file(osvZip([osvRecord('GHSA-aaaa-bbbb-cccc', [['npm', 'x', '2.0.0']])]), 'osv/npm/all.zip', { whole: true }),
  ])
  await load([await file(osvZip([debian('DEBIAN-CVE-2026-10002', 'a', '2')]), 'osv/Debian/all.zip', { whole: true })])
  expect([await ids('debian-12', 'a', '1'), await ids('npm', 'x', '1.0.0')]).toEqual([
    ['CVE-2026-10002'],
    ['GHSA-aaaa-bbbb-cccc'],
  ])
})
test('a record that was withdrawn since is removed', async () => {
  await load([
    await file(
      osvZip([debian('DEBIAN-CVE-2026-10001', 'a', '2'), debian('DEBIAN-CVE-2026-10002', 'a', '2')]),
      'all.zip',
    ),
  ])
  await load([await file(osvZip([debian('DEBIAN-CVE-2026-10001', 'a', '2', { withdrawn: day(1) })]), 'all.zip')])
  expect(await ids('debian-12', 'a', '1')).toEqual(['CVE-2026-10002'])
})
test('the same file again changes nothing', async () => {
  const input = await file(osvZip([debian('DEBIAN-CVE-2026-10001', 'a', '2')]), 'all.zip')
  await load([input])
  expect(await load([input])).toMatchObject({ status: 'unchanged', generation: 1 })
})
test('older data are refused and leave everything as it was, unless they are forced', async () => {
  const of = async (n: number) =>
    file(osvZip([debian('DEBIAN-CVE-2026-10001', 'a', String(n), { modified: day(n) })]), 'all.zip')
  await load([await of(5)])
  await expect(load([await of(4)])).rejects.toThrow(OlderData)
  expect(await ids('debian-12', 'a', '4')).toEqual(['CVE-2026-10001'])
  await load([await of(4)], { force: true })
  expect(await ids('debian-12', 'a', '4')).toEqual([])
  const whole = async (n: number) =>
    file(`{"a": {"CVE-2026-1000${n}": {"releases": {"bookworm": {"status": "open"}}}}}`, 'debian/tracker.json', {
      whole: true,
      as_of: day(n),
    })
  await load([await whole(5)])
  await expect(load([await whole(4)])).rejects.toThrow('debian/tracker is of 2026-01-04')
})
test('one generation before the current one is kept, and pieces of an import that was cut off are swept', async () => {
  const place = createVulndbLayout({ security })
  await mkdir(join(place.folder, '9.part', 'debian-12'), { recursive: true })
  for (const n of [1, 2, 3]) await load([await file(osvZip([debian(`DEBIAN-CVE-2026-1000${n}`, 'a', '2')]), 'all.zip')])
  expect((await readdir(place.folder)).sort()).toEqual(['2', '3', 'current'])
  expect(await ids('debian-12', 'a', '1')).toEqual(['CVE-2026-10001', 'CVE-2026-10002', 'CVE-2026-10003'])
})
test('damage leaves the old data live and nothing behind', async () => {
  await load([await file(osvZip([debian('DEBIAN-CVE-2026-10001', 'a', '2')]), 'all.zip')])
  for (const bytes of [
    buildZip([{ name: 'a.json', body: '{"id": "x", "modified": "", "affected": []}', crc: 7 }]),
    gzipSync('{"catalogVersion": "1", "count": 3, "vulnerabilities": []}'),
    Buffer.from('hello'),
    osvZip([]),
    Buffer.from('{"a": {"CVE-2026-10009": {"releases": {"bookworm": {"status": "open"}}}}, "b"'),
  ]) {
    await expect(load([await file(bytes, 'x')])).rejects.toThrow()
  }
  expect([
    await currentGeneration(createVulndbLayout({ security })),
    await ids('debian-12', 'a', '1'),
    (await readdir(createVulndbLayout({ security }).folder)).sort(),
  ]).toEqual([1, ['CVE-2026-10001'], ['1', 'current']])
})
test('after a restore, which has no link, the newest generation that is whole is in use', async () => {
  const place = createVulndbLayout({ security })
  await useNewest(place)
  expect(await currentGeneration(place)).toBeUndefined()
  for (const n of [1, 2])
    await load([await file(osvZip([osvRecord(`DEBIAN-CVE-2026-1000${n}`, [['Debian:12', 'a', '']])]), 'all.zip')])
  await rm(place.link)
  await mkdir(place.generation(3))
  await useNewest(place)
  expect(await currentGeneration(place)).toBe(2)
  expect(await ids('debian-12', 'a', '1')).toContain('CVE-2026-10002')
})
test('a small zip that unpacks to hundreds of megabytes is refused', async () => {
  await expect(
    load([
      await file(
        buildZip(
          Array.from({ length: 6 }, (_, n) => ({
            name: `${n}.json`,
            body: `{"id": "x", "details": "${' '.repeat(15 * 2 ** 20)}"}`,
          })),
        ),
        'all.zip',
      ),
    ]),
  ).rejects.toThrow('unpacks to more than allowed')
  expect(await currentGeneration(createVulndbLayout({ security }))).toBeUndefined()
})
test('a record of a hundred thousand brackets is ignored', async () => {
  const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  expect(
    await load([
      await file(`{"id": "CVE-2026-10001", "modified": "2026-01-01T00:00:00Z", "affected": ${nested}}`, 'a.json'),
    ]),
  ).toMatchObject({ sources: [{ records: 1, rows: 0, skipped: { no_package: 1 } }] })
})
test('records that are no JSON or break the schema are counted, the others load', async () => {
  const { sources } = await load([
    await file(
      buildZip([
        { name: 'a.json', body: '{"id": broken' },
        { name: 'b.json', body: '{"id": 5}' },
        { name: 'c.json', body: JSON.stringify(debian('DEBIAN-CVE-2026-10001', 'a', '2')) },
        { name: 'README.md', body: 'hello' },
      ]),
      'all.zip',
    ),
  ])
  expect(sources).toMatchObject([{ name: 'osv/Debian', records: 1, rows: 1, skipped: { malformed: 2 } }])
})
test('a table that grows is cut into more pieces, and every name is found before and after', async () => {
  const records = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, n) => debian(`DEBIAN-CVE-2026-${10_000 + from + n}`, `p${from + n}`, '2'))
  const facts = async () => (await createDatabase({ security }).open())?.meta.ecosystems['debian-12']
  await load([await file(osvZip(records(0, 900)), 'all.zip')])
  expect(await facts()).toMatchObject({ digits: 0, rows: 900 })
  await load([await file(osvZip(records(900, 1_500)), 'all.zip')])
  expect(await facts()).toMatchObject({ digits: 1, rows: 1_500 })
  for (const n of [0, 899, 900, 1_499]) expect(await ids('debian-12', `p${n}`, '1')).toEqual([`CVE-2026-${10_000 + n}`])
})
test('a missing piece is an error, never an empty answer', async () => {
  await load([await file(osvZip([debian('DEBIAN-CVE-2026-10001', 'a', '2')]), 'all.zip')])
  await rm(join(createVulndbLayout({ security }).generation(1), 'debian-12', 'all.ndjson.gz'))
  await expect(ids('debian-12', 'a', '1')).rejects.toThrow('ENOENT')
  await writeFile(join(createVulndbLayout({ security }).generation(1), 'debian-12', 'all.ndjson.gz'), 'not gzip')
  await expect(ids('debian-12', 'a', '1')).rejects.toThrow('damaged')
})

describe('exploitation', () => {
  const kev = (n: number, more: object = {}) =>
    JSON.stringify({
      title: 'x',
      catalogVersion: `2026.01.0${n}`,
      dateReleased: day(n),
      count: 1,
      vulnerabilities: [
        {
          cveID: `CVE-2026-1000${n}`,
          dateAdded: '2026-01-01',
          dueDate: '2026-01-22',
          knownRansomwareCampaignUse: 'Known',
        },
      ],
      ...more,
    })
  const epss = (head: string) => gzipSync(`${head}cve,epss,percentile\nCVE-2026-10001,0.5,0.9\nCVE-2026-10002,0,0\n`)

  test('scores and the catalogue are looked up, and stay when something else is imported', async () => {
    await load([
      await file(kev(1), 'kev.json'),
      await file(epss('#model_version:v2026.06.15,score_date:2026-01-03T00:00:00+0000\n'), 'epss.csv.gz'),
    ])
    await load([await file(osvZip([debian('DEBIAN-CVE-2026-10001', 'a', '2')]), 'all.zip')])
    const intel = createThreatIntel({ layout: { security } })
    expect(await intel.epss('CVE-2026-10001')).toEqual({ epss: 0.5, percentile: 0.9, date: '2026-01-03' })
    expect(await intel.epss('CVE-2026-10009')).toBeUndefined()
    expect(await intel.kev('CVE-2026-10001')).toEqual({ added: '2026-01-01', due: '2026-01-22', ransomware: true })
    expect(await intel.status()).toMatchObject({
      epss: { date: '2026-01-03', model: 'v2026.06.15', entries: 2 },
      kev: { version: '2026.01.01', entries: 1 },
    })
  })
  test('a file without its first line has the date of its name', async () => {
    await load([await file(epss(''), 'epss_scores-2026-01-04.csv.gz')])
    expect((await createThreatIntel({ layout: { security } }).status()).epss).toMatchObject({ date: '2026-01-04' })
  })
  test('of two that come together the newer one counts; an older one later is refused', async () => {
    await load([await file(kev(2), 'a'), await file(kev(1), 'b')])
    expect(await createThreatIntel({ layout: { security } }).kev('CVE-2026-10002')).toBeDefined()
    await expect(load([await file(kev(1, { title: 'y' }), 'b')])).rejects.toThrow(OlderData)
  })
  test('before any import nothing is known', async () => {
    const intel = createThreatIntel({ layout: { security } })
    expect([await intel.epss('CVE-2026-10001'), await intel.kev('CVE-2026-10001'), await intel.status()]).toEqual([
      undefined,
      undefined,
      {},
    ])
  })
})

test.each([
  ['2020', undefined, '2020-12-31T00:00:00.000Z'],
  ['2020', '2026-11-01T00:00:00.000Z', '2020-12-31T00:00:00.000Z'],
  ['2025', '2026-01-05T00:00:00.000Z', '2026-01-05T00:00:00.000Z'],
  ['2999', undefined, ''],
  ['2999', '2998-01-01T00:00:00.000Z', ''],
])(
  'a tracker, which has no dates, with CVEs of %s, that came with the date %s, is of %j',
  async (year, as_of, expected) => {
    const tracker = `{"a": {"CVE-${year}-10001": {"releases": {"bookworm": {"status": "open"}}}}}`
    const { sources } = await load([
      await file(tracker, 'debian/tracker.json', { whole: true, ...(as_of === undefined ? {} : { as_of }) }),
    ])
    expect(sources.map(one => one.as_of)).toEqual([expected])
  },
)

describe('bundles', () => {
  const zip = () => osvZip([debian('DEBIAN-CVE-2026-10001', 'a', '2', { modified: day(2) })])
  async function keys() {
    const { privateKey, publicKey } = await openpgp.generateKey({
      type: 'ecc',
      curve: 'ed25519Legacy',
      userIDs: [{ name: 'Bundles' }],
      format: 'object',
    })
    const sign = async (manifest: Buffer) =>
      openpgp.sign({
        message: await openpgp.createMessage({ binary: manifest }),
        signingKeys: privateKey,
        detached: true,
      })
    return { sign, key: publicKey.armor() }
  }
  async function bundle({
    created = day(3),
    sign,
    path = 'osv/Debian/all.zip',
    bytes = zip(),
  }: {
    created?: string
    sign?: (manifest: Buffer) => Promise<string>
    path?: string
    bytes?: Buffer
  } = {}): Promise<ImportFile> {
    const input = await file(bytes, 'x')
    const to = join(security, `bundle-${files++}.tar`)
    await packBundle(to, [{ from: input.path, path, source_date: created }], {
      created,
      ...(sign === undefined ? {} : { sign }),
    })
    return { path: to, label: 'vulndb.tar' }
  }

  test('its files are loaded under the names it gives them', async () => {
    expect(await load([await bundle()])).toMatchObject({
      status: 'imported',
      signature: 'not_checked',
      // what the content says, not what the bundle says of it
      sources: [{ name: 'osv/Debian', as_of: day(2) }],
    })
    expect(await ids('debian-12', 'a', '1')).toEqual(['CVE-2026-10001'])
  })
  test('with a pinned key only its signature counts', async () => {
    const [ours, theirs] = [await keys(), await keys()]
    await expect(load([await bundle()], { key: ours.key })).rejects.toThrow('not signed')
    await expect(load([await bundle({ sign: theirs.sign })], { key: ours.key })).rejects.toThrow(
      'signature of the bundle',
    )
    await expect(load([await file(zip(), 'all.zip')], { key: ours.key })).rejects.toThrow('only a bundle can be signed')
    expect(await load([await bundle({ sign: ours.sign })], { key: ours.key })).toMatchObject({ signature: 'verified' })
  })
  test('an older one is refused unless it is forced', async () => {
    await load([await bundle({ created: day(5) })])
    const older = await bundle({
      created: day(4),
      bytes: osvZip([debian('DEBIAN-CVE-2026-10002', 'a', '2', { modified: day(1) })]),
    })
    await expect(load([older])).rejects.toThrow('osv/Debian is of 2026-01-01')
    expect(await load([older], { force: true })).toMatchObject({ status: 'imported' })
  })
  test('files for other engines are put where those look for them', async () => {
    const { others } = await load([
      await bundle({ path: 'grype/../x'.replace('../', ''), bytes: Buffer.from('database') }),
    ])
    expect(others).toEqual([{ kind: 'grype', name: 'x', path: join(security, 'incoming', 'grype', 'x') }])
    expect(existsSync(others[0]?.path ?? '')).toBe(true)
  })

  const manifest = (list: readonly object[], more: object = {}) =>
    JSON.stringify({ format: 1, created: day(3), files: list, ...more })
  test.each([
    ['without a manifest', () => tar([{ name: 'osv/Debian/all.zip', body: zip() }]), 'no manifest.json'],
    [
      'with a file that is not listed',
      () =>
        tar([
          { name: 'manifest.json', body: manifest([]) },
          { name: 'a', body: 'x' },
        ]),
      'does not list',
    ],
    [
      'that lacks a file',
      () => tar([{ name: 'manifest.json', body: manifest([{ path: 'a', sha256: '0'.repeat(64), size: 1 }]) }]),
      'lacks "a"',
    ],
    [
      'with another digest',
      () =>
        tar([
          { name: 'manifest.json', body: manifest([{ path: 'a', sha256: '0'.repeat(64), size: 1 }]) },
          { name: 'a', body: 'x' },
        ]),
      'not what its manifest says',
    ],
    [
      'with a path that leads out',
      () =>
        tar([
          { name: '../../etc/cron.d/x', body: 'x' },
          { name: 'manifest.json', body: manifest([]) },
        ]),
      'no path inside it',
    ],
    ['with an absolute path', () => tar([{ name: '/etc/cron.d/x', body: 'x' }]), 'no path inside it'],
    ['with a link', () => tar([{ name: 'a', type: '2', link: '/etc/passwd' }]), 'only files are allowed'],
    [
      'with a file twice',
      () =>
        tar([
          { name: 'a', body: 'x' },
          { name: './a', body: 'y' },
        ]),
      'twice',
    ],
    ['of another format', () => tar([{ name: 'manifest.json', body: manifest([], { format: 2 }) }]), 'reads format 1'],
    ['whose manifest is no JSON', () => tar([{ name: 'manifest.json', body: 'hello' }]), 'no JSON'],
    [
      'that is cut off',
      () =>
        tar([
          { name: 'manifest.json', body: manifest([]) },
          { name: 'a', body: 'x'.repeat(5_000) },
        ]).subarray(0, 3_000),
      'no readable tar',
    ],
  ])('one %s is refused', async (_, bytes, why) => {
    await expect(load([await file(bytes(), 'vulndb.tar')])).rejects.toThrow(why)
    expect(await currentGeneration(createVulndbLayout({ security }))).toBeUndefined()
    expect(await readdir(createVulndbLayout({ security }).folder)).toEqual([])
  })
})

const DATA = join(import.meta.dirname, '..', '..', '..', '..', 'shared', 'data', 'vuln')
describe.skipIf(!existsSync(DATA))('the public feeds', () => {
  const all = () =>
    readdirSync(DATA, { recursive: true, encoding: 'utf8' })
      .filter(name => statSync(join(DATA, name)).isFile())
      .map(name => ({ path: join(DATA, name), label: name, whole: true }))

  test('every record is imported or counted as unreadable', async () => {
    const result = await load(all().filter(({ label }) => !label.startsWith('samples/')))
    const { meta } = (await createDatabase({ security }).open()) ?? {}
    expect(
      result.sources.filter(({ kind }) => kind === 'osv').reduce((sum, { records }) => sum + records, 0),
    ).toBeGreaterThan(23_400)
    expect(meta?.ecosystems['almalinux-8']?.rows).toBeGreaterThan(31_000)
    const left = result.sources.reduce(
      (sum, { skipped }) => sum + (skipped.bad_version ?? 0) + (skipped.malformed ?? 0) + (skipped.no_introduced ?? 0),
      0,
    )
    expect(left).toBeLessThan(100)
    // by the changelog of Debian's own security uploads
    const openssl = await ids('debian-12', 'openssl', '3.0.20-1~deb12u2')
    expect(openssl.length).toBeGreaterThan(5)
    expect(await ids('debian-12', 'openssl', '3.0.22-1~deb12u2')).toEqual([])
    expect(await createThreatIntel({ layout: { security } }).kev('CVE-2021-44228')).toMatchObject({ ransomware: true })
  }, 60_000)
  test('the samples of every kind are recognised by their content', async () => {
    const samples = all()
      .filter(({ label }) => label.startsWith('samples/') && !label.includes('oval'))
      .map(({ path, label }) => ({ path, label: label.replace(/^.*\//, '') }))
    const { sources, notes } = await load(samples)
    expect([...new Set(sources.map(({ kind }) => kind))].sort()).toEqual([
      'alpine-secdb',
      'debian-tracker',
      'osv',
      'updateinfo',
    ])
    // a zip of many ecosystems fills a source for each
    expect(sources.filter(({ kind }) => kind === 'osv').map(({ name }) => name)).toEqual(
      expect.arrayContaining(['osv/AlmaLinux', 'osv/Debian', 'osv/Maven', 'osv/Rocky Linux', 'osv/Ubuntu', 'osv/npm']),
    )
    expect(notes).toEqual([])
    expect(await ids('rocky-9', 'mariadb', '3:10.5.13-1.module+el9.1.0+1+a')).toEqual(['CVE-2022-47015'])
    expect(await ids('almalinux-9', 'xz', '5.2.5-7.el9')).toEqual(['CVE-2022-1271'])
    expect(await ids('debian-11', '389-ds-base', '1.4.4.11-2')).toContain('CVE-2016-5416')
    expect(await ids('alpine-3.16', 'apache2', '2.4.27-r0')).toEqual(['CVE-2017-9798', 'CVE-2018-11763'])
  }, 60_000)
})
