import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { makeRecoveryCodes } from './recovery-codes.ts'
import { makeSecret, stepOfCode } from './totp.ts'

// RFC 6238, appendix B, SHA-1: the seed is "12345678901234567890"; of its eight digits the last six
const SEED = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
const VECTORS: readonly [number, string][] = [
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
]

describe('a code', () => {
  test.each(VECTORS)('at %d s is %s, as the RFC says', (second, code) => {
    expect(stepOfCode(SEED, code, new Date(second * 1000))).toBe(Math.floor(second / 30))
  })

  test('is good one step before and after its own, to the second', () => {
    const good: number[] = []
    const first = Math.floor(1_234_567_890 / 30) * 30
    for (let second = first - 60; second < first + 90; second++)
      if (stepOfCode(SEED, '005924', new Date(second * 1000)) !== undefined) good.push(second - first)
    expect([good[0], good.at(-1), good.length]).toEqual([-30, 59, 90])
  })

  test('of no account is refused', () => {
    expect(stepOfCode(SEED, '005925', new Date(1_234_567_890_000))).toBeUndefined()
  })
})

test('a new secret has 160 bits, differs each time, and its URI escapes the name', async () => {
  const [one, other] = [await makeSecret('a b@example.test'), await makeSecret('a b@example.test')]
  expect(one.secret).toMatch(/^[A-Z2-7]{32}$/)
  expect(one.secret).not.toBe(other.secret)
  expect(one.uri).toBe(`otpauth://totp/Gatehouse:a%20b%40example.test?secret=${one.secret}&issuer=Gatehouse`)
  expect(one.qrCode.subarray(1, 4).toString()).toBe('PNG')
})

test('recovery codes are eight of sixteen letters each, every one of which comes up', () => {
  const letters = new Set<string>()
  for (let n = 0; n < 50; n++) {
    const codes = makeRecoveryCodes(randomBytes)
    expect(new Set(codes).size).toBe(8)
    for (const code of codes) for (const letter of code.replaceAll('-', '')) letters.add(letter)
  }
  expect([...letters].sort().join('')).toBe('0123456789abcdefghjkmnpqrstvwxyz')
})
