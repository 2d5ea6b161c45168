import { describe, expect, test } from 'vitest'
import { readVectors } from '../../../test/support/reference-data.ts'
import { generateVersions } from '../../../test/support/rpm-versions.ts'
import { orderOf, wrongPairs, wrongRows } from '../../../test/support/version-order.ts'
import { compareVersions, complainVersion, isWithin, parseEvr, printEvr, versionKey } from './version.ts'

const order = orderOf({ compareVersions, versionKey })
const { sign, byKey } = order

describe('two versions stand in rpm’s order', () => {
  test.each([
    ['1.0-1', '1.0-1', 0],
    ['1.0-1', '1.1-1', -1],
    ['1.9-1', '1.10-1', -1],
    ['1.0-9', '1.0-10', -1],
    ['1.0-1', '1.0-1.el9', -1],
    ['1.0-1.el8', '1.0-1.el9', -1],
    // tildes come before everything, the end included
    ['1.0~-1', '1.0-1', -1],
    ['1.0~rc1-1', '1.0-1', -1],
    ['1.0~~-1', '1.0~-1', -1],
    ['1.0~rc1-1', '1.0~rc2-1', -1],
    ['1.0~rc1-1', '1.0~rc1~git-1', 1],
    // carets after the end, before everything else
    ['1.0-1', '1.0^-1', -1],
    ['1.0^-1', '1.0.1-1', -1],
    ['1.0^git1-1', '1.0a-1', -1],
    ['1.0^git1-1', '1.0^git2-1', -1],
    ['1.0~rc1^git1-1', '1.0~rc1-1', 1],
    ['1.0^git1~pre-1', '1.0^git1-1', -1],
    ['1.0^-1', '1.0~-1', 1],
    // letters before digits
    ['1.a-1', '1.1-1', -1],
    ['a-1', '1-1', -1],
    ['1.0a-1', '1.0.1-1', -1],
    ['1.0-1', '1.0a-1', -1],
    ['1.A-1', '1.a-1', -1],
    ['1.ab-1', '1.abc-1', -1],
    // what only divides
    ['1.0-1', '1_0-1', 0],
    ['1.0-1', '1..0-1', 0],
    ['1.0-1', '1.0.-1', 0],
    ['1.0-1', '1+0-1', 0],
    ['1a1-1', '1.a.1-1', 0],
    // leading zeros
    ['1.0-1', '1.00-01', 0],
    ['1.01-1', '1.1-1', 0],
    ['1.0-1', '1-1', 1],
    ['1.000-1', '1.0-1', 0],
    // epochs, absent parts
    ['1.0-1', '0:1.0-1', 0],
    ['1:0.1-1', '2.0-1', 1],
    ['2:1-1', '10:1-1', -1],
    ['01:1-1', '1:1-1', 0],
    ['1.0', '1.0-1', -1],
    ['1.0', '1.0', 0],
    ['1.1', '1.0-1', 1],
    // numbers of any length
    ['1.99999999999999999998-1', '1.99999999999999999999-1', -1],
    ['1.9-1', '1.100000000000000000000000000000000-1', -1],
  ])('%s to %s is %i', (a, b, expected) => {
    expect(sign(a, b)).toBe(expected)
    expect(sign(b, a)).toBe(-expected + 0)
    expect(byKey(a, b)).toBe(expected)
  })
})

test('for 40,000 generated pairs the key has the order of the comparison', () => {
  expect(wrongPairs(generateVersions(400), '~1^a.0', order)).toEqual([])
})

describe.each(['rpm-rpmvercmp.tsv', 'rpm-evr-scalibr.tsv'])('the table %s', name => {
  const rows = readVectors(name)
  test.skipIf(rows.length === 0)('is as we have it, and the keys with it', () => {
    expect(rows.length).toBeGreaterThan(50)
    expect(wrongRows(rows, order)).toEqual([])
  })
})

test.each([
  ['1.0-1', { version: '1.0', release: '1' }],
  ['2:1.0-1', { epoch: '2', version: '1.0', release: '1' }],
  ['1.0', { version: '1.0' }],
  ['0:1.0', { epoch: '0', version: '1.0' }],
  ['1-2-3', { version: '1-2', release: '3' }],
  [':1', { epoch: '0', version: '1' }],
  ['a:1-1', { version: 'a:1', release: '1' }],
])('%s is taken apart', (text, expected) => {
  expect(parseEvr(text)).toEqual(expected)
})

test.each([
  ['0:1.0-1', '1.0-1'],
  ['2:1.0-1', '2:1.0-1'],
  ['01:1', '1:1'],
  ['1.0', '1.0'],
  ['000:1-1', '1-1'],
])('%s is written as %s', (text, expected) => {
  expect(printEvr(parseEvr(text))).toBe(expected)
})

describe('a version is within a bound', () => {
  test.each([
    ['1.0-1', '=', '1.0-1', true],
    ['1.0-1', '=', '1.0', true],
    ['1.0-1', '>=', '1.0', true],
    ['1.0-1', '<=', '1.0', true],
    ['1.0-1', '>', '1.0', false],
    ['1.0-1', '<', '1.0', false],
    ['1.0', '=', '1.0-5', true],
    ['1.0', '>', '1.0-5', true],
    ['1.0', '<', '1.0-5', true],
    ['2:1.0-1', '>=', '1.0', true],
    ['2:1.0-1', '=', '1.0', false],
    ['1.0-1', '>=', '1:0.5', false],
    ['0:1.0-1', '=', '1.0-1', true],
    ['1.0-2', '>', '1.0-1', true],
    ['1.0-1', '>', '1.0-1', false],
    ['1.0-1', '<', '1.0-1.el9', true],
    ['1.0~rc1-1', '<', '1.0', true],
  ] as const)('%s %s %s: %s', (have, op, need, expected) => {
    expect(isWithin(have, op, need)).toBe(expected)
  })
})

describe('what is the version of a package', () => {
  const good = [
    '1-1',
    '1.0-1.el9',
    '1:1.0-1',
    '0^20240101git1234-1',
    '1.0~rc1+dfsg_2-0.1',
    'v1-1',
    '4294967295:1-1',
    '_1-1',
  ]
  const bad = [
    '',
    '1',
    '1-',
    '-1',
    '1.0 1-1',
    '1.0/1-1',
    '1.0-1:2',
    '0:1-1',
    '01:1-1',
    '4294967296:1-1',
    'a:1-1',
    '1-2-3',
    '1.0é-1',
    '1.0-1\n',
    '~-1',
    '1-^',
    '1%-1',
    `${'9'.repeat(128)}-1`,
  ]
  test.each(good)('%s is', version => {
    expect(complainVersion(version)).toBeUndefined()
  })
  test.each(bad)('%s is not', version => {
    expect(complainVersion(version)).toMatch(/.{10}/)
  })
})
