import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { BAD, generateVersions, GOOD } from '../../../test/support/deb-versions.ts'
import { compareVersions, complainVersion, versionKey } from './version.ts'

const sign = (a: string, b: string): number => Math.sign(compareVersions(a, b))
/** Byte order, as PostgreSQL has it under `collate "C"`. */
const byKey = (a: string, b: string): number =>
  Math.sign(Buffer.compare(Buffer.from(versionKey(a)), Buffer.from(versionKey(b))))

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
  const versions = generateVersions(400)
  const wrong: string[] = []
  for (let i = 0; i < versions.length; i++) {
    for (let j = i; j < i + 100; j++) {
      const a = versions[i] ?? ''
      // neighbours differ in their last characters only
      const b = j % 3 === 0 ? `${a.slice(0, -1)}${'~1.a+0'[j % 6] ?? ''}` : (versions[j % versions.length] ?? '')
      if (sign(a, b) !== byKey(a, b)) wrong.push(`${a} ${b}`)
    }
  }
  expect(wrong).toEqual([])
})

const vectors = fileURLToPath(new URL('../../../../shared/data/vectors/deb-dpkg-perl.tsv', import.meta.url))
describe.skipIf(!existsSync(vectors))('dpkg’s own table', () => {
  const rows = existsSync(vectors)
    ? readFileSync(vectors, 'utf8')
        .split('\n')
        .filter(line => line !== '' && !line.startsWith('#'))
        .map(line => line.split('\t'))
    : []
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
