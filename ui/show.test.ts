import { expect, test } from 'vitest'
import { bytes, day, fingerprint, initials, localDay, plural, when } from './show.ts'

test.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [999, '999 bytes'],
  [999.4, '999 bytes'],
  [1000, '1 KB'],
  [435_200, '435 KB'],
  [9_640_000, '9.6 MB'],
  [99_950_000, '100 MB'],
  [612e6, '612 MB'],
  [999.6e6, '1 GB'],
  [4.2e15, '4,200 TB'],
])('%d bytes read as %s', (n, text) => {
  expect(bytes(n)).toBe(text)
})

test('a time is as short as its age allows', () => {
  const now = new Date(2026, 10, 21, 15, 0)
  const at = (year: number, month: number, day: number): string => new Date(year, month, day, 14, 31).toISOString()
  expect([at(2026, 10, 21), at(2026, 10, 18), at(2026, 7, 21), at(2025, 7, 21)].map(iso => when(iso, now))).toEqual([
    '14:31',
    'Wed',
    '21 Aug',
    '21 Aug 2025',
  ])
  // the end of a week ahead is no time of today; what comes tonight is
  expect([at(2026, 10, 28), at(2026, 10, 24), at(2026, 10, 22)].map(iso => when(iso, now))).toEqual([
    '28 Nov',
    'Tue 14:31',
    '14:31',
  ])
  expect(day(at(2026, 10, 21), now)).toBe('21 Nov') // what has no hour is not given one
})

test('a date field begins with the day where the reader is, not with that of Greenwich', () => {
  expect([localDay(new Date(2026, 0, 9, 0, 5)), localDay(new Date(2026, 10, 21, 23, 55))]).toEqual([
    '2026-01-09',
    '2026-11-21',
  ])
})

test('names, numbers and fingerprints', () => {
  expect([initials('Priya Raman'), initials('p.raman'), initials('admin'), initials('')]).toEqual([
    'PR',
    'PR',
    'AD',
    '?',
  ])
  expect([
    plural(1, ['# package', '# packages']),
    plural(4218, ['# package', '# packages']),
    plural(0, ['# entry', '# entries']),
  ]).toEqual(['1 package', '4,218 packages', '0 entries'])
  expect(fingerprint('7c1f22b890ad')).toBe('7C1F 22B8 90AD')
})
