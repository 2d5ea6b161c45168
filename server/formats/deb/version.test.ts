import { describe, expect, test } from 'vitest'
import { BAD, generateVersions, GOOD } from '../../../test/support/deb-versions.ts'
import { readVectors } from '../../../test/support/reference-data.ts'
import { orderOf, wrongPairs } from '../../../test/support/version-order.ts'
import { compareVersions, complainVersion, versionKey } from './version.ts'

const order = orderOf({ compareVersions, versionKey })
const { sign, byKey } = order

describe('two versions stand in dpkg’s order', () => {
  test.each([
    ['1.0', '1.0', 0],
    ['1.0', '1.1', -1],
    ['1.9', '1.10', -1],
    ['1.0-1', '1.0-2', -1],
    ['1.0-9', '1.0-10', -1],
    // tildes come before everything, the end included
    ['1.0~', '1.0', -1],
    ['1.0~rc1', '1.0', -1],
    ['1.0~~', '1.0~', -1],
    ['1.0~~a', '1.0~', -1],
    ['1.0~rc1-1', '1.0-1', -1],
    ['1.0-1~bpo1', '1.0-1', -1],
    ['~', '', -1],
    // letters before other characters, after the end
    ['1.0', '1.0a', -1],
    ['1.0a', '1.0+', -1],
    ['1.0a', '1.0.', -1],
    ['1.0Z', '1.0a', -1],
    ['1.0+', '1.0-', 1],
    ['1.0+1', '1.0.1', -1],
    ['1.0.1', '1:0', -1],
    // leading zeros, absent parts
    ['1.0', '1.00', 0],
    ['1.01', '1.1', 0],
    ['1.0', '0:1.0', 0],
    ['1.0', '1.0-0', 0],
    ['1.0', '1.0-1', -1],
    ['1.', '1.0', 0],
    ['1a', '1a0', 0],
    ['00:1', '1', 0],
    // the last hyphen divides, the first colon divides
    ['1-2-3', '1-2-4', -1],
    ['1-2', '1-2-0', -1],
    ['2:1.0', '10:0.1', -1],
    ['1:2:3', '1:2:4', -1],
    // numbers of any length
    ['1.99999999999999999998', '1.99999999999999999999', -1],
    ['1.9', '1.100000000000000000000000000000000', -1],
  ])('%s to %s is %i', (a, b, expected) => {
    expect(sign(a, b)).toBe(expected)
    expect(sign(b, a)).toBe(-expected + 0)
    expect(byKey(a, b)).toBe(expected)
  })
})

test('for 40,000 generated pairs the key has the order of the comparison', () => {
  expect(wrongPairs(generateVersions(400), '~1.a+0', order)).toEqual([])
})

const rows = readVectors('deb-dpkg-perl.tsv')
describe.skipIf(rows.length === 0)('dpkg’s own table', () => {
  test.each(rows)('%s to %s is %s', (a = '', b = '', expected) => {
    expect(sign(a, b)).toBe(Number(expected))
    expect(byKey(a, b)).toBe(Number(expected))
  })
})

describe('what is a version', () => {
  test.each(GOOD)('%s is', version => {
    expect(complainVersion(version)).toBeUndefined()
  })
  test.each(BAD)('%s is not', version => {
    expect(complainVersion(version)).toMatch(/.{10}/)
  })
})
