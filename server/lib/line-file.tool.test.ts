import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { finishedFiles } from './line-file.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-lines-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** Every line of every file, oldest first. */
async function written(): Promise<string[]> {
  const files = [...(await finishedFiles(folder, 'a')), 'a.log']
  return (await Promise.all(files.map(file => readFile(join(folder, file), 'utf8')))).join('').split('\n').slice(0, -1)
}

test('two processes over one file lose no line and cut none', async () => {
  const program = `
    import { createLineFile } from ${JSON.stringify(join(import.meta.dirname, 'line-file.ts'))}
    const file = createLineFile({ folder: process.argv[1], name: 'a', maxBytes: 20_000, keep: 1000, clock: { now: () => new Date() } })
    for (let n = 0; n < 5000; n++) { file.write(process.argv[2] + ' ' + n + '\\n'); if (n % 50 === 0) await new Promise(setImmediate) }
    await file.close()`
  const run = async (name: string): Promise<void> => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', program, folder, name], { stdio: 'inherit' })
    expect(await once(child, 'exit')).toEqual([0, null])
  }
  await Promise.all([run('left'), run('right')])
  const lines = await written()
  for (const name of ['left', 'right'])
    expect(lines.filter(line => line.startsWith(name)).sort()).toEqual(
      Array.from({ length: 5000 }, (_, n) => `${name} ${n}`).sort(),
    )
  expect(lines).toHaveLength(10_000)
})
