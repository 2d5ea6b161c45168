import { expect, test } from 'vitest'
import { editDistance } from './edit-distance.ts'

test.each<[string, string, number, number]>([
  ['ourlib', 'ourlib', 1, 0],
  ['ourlib', 'ourlb', 1, 1],
  ['ourlib', 'ourlibs', 1, 1],
  ['ourlib', 'ourlab', 1, 1],
  ['ourlib', 'oulrib', 1, 1],
  ['ourlib', 'uorlbi', 2, 2],
  ['ourlib', 'uorlbi', 1, 2],
  ['ourlib', 'something', 2, 3],
  ['', 'ab', 2, 2],
])('%s and %s, counted to %i: %i', (a, b, most, far) => {
  expect(editDistance(a, b, most)).toBe(far)
  expect(editDistance(b, a, most)).toBe(far)
})
