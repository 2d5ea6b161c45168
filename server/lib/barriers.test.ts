import { expect, test } from 'vitest'
import { createBarriers } from './barriers.ts'

test('a barrier is found above what lies below it, and nowhere else', () => {
  const barriers = createBarriers()
  expect(barriers.above('usr/lib/x')).toBeUndefined()
  for (const path of ['usr/lib', 'etc/a', 'ü']) barriers.add(path)
  expect(['usr/lib/x', 'usr/lib/x/y/z', 'etc/a/b', 'ü/x'].map(path => barriers.above(path))).toEqual([
    'usr/lib',
    'usr/lib',
    'etc/a',
    'ü',
  ])
  for (const path of ['usr/lib', 'usr/lib64/x', 'usr/li/b', 'a/usr/lib/x', 'usr', 'etc/ab/c', '', 'u/x'])
    expect(barriers.above(path), path).toBeUndefined()
})
