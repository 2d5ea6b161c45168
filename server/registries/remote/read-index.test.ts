import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chunksIn, createIndexReading, readIndexFile, type IndexQuestion } from './read-index.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-index-'))
})
afterAll(() => rm(folder, { recursive: true }))

const version = (number: string, more: object = {}): object => ({
  ...{ _id: `n@${number}`, name: 'n', version: number, dist: { tarball: `/n-${number}.tgz` } },
  ...more,
})
async function questionFor(bytes: Buffer | string, more: Partial<IndexQuestion> = {}): Promise<IndexQuestion> {
  const path = join(folder, `${Math.random()}`)
  await writeFile(path, bytes)
  const sizeBytes = Buffer.byteLength(bytes)
  const about = { format: 'npm', name: 'n', url: 'https://far.example/n', type: 'application/json' } as const
  return { ...about, path, sizeBytes, isPacked: false, into: `${path}.rows`, ...more }
}
async function rowsOf(packument: object) {
  const question = await questionFor(JSON.stringify({ name: 'n', ...packument }))
  const read = await readIndexFile(question)
  const rows: Record<string, unknown>[] = []
  for await (const chunk of chunksIn(question.into)) rows.push(...(JSON.parse(chunk) as typeof rows))
  return { read, rows }
}

test('what the database cannot hold goes out of texts and keys: NUL, and halves of pairs', async () => {
  const odd = 'a\u0000b\ud800c'
  const { read, rows } = await rowsOf({
    'dist-tags': { latest: '1.0.0', [odd]: '1.0.0' },
    'versions': { '1.0.0': version('1.0.0', { description: odd, deprecated: odd }) },
  })
  expect(read).toMatchObject({ about: { tags: { latest: '1.0.0' } }, keys: ['1.0.0\tany'] })
  const text = JSON.stringify([read, rows.map(({ full_document: _, short_document: __, ...row }) => row)])
  expect([text.includes('\\u0000'), text.isWellFormed(), text.includes('\\ud800')]).toEqual([false, true, false])
  // in a document they stand as JSON writes them, in ASCII
  expect(JSON.parse(String(rows[0]?.full_document))).toMatchObject({ description: odd })
})

test.each([
  ['2020-01-02T03:04:05Z', '2020-01-02T03:04:05.000Z'],
  ['+275760-09-13T00:00:00.000Z', undefined],
  ['-000044-03-15T00:00:00.000Z', undefined],
  ['1970-01-01T00:00:00.000Z', undefined],
  ['soon', undefined],
])('the date %s becomes one that the database takes, or none', async (said, date) => {
  const { rows } = await rowsOf({ versions: { '1.0.0': version('1.0.0') }, time: { '1.0.0': said } })
  expect(rows[0]?.published_at).toBe(date)
})

test('a large index comes in lists of rows that the database takes one by one', async () => {
  const numbers = Array.from({ length: 40 }, (_, n) => `1.0.${n}`)
  const versions = Object.fromEntries(numbers.map(one => [one, version(one, { description: 'x'.repeat(30_000) })]))
  const question = await questionFor(JSON.stringify({ name: 'n', versions }))
  expect(await readIndexFile(question)).toMatchObject({ keys: numbers.map(one => `${one}\tany`) })
  const lengths: number[] = []
  for await (const chunk of chunksIn(question.into)) lengths.push((JSON.parse(chunk) as unknown[]).length)
  expect(lengths.length).toBeGreaterThan(3)
  expect(lengths.reduce((sum, one) => sum + one, 0)).toBe(40)
})

test.each<[string, () => Buffer | string, Partial<IndexQuestion>, RegExp]>([
  ['no JSON', () => 'hello', {}, /not JSON/],
  ['nothing', () => '', {}, /not JSON/],
  ['nested too deep', () => `{"name":"n","versions":{"1":${'['.repeat(300)}${']'.repeat(300)}}}`, {}, /200 deep/],
  ['no gzip', () => 'hello', { isPacked: true }, /no gzip/],
  ['gzip that is cut off', () => gzipSync('x'.repeat(9_000)).subarray(0, 20), { isPacked: true }, /no gzip/],
  // 300 MB of blanks in 300 kB
  ['a gzip bomb', () => gzipSync(Buffer.alloc(300 * 2 ** 20, ' ')), { isPacked: true }, /more than 256 MiB/],
])('%s is refused with its reason', async (_, bytes, more, why) => {
  const read = await readIndexFile(await questionFor(bytes(), more))
  expect(read).toEqual({ why: expect.stringMatching(why) as string })
})

test('a thread reads it, also when many wait', async () => {
  const reading = createIndexReading()
  const { signal } = new AbortController()
  const packument = JSON.stringify({ name: 'n', versions: { '1.0.0': version('1.0.0') } })
  const questions = await Promise.all(Array.from({ length: 6 }, () => questionFor(packument)))
  const read = await Promise.all(questions.map(question => reading.read(question, signal)))
  expect(read.map(one => 'keys' in one && one.keys)).toEqual(questions.map(() => ['1.0.0\tany']))
  expect(await readFile(questions[0]?.into ?? '', 'utf8')).toContain('"version":"1.0.0"')
  await reading.close()
})
