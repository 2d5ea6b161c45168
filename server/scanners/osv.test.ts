import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { configuration, cpe, match, nvdFile, nvdRecord } from '../../test/support/nvd.ts'
import { osvRecord, osvZip } from '../../test/support/zip.ts'
import { getDistribution, repositories } from '../../test/support/repositories.ts'
import { whyOf } from '../core/why.ts'
import type { FormatId } from '../core/identity.ts'
import { getFormat } from '../formats/index.ts'
import { EngineUnavailable, type ScanSubject } from './scanner.ts'
import { createDatabase } from '../vulndb/store/database.ts'
import { importData } from '../vulndb/store/import.ts'
import { createOrders } from '../vulndb/versions/orders.ts'
import { createVulndbLayout } from '../vulndb/store/layout.ts'
import { createOsvScanner, type OsvScanner } from './osv.ts'
import { ecosystemsOf } from '../vulndb/match/ecosystems.ts'

const orders = createOrders({ compare: (format, a, b) => getFormat(format).compareVersions(a, b) })
let security: string
let now: Date
let scanner: OsvScanner
beforeEach(async () => {
  security = await mkdtemp(join(tmpdir(), 'gh-osv-'))
  now = new Date()
  scanner = createOsvScanner({
    database: createDatabase({ security }),
    orders,
    clock: { now: () => now },
    maxAgeDays: () => 14,
  })
})
afterEach(async () => {
  await rm(security, { recursive: true, force: true })
})

let files = 0
const load = (...records: object[]): Promise<void> => loadFile(osvZip(records), 'all.zip')
async function loadFile(bytes: Buffer, label: string): Promise<void> {
  const path = join(security, `input-${files++}`)
  await writeFile(path, bytes)
  await importData(
    {
      security,
      files: [{ path, label, whole: label !== 'all.zip' }],
      force: false,
      key: '',
      now: new Date().toISOString(),
      ecosystems: ecosystemsOf(repositories),
    },
    orders,
  )
}
const many = (ecosystem: string, prefix: string) =>
  Array.from({ length: 120 }, (_, n) => osvRecord(`${prefix}-2026-${20_000 + n}`, [[ecosystem, `filler${n}`, '1']]))

function subject(
  codename: string,
  name: string,
  version: string,
  more: Partial<ScanSubject['about']> = {},
  rest: Partial<ScanSubject> = {},
): ScanSubject {
  const distribution = getDistribution(codename)
  return {
    identity: { format: distribution.format as FormatId, name, version, arch: 'amd64' },
    distribution,
    purl: '',
    inner: async function* () {
      /* nothing is read */
    },
    about: {
      summary: '',
      description: '',
      source: name,
      source_version: version,
      depends: [],
      provides: [],
      conflicts: [],
      ...more,
    },
    ...rest,
  }
}
const scan = (...of: Parameters<typeof subject>) => scanner.scan(subject(...of), AbortSignal.timeout(5_000))

