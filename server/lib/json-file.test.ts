import { describe, expect, test } from 'vitest'
import { isFields } from './fields.ts'
import { membersOf, parseJson, parseJsonObject, parseLooseJson } from './json-file.ts'

describe('JSON of a package', () => {
  test('brackets in strings and escaped quotes do not count', () => {
    expect(parseJson(`["${'['.repeat(1000)}", "\\"${'{'.repeat(1000)}", "\\\\"]`)).toHaveLength(3)
  })
  test.each([
    ['[', 'it is not JSON'],
    ['"\\', 'it is not JSON'],
    ['[1]', 'it is not a JSON object'],
    ['['.repeat(5_000_000), 'it is nested more than 200 deep'],
    [`[${'[],'.repeat(3_000_000)}1]`, 'it holds more than 2000000 values'],
  ])('%#: what is damaged or would need too much memory is refused', (text, why) => {
    expect(() => parseJsonObject(text)).toThrow(why)
  })
  test('comments and commas at an end are allowed where a format has them', () => {
    expect(parseLooseJson('// a\n{"a": [1, 2, /* b, */ ], "b//": "/* , ] */",\n // c\n}')).toEqual({
      'a': [1, 2],
      'b//': '/* , ] */',
    })
    expect(() => parseLooseJson('{"a": 1 / 2}')).toThrow('it is not JSON')
    expect(() => parseLooseJson(`{"a": [${',/*'.repeat(1_000_000)}`)).toThrow('it is not JSON')
  })
})

test.each([
  ['{}', []],
  [
    ' { "a" : 1 , "b":"x,}\\"" ,"c":[{"d":[1,2]},{}] } ',
    [
      ['a', '1 '],
      ['b', '"x,}\\""'],
      ['c', '[{"d":[1,2]},{}]'],
    ],
  ],
  [
    '{"a":1,"a":null,"\\u0062":true}',
    [
      ['a', '1'],
      ['a', 'null'],
      ['b', 'true'],
    ],
  ],
  ['{"__proto__":{}}', [['__proto__', '{}']]],
])('the members of %s', (text, members) => {
  expect([...membersOf(text)]).toEqual(members)
  for (const [, value] of membersOf(text)) expect(() => parseJson(value)).not.toThrow()
})

test('the members of a text with one character changed are those that JSON.parse finds, or there are none', () => {
  const text = '{"a":1,"b":[{"c":"}\\\\\\""},[],""],"d":{"e":null} , "f":-1.5e3,"\\u0067":"x"}'
  const whole = (parse: () => unknown): unknown => {
    try {
      const value = parse()
      return isFields(value) ? value : 'refused'
    } catch {
      return 'refused'
    }
  }
  for (let at = 0; at <= text.length; at++)
    for (const other of ['', ...'{}[],:"\\ 1x'])
      for (const end of [at, at + 1]) {
        const changed = text.slice(0, at) + other + text.slice(end)
        const members = whole(() =>
          Object.fromEntries([...membersOf(changed)].map(([key, value]) => [key, parseJson(value)])),
        )
        expect(members, changed).toEqual(whole(() => JSON.parse(changed)))
      }
})
