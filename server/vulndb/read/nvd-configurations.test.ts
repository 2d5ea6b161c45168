import { expect, test } from 'vitest'
import { bytes, feed } from '../../../test/support/advisory-set.ts'
import { configuration, cpe, match, nvdFile, nvdRecord } from '../../../test/support/nvd.ts'
import { readNvd } from './nvd.ts'

const WINDOWS = match('cpe:2.3:o:microsoft:windows:-:*:*:*:*:*:*:*', { vulnerable: false })
const LINUX = match('cpe:2.3:o:linux:linux_kernel:-:*:*:*:*:*:*:*', { vulnerable: false })
const range = (pair: string, from: string, to: string): object =>
  match(cpe(pair), { ...(from === '' ? {} : { versionStartIncluding: from }), versionEndExcluding: to })

// ids and ranges are those of the NVD
const RECORDS = [
  nvdRecord('CVE-2022-3602', [configuration([[range('openssl:openssl', '3.0.0', '3.0.7')]])]),
  nvdRecord('CVE-2022-0778', [
    configuration([
      [
        range('openssl:openssl', '1.0.2', '1.0.2zd'),
        range('openssl:openssl', '1.1.1', '1.1.1n'),
        range('openssl:openssl', '3.0.0', '3.0.2'),
      ],
    ]),
    configuration([[match('cpe:2.3:o:debian:debian_linux:11.0:*:*:*:*:*:*:*')]]),
  ]),
  nvdRecord('CVE-2023-38408', [
    configuration([
      [
        range('openbsd:openssh', '', '9.3'),
        match(cpe('openbsd:openssh', '9.3', '-')),
        match(cpe('openbsd:openssh', '9.3', 'p1')),
      ],
    ]),
  ]),
  nvdRecord('CVE-2022-37434', [configuration([[match(cpe('zlib:zlib'), { versionEndIncluding: '1.2.12' })]])]),
  nvdRecord('CVE-2024-4577', [
    configuration([[range('php:php', '8.1.0', '8.1.29'), range('php:php', '8.2.0', '8.2.20')], [WINDOWS]], {
      operator: 'AND',
    }),
  ]),
  nvdRecord('CVE-2024-10001', [
    configuration([[range('php:php', '', '8.2.20')], [WINDOWS, LINUX]], { operator: 'AND' }),
    configuration([[match(cpe('php:php', '-'))]]),
    configuration([[match(cpe('php:php'), { versionEndExcluding: 'unknown' })]]),
  ]),
  nvdRecord('CVE-2024-10002', [
    configuration([
      [
        match(cpe('redis:redis', '*', '*', '*', 'node.js')),
        match(cpe('redis:redis', '*', '*', 'enterprise')),
        match(cpe('redis:redis', '7.0.0'), { vulnerable: false }),
        match('cpe:2.3:o:redis:redis:*:*:*:*:*:*:*:*'),
        match(String.raw`cpe:2.3:a:redis\:x:redis:*:*:*:*:*:*:*:*`),
      ],
    ]),
  ]),
  nvdRecord('CVE-2024-10003', [
    configuration([[match(cpe('haxx:curl'), { versionStartExcluding: '7.1', versionEndExcluding: '8.4.0' })]]),
  ]),
  nvdRecord('CVE-2024-10004', [configuration([[match(cpe('sqlite:sqlite'))]])], { cveTags: [{ tags: ['disputed'] }] }),
  nvdRecord('CVE-2024-10005', [configuration([[match(cpe('sqlite:sqlite'))]])], { vulnStatus: 'Rejected' }),
  nvdRecord('CVE-2024-10006', [
    { nodes: [{ operator: 'AND', cpeMatch: [match(cpe('ruby-lang:ruby'), { versionEndExcluding: '3.0' }), WINDOWS] }] },
    configuration([[match(cpe('ruby-lang:ruby', '*', '*', '*', 'windows'), { versionEndExcluding: '2.0' })]]),
  ]),
  nvdRecord('CVE-2018-2952', [
    configuration([
      [
        match(cpe('oracle:openjdk', '8', 'update172')),
        match(cpe('oracle:openjdk'), { versionStartIncluding: '11', versionEndIncluding: '11.0.4' }),
      ],
    ]),
  ]),
]

async function loaded() {
  const one = feed()
  await readNvd(bytes(JSON.stringify(nvdFile(RECORDS))), { ...one.context, source: 'nvd/2024' })
  return one
}

