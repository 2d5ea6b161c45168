import { describe, expect, test } from 'vitest'
import { Malformed } from '../../lib/limited.ts'
import { canApply } from './marker.ts'
import { dependsOf, parseRequirement, satisfies } from './requirement.ts'
import { readBounds, satisfiesBounds } from './specifier.ts'

test.each([
  ['requests', { name: 'requests', bounds: [] }],
  ['Zope.Interface (>=3)', { name: 'zope-interface', bounds: [{ op: '>=', version: '3' }] }],
  [
    'a[x, y]>=1,<2 ; python_version < "3"',
    {
      name: 'a',
      bounds: [
        { op: '>=', version: '1' },
        { op: '<', version: '2' },
      ],
      marker: 'python_version < "3"',
    },
  ],
  ['pip @ https://x.test/pip.whl', { name: 'pip', bounds: [], url: 'https://x.test/pip.whl' }],
  [
    'pip @ https://x.test/a;b ; os_name == "nt"',
    { name: 'pip', bounds: [], url: 'https://x.test/a;b', marker: 'os_name == "nt"' },
  ],
])('a requirement is read: %s', (text, expected) => {
  expect(parseRequirement(text, 'Requires-Dist')).toEqual(expected)
})

test.each([
  '',
  '>=1',
  'a b',
  'a >= ',
  'a ==1.*.2',
  'a >=1.*',
  'a ~=1',
  'a[x y]',
  'a @ file',
  'a; python_version',
  'a; unknown == "1"',
  'a; (os_name == "nt"',
  'a; os_name == "nt" "x"',
  `a; ${'('.repeat(60)}os_name == "nt"${')'.repeat(60)}`,
])('what is no requirement is refused, and the field named: %s', text => {
  expect(() => parseRequirement(text, 'Requires-Dist')).toThrow(Malformed)
  expect(() => parseRequirement(text, 'Requires-Dist')).toThrow(/Requires-Dist/)
})

test.each([
  ['python_version < "3"', true],
  ['extra == "test"', false],
  ["'test' == extra", false],
  ['extra == "test" and os_name == "nt"', false],
  ['extra == "test" or os_name == "nt"', true],
  ['(extra == "a" or extra == "b") and python_version >= "3"', false],
  ['extra != "test"', true],
  ['platform_system not in "Windows"', true],
  ['"x" in extras', false],
])('%s can apply without extras: %s', (marker, expected) => {
  expect(canApply(marker)).toBe(expected)
})

test('needs keep what could apply on some machine and leave extras out', () => {
  expect(
    dependsOf(['a', 'b>=1', 'c==2.0', 'd>=1,<2', 'e==1.*', 'f; extra == "x"', 'g; sys_platform == "win32"', 'h!=3']),
  ).toEqual([
    [{ name: 'a' }],
    [{ name: 'b', op: '>=', version: '1' }],
    [{ name: 'c', op: '=', version: '2.0' }],
    [{ name: 'd', op: '=', version: '>=1,<2' }],
    [{ name: 'e', op: '=', version: '==1.*' }],
    [{ name: 'g' }],
    [{ name: 'h', op: '=', version: '!=3' }],
  ])
})

describe('bounds are those of PEP 440', () => {
  test.each([
    ['1.5', '>=1,<2', true],
    ['2.0', '>=1,<2', false],
    ['2.0rc1', '<2', false],
    ['2.0rc1', '<2.0rc2', true],
    ['1.0.post1', '>1.0', false],
    ['1.0.post2', '>1.0.post1', true],
    ['1.0+x', '>1.0', false],
    ['1.0+x', '==1.0', true],
    ['1.0', '==1.0+x', false],
    ['1.0+X', '==1.0+x', true],
    ['1.0+x', '<=1.0', true],
    ['1.0', '==1.0.0', true],
    ['1.10', '==1.1.*', false],
    ['1.1', '==1.1.*', true],
    ['1.1.5rc1', '==1.1.*', true],
    ['1', '==1.0.*', true],
    ['1.1.5', '!=1.1.*', false],
    ['2.3', '~=2.2', true],
    ['3.0', '~=2.2', false],
    ['2.2.post3', '~=2.2.post2', true],
    ['1.4.5', '~=1.4.5a4', true],
    ['1.5', '~=1.4.5a4', false],
    ['1!1.0', '==1.*', false],
    ['1!1.0', '>=1', true],
    ['1.0-x', '===1.0-x', true],
  ])('%s within %s: %s', (version, bounds, expected) => {
    expect(satisfiesBounds(version, readBounds(bounds) ?? [])).toBe(expected)
  })
})

test('a need with several bounds is satisfied by a version within all of them', () => {
  const [[need = { name: '' }] = []] = dependsOf(['Some.Name>=1,<2'])
  expect(['0.9', '1.2', '2'].map(version => satisfies({ name: 'some-name', version }, need))).toEqual([
    false,
    true,
    false,
  ])
})
