import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { osvRecord, osvZip } from '../../test/support/zip.ts'
import { registry } from '../../test/support/registries.ts'
import { isMalicious } from '../core/findings.ts'
import { getFormat } from '../formats/index.ts'
import { createDatabase } from '../vulndb/store/database.ts'
import { importData } from '../vulndb/store/import.ts'
import { createOrders } from '../vulndb/versions/orders.ts'
import { createMatcher } from './matcher.ts'
import { createOsvScanner } from './osv.ts'
import type { ScanSubject } from './scanner.ts'

const orders = createOrders({ compare: (format, a, b) => getFormat(format).compareVersions(a, b) })
let security: string
let now: Date
beforeEach(async () => {
  security = await mkdtemp(join(tmpdir(), 'gh-osv-registries-'))
  now = new Date()
})
afterEach(async () => {
  await rm(security, { recursive: true, force: true })
})

const maxAgeDays = (): number => 14
const open = () => {
  const database = createDatabase({ security })
  const osv = createOsvScanner({ database, orders, clock: { now: () => now }, maxAgeDays })
  const intel = { find: async () => new Map(), loaded: async () => ({ epss: true, kev: true }) }
  return { osv, matcher: createMatcher({ database, osv, intel: intel as never, now: () => now, maxAgeDays }) }
}
async function load(...records: object[]): Promise<void> {
  const path = join(security, 'all.zip')
  await writeFile(path, osvZip(records))
  const files = [{ path, label: 'all.zip', whole: false }]
  await importData({ security, files, force: false, key: '', now: new Date().toISOString(), ecosystems: {} }, orders)
}

/** A package of a registry, as the gate asks about it. */
const subject = (format: string, name: string, version: string, rest: Partial<ScanSubject> = {}): ScanSubject => ({
  identity: { format, name, version, arch: 'any' },
  distribution: registry(format),
  purl: '',
  inner: async function* () {
    /* nothing is read */
  },
  about: { summary: '', description: '', source: 'src', source_version: '0', depends: [], provides: [], conflicts: [] },
  ...rest,
})
const scan = (...of: Parameters<typeof subject>) => open().osv.scan(subject(...of), AbortSignal.timeout(5_000))

const LODASH = osvRecord('GHSA-aaaa-bbbb-cccc', [['npm', 'lodash', '4.17.21']], {
  aliases: ['CVE-2026-1001'],
  database_specific: { severity: 'CRITICAL' },
})

test('no data, none for the language, current and old data are told apart, and none of them is clean', async () => {
  expect(await scan('npm', 'lodash', '4.0.0')).toMatchObject({ coverage: 'no_data', findings: [] })
  await load(osvRecord('GHSA-1111-2222-3333', [['PyPI', 'requests', '2.0']]))
  const other = await scan('npm', 'lodash', '4.0.0')
  expect(other).toMatchObject({ coverage: 'not_covered', findings: [] })
  expect(other.said).toBe('No advisories for npm packages are loaded. An admin imports them on the page Engines.')
  expect(other.isUnnamed).toBeUndefined()
  await load(LODASH)
  expect(await scan('npm', 'lodash', '4.0.0')).toMatchObject({
    coverage: 'covered',
    findings: [{ id: 'CVE-2026-1001' }],
  })
  now = new Date(Date.now() + 15 * 86_400_000)
  expect(await scan('npm', 'lodash', '4.0.0')).toMatchObject({ coverage: 'stale', findings: [{ id: 'CVE-2026-1001' }] })
})

test.each([
  ['npm', 'npm', '@ours/pad', '1.2.0-beta.1', '1.2.0'],
  ['pypi', 'PyPI', 'my-lib', '1.0rc1', '1.0'],
  ['maven', 'Maven', 'org.acme:tool', '1.0-SNAPSHOT', '1.0'],
])('a package of %s is matched by its own name in the order of its language', async (format, osv, name, hit, fix) => {
  await load(osvRecord('GHSA-aaaa-bbbb-cccc', [[osv, name, fix]]))
  const found = await scan(format, name, hit)
  expect(found).toMatchObject({ coverage: 'covered', findings: [{ package: name, fixed_in: fix }] })
  expect(found.findings[0]?.at).toBeUndefined()
  const later = await scan(format, name, fix)
  expect(later).toMatchObject({ coverage: 'covered', findings: [] })
})