test.each([
  ['openssl', '3.0.2', 'CVE-2022-3602'],
  ['openssl', '3.0.0-beta2', ''],
  ['openssl', '3.0.1', 'CVE-2022-0778 CVE-2022-3602'],
  ['openssl', '3.0.7', ''],
  ['openssl', '1.0.2k', 'CVE-2022-0778'],
  ['openssl', '1.0.2zc', 'CVE-2022-0778'],
  ['openssl', '1.0.2zd', ''],
  ['openssl', '1.1.1m', 'CVE-2022-0778'],
  ['openssh', '9.2', 'CVE-2023-38408'],
  ['openssh', '9.3', 'CVE-2023-38408'],
  ['openssh', '9.3p2', ''],
  ['zlib', '1.2.12', 'CVE-2022-37434'],
  ['zlib', '1.2.13', ''],
  ['redis', '7.0.0', ''],
  ['curl', '7.1', ''],
  ['curl', '7.1.1', 'CVE-2024-10003'],
  ['sqlite', '3.40.1', 'CVE-2024-10004'],
  ['openjdk', '8.0.172', 'CVE-2018-2952'],
  ['openjdk', '8.0.181', ''],
  ['openjdk', '11.0.4', 'CVE-2018-2952'],
])('%s %s has %j', async (name, version, expected) => {
  const { ids } = await loaded()
  expect(ids('native', name, version).join(' ')).toBe(expected)
})

test.each([
  ['php', '8.2.7', 'linux', 'CVE-2024-10001'],
  ['php', '8.2.7', 'windows', 'CVE-2024-10001 CVE-2024-4577'],
  ['ruby', '2.7.0', 'linux', ''],
  ['ruby', '2.7.0', 'windows', 'CVE-2024-10006'],
])('what only concerns another system does not count: %s %s on %s', async (name, version, arch, expected) => {
  const { ids } = await loaded()
  expect(ids('native', name, version, { arch }).join(' ')).toBe(expected)
})

test('a finding says what the record names, and what the NVD notes', async () => {
  const { match: ask, skipped } = await loaded()
  const [finding] = ask({ ecosystem: 'native', name: 'openssl', version: '3.0.2' }).findings
  expect(finding).toEqual({
    id: 'CVE-2022-3602',
    package: 'openssl',
    severity: 'unknown',
    detected_by: ['osv'],
    matched: { ecosystem: 'native', name: 'openssl', version: '3.0.2' },
    evidence: [
      {
        record: 'CVE-2022-3602',
        source: 'nvd/2024',
        modified: '2026-11-01T10:00:00.000Z',
        says: 'versions from 3.0.0 on and before 3.0.7',
      },
    ],
    fixed_in: '3.0.7',
    summary: 'What CVE-2022-3602 is about.',
    references: ['https://example.org/CVE-2022-3602'],
  })
  expect(ask({ ecosystem: 'native', name: 'curl', version: '8.0' }).findings[0]?.evidence?.[0]?.says).toBe(
    'versions after 7.1 and before 8.4.0',
  )
  expect(ask({ ecosystem: 'native', name: 'sqlite', version: '3' }).findings[0]?.vendor_says).toBe(
    'The NVD notes that this is disputed.',
  )
  expect(skipped.sort()).toEqual(['bad_version', 'bad_version', 'withdrawn'])
})

test('of a record that changed lately the newest state counts', async () => {
  const one = feed()
  const state = (to: string, lastModified: string) =>
    bytes(
      JSON.stringify(
        nvdFile([nvdRecord('CVE-2022-3602', [configuration([[range('openssl:openssl', '', to)]])], { lastModified })]),
      ),
    )
  await readNvd(state('3.0.7', '2026-11-01T10:00:00.000'), { ...one.context, source: 'nvd/2022' })
  await readNvd(state('3.0.3', '2026-11-19T10:00:00.000'), { ...one.context, source: 'nvd/modified' })
  expect([one.ids('native', 'openssl', '3.0.2'), one.ids('native', 'openssl', '3.0.4')]).toEqual([
    ['CVE-2022-3602'],
    [],
  ])
})

test.each([
  'text',
  [{ nodes: [{ cpeMatch: [null, { vulnerable: true }, match('cpe:2.3:a:'), match('cpe:/a:openssl:openssl:1.0')] }] }],
  [{ nodes: {} }, null, []],
])('a configuration of another shape says nothing: %j', async configurations => {
  const one = feed()
  const text = JSON.stringify(nvdFile([nvdRecord('CVE-2022-3602', [], { configurations })]))
  expect(await readNvd(bytes(text), one.context)).toMatchObject({ records: 1 })
  expect(one.entries).toEqual([])
})
