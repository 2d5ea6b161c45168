import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openRoot } from './root.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-root-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('a folder that is missing is made with its parents, and nothing is left in it', async () => {
  const root = join(folder, 'a', 'b', 'c')
  await openRoot(root)
  await openRoot(root)
  expect(await readdir(root)).toEqual([])
})

test('a file in the way is named, with what to do', async () => {
  const file = join(folder, 'file')
  await writeFile(file, 'kept')
  await expect(openRoot(file)).rejects.toThrow(
    `REPOS_ROOT=${file}: ${file} is no folder. Remove what is there, or set REPOS_ROOT to a folder.`,
  )
  await expect(openRoot(join(file, 'below'))).rejects.toThrow(
    `REPOS_ROOT=${join(file, 'below')}: ${file} is no folder.`,
  )
  const dangling = join(folder, 'dangling')
  await symlink(join(folder, 'nowhere'), dangling)
  await expect(openRoot(dangling)).rejects.toThrow('is no folder')
})

test.skipIf(!existsSync('/proc/self'))(
  'a place where nothing can be made is refused at once, not tried for ever',
  async () => {
    await expect(openRoot('/proc/nope/repos')).rejects.toThrow(
      'REPOS_ROOT=/proc/nope/repos: /proc/nope cannot be made (ENOENT). Set REPOS_ROOT to a folder on a disk of this machine.',
    )
  },
)

test.skipIf(!existsSync('/sys/kernel'))('a folder that takes no files is refused with who may not write', async () => {
  await expect(openRoot('/sys/kernel')).rejects.toThrow(
    /^REPOS_ROOT=\/sys\/kernel: .*(may not write to|cannot be made)/,
  )
})
