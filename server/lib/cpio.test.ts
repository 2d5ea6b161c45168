import { describe, expect, test } from 'vitest'
import { CPIO_END, cpioEntry } from '../../test/support/packages-rpm.ts'
import type { CpioFile, CpioPart } from './cpio.ts'
import { createCpioWriter } from './cpio-writer.ts'
import { createCpioReader } from './cpio.ts'

const archive = Buffer.concat([
  cpioEntry({ name: './usr', mode: 0o040755 }),
  cpioEntry({ name: './usr/a', body: 'a file of 22 characters', mode: 0o100755 }),
  cpioEntry({ name: './usr/empty' }),
  cpioEntry({ name: './usr/l', body: 'a', mode: 0o120777 }),
  cpioEntry({ name: './usr/äöü', body: 'four' }),
  CPIO_END,
])
const FILES: readonly CpioFile[] = [
  { name: './a', mode: 0o100644, size: 5 },
  { name: './d', mode: 0o040755, size: 0 },
  { name: './b', mode: 0o100644, size: 4 },
]
const stripped = Buffer.concat([
  Buffer.from('07070X00000002\0\0four07070X00000001\0\x0007070X00000000\0\0five!\0\0\0'),
  CPIO_END,
])

function read(bytes: Buffer, chunk = bytes.length, maxEntries = 100): string[] {
  const reader = createCpioReader({ what: 'x.cpio', maxEntries, fileAt: index => FILES[index] })
  const found: string[] = []
  for (let at = 0; at < bytes.length; at += chunk) {
    for (const part of reader.push(bytes.subarray(at, at + chunk))) {
      if ('bytes' in part) found[found.length - 1] += part.bytes.toString('latin1')
      else found.push(`${part.type} ${part.name} ${part.size}: `)
    }
  }
  reader.end()
  return found
}

test.each([1, 2, 3, 7, 64, 10_000])('an archive is the same in chunks of %i bytes', size => {
  expect(read(archive, size)).toEqual([
    'directory ./usr 0: ',
    'file ./usr/a 23: a file of 22 characters',
    'file ./usr/empty 0: ',
    'symlink ./usr/l 1: a',
    'file ./usr/äöü 4: four',
  ])
  expect(read(stripped, size)).toEqual(['file ./b 4: four', 'directory ./d 0: ', 'file ./a 5: five!'])
})

test('the stripped form is not read where nobody knows the files', () => {
  const reader = createCpioReader({ what: 'x.cpio', maxEntries: 10 })
  expect(() => reader.push(stripped)).toThrow(/must begin with 070701/)
})

test('more entries than allowed are refused', () => {
  expect(read(archive, 64, 5).length).toBe(5)
  expect(() => read(archive, 64, 4)).toThrow(/more than 4 entries/)
})

describe('what is written is read again', () => {
  const rewrite = (bytes: Buffer, chunk: number): Buffer => {
    const reader = createCpioReader({ what: 'x.cpio', maxEntries: 100, fileAt: index => FILES[index] })
    const writer = createCpioWriter()
    const out: Buffer[] = []
    for (let at = 0; at < bytes.length; at += chunk)
      for (const part of reader.push(bytes.subarray(at, at + chunk))) out.push(...writer.write(part))
    return Buffer.concat([...out, writer.end()])
  }
  test.each([1, 5, 10_000])('in chunks of %i bytes', chunk => {
    expect(read(rewrite(archive, chunk))).toEqual(read(archive))
    expect(read(rewrite(stripped, chunk))).toEqual(read(stripped))
  })

  test('a file that newc cannot hold goes on under another name', () => {
    const writer = createCpioWriter()
    const size = 2 ** 32 + 5
    const parts: CpioPart[] = [{ name: 'huge', mode: 0o100644, size, type: 'file' }]
    const heads = parts.flatMap(part => writer.write(part))
    const block = Buffer.alloc(2 ** 26)
    let written = 0
    for (let left = size; left > 0; left -= block.length) {
      for (const piece of writer.write({ bytes: block.subarray(0, Math.min(block.length, left)) })) {
        if (piece.toString('latin1', 0, 6) === '070701') heads.push(piece)
        else written += piece.length
      }
    }
    expect(
      heads.map(head => [head.toString('latin1', 54, 62), head.toString('latin1', 110).replace(/\0+$/, '')]),
    ).toEqual([
      ['ffffffff', 'huge'],
      ['00000006', 'huge.2'],
    ])
    // each piece is padded to four bytes
    expect(written).toBe(size + 1 + 2)
  })
})
