import { expect, test } from 'vitest'
import { npm } from './index.ts'

test.each([
  ['latest', true],
  ['next-1', true],
  ['beta.2', true],
  ['1.x', false],
  ['v2', false],
  ['x', false],
  ['X', false],
  ['*', false],
  ['', false],
  ['a b', false],
  ['_a', false],
  ['a'.repeat(101), false],
])('%j as a tag: %s', (tag, isTaken) => {
  expect(npm.complainTag?.(tag) === undefined).toBe(isTaken)
})
