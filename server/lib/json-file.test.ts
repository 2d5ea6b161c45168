import { describe, expect, test } from 'vitest'
import { parseJson, parseJsonObject, parseLooseJson } from './json-file.ts'

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