test('no data, none for this distribution, partial, full and stale coverage are told apart', async () => {
  const coverage = async () => (await scan('bookworm', 'a', '1')).coverage
  expect(await coverage()).toBe('no_data')
  await load(osvRecord('ALSA-2026:1', [['AlmaLinux:9', 'x', '1-1']], { related: ['CVE-2026-10001'] }))
  expect(await coverage()).toBe('not_covered')
  await load(osvRecord('DSA-1-1', [['Debian:12', 'a', '1']], { upstream: ['CVE-2026-10003'] }))
  expect(await coverage()).toBe('partial')
  await load(osvRecord('DEBIAN-CVE-2026-10002', [['Debian:12', 'a', '1']]))
  expect(await coverage()).toBe('covered')
  now = new Date(Date.now() + 15 * 86_400_000)
  expect(await coverage()).toBe('stale')
})
test('announcements of fixes alone cover a part of Debian; CentOS Stream is judged by RHEL', async () => {
  await load(
    ...Array.from({ length: 120 }, (_, n) =>
      osvRecord(`DSA-${n}-1`, [['Debian:12', `f${n}`, '1']], { upstream: [`CVE-2026-${30_000 + n}`] }),
    ),
    ...many('Red Hat:enterprise_linux:9::appstream', 'RHSA'),
  )
  expect([
    (await scan('bookworm', 'f1', '1')).coverage,
    (await scan('centos-stream9', 'filler1', '1-1')).coverage,
  ]).toEqual(['partial', 'partial'])
})
test('findings of old data still count', async () => {
  await load(...many('Debian:12', 'DEBIAN-CVE'))
  now = new Date(Date.now() + 100 * 86_400_000)
  expect(await scan('bookworm', 'filler1', '0.1')).toMatchObject({
    coverage: 'stale',
    findings: [{ id: 'CVE-2026-20001', package: 'filler1' }],
  })
})
test('sources that were built in, and what is carried inside, are asked about as well', async () => {
  await load(
    ...many('Debian:12', 'DEBIAN-CVE'),
    osvRecord('DEBIAN-CVE-2026-10001', [['Debian:12', 'glibc', '2.36-10']]),
    osvRecord('GHSA-aaaa-bbbb-cccc', [['PyPI', 'Jinja2', '3.1.4']], { aliases: ['CVE-2026-10002'] }),
  )
  const { findings } = await scan(
    'bookworm',
    'busybox-static',
    '1.0',
    { built_using: [{ name: 'glibc', version: '2.36-9' }] },
    { embedded: [{ ecosystem: 'pypi', name: 'jinja2', version: '3.1.0' }] },
  )
  expect(findings.map(({ id, package: name }) => [id, name])).toEqual([
    ['CVE-2026-10001', 'glibc'],
    ['CVE-2026-10002', 'jinja2'],
  ])
  expect(whyOf(findings[0] ?? {})).toEqual([
    'control says that pkg:deb/debian/glibc@2.36-9?arch=source is in the package (rule built-using).',
    'It was looked up as glibc 2.36-9 in the data for debian-12.',
    expect.stringContaining('DEBIAN-CVE-2026-10001'),
  ])
})
test('a package of the distribution is known by its source, and by a version that its advisories name', async () => {
  await load(
    ...many('Debian:12', 'DEBIAN-CVE'),
    osvRecord('DEBIAN-CVE-2026-10001', [['Debian:12', 'requests', '2.28.1+dfsg-1+deb12u1']]),
  )
  const knows = (name: string, version: string) => scanner.knows?.(subject('bookworm', name, version))
  expect([
    await knows('requests', '2.28.1+dfsg-1+deb12u1'),
    await knows('requests', '2.28.1+dfsg-1+deb12u1+b3'),
    await knows('requests', '2.28.1+dfsg-1+acme1'),
    await knows('acme-requests', '2.28.1'),
  ]).toEqual(['version', 'version', 'source', undefined])
})
test("a package is known by the version that Debian's tracker says the release has", async () => {
  const resolved = (bookworm: object) => ({ releases: { bookworm: { status: 'resolved', ...bookworm } } })
  await loadFile(
    Buffer.from(
      JSON.stringify({
        flask: {
          'CVE-2018-1000656': resolved({ fixed_version: '1.0.2-1', repositories: { bookworm: '2.2.2-3' } }),
          'CVE-2023-30861': resolved({
            fixed_version: '2.2.2-3+deb12u1',
            repositories: { 'bookworm': '2.2.2-3', 'bookworm-security': '2.2.2-3+deb12u1' },
          }),
          'CVE-2024-0001': resolved({ fixed_version: '0', repositories: { bookworm: '2.2.2-3' } }),
        },
      }),
    ),
    'tracker.json',
  )
  const knows = (version: string) => scanner.knows?.(subject('bookworm', 'flask', version))
  expect([await knows('2.2.2-3'), await knows('2.2.2-3+deb12u1'), await knows('2.2.2-3+acme1')]).toEqual([
    'version',
    'version',
    'source',
  ])
  expect((await scan('bookworm', 'flask', '2.2.2-3')).findings.map(({ id }) => id)).toEqual(['CVE-2023-30861'])
})
test('a finding says where the component is', async () => {
  await load(...many('Debian:12', 'DEBIAN-CVE'), osvRecord('GHSA-aaaa-bbbb-cccc', [['PyPI', 'jinja2', '3.1.4']]))
  const at = {
    purl: 'pkg:pypi/jinja2@3.1.0',
    path: 'opt/x',
    rule: 'r',
    confidence: 'certain',
    presence: 'shipped',
  } as const
  const embedded = [{ ecosystem: 'pypi', name: 'jinja2', version: '3.1.0', at }]
  expect((await scan('bookworm', 'tool', '1.0', {}, { embedded })).findings).toMatchObject([{ package: 'jinja2', at }])
})
test('libraries inside are matched also when the distribution has no advisories', async () => {
  await load(osvRecord('GHSA-aaaa-bbbb-cccc', [['Maven', 'org.example:a', '2.0']], { aliases: ['CVE-2026-10002'] }))
  const answer = await scan(
    'fedora',
    'tool',
    '1-1',
    {},
    { embedded: [{ ecosystem: 'maven', name: 'org.example:a', version: '1.0' }] },
  )
  expect(answer).toMatchObject({
    coverage: 'not_covered',
    findings: [{ id: 'CVE-2026-10002', package: 'org.example:a', fixed_in: '2.0' }],
  })
})
test('what a copy inside cannot have is no finding, and said; another copy has it', async () => {
  await load(
    osvRecord('GHSA-aaaa-bbbb-cccc', [['Maven', 'g:a', '2.0']], { aliases: ['CVE-2026-10002'] }),
    osvRecord('GHSA-dddd-eeee-ffff', [['Maven', 'g:a', '3.0']], { aliases: ['CVE-2026-10003'] }),
  )
  const cleared = { ids: ['CVE-2026-10002'], why: 'Its class X is not in this copy.' }
  const copy = { ecosystem: 'maven', name: 'g:a', version: '1.0' }
  const ask = (...embedded: object[]) => scan('fedora', 'tool', '1-1', {}, { embedded: embedded as (typeof copy)[] })
  const { findings, said } = await ask({ ...copy, cleared })
  expect(findings.map(({ id }) => id)).toEqual(['CVE-2026-10003'])
  expect(said).toContain('CVE-2026-10002 of g:a 1.0 does not count: Its class X is not in this copy.')
  const both = await ask({ ...copy, cleared }, copy)
  expect([...new Set(both.findings.map(({ id }) => id))].sort()).toEqual(['CVE-2026-10002', 'CVE-2026-10003'])
})
test('a package that carries what no loaded advisories are about is covered in part', async () => {
  await load(...many('Debian:12', 'DEBIAN-CVE'), osvRecord('GHSA-aaaa-bbbb-cccc', [['npm', 'a', '2.0.0']]))
  const carrying = async (...ecosystems: string[]) =>
    scan(
      'bookworm',
      'filler1',
      '1',
      {},
      { embedded: ecosystems.map(ecosystem => ({ ecosystem, name: 'b', version: '1.0.0' })) },
    )
  expect(await carrying('npm')).toMatchObject({ coverage: 'covered', findings: [] })
  const part = await carrying('npm', 'maven', 'pypi')
  expect([
    part.coverage,
    part.findings,
    part.said.endsWith('No advisories for Maven packages are loaded. No advisories for PyPI packages are loaded.'),
    part.ecosystems?.map(({ ecosystem, coverage }) => `${ecosystem} ${coverage}`),
  ]).toEqual(['partial', [], true, ['npm covered', 'Maven not_covered', 'PyPI not_covered']])
})
test('what the data do not name is not covered, however much they say of others', async () => {
  await load(...many('Debian:12', 'DEBIAN-CVE'), osvRecord('GHSA-aaaa-bbbb-cccc', [['npm', 'a', '2.0.0']]))
  expect(await scan('bookworm', 'tool', '1')).toEqual({
    coverage: 'not_covered',
    said: 'The advisories for Debian 12 do not name tool, so they say nothing about it.',
    isUnnamed: true,
    findings: [],
  })
  expect((await scan('bookworm', 'libtool', '1', { source: 'tool' })).said).toBe(
    'The advisories for Debian 12 do not name libtool nor its source tool, so they say nothing about it.',
  )
  expect((await scan('bookworm', 'libfiller', '1', { source: 'filler1' })).coverage).toBe('covered')
  const carrying = { embedded: [{ ecosystem: 'npm', name: 'a', version: '2.0.0' }] }
  expect(await scan('bookworm', 'tool', '1', {}, carrying)).toMatchObject({
    coverage: 'partial',
    said: expect.stringMatching(/^The advisories for Debian 12 do not name tool, .* for npm packages are of /),
    findings: [],
  })
})
test('a version that cannot be compared is named, with the package it is of', async () => {
  await load(...many('Debian:12', 'DEBIAN-CVE'), osvRecord('GHSA-aaaa-bbbb-cccc', [['PyPI', 'a', '2.0']]))
  const { coverage, said } = await scan(
    'bookworm',
    'filler1',
    '1',
    {},
    { embedded: [{ ecosystem: 'pypi', name: 'a', version: 'unreleased' }] },
  )
  expect([
    coverage,
    said.includes('The version unreleased of a is none that its advisories can be compared with.'),
  ]).toEqual(['partial', true])
})
test('a CVE that its advisory does not rate has the score that another feed gives it', async () => {
  await load(
    ...many('Debian:12', 'DEBIAN-CVE'),
    osvRecord('DEBIAN-CVE-2026-10001', [['Debian:12', 'a', '']]),
    osvRecord('ALPINE-CVE-2026-10001', [['Alpine:v3.20', 'a', '9-r0']], {
      severity: [{ type: 'CVSS_V3', score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H' }],
    }),
  )
  expect((await scan('bookworm', 'a', '1')).findings).toMatchObject([
    { id: 'CVE-2026-10001', severity: 'critical', cvss: { score: 9.8, version: '3.1' } },
  ])
})
test('the module of an RPM is taken from its header', async () => {
  const fix = (stream: string, version: string) =>
    osvRecord(`ALSA-2026:${stream}`, [['AlmaLinux:8', 'postgresql', `${version}-1.module_el8.9.0+1+a`]], {
      related: ['CVE-2026-10001'],
      summary: `Important: postgresql:${stream} security update`,
    })
  await load(...many('AlmaLinux:8', 'ALSA'), fix('12', '12.15'), fix('13', '13.11'))
  const found = async (version: string, modularity: string) =>
    (await scan('almalinux8', 'postgresql', version, {}, { facts: { modularity } })).findings.length
  expect([
    await found('12.12-1.module_el8.6.0+1+a', 'postgresql:12:1:a'),
    await found('12.15-1.module_el8.9.0+1+a', 'postgresql:12:1:a'),
  ]).toEqual([1, 0])
})
test('unreadable data count as an engine that does not answer', async () => {
  await load(...many('Debian:12', 'DEBIAN-CVE'))
  await writeFile(join(createVulndbLayout({ security }).generation(1), 'debian-12', 'all.ndjson.gz'), 'damaged')
  await expect(scan('bookworm', 'filler1', '0.1')).rejects.toThrow(EngineUnavailable)
})

test('native code is looked up in the data of the NVD: each finding is probable, with its record and the day of the data', async () => {
  const metrics = {
    cvssMetricV31: [
      { type: 'Primary', cvssData: { version: '3.1', vectorString: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:H' } },
    ],
  }
  const limits = { versionStartIncluding: '3.0.0', versionEndExcluding: '3.0.7' }
  const records = [nvdRecord('CVE-2022-3602', [configuration([[match(cpe('openssl:openssl'), limits)]])], { metrics })]
  const at = {
    purl: 'pkg:generic/openssl@3.0.2',
    path: 'opt/app/libcrypto.so.3',
    rule: 'version-string',
    confidence: 'certain',
    presence: 'shipped',
  } as const
  const carrying = { embedded: [{ ecosystem: 'native', name: 'openssl', version: '3.0.2', arch: 'linux', at }] }
  const ask = () => scan('bookworm', 'tool', '1.0', {}, carrying)
  await load(osvRecord('CVE-2026-1', [['Debian:12', 'tool', '1.0']]))
  expect(await ask()).toMatchObject({
    coverage: 'partial',
    ecosystems: [
      {
        ecosystem: 'native code',
        coverage: 'not_covered',
        said: 'No advisories for native code are loaded: they come with the data of the NVD.',
      },
    ],
  })
  const day = now.toISOString()
  const loadYear = (year: number, list: readonly object[] = [nvdRecord(`CVE-${year}-99999`, [])]) =>
    loadFile(gzipSync(JSON.stringify(nvdFile(list, day.slice(0, -1)))), `nvdcve-2.0-${year}.json.gz`)
  await loadYear(2022, records)
  expect(await ask()).toMatchObject({
    ecosystems: [{ coverage: 'partial', data_at: day, said: expect.stringContaining('not loaded, such as') as string }],
    findings: [
      {
        id: 'CVE-2022-3602',
        severity: 'high',
        severity_source: 'nvd',
        fixed_in: '3.0.7',
        at: { ...at, confidence: 'probable' },
        evidence: [{ source: 'nvd/2022', data_at: day, says: 'versions from 3.0.0 on and before 3.0.7' }],
      },
    ],
  })
  for (let year = 2002; year <= now.getUTCFullYear(); year++) if (year !== 2022) await loadYear(year)
  expect(await ask()).toMatchObject({ ecosystems: [{ coverage: 'covered' }], findings: [{ id: 'CVE-2022-3602' }] })
  await loadYear(2022)
  expect((await ask()).findings).toEqual([])
})
