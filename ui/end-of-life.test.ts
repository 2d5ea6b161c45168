import { expect, test } from 'vitest'
import { endOfLife } from './end-of-life.ts'

const now = new Date('2026-11-22T15:00:00Z')

test.each([
  [null, undefined],
  ['2031-06-30', undefined],
  ['2027-05-22', undefined],
  ['2027-05-21', { isPast: false, word: 'Ends in 180 days' }],
  ['2026-11-23', { isPast: false, word: 'Ends in 1 day' }],
  ['2026-11-22', { isPast: false, word: 'Ends today' }],
  ['2026-11-21', { isPast: true, word: 'Ended 21 Nov' }],
  ['2024-06-30', { isPast: true, word: 'Ended 30 Jun 2024' }],
])('%s', (last, said) => {
  expect(endOfLife(last, now)).toEqual(said)
})
