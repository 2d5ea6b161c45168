import { describe, expect, test } from 'vitest'
import { pax, tar } from '../../test/support/packages.ts'
import type { TarEntry } from './tar-header.ts'
import { createTarReader } from './tar.ts'

const LONG = `./${'folder/'.repeat(40)}file`
const ARCHIVE = tar([
  { name: './', type: '5' },
  { name: './control', body: 'kept '.repeat(300) },
  { name: './empty' },
  { name: './skipped', body: Buffer.alloc(1536, 'x') },
  { name: LONG, body: 'x' },
  { name: './link', type: '2', link: LONG },
  pax('path', './from-pax-\u00e4'),
  { name: './short', body: 'y' },
  pax('linkpath', '/somewhere'),
  { name: './link2', type: '2', link: 'else' },
  { name: './last', body: Buffer.alloc(512) },
])

function read(bytes: Buffer, piece: number): TarEntry[] {
  const reader = createTarReader({
    what: 'data.tar',
    maxEntries: 100,
    keep: entry => (/control|empty/.test(entry.name) ? 2000 : undefined),
  })
  const found: TarEntry[] = []
  for (let at = 0; at < bytes.length; at += piece) found.push(...reader.push(bytes.subarray(at, at + piece)))
  reader.end()
  return found
}

describe('a tar is read the same in whatever pieces it comes', () => {
  test.each([1, 3, 100, 511, 512, 513, 1024, 4096, 1 << 20])('%i bytes at a time', piece => {
    expect(read(ARCHIVE, piece)).toEqual([
      { name: './', type: 'directory', size: 0, link: '' },
      { name: './control', type: 'file', size: 1500, link: '', body: Buffer.from('kept '.repeat(300)) },
      { name: './empty', type: 'file', size: 0, link: '', body: Buffer.alloc(0) },
      { name: './skipped', type: 'file', size: 1536, link: '' },
      { name: LONG, type: 'file', size: 1, link: '' },
      { name: './link', type: 'symlink', size: 0, link: LONG },
      { name: './from-pax-\u00e4', type: 'file', size: 1, link: '' },
      { name: './link2', type: 'symlink', size: 0, link: '/somewhere' },
      { name: './last', type: 'file', size: 512, link: '' },
    ])
  })
})

test('cut off anywhere before its end mark it says so', () => {
  for (let length = 0; length <= ARCHIVE.length - 1024; length += 128) {
    expect(() => read(ARCHIVE.subarray(0, length), 4096), String(length)).toThrow(/cut off|end mark/)
  }
})

test('a body that is kept has a limit', () => {
  expect(() => read(tar([{ name: './control', body: Buffer.alloc(2001) }]), 4096)).toThrow('has 2001 bytes')
})

test('headers about other entries are limited together, whatever their number', () => {
  const reader = createTarReader({ what: 'data.tar', maxEntries: 300_000 })
  const one = tar([pax('comment', 'x'.repeat(60_000)), { name: './a' }]).subarray(0, -1024)
  expect(() => {
    for (let n = 0; n < 2_400; n++) reader.push(one)
  }).toThrow('data.tar holds more than 128 MiB of long names and pax headers')
})
