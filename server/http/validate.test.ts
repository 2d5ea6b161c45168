import { Type } from '@sinclair/typebox'
import { expect, test } from 'vitest'
import { ShapeError } from './problem.ts'
import { validate } from './validate.ts'

const BODY = Type.Object({ expires_at: Type.String({ format: 'date-time' }) })
function isTaken(text: string): boolean {
  try {
    validate(BODY, { expires_at: text }, { place: 'body' })
    return true
  } catch (error) {
    if (error instanceof ShapeError) return false
    throw error
  }
}

test.each([
  '2027-02-28',
  '2028-02-29T00:00:00Z',
  '2027-12-31T23:59:59.999Z',
  '2027-06-01T12:00+05:30',
  '2027-06-01T12:00:00',
  '9999-12-31T23:59:59Z',
])('%s is a moment', text => {
  expect(isTaken(text)).toBe(true)
})

test.each([
  '2027-02-30T00:00:00Z',
  '2027-02-29',
  '2027-13-01',
  '2027-06-01T25:00:00Z',
  '5',
  'tomorrow',
  'Dec 25 2027',
  '2027-6-1',
  '12027-06-01',
  '+012027-06-01T00:00:00Z',
  '',
  ' 2027-06-01',
])('what is no day of the calendar is refused, not taken for another: %s', text => {
  expect(isTaken(text)).toBe(false)
})

const UNIONS = Type.Object({
  text: Type.Optional(Type.Union([Type.String({ maxLength: 3 }), Type.Null()])),
  word: Type.Optional(Type.Union([Type.Literal('x'), Type.Literal('y')])),
  when: Type.Optional(Type.Union([Type.String({ format: 'date-time' }), Type.Null()])),
  name: Type.Optional(Type.Union([Type.String({ pattern: '^a', rule: 'a name with an a at its head' }), Type.Null()])),
  item: Type.Optional(Type.Union([Type.String(), Type.Object({ size: Type.Integer() })])),
})

test.each([
  [{ text: 5 }, 'text', 'It must be text of at most 3 characters, or null.'],
  [{ text: 'four' }, 'text', 'It has 4 characters. It must be text of at most 3 characters.'],
  [{ word: 'z' }, 'word', 'It must be one of x, y.'],
  [{ when: 'then' }, 'when', 'It must be a day or a time that exists, such as 2026-03-01 or 2026-03-01T12:00:00Z.'],
  [{ name: 'b' }, 'name', 'It must be a name with an a at its head.'],
  [{ item: 5 }, 'item', 'It must be text, or an object.'],
  [{ item: { size: 'much' } }, 'item.size', 'It must be a whole number.'],
])('of several shapes the one that was meant says what is wrong: %j', (body, at, msg) => {
  let faults: ShapeError['faults'] = []
  try {
    validate(UNIONS, body, { place: 'body' })
  } catch (error) {
    if (error instanceof ShapeError) ({ faults } = error)
  }
  expect(faults.map(fault => [fault.loc.slice(1).join('.'), fault.msg])).toEqual([[at, msg]])
})
