import { describe, expect, test } from 'vitest'
import { printAlternatives, type RelationOp } from '../../core/relation.ts'
import type { RpmHeader } from './header.ts'
import { conflictsOf, needsOf, providedOf, readDependencies, satisfies } from './relation.ts'
import { parseRich } from './rich.ts'
import { parseEvr } from './version.ts'

const print = (text: string): string[] => parseRich(text).map(printAlternatives)

describe('of a rich dependency stays what must hold in any case', () => {
  test.each([
    ['(a)', ['a']],
    ['(a or b)', ['a | b']],
    ['(a >= 3.2 or b)', ['a (>= 3.2) | b']],
    ['(a or b or c)', ['a | b | c']],
    ['(a and b and c)', ['a', 'b', 'c']],
    ['(a with b)', ['a', 'b']],
    ['(a >= 1 with a < 2)', ['a (>= 1)', 'a (< 2)']],
    ['(a without b)', ['a']],
    ['(a or (b and c))', ['a | b', 'a | c']],
    ['((a and b) or (c and d))', ['a | c', 'a | d', 'b | c', 'b | d']],
    ['((a with b) or (c without d))', ['a | c', 'b | c']],
    // what hangs on a condition may not be needed at all
    ['(a if b)', []],
    ['(a if b else c)', []],
    ['(a unless b)', []],
    ['((a and b) if c)', []],
    ['(a or (b if c))', []],
    ['(a and (b if c))', ['a']],
    // parentheses that belong to a name
    ['(perl(Foo::Bar) or libc.so.6()(64bit))', ['perl(Foo::Bar) | libc.so.6()(64bit)']],
    ['(font(:lang=en) and python3.11dist(x) >= 1)', ['font(:lang=en)', 'python3.11dist(x) (>= 1)']],
    ['(  a   or\tb )', ['a | b']],
    ['(a\u00a0or or \u2003 or b\ufeff)', ['a\u00a0or | \u2003 | b\ufeff']],
    ['(or or and)', ['or | and']],
    ['(/bin/sh or /bin/bash)', ['/bin/sh | /bin/bash']],
  ])('%s: %j', (text, expected) => {
    expect(print(text)).toEqual(expected)
  })

  test('one that would become very long is left out, not cut', () => {
    const group = (name: string): string => `(${Array.from({ length: 9 }, (_, i) => `${name}${i}`).join(' and ')})`
    expect(print(`(${group('a')} or ${group('b')})`)).toEqual([])
  })
})

test.each([
  '(a',
  'a)',
  '()',
  '(a b)',
  '(a or b and c)',
  '(a or)',
  '(>= 1)',
  '(a >= )',
  '(a or b) c',
  '(a xor b)',
  '((a or b)',
  '(a if b if c)',
  '(a else b)',
])('%s is not one that rpm reads', text => {
  expect(() => parseRich(text)).toThrow(/not one that rpm reads/)
})

test('needs are told once each, in their order, and versions in one way', () => {
  const dep = (name: string, op?: RelationOp, evr?: string) => ({
    name,
    ...(op === undefined || evr === undefined ? {} : { op, evr: parseEvr(evr) }),
  })
  expect(
    needsOf([
      dep('b'),
      { ...dep('a', '>=', '0:1.0-1'), pre: true },
      dep('a', '>=', '1.0-1'),
      dep('b'),
      dep('(b or b)'),
      dep('(c and b)'),
    ]).map(printAlternatives),
  ).toEqual(['b', 'a (>= 1.0-1)', 'b | b', 'c'])
  expect(conflictsOf([dep('a', '<', '2'), dep('(x and y)')]).map(printAlternatives)).toEqual(['a (< 2)'])
  expect(providedOf([dep('a', '=', '2:1-1'), dep('b'), dep('c', '>=', '1')])).toEqual([
    { name: 'a', version: '2:1-1' },
    { name: 'b' },
    { name: 'c' },
  ])
})

test('flags are read as rpm and createrepo_c read them', () => {
  const read = (flags: number, version: string): unknown => {
    const header = { texts: (tag: number) => (tag === 1 ? ['a'] : [version]), numbers: () => [flags] }
    // nothing else of a header is asked
    return readDependencies(header as unknown as RpmHeader, 'requires', [1, 2, 3])[0]
  }
  const bits = Array.from({ length: 31 }, (_, bit) => bit).filter(bit =>
    JSON.stringify(read(2 ** bit, '')).includes('pre'),
  )
  expect(bits).toEqual([6, 9, 10])
  expect([6, 14].map(flags => read(flags, '1'))).toEqual([{ name: 'a' }, { name: 'a' }])
  expect(read(12, '2:1-')).toEqual({ name: 'a', op: '>=', evr: { epoch: '2', version: '1' } })
})

describe('what is offered satisfies what is needed as rpm has it', () => {
  test.each([
    [{ name: 'a', version: '1.0-1' }, { name: 'a' }, true],
    [{ name: 'a', version: '1.0-1' }, { name: 'b' }, false],
    [{ name: 'a' }, { name: 'a', op: '>=', version: '2' }, true],
    [{ name: '/bin/sh' }, { name: '/bin/sh' }, true],
    [{ name: 'a', version: '1.0-1' }, { name: 'a', op: '>=', version: '1.1' }, false],
    [{ name: 'a', version: '1' }, { name: 'a', op: '<', version: '1-' }, false],
  ] as const)('%j for %j: %s', (have, need, expected) => {
    expect(satisfies(have, need)).toBe(expected)
  })
})
