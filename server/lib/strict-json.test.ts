import { expect, test } from 'vitest'
import { fieldOf, parseStrictJson } from './strict-json.ts'

const parse = (text: string): unknown => parseStrictJson(Buffer.from(text))

test.each([
  '{"a":1,"b":{"a":2},"c":[{"a":1},{"a":2}]}',
  '{"PROXY":1,"proxy":2}',
  '["a","a"]',
  '{"a":"a","b":"{\\"a\\":1,\\"a\\":2}"}',
  '"a"',
  '0',
])('takes %s as any other reader does', text => {
  expect(parse(text)).toEqual(JSON.parse(text))
})

test.each([
  ['{"a":1,"a":2}', 'twice'],
  ['{"a":1,"\\u0061":2}', 'twice'],
  ['{"x":{"y":[{"a":1,"b":[],"a":{}}]}}', 'twice'],
  ['{"a":1', 'no JSON'],
  ['\ufeff{}', 'no JSON'],
])('refuses %s', (text, why) => {
  expect(() => parse(text)).toThrow(why)
})

test('refuses bytes that are no UTF-8', () => {
  expect(() => parseStrictJson(Buffer.from([0x22, 0xff, 0x22]))).toThrow('no JSON')
})

test('a field is found by its name in any case', () => {
  expect(fieldOf({ 'Docker-manifest-digest': 'x' }, 'docker-manifest-digest')).toBe('x')
  expect([fieldOf([], 'length'), fieldOf(null, 'a'), fieldOf('a', 'length')]).toEqual([undefined, undefined, undefined])
})

test('one that is there in two spellings is none', () => {
  expect(() => fieldOf({ digest: 1, Digest: 2 }, 'digest')).toThrow('two spellings')
})
