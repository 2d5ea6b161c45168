import { expect, test } from 'vitest'
import type { Blob, Sha256 } from '../core/identity.ts'
import { keyOfArriving, keyOfKept } from './key.ts'

const blob = (n: number): Blob => ({ sha256: String(n).repeat(64) as Sha256, size: 1, md5: '', sha1: '', sha512: '' })
const spooled = (n: number) => ({
  blob: blob(n),
  path: '',
  filename: '',
  head: new Uint8Array(),
  discard: () => Promise.resolve(),
})

test('a version of one file has its digest; with another file beside it is another one', () => {
  expect(keyOfArriving(spooled(1))).toBe('1'.repeat(64))
  const keys = [[2], [3], [2, 3]].map(others => keyOfArriving({ ...spooled(1), beside: others.map(spooled) }))
  expect(new Set([...keys, '1'.repeat(64)]).size).toBe(4)
  expect(keyOfKept([1, 2, 3].map(n => ({ path: String(n), blob: blob(n) })) as never)).toBe(keys[2])
})
