import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { bytesOf, readAll, type TargetStore } from '../../server/backup/targets/target-store.ts'

const NEVER = new AbortController().signal
const LARGE = randomBytes(8 * 2 ** 20 * 2 + 12_345)

async function* inPieces(bytes: Buffer, size = 200_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
async function* thatBreaks(bytes: Buffer): AsyncGenerator<Buffer> {
  yield* inPieces(bytes)
  throw new Error('the source broke')
}

export async function keysBelow(store: TargetStore, prefix: string): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of store.list(prefix, NEVER)) keys.push(key)
  return keys.sort()
}

/** What every kind of target must keep. */
export function testTargetStore(open: () => TargetStore): void {
  const readBack = async (store: TargetStore, key: string): Promise<Buffer | undefined> => {
    const body = await store.read(key, NEVER)
    return body && readAll(body, 2 ** 30)
  }

  test('keeps files of every size, lists them below a folder, replaces and removes them', async () => {
    const store = open()
    const files = { 'blobs/aa/1': Buffer.alloc(0), 'blobs/ab/2': Buffer.from('small'), 'blobs/ab/3': LARGE }
    for (const [key, bytes] of Object.entries(files)) await store.put(key, inPieces(bytes), NEVER)
    for (const n of [1, 2, 3, 4]) await store.put(`snapshots/${n}`, bytesOf(`snapshot ${n}`), NEVER)
    await store.settle()
    expect(await keysBelow(store, 'blobs/')).toEqual(Object.keys(files))
    expect(await keysBelow(store, 'snapshots/')).toEqual([1, 2, 3, 4].map(n => `snapshots/${n}`))
    expect(await keysBelow(store, 'nothing/')).toEqual([])
    for (const [key, bytes] of Object.entries(files))
      expect((await readBack(store, key))?.equals(bytes), key).toBe(true)
    await store.put('blobs/ab/2', bytesOf('another'), NEVER)
    expect(String(await readBack(store, 'blobs/ab/2'))).toBe('another')
    for (const key of [...Object.keys(files), 'blobs/ab/none']) await store.remove(key, NEVER)
    expect(await keysBelow(store, 'blobs/')).toEqual([])
    expect(await readBack(store, 'blobs/ab/3')).toBeUndefined()
  })

  test('says when files were written, by its own clock', async () => {
    const store = open()
    await store.put('blobs/ac/9', bytesOf('x'), NEVER)
    const now = await store.now(NEVER)
    for await (const { key, sizeBytes, modifiedAt } of store.list('blobs/', NEVER))
      expect([key, sizeBytes, Math.abs(now.getTime() - modifiedAt.getTime()) < 60_000]).toEqual(['blobs/ac/9', 1, true])
  })

  test.each([1_000, LARGE.length])('leaves nothing of a file whose source breaks off, %i bytes', async size => {
    const store = open()
    await expect(store.put('blobs/ad/broken', thatBreaks(LARGE.subarray(0, size)), NEVER)).rejects.toThrow(
      'the source broke',
    )
    expect(await keysBelow(store, 'blobs/ad/')).toEqual([])
    expect(await readBack(store, 'blobs/ad/broken')).toBeUndefined()
  })
}
