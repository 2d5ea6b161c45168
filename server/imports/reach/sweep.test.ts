import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sweepDownloads } from './download.ts'

test('what nobody has continued for a day is removed, files and folders', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gh-sweep-'))
  const now = new Date()
  const yesterday = new Date(now.getTime() - 25 * 3_600_000)
  try {
    for (const name of ['catalogue-1', 'catalogue-2']) {
      await mkdir(join(folder, name))
      await writeFile(join(folder, name, 'packages'), 'x')
    }
    for (const name of ['old', 'fresh']) await writeFile(join(folder, name), 'x')
    for (const name of ['catalogue-1', 'old']) await utimes(join(folder, name), yesterday, yesterday)
    await sweepDownloads(folder, now)
    expect((await readdir(folder)).sort()).toEqual(['catalogue-2', 'fresh'])
    await sweepDownloads(join(folder, 'nothing'), now)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
