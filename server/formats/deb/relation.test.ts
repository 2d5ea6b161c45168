import { describe, expect, test } from 'vitest'
import { printAlternatives } from '../../core/relation.ts'
import type { Provided } from '../../core/relation.ts'
import { parseConflicts, parseProvides, parseRelations, satisfies } from './relation.ts'

describe('a relation field is read as dpkg reads it', () => {
  test.each([
    ['', ''],
    ['libc6', 'libc6'],
    ['a, b', 'a, b'],
    ['a | b, c', 'a | b, c'],
    ['libc6 (>= 2.36)', 'libc6 (>= 2.36)'],
    ['a (<< 1), b (>> 2)', 'a (< 1), b (> 2)'],
    ['a (< 1), b (> 2)', 'a (<= 1), b (>= 2)'],
    ['a (1.0)', 'a (= 1.0)'],
    ['a(>=1)|b(<<2)', 'a (>= 1) | b (< 2)'],
    ['a:any, b:amd64 (>= 1)', 'a:any, b:amd64 (>= 1)'],
    ['a,\n b (>=\n 1:2~rc1)', 'a, b (>= 1:2~rc1)'],
    ['g++-12, 0ad, lib_old, LibX', 'g++-12, 0ad, lib_old, LibX'],
  ])('%j', (text, printed) => {
    expect(parseRelations(text, 'Depends').map(printAlternatives).join(', ')).toBe(printed)
  })

  test.each([
    'a,',
    ',a',
    'a,,b',
    'a |',
    '| a',
    'a (>= )',
    'a (>= 1',
    'a >= 1',
    'a (>= 1 2)',
    'a (>< 1)',
    'a (== 1)',
    'a (>= x)',
    'a [amd64]',
    'a <!nocheck>',
    '${misc:Depends}',
    'a b',
    '-a',
    'a :any',
    'a:ANY',
    'a/b',
    '(>= 1)',
    'a\u00a0',
    'a (>=\u00a01)',
    '\ufeffa',
    'a:any\u3000',
  ])('%j is refused', text => {
    expect(() => parseRelations(text, 'Depends')).toThrow(/the field Depends/)
  })

  test('blanks without end are refused at once', () => {
    expect(() => parseRelations(`a (${' '.repeat(4_000_000)}1 1)`, 'Depends')).toThrow(/the field Depends/)
  })

  test('Provides holds names and exact versions; another bound makes an entry void', () => {
    expect(parseProvides('a, b (= 1.0), c:amd64 (= 2), d:any (= 3), e (>= 1)')).toEqual([
      { name: 'a' },
      { name: 'b', version: '1.0' },
      { name: 'c', version: '2', arch: 'amd64' },
      { name: 'd', version: '3' },
    ])
    expect(() => parseProvides('a | b')).toThrow(/alternatives/)
    expect(() => parseConflicts('a | b', 'Breaks')).toThrow(/Breaks holds alternatives/)
  })
})

describe('what satisfies a need', () => {
  const [a1, virtual, versioned]: readonly Provided[] = [
    { name: 'a', version: '1.0-1' },
    { name: 'a' },
    { name: 'a', version: '2' },
  ]
  test.each([
    ['a', a1, true],
    ['b', a1, false],
    ['a (= 1.0-1)', a1, true],
    ['a (= 1.0)', a1, false],
    ['a (>= 1.0)', a1, true],
    ['a (>= 1.0-1)', a1, true],
    ['a (>> 1.0-1)', a1, false],
    ['a (<< 1.0-1)', a1, false],
    ['a (<< 1.0-1.1)', a1, true],
    ['a (<= 1.0-1)', a1, true],
    ['a (<< 1:0)', a1, true],
    ['a (>= 1.0-1~bpo1)', a1, true],
    ['a', virtual, true],
    ['a (>= 0)', virtual, false],
    ['a (<< 9)', virtual, false],
    ['a (= 2)', versioned, true],
    ['a (>= 3)', versioned, false],
  ])('%s by %j: %s', (text, have, expected) => {
    const need = parseRelations(text, 'Depends')[0]?.[0] ?? { name: '' }
    expect(satisfies(have ?? { name: '' }, need)).toBe(expected)
  })
})
