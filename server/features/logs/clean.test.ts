import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { removeOrphans } from './clean.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-orphans-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

test('files of a machine that has written nothing for 30 days go, all others stay', async () => {
  const now = new Date('2026-03-31T00:00:00Z')
  const put = async (name: string, written: string): Promise<void> => {
    await writeFile(join(folder, name), 'x\n')
    await utimes(join(folder, name), new Date(written), new Date(written))
  }
  await put('gatehouse-gone.20260101T000000000-1.log', '2026-01-01T00:00:00Z')
  await put('gatehouse-gone.log', '2026-02-28T00:00:00Z')
  await put('trees-gone.log', '2026-01-01T00:00:00Z')
  await put('gatehouse-here.20260101T000000000-1.log', '2026-01-01T00:00:00Z')
  await put('gatehouse-here.log', '2026-03-30T00:00:00Z')
  await put('access.log', '2026-01-01T00:00:00Z')
  await removeOrphans(folder, now)
  expect((await readdir(folder)).sort()).toEqual([
    'access.log',
    'gatehouse-here.20260101T000000000-1.log',
    'gatehouse-here.log',
  ])
})
