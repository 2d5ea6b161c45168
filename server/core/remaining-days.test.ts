import { expect, test } from 'vitest'
import { hasPassed, remainingDays } from './remaining-days.ts'

const END = new Date('2026-03-31T10:00:00Z')
const HOUR = 3_600_000
const DAY = 24 * HOUR

test.each<[string, number, number, boolean]>([
  ['just made, 30 days', 30 * DAY, 30, false],
  ['a millisecond later', 30 * DAY - 1, 30, false],
  ['29.99 days', 29.99 * DAY, 30, false],
  ['29 days', 29 * DAY, 29, false],
  ['a day and a millisecond', DAY + 1, 2, false],
  ['a day', DAY, 1, false],
  ['the last hour', HOUR, 1, false],
  ['the last millisecond', 1, 1, false],
  ['the moment itself', 0, 0, true],
  ['an hour ago', -HOUR, 0, true],
  ['a day ago', -DAY, -1, true],
  ['36 hours ago', -36 * HOUR, -1, true],
])('%s before a deadline', (_, left, days, isOver) => {
  const now = new Date(END.getTime() - left)
  expect([remainingDays(END, now), hasPassed(END, now)]).toEqual([days, isOver])
})
