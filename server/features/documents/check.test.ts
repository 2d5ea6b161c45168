import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDocumentCheck, type CheckLimits, type DocumentAnswer } from './check.ts'

const MODULE = 'document: modulemd\nversion: 2\ndata:\n'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-check-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function check(text: string, limits?: CheckLimits): Promise<DocumentAnswer> {
  const path = join(folder, 'document')
  await writeFile(path, text)
  const key = { component: '', arch: 'x86_64', name: '' }
  return createDocumentCheck(limits)({ format: 'rpm', kind: 'modules', path, key })
}

test('a valid document is counted, and an invalid one is refused with its fault', async () => {
  expect(await check(`${MODULE} a: 1\n`)).toEqual({ entries: 1 })
  expect(await check('a: 1\n')).toEqual({ why: expect.stringContaining('document 1 of modules.yaml is none of') })
})

test('a document that exceeds the memory limit is refused, and the next one is read', async () => {
  const bomb = `${MODULE} a:\n${' - x\n'.repeat(800_000)}`
  expect(await check(bomb, { memoryMb: 64, seconds: 60 })).toEqual({
    why: 'reading it needs more than 64 MB of memory, the most a document may need',
  })
  expect(await check(bomb, { memoryMb: 2048, seconds: 1 })).toEqual({
    why: 'reading it took longer than 1 s, the most a document may take',
  })
  expect(await check(`${MODULE} a: 1\n`)).toEqual({ entries: 1 })
})
