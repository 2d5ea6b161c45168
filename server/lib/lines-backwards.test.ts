import { mkdtemp, open, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { linesBackwards, seekLine, type PlacedLine } from './lines-backwards.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-back-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function read(content: string, end = Buffer.byteLength(content)): Promise<PlacedLine[]> {
  await writeFile(join(folder, 'f'), content)
  await using handle = await open(join(folder, 'f'))
  const lines: PlacedLine[] = []
  for await (const line of linesBackwards(handle, end)) lines.push(line)
  return lines
}
const texts = async (content: string, end?: number): Promise<string[]> => (await read(content, end)).map(l => l.text)

test('lines come last first, with their places, and one that is being written does not', async () => {
  expect(await read('a\nbé\n\nc\nhalf')).toEqual([
    { text: 'c', start: 7, end: 9 },
    { text: '', start: 6, end: 7 },
    { text: 'bé', start: 2, end: 6 },
    { text: 'a', start: 0, end: 2 },
  ])
  expect(await texts('a\nb\nc\n', 4)).toEqual(['b', 'a'])
  expect(await texts('')).toEqual([])
  expect(await texts('no newline')).toEqual([])
  expect(await texts('\n')).toEqual([''])
})

test('lines over many blocks are those of the file, whatever their lengths', async () => {
  const lines = Array.from({ length: 3000 }, (_, n) => `${n}-${'é'.repeat((n * 7919) % 300)}`)
  lines[1500] = 'x'.repeat(200_000)
  expect(await texts(`${lines.join('\n')}\n`)).toEqual(lines.toReversed())
})

test('a line of more than 256 KB is left out, and those around it are not', async () => {
  expect(await texts(`a\n${'x'.repeat(300_000)}\nb\n${'y'.repeat(500_000)}`)).toEqual(['b', 'a'])
})

test('a file that is cut off while it is read ends the list', async () => {
  const content = `${'line\n'.repeat(100_000)}`
  await writeFile(join(folder, 'f'), content)
  await using handle = await open(join(folder, 'f'))
  let count = 0
  for await (const _ of linesBackwards(handle, content.length))
    if (++count === 10) await truncate(join(folder, 'f'), 10)
  expect(count).toBeLessThan(100_000)
})

test.each([0, 1, 4_999, 25_000, 49_999, 50_000])(
  'the end of what is not after %d is found, at most a block behind',
  async limit => {
    const lines = Array.from({ length: 50_000 }, (_, n) => `${n} ${'x'.repeat(n % 50)}`)
    const content = `${lines.join('\n')}\n`
    await writeFile(join(folder, 'f'), content)
    await using handle = await open(join(folder, 'f'))
    const end = await seekLine(handle, content.length, line => Number.parseInt(line, 10) >= limit)
    const wanted = lines.slice(0, limit).join('\n').length + (limit === 0 ? 0 : 1)
    expect(end).toBeGreaterThanOrEqual(wanted)
    expect(end - wanted).toBeLessThanOrEqual(2 * 65_536)
    expect(end === content.length || content[end - 1] === '\n').toBe(true)
  },
)
