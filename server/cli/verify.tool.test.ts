import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { run } from '../../test/support/tools.ts'

let folder: string
beforeAll(async () => { folder = await mkdtemp(join(tmpdir(), 'gh-verify-')) })
afterAll(() => rm(folder, { recursive: true, force: true }))

test('a folder without a Gatehouse is not verified, and nothing is made in it', async () => {
  const { code, out, err } = await run(process.execPath, [join(import.meta.dirname, 'verify.ts')], { env: { REPOS_ROOT: folder, ENV: 'test' } })
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toBe(`There is no Gatehouse in REPOS_ROOT=${folder}. Set REPOS_ROOT to the folder the service runs on.\n`)
  expect(await readdir(folder)).toEqual([])
})
