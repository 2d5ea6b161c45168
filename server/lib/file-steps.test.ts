import { link, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { takeSteps, type FileStep } from './file-steps.ts'
import { createWorkers } from './workers.ts'

const workers = createWorkers({ body: takeSteps, size: 1 })
let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-steps-'))
  return () => rm(folder, { recursive: true })
})
afterAll(() => workers.close())

async function take(...steps: FileStep[]): Promise<void> {
  const job = workers.job()
  job.send(steps)
  await job.answer
}
const at = (name: string): string => join(folder, name)
const textOf = (name: string): Promise<string> => readFile(at(name), 'utf8')

test('steps make the folders they need and are taken in order', async () => {
  await take(
    { do: 'folder', path: at('a/b') },
    { do: 'write', path: at('c/d/one'), bytes: 'one' },
    { do: 'link', from: at('c/d/one'), to: at('e/two') },
    { do: 'symlink', target: '../c', path: at('f/three') },
    { do: 'move', from: at('e/two'), to: at('a/b/four') },
    { do: 'expect', path: at('a/b/four'), size: 3 },
    { do: 'touch', path: at('c/d/one'), at: new Date(1_000_000) },
  )
  expect([await textOf('a/b/four'), await textOf('f/three/d/one'), await readdir(at('e'))]).toEqual(['one', 'one', []])
  expect((await stat(at('a/b/four'))).mtimeMs).toBe(1_000_000)
})

test('a file that is written leaves the other names of the one in its place alone', async () => {
  await writeFile(at('old'), 'old')
  await link(at('old'), at('other'))
  await take({ do: 'write', path: at('old'), bytes: 'new' })
  expect([await textOf('old'), await textOf('other')]).toEqual(['new', 'old'])
})

test('a link leaves what is in its place, and a new one replaces it', async () => {
  await writeFile(at('from'), 'from')
  await writeFile(at('to'), 'to')
  await take({ do: 'link', from: at('from'), to: at('to') })
  expect(await textOf('to')).toBe('to')
  await take({ do: 'link', from: at('from'), to: at('to'), isNew: true })
  expect([await textOf('to'), (await readdir(folder)).sort()]).toEqual(['from', ['from', 'to']])
  await take({ do: 'symlink', target: 'x', path: at('s') }, { do: 'symlink', target: 'y', path: at('s') })
  expect(await readlink(at('s'))).toBe('x')
})

test('what is gone already is removed and touched', async () => {
  await mkdir(at('deep/er'), { recursive: true })
  await writeFile(at('deep/er/file'), '')
  await take(
    { do: 'remove', path: at('deep') },
    { do: 'remove', path: at('deep') },
    { do: 'touch', path: at('deep'), at: new Date() },
  )
  expect(await readdir(folder)).toEqual([])
})

test('the first step that fails says why, and those after it are not taken', async () => {
  await writeFile(at('file'), 'text')
  const after: FileStep = { do: 'remove', path: at('file') }
  await expect(take({ do: 'link', from: at('nothing'), to: at('new') }, after)).rejects.toMatchObject({
    code: 'ENOENT',
  })
  await expect(take({ do: 'expect', path: at('file'), size: 5 }, after)).rejects.toThrow('has 4 bytes, 5 were expected')
  expect(await textOf('file')).toBe('text')
})
