import { expect, test, describe } from 'vitest'
import { readVectors } from '../../../test/support/reference-data.ts'
import { orderOf, wrongRows } from '../../../test/support/version-order.ts'
import { beginsAs, compareVersions, complainVersion, versionKey } from './version.ts'

const ASCENDING = [
  '0',
  '0.1',
  '0.1.0_alpha',
  '0.1.0_alpha1',
  '0.1.0_alpha1-r1',
  '0.1.0_alpha2',
  '0.1.0_beta',
  '0.1.0_pre3',
  '0.1.0_rc1',
  '0.1.0',
  '0.1.0-r0',
  '0.1.0-r2',
  '0.1.0-r10',
  '0.1.0_cvs1',
  '0.1.0_git20200101',
  '0.1.0_hg',
  '0.1.0_p_rc',
  '0.1.0_p',
  '0.1.0_p1',
  '0.1.0_p1-r1',
  '0.1.0_p10',
  '0.1.0a',
  '0.1.0a-r1',
  '0.1.0b',
  '0.1.0b1',
  '0.1.0b1-r1',
  '0.1.0b2',
  '0.1.0b10',
  '0.1.00',
  '0.1.001',
  '0.1.002',
  '0.1.1',
  '0.1.2',
  '0.1.10',
  '0.2',
  '1',
  '1.01',
  '1.1',
  '1.2',
  '9',
  '10',
  '20240101',
]

test.each(ASCENDING.map((version, n) => [version, n] as const))(
  '%s stands in its place among the others',
  (version, n) => {
    for (const [other, m] of ASCENDING.map((one, at) => [one, at] as const))
      expect(Math.sign(compareVersions(version, other)), `${version} to ${other}`).toBe(Math.sign(n - m))
  },
)

test.each([
  ['1.0', '01.0'],
  ['1.0-r1', '1.0-r01'],
  ['1_p1', '1_p01'],
])('%s and %s are one version', (a, b) => {
  expect(compareVersions(a, b)).toBe(0)
  expect(versionKey(a)).toBe(versionKey(b))
})

test.each([
  ['2.34', '2.34-r1', true],
  ['2.34-r1', '2.34', false],
])('a revision comes after none: %s, %s', (a, b, isLess) => {
  expect(compareVersions(a, b) < 0).toBe(isLess)
})

test.each([
  ['1.2.3', '1.2', true],
  ['1.2-r5', '1.2', true],
  ['1.2', '1.2', true],
  ['1.2_alpha', '1.2', true],
  ['1.20', '1.2', false],
  ['1', '1.2', false],
  ['1.2.3-r4', '1.2.3-r4', true],
  ['1.2.3-r40', '1.2.3-r4', false],
  ['1.2a', '1.2', true],
  ['1.3', '1.2', false],
])('%s begins as %s: %s', (version, prefix, expected) => {
  expect(beginsAs(version, prefix)).toBe(expected)
})

test.each([
  '1',
  '1.2.3',
  '1a',
  '1.0_rc1_p3-r4',
  '1.0~0123abcdef-r1',
  '6.6.2p1-r0',
  '1a1',
  '1.0_git',
  '20240101-r0',
  '0',
])('%s is a version', version => {
  expect(complainVersion(version)).toBeUndefined()
})

test.each([
  '',
  'a',
  '.1',
  '1.',
  '1..2',
  '1ab',
  '1a.1',
  '1a1bc',
  '1_',
  '1_foo',
  '1_alphabet',
  '1_p1_',
  '1-1',
  '1-r',
  '1-r1-r2',
  '1-r1_p1',
  '1~',
  '1~xyz',
  '1-r1~abc',
  '1:2',
  '1 2',
  '1/2',
  '1\n',
  '1+1',
  '1.0-R1',
  '1.0_P1',
  '1'.repeat(18),
  `1.${'1'.repeat(18)}`,
  `1${'.1'.repeat(70)}`,
])('%j is refused, with the reason', version => {
  expect(complainVersion(version)).toMatch(/.{10}/)
})

describe.each(['apk-tools-v2.tsv', 'apk-tools-v3.tsv'])('%s', name => {
  const rows = readVectors(name)
  test.skipIf(rows.length === 0)('every pair is in that order, by comparison and by key', () => {
    expect(rows.length).toBeGreaterThan(700)
    expect(wrongRows(rows, orderOf({ compareVersions, versionKey }))).toEqual([])
  })
})
