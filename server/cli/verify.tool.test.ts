import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { run } from '../../test/support/tools.ts'
import { lockRoot } from '../files/root-lock.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-verify-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('a folder without a Gatehouse is not verified, and nothing is made in it', async () => {
  const { code, out, err } = await run(process.execPath, [join(import.meta.dirname, 'verify.ts')], {
    env: { REPOS_ROOT: folder, ENV: 'test' },
  })
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toBe(`There is no Gatehouse in REPOS_ROOT=${folder}. Set REPOS_ROOT to the folder the service runs on.\n`)
  expect(await readdir(folder)).toEqual([])
})

test('a daemon whose database is elsewhere: none is made, and the line says what to set', async () => {
  const root = join(folder, 'elsewhere')
  await mkdir(join(root, 'pool'), { recursive: true })
  const unlock = await lockRoot(root)
  const { code, out, err } = await run(process.execPath, [join(import.meta.dirname, 'verify.ts')], {
    env: { REPOS_ROOT: root, ENV: 'test' },
  })
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toBe(
    `REPOS_ROOT=${root} is in use by pid ${process.pid}. Set DATABASE_URL as the service there has it, or try again in a moment if it is just starting.\n`,
  )
  expect((await readdir(root)).sort()).toEqual(['.running', 'pool'])
  await unlock()
})

test("a process that got the database's old number after a power cut is not taken for the database", async () => {
  const root = join(folder, 'left-behind')
  await mkdir(join(root, 'pool'), { recursive: true })
  await mkdir(join(root, '.pg'))
  await writeFile(join(root, '.pg', 'postmaster.pid'), `${process.pid}\n${root}/.pg\n1700000000\n5432\n/tmp/gone\n`)
  const { code, out, err } = await run(process.execPath, [join(import.meta.dirname, 'verify.ts')], {
    env: { REPOS_ROOT: root, ENV: 'test' },
  })
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toMatch(/^verified: 0 packages, .*, no difference\n$/)
})
