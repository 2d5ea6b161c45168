import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import tar from 'tar-stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { orders } from '../../../test/support/advisory-set.ts'
import { vexDocument } from '../../../test/support/csaf.ts'
import { createDatabase } from '../store/database.ts'
import { importData } from '../store/import.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'csaf-'))
})
afterEach(async () => rm(folder, { recursive: true, force: true }))

const packages = { edk2: 'pkg:rpm/redhat/edk2?arch=src' }
const vex = (cve: string, key: string): string =>
  JSON.stringify(vexDocument({ cve, packages, status: { [key]: ['edk2'] } }))

async function pack(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const packed = tar.pack()
  for (const [name, text] of Object.entries(files)) packed.entry({ name }, text)
  packed.finalize()
  const chunks: Buffer[] = []
  for await (const chunk of packed) chunks.push(chunk as Buffer)
  return gzipSync(Buffer.concat(chunks))
}

async function load(bytes: Buffer | string, label: string) {
  const path = join(folder, label)
  await writeFile(path, bytes)
  const now = '2026-11-23T00:00:00.000Z'
  const files = [{ path, label, whole: true }]
  return importData({ security: folder, files, force: false, key: '', now, ecosystems: {} }, orders)
}

test('an archive of documents is one source; damaged ones are counted, a new document is added', async () => {
  const archive = await pack({
    '2024/cve-2024-10001.json': vex('CVE-2024-10001', 'known_affected'),
    '2024/cve-2024-10002.json': vex('CVE-2024-10002', 'known_not_affected'),
    '2024/cve-2024-10003.json': '{"document":',
    'index.txt': 'text',
  })
  const { sources } = await load(archive, 'csaf_vex_2026-01-03.tar.gz')
  expect(sources.map(({ name, records, rows, skipped, as_of: at }) => [name, records, rows, skipped, at])).toEqual([
    ['csaf/red-hat-product-security', 3, 2, { malformed: 1 }, '2026-01-02T03:04:05.000Z'],
  ])
  await load(vex('CVE-2024-10004', 'known_affected'), 'cve-2024-10004.json')
  const snapshot = await createDatabase({ security: folder }).open()
  const rows = (await snapshot?.rows('redhat-9', ['edk2'])) ?? []
  expect(rows.map(({ advisory, safe, said }) => [advisory.id, safe, said]).sort()).toEqual([
    ['CVE-2024-10001', undefined, undefined],
    ['CVE-2024-10002', true, 'Red Hat: not affected.'],
    ['CVE-2024-10004', undefined, undefined],
  ])
  expect(await snapshot?.ratings('CVE-2024-10001')).toEqual({ red_hat: 'high' })
})

test('an archive without a document, and one that is cut off, are refused', async () => {
  await expect(load(await pack({ '2024/cve-2024-10001.json': '{}' }), 'a.tar.gz')).rejects.toThrow(
    'the archive holds no VEX document of Red Hat, SUSE or Ubuntu',
  )
  const whole = await pack({ '2024/cve-2024-10001.json': vex('CVE-2024-10001', 'fixed').repeat(50) })
  await expect(load(whole.subarray(0, -40), 'b.tar.gz')).rejects.toThrow()
})

const ubuntu = (cve: string, statements: readonly object[], author = 'Canonical Ltd.'): string =>
  JSON.stringify({
    metadata: {
      '@context': 'https://openvex.dev/ns/v0.2.0',
      '@id': `https://example.com/vex/${cve}`,
      author,
      'timestamp': '2026-01-02T03:04:05.967633',
      'version': 1,
    },
    statements: statements.map(statement => ({ vulnerability: { name: cve }, ...statement })),
  })
const product = (version: string, distro: string) => ({
  '@id': `pkg:deb/ubuntu/krb5@${encodeURIComponent(version)}?arch=source&distro=${distro}`,
})

test("Ubuntu's archive says which sources of a release are affected, fixed, and not affected, and why", async () => {
  const archive = await pack({
    'vex/cve/2024/CVE-2024-10001.json': ubuntu('CVE-2024-10001', [
      {
        products: [product('1.19-2', 'jammy'), { '@id': 'pkg:deb/ubuntu/krb5-user@1.19-2?arch=amd64' }],
        status: 'not_affected',
        justification: 'vulnerable_code_not_present',
        impact_statement:
          'This package (for the given release), while related to the CVE in some way, is not affected by the issue. CVE Notes / justification: backport never made',
      },
    ]),
    'vex/cve/2024/CVE-2024-10002.json': ubuntu('CVE-2024-10002', [
      { products: [product('1.19-2ubuntu0.3', 'jammy')], status: 'fixed' },
      { products: [product('1.16-2ubuntu0.4', 'esm-infra/focal')], status: 'fixed' },
    ]),
    'vex/cve/2024/CVE-2024-10003.json': ubuntu('CVE-2024-10003', [
      { products: [product('1.19-2', 'ubuntu/jammy')], status: 'affected', action_statement: 'Low impact.' },
      { products: [product('1.20-1', 'noble')], status: 'under_investigation' },
    ]),
    'vex/cve/2024/CVE-2024-10004.json': ubuntu('CVE-2024-10004', [], 'Somebody'),
  })
  const { sources } = await load(archive, 'vex-all.tar.gz')
  expect(
    sources.map(({ name, kind, records, rows, skipped, as_of: at }) => [name, kind, records, rows, skipped, at]),
  ).toEqual([['vex/ubuntu', 'ubuntu-vex', 4, 3, { malformed: 1 }, '2026-01-02T03:04:05.967Z']])
  const snapshot = await createDatabase({ security: folder }).open()
  const rows = (await snapshot?.rows('ubuntu-22.04', ['krb5'])) ?? []
  expect(rows.map(({ advisory, safe, spans, said }) => [advisory.id, safe, spans, said]).sort()).toEqual([
    ['CVE-2024-10001', true, [], 'Ubuntu: not affected: the vulnerable code is not in it. backport never made.'],
    ['CVE-2024-10002', undefined, [{ from: '0', to: '1.19-2ubuntu0.3' }], undefined],
    ['CVE-2024-10003', undefined, [{ from: '0' }], 'Ubuntu: Low impact.'],
  ])
})
