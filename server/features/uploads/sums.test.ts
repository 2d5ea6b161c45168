import { expect, test } from 'vitest'
import { readSums } from './sums.ts'

const A = 'a'.repeat(64)
const B = 'b'.repeat(64)

test.each([
  [`${A}  one.deb\n${B} *two.deb\n`, { 'one.deb': A, 'two.deb': B }],
  [`${A}  dist/one.deb\r\n${B}  ./two.deb\r\n`, { 'one.deb': A, 'two.deb': B }],
  [`SHA256 (dist/one.deb) = ${A}\n`, { 'one.deb': A }],
  [`${A.toUpperCase()}  one.deb\n\n${A}  again/one.deb`, { 'one.deb': A }],
  ['', {}],
])('reads %j', (text, sums) => {
  const read = new Map<string, string>()
  readSums(text, read)
  expect(Object.fromEntries(read)).toEqual(sums)
})

test.each([
  [`${A}  one.deb\n${A.slice(1)}  two.deb`, 'Line 2 of the SHA-256 sums is none that sha256sum writes.'],
  [`${A} one.deb`, 'Line 1 of the SHA-256 sums is none that sha256sum writes.'],
  [`${'a'.repeat(32)}  one.deb`, 'Line 1 of the SHA-256 sums is none that sha256sum writes.'],
  [`\\${A}  a\\\\b.deb`, 'Line 1 of the SHA-256 sums is none that sha256sum writes.'],
  ['one.deb', 'Line 1 of the SHA-256 sums is none that sha256sum writes.'],
  [`${A}  x/one.deb\n${B}  y/one.deb`, 'The SHA-256 sums name one.deb twice, with two digests.'],
])('refuses %j, so that no file passes unchecked', (text, said) => {
  expect(() => readSums(text, new Map())).toThrow(said)
})
