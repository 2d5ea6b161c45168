import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { ThreadLimits } from '../../lib/limited-threads.ts'
import { createDocumentCheck, type DocumentAnswer } from './check.ts'

const MODULE = 'document: modulemd\nversion: 2\ndata:\n'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-check-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function check(text: string, limits?: ThreadLimits): Promise<DocumentAnswer> {
  const path = join(folder, 'document')
  await writeFile(path, text)
  const key = { component: '', arch: 'x86_64', name: '' }
  return createDocumentCheck(limits)({ format: 'rpm', kind: 'modules', path, key })
}

test('a valid document is counted, and an invalid one is refused with its fault', async () => {
  expect(await check(`${MODULE} a: 1\n`)).toEqual({ entries: 1 })
  expect(await check('a: 1\n')).toEqual({ why: expect.stringContaining('document 1 of modules.yaml is none of') })
})

test('a document that exceeds a limit is refused, and the next one is read', async () => {
  const bomb = `${MODULE} a:\n${' - x\n'.repeat(800_000)}`
  expect(await check(bomb, { memoryMb: 64, cpuSeconds: 60 })).toEqual({
    why: 'reading it needs more than 64 MB of memory, the most a document may need',
  })
  expect(await check(bomb, { memoryMb: 2048, cpuSeconds: 1 })).toEqual({
    why: 'reading it takes more than 1 s of processor time, the most a document may take',
  })
  expect(await check(`${MODULE} a: 1\n`)).toEqual({ entries: 1 })
})

test('however long a machine takes, a document is not refused for it', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'Date', 'performance'] })
  try {
    const answer = check(`${MODULE} a: 1\n`, { memoryMb: 768, cpuSeconds: 60 })
    let isDone = false
    const done = answer.finally(() => {
      isDone = true
    })
    // minutes pass in every turn while the thread starts and reads
    while (!isDone) {
      vi.advanceTimersByTime(200_000)
      await new Promise(resolve => setImmediate(resolve))
    }
    expect(await done).toEqual({ entries: 1 })
  } finally {
    vi.useRealTimers()
  }
})
