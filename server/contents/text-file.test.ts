import { describe, expect, test } from 'vitest'
import { openFile } from '../../test/support/open-file.ts'
import { malformed } from '../lib/limited.ts'
import type { Found } from './reader.ts'
import { linesOf, textReader } from './text-file.ts'

const row = (name: string): Found => ({
  type: 'npm',
  name,
  version: '1',
  presence: 'declared',
  rule: 'x',
  confidence: 'certain',
})

describe('a reader of text', () => {
  const reader = textReader({
    id: 'x',
    path: /(^|\/)x[.]txt$/,
    *read(text) {
      for (const line of linesOf(text)) yield line === 'bad' ? malformed('a line is bad') : row(line)
    },
  })
  const read = (content: string | Buffer) => reader.read(openFile('a/x.txt', content))

  test('wants its path alone', () => {
    expect(['a/x.txt', 'x.txt', 'ax.txt', 'a/x.txt/y'].map(path => reader.wants(openFile(path, '')))).toEqual([
      true,
      true,
      false,
      false,
    ])
  })
  test('reads UTF-8 and UTF-16, with marks, and both ends of lines', async () => {
    const expected = { found: [row('ä'), row('b')] }
    expect(await read('\ufeffä\r\nb  ')).toEqual(expected)
    expect(await read(Buffer.from('\ufeffä\nb', 'utf16le'))).toEqual(expected)
  })
  test('stops after 50,000 rows and says so', async () => {
    const text = 'a\n'.repeat(60_000)
    const { found, unopened } = await read(text)
    expect(found).toHaveLength(50_000)
    expect(unopened).toEqual([{ path: 'a/x.txt', size: text.length, why: 'It names more than 50000 components.' }])
  })
  test('keeps what came before damage, and names the file', async () => {
    expect(await read('a\nbad\nb')).toEqual({
      found: [row('a')],
      unopened: [{ path: 'a/x.txt', size: 7, why: 'It could be read in part only: a line is bad.' }],
    })
    await expect(read('bad')).rejects.toThrow('a line is bad')
  })
  test('a file that is too large is refused', async () => {
    await expect(read(Buffer.alloc(16 * 2 ** 20 + 1))).rejects.toThrow('at most 16 MiB are read')
  })
  test('lines are cut, and an empty text has none', () => {
    expect([...linesOf('')]).toEqual([])
    expect([...linesOf(`${'a'.repeat(5000)}\nb`)]).toEqual(['a'.repeat(2000), 'b'])
  })
})
