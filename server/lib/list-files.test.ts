import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listFiles } from './list-files.ts'

test('lists files and links of every depth in order, and nothing where there is no folder', async () => {
  const root = await mkdtemp(join(tmpdir(), 'gh-test-'))
  try {
    for (const folder of ['b/deep/er', 'a', ...Array.from({ length: 40 }, (_, n) => `many/${n}`)])
      await mkdir(join(root, folder), { recursive: true })
    for (const file of ['b/deep/er/z', 'a/one', 'top', 'many/39/x']) await writeFile(join(root, file), '')
    await symlink('../a', join(root, 'b', 'link'))
    expect(await listFiles(root)).toEqual(
      ['a/one', 'b/deep/er/z', 'b/link', 'many/39/x', 'top'].map(file => join(root, file)),
    )
    expect(await listFiles(join(root, 'absent'))).toEqual([])
    await expect(listFiles(join(root, 'top'))).rejects.toMatchObject({ code: 'ENOTDIR' })
  } finally {
    await rm(root, { recursive: true, force: true })
  }
})
