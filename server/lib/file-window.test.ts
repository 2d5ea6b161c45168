import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openWindow } from './file-window.ts'
import { Malformed } from './limited.ts'

const bytes = Buffer.from('0123456789')
let folder: string
let path: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'window-'))
  path = join(folder, 'file')
  await writeFile(path, bytes)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe.each([
  ['on disk', () => ({ path })],
  ['in memory, without a look at the disk', () => ({ path: '/nowhere', bytes })],
])('a file %s', (_, source) => {
  test('is read at any position, and never behind its end', async () => {
    const window = await openWindow(source())
    try {
      expect(window.size).toBe(10)
      expect((await window.read(3, 4)).toString()).toBe('3456')
      expect((await window.read(10, 0)).toString()).toBe('')
      await expect(window.read(8, 3)).rejects.toThrow(Malformed)
      const chunks: Buffer[] = []
      for await (const chunk of window.stream(2, 8)) chunks.push(chunk)
      expect(Buffer.concat(chunks).toString()).toBe('23456789')
      await expect(window.stream(8, 3).next()).rejects.toThrow(Malformed)
      expect((await window.stream(10, 0).next()).done).toBe(true)
    } finally {
      await window.close()
    }
  })
})
