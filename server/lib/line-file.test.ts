import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from './clock.ts'
import { createLineFile, finishedFiles, type LineFile } from './line-file.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-lines-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const make = (more: Partial<Parameters<typeof createLineFile>[0]> = {}): LineFile =>
  createLineFile({ folder, name: 'a', maxBytes: 4_000, keep: 1_000, clock: systemClock, ...more })
/** Every line of every file, oldest first. */
async function written(): Promise<string[]> {
  const files = [...(await finishedFiles(folder, 'a')), 'a.log']
  return (await Promise.all(files.map(file => readFile(join(folder, file), 'utf8')))).join('').split('\n').slice(0, -1)
}

test('20,000 lines over many files are all there, in their order, and no file is larger than allowed', async () => {
  const file = make({ maxBytes: 50_000 })
  const lines = Array.from({ length: 20_000 }, (_, n) => `${n} ${'é'.repeat(n % 60)}`)
  for (const line of lines) file.write(`${line}\n`)
  await file.close()
  expect(await written()).toEqual(lines)
  const sizes = await Promise.all((await readdir(folder)).map(async name => (await stat(join(folder, name))).size))
  expect(Math.max(...sizes)).toBeLessThanOrEqual(50_000)
  expect(sizes.length).toBeGreaterThan(10)
})

test('the oldest files go, and the newest lines stay', async () => {
  const file = make({ maxBytes: 100, keep: 3 })
  for (let n = 0; n < 100; n++) file.write(`line ${String(n).padStart(4, '0')}\n`)
  await file.close()
  expect(await written()).toEqual(Array.from({ length: 40 }, (_, n) => `line ${String(n + 60).padStart(4, '0')}`))
})

test('a line that is larger than a file is written whole, alone', async () => {
  const file = make({ maxBytes: 50 })
  const long = 'x'.repeat(500)
  for (const line of ['a', long, 'b']) file.write(`${line}\n`)
  await file.close()
  expect(await written()).toEqual(['a', long, 'b'])
  expect(await finishedFiles(folder, 'a')).toHaveLength(2)
})

test('what a killed process left of a line stays alone: the next line begins anew', async () => {
  await writeFile(join(folder, 'a.log'), 'whole\nhal')
  const file = make()
  file.write('next\n')
  await file.close()
  expect(await written()).toEqual(['whole', 'hal', 'next'])
})

test('a file that somebody renamed or removed is begun anew within a second', async () => {
  let now = 1_000_000
  const file = make({ clock: { now: () => new Date(now) } })
  file.write('one\n')
  await file.flushed()
  await rm(join(folder, 'a.log'))
  now += 1_000
  file.write('two\n')
  await file.close()
  expect(await written()).toEqual(['two'])
})

test('lines wait while the disk takes none, those beyond 8 MB are counted, and the rest follows in order', async () => {
  const blocked = join(folder, 'blocked')
  await writeFile(blocked, '')
  const told: [string | undefined, number][] = []
  const file = make({ folder: blocked, onTrouble: (error, lost) => told.push([error?.message, lost]) })
  file.write('first\n')
  await file.flushed()
  expect(told).toEqual([[expect.stringContaining('EEXIST'), 0]])
  const big = `${'y'.repeat(1024 * 1024 - 1)}\n`
  for (let n = 0; n < 9; n++) file.write(big)
  await rm(blocked)
  await file.close()
  expect((await readdir(blocked)).length).toBeGreaterThan(0)
  const kept = await Promise.all((await readdir(blocked)).map(name => readFile(join(blocked, name), 'utf8')))
  expect(kept.join('').length).toBe('first\n'.length + 7 * big.length)
})

test('a process that is about to end writes what waits at once', async () => {
  const file = make()
  file.write('one\n')
  await file.flushed()
  file.write('two\n')
  file.write('three\n')
  file.closeNow()
  await file.flushed()
  expect((await written()).sort()).toEqual(['one', 'three', 'two'])
})
