import { expect, test } from 'vitest'
import type { Provided, Relation } from '../../core/relation.ts'
import { parseDepends, parseProvides, satisfies } from './relation.ts'

const need = (text: string): Relation => parseDepends([text], 'depend').depends[0]?.[0] ?? { name: '' }
const have = (text: string): Provided => parseProvides([text])[0] ?? { name: '' }

test.each([
  ['musl', { name: 'musl' }],
  ['musl=1.2.5-r0', { name: 'musl', op: '=', version: '1.2.5-r0' }],
  ['musl>=1.2', { name: 'musl', op: '>=', version: '1.2' }],
  ['musl=>1.2', { name: 'musl', op: '>=', version: '1.2' }],
  ['musl<1.2', { name: 'musl', op: '<', version: '1.2' }],
  ['musl<=1.2', { name: 'musl', op: '<=', version: '1.2' }],
  ['python3~3.12', { name: 'python3', op: '=', version: '~3.12' }],
  ['python3~=3.12', { name: 'python3', op: '=', version: '~3.12' }],
  ['python3>~3.12', { name: 'python3', op: '>=', version: '~3.12' }],
  ['so:libc.musl-x86_64.so.1', { name: 'so:libc.musl-x86_64.so.1' }],
  ['so:libz.so.1=1.3.1', { name: 'so:libz.so.1', op: '=', version: '1.3.1' }],
  ['cmd:bash', { name: 'cmd:bash' }],
  ['pc:zlib>=1.2', { name: 'pc:zlib', op: '>=', version: '1.2' }],
  ['/bin/sh', { name: '/bin/sh' }],
  ['py3.12:requests[socks]', { name: 'py3.12:requests[socks]' }],
])('%s is read as what it needs', (text, expected) => {
  expect(parseDepends([text], 'depend')).toEqual({ depends: [[expected]], conflicts: [] })
})

test('what must not be there is a conflict', () => {
  expect(parseDepends(['a', '!b', '!c<2'], 'depend')).toEqual({
    depends: [[{ name: 'a' }]],
    conflicts: [[{ name: 'b' }], [{ name: 'c', op: '<', version: '2' }]],
  })
})

test.each([
  '',
  '!',
  'a b',
  'a=',
  '=1',
  'a=one',
  'a><Q1abc=',
  'a><1',
  'a@edge',
  'a==1=2',
  'a>=1-2',
  'ä',
  `${'x'.repeat(250)}`,
])('%j is refused', text => {
  expect(() => parseDepends([text], 'depend')).toThrow(/the field depend/)
})

test.each(['a>1', '!a', 'a~1', 'a<=2'])('%s provides nothing', text => {
  expect(() => parseProvides([text])).toThrow(/the field provides/)
})

test.each([
  ['a=1.2.3-r1', 'a', true],
  ['a=1.2.3-r1', 'b', false],
  ['a=1.2.3-r1', 'a=1.2.3-r1', true],
  ['a=1.2.3-r1', 'a=1.2.3', false],
  ['a=1.2.3-r1', 'a~1.2.3', true],
  ['a=1.2.3-r1', 'a~1.2', true],
  ['a=1.2.3-r1', 'a~1.3', false],
  ['a=1.20', 'a~1.2', false],
  ['a=1.2.3', 'a>=1.2.3', true],
  ['a=1.2.3', 'a>1.2.3', false],
  ['a=1.2.3', 'a<1.2.3', false],
  ['a=1.2_rc1', 'a<1.2', true],
  ['a=1.2.3', 'a>~1.2', true],
  ['a=1.3', 'a>~1.2', true],
  ['a=1.1', 'a>~1.2', false],
  ['a=1.2.3', 'a<~1.2', true],
  ['a=1.3', 'a<~1.2', false],
  ['so:libz.so.1=1.3.1', 'so:libz.so.1', true],
  ['so:libz.so.1=1.3.1', 'so:libz.so.1=1.3.1', true],
  ['so:libz.so.1', 'so:libz.so.1>=1', false],
  ['cmd:bash=5.2', 'cmd:bash', true],
  ['pc:zlib=1.3', 'pc:zlib>=1.2', true],
])('%s offered, %s needed: %s', (offered, needed, expected) => {
  expect(satisfies(have(offered), need(needed))).toBe(expected)
})
