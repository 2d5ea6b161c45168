import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { buildZip, type ZipEntry } from '../../test/support/zip.ts'
import { readZip } from './zip.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-zip-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

const LIMITS = { what: 'the zip', maxEntries: 3, maxEntryBytes: 10_000, maxTotalBytes: 15_000 }

async function read(bytes: Buffer): Promise<string[]> {
  const path = join(folder, 'a.zip')
  await writeFile(path, bytes)
  const seen: string[] = []
  await readZip(path, LIMITS, (name, body) => {
    seen.push(`${name}=${body.toString()}`)
  })
  return seen
}

test('every file comes whole, packed or stored', async () => {
  expect(
    await read(
      buildZip([
        { name: 'a.json', body: '{"a":1}' },
        { name: 'b/c.json', body: 'stored', stored: true },
        { name: 'empty', body: '' },
      ]),
    ),
  ).toEqual(['a.json={"a":1}', 'b/c.json=stored', 'empty='])
})

const entry = (more: Partial<ZipEntry>): ZipEntry => ({ name: 'a.json', body: 'x'.repeat(100), ...more })
test.each([
  ['a name that leads out', [entry({ name: '../../etc/passwd' })], 'no readable zip'],
  ['an absolute name', [entry({ name: '/etc/passwd' })], 'no readable zip'],
  ['a backslash', [entry({ name: '..\\a' })], 'no readable zip'],
  ['a wrong checksum', [entry({ crc: 1 })], 'is damaged'],
  ['a size that is too small', [entry({ size: 10 })], 'is damaged'],
  ['a size that is too large', [entry({ size: 200 })], 'is damaged'],
  ['encryption', [entry({ flags: 1 })], 'encrypted'],
  ['a file beyond its limit', [entry({ body: 'x'.repeat(10_001) })], 'larger than allowed'],
  [
    'files beyond the limit together',
    [entry({ body: 'x'.repeat(8_000) }), entry({ name: 'b', body: 'y'.repeat(8_000) })],
    'unpacks to more',
  ],
  ['too many files', [entry({}), entry({ name: 'b' }), entry({ name: 'c' }), entry({ name: 'd' })], 'holds 4 files'],
] as const)('%s is refused', async (_, entries, why) => {
  await expect(read(buildZip(entries))).rejects.toThrow(why)
})
test('a zip that is cut off, or none at all, is refused', async () => {
  const whole = buildZip([entry({})])
  await expect(read(whole.subarray(0, whole.length - 30))).rejects.toThrow('no readable zip')
  await expect(read(Buffer.from('PK\x03\x04 and nothing else'))).rejects.toThrow('no readable zip')
})
