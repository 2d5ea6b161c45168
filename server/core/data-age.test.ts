import { expect, test } from 'vitest'
import { daysOld, isTooOld } from './data-age.ts'

const now = new Date('2026-03-31T10:00:00Z')

test.each([
  ['2026-03-31T10:00:00Z', 0, false],
  ['2026-03-17T10:00:00Z', 14, false],
  ['2026-03-16T10:00:01Z', 14, false],
  ['2026-03-16T10:00:00Z', 15, true],
])('data of %s are %i days old; with a limit of 14 days they are too old: %s', (at, days, tooOld) => {
  expect([daysOld(at, now), isTooOld(at, { now, maxAgeDays: 14 })]).toEqual([days, tooOld])
})
