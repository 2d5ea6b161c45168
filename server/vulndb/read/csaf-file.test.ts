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
    'the archive holds no CSAF 2.0 document',
  )
  const whole = await pack({ '2024/cve-2024-10001.json': vex('CVE-2024-10001', 'fixed').repeat(50) })
  await expect(load(whole.subarray(0, -40), 'b.tar.gz')).rejects.toThrow()
})
