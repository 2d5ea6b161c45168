import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readGzipMember } from './gzip-members.ts'
import { openWindow } from './file-window.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gzip-members-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Reads member after member to the end of the file. */
async function readAll(bytes: Buffer): Promise<{ readonly plain: Buffer; readonly end: number }[]> {
  const path = join(folder, 'file')
  await writeFile(path, bytes)
  const file = await openWindow({ path })
  try {
    const found = []
    for (let at = 0; at < file.size;) {
      const member = readGzipMember(file, at, 'the member')
      const chunks: Buffer[] = []
      for await (const chunk of member.chunks) chunks.push(chunk)
      at = member.end()
      found.push({ plain: Buffer.concat(chunks), end: at })
    }
    return found
  } finally {
    await file.close()
  }
}

const noise = (size: number): Buffer =>
  Buffer.from(Uint8Array.from({ length: size }, (_, i) => ((i * 2654435761) >>> 11) & 0xff))
const plains = [Buffer.from('one'), Buffer.alloc(0), noise(700_000), Buffer.alloc(3_000_000), Buffer.from('last')]

test('members end where they end, whatever their size, and carry what was packed', async () => {
  const packed = plains.map(plain => gzipSync(plain))
  const found = await readAll(Buffer.concat(packed))
  expect(found.map(({ plain }) => plain.length)).toEqual(plains.map(plain => plain.length))
  for (const [n, { plain }] of found.entries()) expect(plain.equals(plains[n] ?? Buffer.alloc(0))).toBe(true)
  const ends = packed.map((_, n) => packed.slice(0, n + 1).reduce((sum, one) => sum + one.length, 0))
  expect(found.map(({ end }) => end)).toEqual(ends)
})

test('boundaries at every place of the chunks in which a file is read are exact', async () => {
  for (let off = -12; off <= 12; off++) {
    const first = gzipSync(noise(256 * 1024 + off), { level: 0 })
    const filler = gzipSync(Buffer.alloc(0))
    const found = await readAll(Buffer.concat([first, filler, first]))
    expect(found.map(({ end }) => end)).toEqual([
      first.length,
      first.length + filler.length,
      2 * first.length + filler.length,
    ])
  }
})

test('a header may carry a name, a comment, extra fields and its own checksum', async () => {
  const [plain, gz] = [Buffer.from('x'), gzipSync(Buffer.from('x'))]
  const bent = (flags: number, more: Buffer): Buffer =>
    Buffer.concat([gz.subarray(0, 3), Buffer.from([flags]), gz.subarray(4, 10), more, gz.subarray(10)])
  for (const one of [
    bent(8, Buffer.from('name\0')),
    bent(16, Buffer.from('comment\0')),
    bent(4, Buffer.from([3, 0, 1, 2, 3])),
    bent(2, Buffer.from([9, 9])),
    bent(30, Buffer.concat([Buffer.from([1, 0, 7]), Buffer.from('n\0c\0'), Buffer.from([9, 9])])),
  ]) {
    expect(await readAll(one)).toEqual([{ plain, end: one.length }])
  }
})

test.each([
  ['cut in the header', (gz: Buffer) => gz.subarray(0, 7)],
  ['cut in the stream', (gz: Buffer) => gz.subarray(0, gz.length - 20)],
  ['cut in the trailer', (gz: Buffer) => gz.subarray(0, gz.length - 1)],
  [
    'another checksum',
    (gz: Buffer) => {
      const copy = Buffer.from(gz)
      copy[gz.length - 6] = (copy[gz.length - 6] ?? 0) ^ 1
      return copy
    },
  ],
  [
    'another length',
    (gz: Buffer) => {
      const copy = Buffer.from(gz)
      copy[gz.length - 2] = 1
      return copy
    },
  ],
  ['garbage behind', (gz: Buffer) => Buffer.concat([gz, Buffer.from('garbage')])],
  ['zeros behind', (gz: Buffer) => Buffer.concat([gz, Buffer.alloc(512)])],
  ['no gzip at all', () => Buffer.from('text that is no gzip member')],
])('%s is malformed', async (_, bend) => {
  await expect(readAll(bend(gzipSync(noise(5000))))).rejects.toMatchObject({ name: 'Malformed' })
})

test('a reader that stops early leaves no file open and gets no end position', async () => {
  const path = join(folder, 'left')
  await writeFile(path, gzipSync(Buffer.alloc(5_000_000)))
  const file = await openWindow({ path })
  const member = readGzipMember(file, 0, 'the member')
  for await (const chunk of member.chunks) if (chunk.length > 0) break
  expect(() => member.end()).toThrow('was not read to its end')
  await file.close()
})
