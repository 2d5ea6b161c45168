import { beforeEach, expect, test } from 'vitest'
import { isRefusal } from '../../core/errors.ts'
import type { SpooledFile } from '../../files/spool.ts'
import { createCollection, type Collection } from './collection.ts'

let now: Date
let collection: Collection
/** Names of the files whose bytes are still on the disk. */
let onDisk: Set<string>
beforeEach(() => {
  now = new Date('2026-11-22T12:00:00Z')
  collection = createCollection({ now: () => now })
  onDisk = new Set()
})

let made = 0
function fileOf(filename: string, gib = 0): SpooledFile {
  const path = `${filename} ${made++}`
  onDisk.add(path)
  const discard = async (): Promise<void> => void onDisk.delete(path)
  return { path, filename, blob: { size: gib * 2 ** 30 } as never, head: new Uint8Array(), discard }
}
const put = async (box: string, name: string, gib?: number): Promise<string> =>
  collection.put(box, fileOf(name, gib)).then(
    () => 'kept',
    (error: unknown) => {
      if (isRefusal(error, 'incoming_full')) return error.message
      throw error
    },
  )

test('a sender may have 8 GiB or 500 files waiting, and what is refused leaves nothing', async () => {
  expect(await put('jo', 'a', 5)).toBe('kept')
  expect(await put('jo', 'b', 4)).toMatch(/^The files of this sender .* would be more than 500 or 8 GiB/)
  expect(await put('jo', 'a', 8)).toBe('kept')
  for (let i = 1; i < 500; i++) expect(await put('jo', `x${i}`)).toBe('kept')
  expect(await put('jo', 'y')).toMatch(/^The files of this sender/)
  expect(onDisk.size).toBe(500)
})

test('one who takes a new credential for each 8 GiB ends at 32 GiB', async () => {
  for (const box of ['token 1', 'token 2', 'token 3', 'token 4']) expect(await put(box, 'a', 8)).toBe('kept')
  expect(await put('token 5', 'a', 1)).toMatch(/^The files of all senders .* would be more than 32 GiB/)
  expect(onDisk.size).toBe(4)
  collection.take('token 1', ['a'])
  expect(await put('token 5', 'a', 1)).toBe('kept')
})

test('what nobody names is removed after six hours', async () => {
  await put('jo', 'a')
  now = new Date('2026-11-22T17:59:00Z')
  await put('jo', 'b')
  await collection.sweep()
  expect(onDisk.size).toBe(2)
  now = new Date('2026-11-22T18:00:01Z')
  await collection.sweep()
  expect([...onDisk].map(path => path.split(' ')[0])).toEqual(['b'])
})