test('a package that no record names is covered, which is said; what it carries counts, itself not again', async () => {
  await load(LODASH, osvRecord('GHSA-dddd-eeee-ffff', [['npm', 'inner', '2.0.0']]))
  const at = { purl: 'p', path: 'a', rule: 'r', confidence: 'certain', presence: 'shipped' } as const
  const silent = await scan('npm', '@ours/pad', '1.0.0', {
    embedded: [
      { ecosystem: 'npm', name: '@ours/pad', version: '1.0.0', at },
      { ecosystem: 'npm', name: 'inner', version: '1.0.0', at },
    ],
  })
  expect(silent).toMatchObject({ coverage: 'covered', findings: [{ package: 'inner', at }] })
  expect(silent.said).toContain('No record is about @ours/pad.')
  const own = { ecosystem: 'npm', name: 'lodash', version: '4.0.0', at }
  const named = await scan('npm', 'lodash', '4.0.0', { embedded: [own] })
  expect(named.findings).toMatchObject([{ id: 'CVE-2026-1001', package: 'lodash' }])
  expect(named.findings[0]?.at).toBeUndefined()
})

test('a malicious package is told as that', async () => {
  await load(osvRecord('MAL-2026-77', [['npm', 'evil', '99.0.0']]))
  const { findings } = await scan('npm', 'evil', '1.0.0')
  expect(findings.map(isMalicious)).toEqual([true])
})

test('nobody vouches for what a package of a language carries', async () => {
  await load(LODASH)
  expect(await open().osv.knows?.(subject('npm', 'lodash', '4.0.0'))).toBeUndefined()
})

test('packages by name alone are looked up in a registry, too', async () => {
  await load(LODASH)
  const { matcher } = open()
  expect(await matcher.coverage(registry('npm'))).toMatchObject({ coverage: 'covered' })
  expect((await matcher.coverage(registry('npm'))).said).not.toContain('do not name')
  const one = { name: 'lodash', version: '4.17.20', arch: 'any', source: '', sourceVersion: '' }
  const found = await matcher.match(registry('npm'), [one, { ...one, version: '4.17.21' }])
  expect(found.map(list => list.map(({ id }) => id))).toEqual([['CVE-2026-1001'], []])
})

test('an image is what is inside it; packages of its system have the advisories of its release', async () => {
  await load(
    osvRecord('DEBIAN-CVE-2026-10002', [['Debian:12', 'openssl', '3.0.2-1']], { upstream: ['CVE-2026-10002'] }),
    LODASH,
  )
  const at = { purl: 'p', path: 'layer', rule: 'dpkg-status', confidence: 'certain', presence: 'shipped' } as const
  const inside = {
    ecosystem: 'debian-12',
    name: 'libssl3',
    version: '3.0.1-1',
    source: { name: 'openssl', version: '3.0.1-1' },
    at,
  }
  const image = await scan('oci', 'app/web', 'sha256:0', { embedded: [inside] })
  expect(image).toMatchObject({ coverage: 'covered', findings: [{ id: 'CVE-2026-10002', package: 'libssl3', at }] })
  const unknown = await scan('oci', 'app/web', 'sha256:0', { embedded: [{ ...inside, ecosystem: 'unknown system' }] })
  expect(unknown).toMatchObject({ coverage: 'not_covered', findings: [] })
  expect(unknown.said).toContain('unknown system')
  // without a system there is nothing to know of one
  expect(await scan('oci', 'app/web', 'sha256:0')).toMatchObject({ coverage: 'covered', findings: [] })
})
