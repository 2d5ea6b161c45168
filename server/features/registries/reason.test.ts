import { expect, test } from 'vitest'
import { readReason } from './reason.ts'

test.each([
  ['of two lines', 'broken\r\n  on arm', 'broken   on arm'],
  ['that colours a terminal', 'broken\u001b[31m', 'broken [31m'],
  ['that colours one in eight bits', 'broken\u009b31m', 'broken 31m'],
  ['that turns round what follows', 'use \u202e0.2 tsetal', 'use  0.2 tsetal'],
])('a reason %s says it plainly', (_, said, shown) => {
  expect(readReason(said)).toBe(shown)
})

test('a reason that nobody sees is none', () => {
  expect(() => readReason(' \u200b\u202e\u0085 ')).toThrow(expect.objectContaining({ code: 'bad_registry' }))
})
