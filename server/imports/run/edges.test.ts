import { expect, test } from 'vitest'
import { deb } from '../../formats/deb/index.ts'
import { edgesOf, type Node } from './edges.ts'
import { removable } from './removable.ts'

const node = (name: string, relations: Node['relations'] = {}, version = '1.0'): Node => ({ name, version, relations })
const need = (name: string, version?: string) => [
  { name, ...(version === undefined ? {} : { op: '>=' as const, version }) },
]

test('a need is met by a name, by a virtual name and by a version that is high enough', () => {
  const nodes = [
    node('libc'),
    node('exim', { provides: [{ name: 'mta' }] }),
    node('app', { depends: [need('mta'), need('libc', '1.0')], pre_depends: [need('libc', '2.0')] }),
    node('late', { depends: [need('libc', '2.0')] }),
  ]
  expect(edgesOf(nodes, deb)).toEqual([[], [], [0, 1], []])
})

test('a cycle has edges both ways, and nothing needs itself', () => {
  const nodes = [node('a', { depends: [need('b'), need('a')] }), node('b', { depends: [need('a')] })]
  expect(edgesOf(nodes, deb)).toEqual([[1], [0]])
})

test('what others need stays, with all that it needs itself', () => {
  // 0 ← 1 ← 2, 0 ← 3; 4 ↔ 5
  const needs = [[], [0], [1], [0], [5], [4]]
  expect(removable(needs, new Set([0, 1, 2, 4, 5]))).toEqual({ goes: [1, 2, 4, 5], stays: new Map([[0, 3]]) })
  expect(removable(needs, new Set([0, 1]))).toEqual({
    goes: [],
    stays: new Map([
      [0, 3],
      [1, 2],
    ]),
  })
  expect(removable(needs, new Set([0, 1, 2, 3]))).toEqual({ goes: [0, 1, 2, 3], stays: new Map() })
})
