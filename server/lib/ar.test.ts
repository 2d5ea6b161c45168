import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ar } from '../../test/support/packages.ts'
import { listAr } from './ar.ts'
import { openWindow } from './file-window.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ar-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function list(bytes: Buffer): Promise<readonly [string, string][]> {
  const path = join(folder, 'archive')
  await writeFile(path, bytes)
  const file = await openWindow({ path })
  try {
    const members = await listAr(file, 5)
    return await Promise.all(
      members.map(
        async ({ name, offset, size }) => [name, (await file.read(offset, size)).toString()] as [string, string],
      ),
    )
  } finally {
    await file.close()
  }
}

test('members are found where they are, odd sizes and the last one without padding included', async () => {
  const members = [
    { name: 'a', body: 'odd' },
    { name: 'b', body: '' },
    { name: 'c', body: 'even' },
    { name: 'd', body: 'x', pad: '' },
  ]
  expect(await list(ar(members))).toEqual([
    ['a', 'odd'],
    ['b', ''],
    ['c', 'even'],
    ['d', 'x'],
  ])
  expect(await list(ar([]))).toEqual([])
})

test('members behind 256 KiB are read from the disk', async () => {
  const large = 'x'.repeat(600_001)
  expect(
    await list(
      ar([
        { name: 'large', body: large },
        { name: 'small', body: 'y' },
      ]),
    ),
  ).toEqual([
    ['large', large],
    ['small', 'y'],
  ])
})

test('there is a limit to how many', async () => {
  await expect(list(ar(Array.from({ length: 6 }, () => ({ name: 'a', body: 'x' }))))).rejects.toThrow(
    'more than 5 ar members',
  )
})

test('a stream over a file gives its bytes in order and leaves the rest', async () => {
  const path = join(folder, 'streamed')
  const bytes = Buffer.from(Array.from({ length: 700_000 }, (_, i) => i % 251))
  await writeFile(path, bytes)
  const file = await openWindow({ path })
  const chunks: Buffer[] = []
  for await (const chunk of file.stream(1000, 650_000)) chunks.push(chunk)
  await file.close()
  expect(Buffer.concat(chunks).equals(bytes.subarray(1000, 651_000))).toBe(true)
})
