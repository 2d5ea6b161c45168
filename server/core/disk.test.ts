import { expect, test } from 'vitest'
import { levelOf } from './disk.ts'

const GB = 1024 ** 3

test.each([
  ['79.9 % used', { freeBytes: 20 * GB, used_pct: 79.9 }, 'fine'],
  ['80 % used', { freeBytes: 20 * GB, used_pct: 80 }, 'filling'],
  ['exactly the least free room', { freeBytes: GB, used_pct: 50 }, 'fine'],
  ['a byte less', { freeBytes: GB - 1, used_pct: 50 }, 'stopped'],
  ['a byte less, and full', { freeBytes: GB - 1, used_pct: 99 }, 'stopped'],
])('a disk with %s is %s', (_, disk, level) => {
  expect(levelOf(disk, { warn_used_pct: 80, min_free_disk_gb: 1 })).toBe(level)
})

test('limits of 0 are none', () => {
  expect(levelOf({ freeBytes: 0, used_pct: 100 }, { warn_used_pct: 0, min_free_disk_gb: 0 })).toBe('fine')
})
