import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createUnpackedCopies, type Unpacked, type UnpackedRoom } from './unpacked.ts'

const MIB = 2 ** 20
const DATA = { what: 'data.tar.xz', compression: 'xz' } as const
const CONTROL = { what: 'control.tar.xz', compression: 'xz' } as const

let folder: string
const opened: Unpacked[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-unpacked-'))
})
afterEach(async () => {
  for (const unpacked of opened.splice(0)) await unpacked.close()
  await rm(folder, { recursive: true, force: true })
})

/** Every one of these is closed when the test ends. */
function copiesIn(place: string, room?: UnpackedRoom): () => Unpacked {
  const copies = createUnpackedCopies(place, room)
  return () => {
    const unpacked = copies()
    opened.push(unpacked)
    return unpacked
  }
}

const bytesOf = (size: number): Buffer => Buffer.alloc(size, 'the bytes of a package, ')
async function* inChunks(bytes: Buffer, size = 300_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
async function drain(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = []
  for await (const chunk of chunks) all.push(chunk)
  return Buffer.concat(all)
}
/** Passes bytes by, then reads what was kept of them. */
async function keepAndRead(unpacked: Unpacked, part: typeof DATA | typeof CONTROL, bytes: Buffer) {
  expect((await drain(unpacked.keep(part, inChunks(bytes)))).equals(bytes)).toBe(true)
  const kept = unpacked.read(part)
  return kept === undefined ? undefined : (await drain(kept)).equals(bytes)
}
const openFiles = async (): Promise<number> => (await readdir('/proc/self/fd')).length

test.each([0, 1, MIB, MIB + 1, 5 * MIB + 77])(
  '%i bytes can be read again and again, until they are let go',
  async size => {
    const before = await openFiles()
    const unpacked = copiesIn(folder)()
    expect(await keepAndRead(unpacked, DATA, bytesOf(size))).toBe(true)
    expect(await keepAndRead(unpacked, CONTROL, bytesOf(100))).toBe(true)
    expect(await drain(unpacked.read(DATA) ?? inChunks(Buffer.from('nothing')))).toHaveLength(size)
    expect(await readdir(folder)).toEqual([]) // its file has no name, so a crash leaves nothing
    await unpacked.close()
    expect(unpacked.read(DATA)).toBeUndefined()
    expect(await openFiles()).toBe(before)
  },
)

test('what was not read to its end, or failed, is not kept, and takes no room', async () => {
  const copies = copiesIn(folder, { memoryBytes: 2 * MIB, diskBytes: 4 * MIB })
  const unpacked = copies()
  for await (const chunk of unpacked.keep(DATA, inChunks(bytesOf(4 * MIB)))) if (chunk.length > 0) break
  const failing = async function* (): AsyncGenerator<Buffer> {
    yield bytesOf(3 * MIB)
    throw new Error('damaged')
  }
  await expect(drain(unpacked.keep(CONTROL, failing()))).rejects.toThrow('damaged')
  expect([unpacked.read(DATA), unpacked.read(CONTROL)]).toEqual([undefined, undefined])
  expect(await keepAndRead(copies(), DATA, bytesOf(4 * MIB))).toBe(true)
})

test('where there is no room nothing is kept, and the bytes pass all the same', async () => {
  const copies = copiesIn(folder, { memoryBytes: 2 * MIB, diskBytes: 4 * MIB })
  const [first, second] = [copies(), copies()]
  expect(await keepAndRead(first, DATA, bytesOf(3 * MIB))).toBe(true)
  expect(await keepAndRead(second, DATA, bytesOf(2 * MIB))).toBeUndefined()
  await first.close()
  expect(await keepAndRead(second, DATA, bytesOf(2 * MIB))).toBe(true)
})

test('small copies, too, are kept only while there is memory for them', async () => {
  const copies = copiesIn(folder, { memoryBytes: 1000, diskBytes: 4 * MIB })
  const [first, second] = [copies(), copies()]
  expect(await keepAndRead(first, CONTROL, bytesOf(600))).toBe(true)
  expect(await keepAndRead(second, CONTROL, bytesOf(600))).toBeUndefined()
  await first.close()
  expect(await keepAndRead(second, CONTROL, bytesOf(600))).toBe(true)
})

test('where no file can be made nothing is kept, and the bytes pass all the same', async () => {
  const unpacked = copiesIn(join(folder, 'gone'))()
  expect(await keepAndRead(unpacked, DATA, bytesOf(2 * MIB))).toBeUndefined()
})

test('a second part of the same name takes no place of the first', async () => {
  const unpacked = copiesIn(folder)()
  expect(await keepAndRead(unpacked, DATA, Buffer.from('first'))).toBe(true)
  expect((await drain(unpacked.keep(DATA, inChunks(Buffer.from('second'))))).toString()).toBe('second')
  expect((await drain(unpacked.read(DATA) ?? inChunks(Buffer.alloc(0)))).toString()).toBe('first')
})

test('what is not compressed is not copied', async () => {
  const plain = { what: 'data.tar', compression: 'none' } as const
  const unpacked = copiesIn(folder)()
  expect((await drain(unpacked.keep(plain, inChunks(bytesOf(100))))).length).toBe(100)
  expect(unpacked.read(plain)).toBeUndefined()
})
