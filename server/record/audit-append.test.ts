import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { appendAfter, finishClaims } from './audit-append.ts'
import { lineHash, NO_LINE, type Tail } from './audit-file.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-audit-append-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const [FIRST, NEXT] = ['2026-03-01.jsonl', '2026-03-02.jsonl']
const START: Tail = { file: undefined, size: 0, hash: NO_LINE, recent: new Set() }
const after = (line: string, file = FIRST): Tail => ({
  file,
  size: Buffer.byteLength(`${line}\n`),
  hash: lineHash(line),
  recent: new Set(),
})
const text = (file = FIRST): Promise<string> => readFile(join(folder, file), 'utf8')
/** What a process leaves that stands still, or ends, between its claim and its write. */
async function claim(tail: Tail, file: string, at: number, lines: string): Promise<string> {
  const body = JSON.stringify({ file, at, text: lines })
  const path = join(folder, `.after-${tail.hash}`)
  await writeFile(path, `${lineHash(body)}\n${body}`)
  return path
}

test('one end has one next line, and nothing is left beside the log', async () => {
  expect(await appendAfter(folder, START, FIRST, 'one\n')).toBe(true)
  expect(await appendAfter(folder, START, FIRST, 'other\n')).toBe(false)
  expect(await appendAfter(folder, after('one'), FIRST, 'zwei, größer\n')).toBe(true)
  expect(await appendAfter(folder, after('one'), NEXT, 'late\n')).toBe(false)
  expect([await text(), await readdir(folder)]).toEqual(['one\nzwei, größer\n', [FIRST]])
})

test('an end that another day went on from is none', async () => {
  await appendAfter(folder, START, FIRST, 'one\n')
  await appendAfter(folder, after('one'), NEXT, 'two\n')
  expect(await appendAfter(folder, after('one'), FIRST, 'late\n')).toBe(false)
  expect(await text()).toBe('one\n')
})

test('of many at once one appends', async () => {
  await appendAfter(folder, START, FIRST, 'one\n')
  const all = await Promise.all(
    Array.from({ length: 20 }, (_, n) => appendAfter(folder, after('one'), FIRST, `line ${n}\n`)),
  )
  expect(all.filter(Boolean)).toHaveLength(1)
  expect((await text()).split('\n')).toHaveLength(3)
})

test.each([
  ['nothing of it', ''],
  ['a part of it', 'tw'],
  ['all of it', 'two\nthree\n'],
])('a claim whose process wrote %s is brought to its end, whoever comes first', async (_, written) => {
  await appendAfter(folder, START, FIRST, 'one\n')
  await claim(after('one'), FIRST, 4, 'two\nthree\n')
  await writeFile(join(folder, FIRST), `one\n${written}`)
  expect(await appendAfter(folder, after('one'), FIRST, 'mine\n')).toBe(false)
  await finishClaims(folder)
  expect([await text(), await readdir(folder)]).toEqual(['one\ntwo\nthree\n', [FIRST]])
})

test('a claim of the first line of a day makes its file', async () => {
  await appendAfter(folder, START, FIRST, 'one\n')
  await claim(after('one'), NEXT, 0, 'two\n')
  await finishClaims(folder)
  expect([await text(NEXT), await readdir(folder)]).toEqual(['two\n', [FIRST, NEXT]])
})

test('a claim that came too late, or was torn by a power cut, changes nothing and goes', async () => {
  await appendAfter(folder, START, FIRST, 'one\n')
  await appendAfter(folder, after('one'), FIRST, 'two\n')
  await claim(after('one'), FIRST, 4, 'late\n')
  await finishClaims(folder)
  expect(await text()).toBe('one\ntwo\n')
  const body = JSON.stringify({ file: NEXT, at: 0, text: 'late\n', behind: { file: FIRST, size: 4 } })
  await writeFile(join(folder, `.after-${lineHash('one')}`), `${lineHash(body)}\n${body}`)
  await finishClaims(folder)
  expect(await readdir(folder)).toEqual([FIRST])
  await truncate(await claim(after('two'), FIRST, 8, 'torn\n'), 80)
  await writeFile(join(folder, '.claim-of-somebody'), '')
  await finishClaims(folder)
  expect([await text(), await readdir(folder)]).toEqual(['one\ntwo\n', [FIRST]])
})
