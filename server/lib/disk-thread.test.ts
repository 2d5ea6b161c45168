import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { moveTogether, replaceTogether, writeNew } from './disk-thread.ts'

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'disk-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))
const at = (...names: string[]): string => join(root, ...names)
const read = (...names: string[]): Promise<string> => readFile(at(...names), 'utf8')
const now = new Date('2026-01-02T03:04:05Z')

describe('a new file', () => {
  test('has its bytes and its mode', async () => {
    await writeNew(at('a'), Buffer.from('hello'), 0o640)
    expect(await read('a')).toBe('hello')
    expect((await stat(at('a'))).mode & 0o777).toBe(0o640)
  })
  test('is refused where there is one, which stays', async () => {
    await writeFile(at('a'), 'old')
    await expect(writeNew(at('a'), 'new', 0o640)).rejects.toMatchObject({ code: 'EEXIST' })
    expect(await read('a')).toBe('old')
  })
})

describe('a file that is replaced', () => {
  test('has the new bytes, in a folder that is made', async () => {
    await replaceTogether(at('x', 'y', 'a'), 'old')
    await replaceTogether(at('x', 'y', 'a'), 'nëw')
    expect(await read('x', 'y', 'a')).toBe('nëw')
    expect(await readdir(at('x', 'y'))).toEqual(['a'])
  })
  test('of many at once, one that cannot be written fails alone and leaves nothing', async () => {
    await mkdir(at('full', 'folder'), { recursive: true })
    const names = Array.from({ length: 200 }, (_, n) => String(n))
    const [bad, ...good] = await Promise.allSettled([
      replaceTogether(at('full'), 'a folder is in its place'),
      ...names.map(name => replaceTogether(at('many', name), name)),
    ])
    expect(bad).toMatchObject({
      status: 'rejected',
      reason: { code: expect.stringMatching(/EISDIR|ENOTEMPTY/) as string },
    })
    expect(good.filter(({ status }) => status === 'rejected')).toEqual([])
    expect(await Promise.all(names.map(name => read('many', name)))).toEqual(names)
    expect((await readdir(root)).sort()).toEqual(['full', 'many'])
  })
})

describe('a file that moves', () => {
  const move = (from: string, to: string, sizeBytes = 5) => moveTogether({ from, to, sizeBytes, now })

  test('is in its place, in folders that are made', async () => {
    await writeFile(at('a'), 'hello')
    await move(at('a'), at('ab', 'cd', 'a'))
    expect(await read('ab', 'cd', 'a')).toBe('hello')
    expect(await readdir(root)).toEqual(['ab'])
  })
  test('goes where the place has it whole, which then counts as new', async () => {
    await writeFile(at('a'), 'hello')
    await writeFile(at('b'), 'HELLO')
    await utimes(at('b'), 0, 0)
    await move(at('a'), at('b'))
    expect(await read('b')).toBe('HELLO')
    expect((await stat(at('b'))).mtime).toEqual(now)
    expect(await readdir(root)).toEqual(['b'])
  })
  test('replaces what is torn', async () => {
    await writeFile(at('a'), 'hello')
    await writeFile(at('b'), 'hel')
    await move(at('a'), at('b'))
    expect(await read('b')).toBe('hello')
  })
  test('fails with the code of the system where it cannot, and stays where it is', async () => {
    await expect(move(at('nothing'), at('b'))).rejects.toMatchObject({ code: 'ENOENT' })
    await writeFile(at('a'), 'hello')
    await writeFile(at('file'), '')
    await expect(move(at('a'), at('file', 'a'))).rejects.toMatchObject({ code: expect.stringMatching(/^E/) as string })
    expect(await read('a')).toBe('hello')
  })
})
