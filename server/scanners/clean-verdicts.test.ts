import { expect, test } from 'vitest'
import type { Sha256 } from '../core/identity.ts'
import { createCleanVerdicts, signaturesOf } from './clean-verdicts.ts'

const digest = (char: string): Sha256 => char.repeat(64) as Sha256

test('a verdict counts for the signatures that gave it, and for no others', () => {
  const verdicts = createCleanVerdicts()
  verdicts.add(digest('a'), '1.4 27777')
  expect(verdicts.has(digest('a'), '1.4 27777')).toBe(true)
  expect(verdicts.has(digest('a'), '1.4 27778')).toBe(false)
  expect(verdicts.has(digest('b'), '1.4 27777')).toBe(false)
})

test('without a known version nothing is remembered', () => {
  const verdicts = createCleanVerdicts()
  verdicts.add(digest('a'), undefined)
  expect(verdicts.has(digest('a'), undefined)).toBe(false)
  expect(signaturesOf({ id: 'clamav', ok: true, version: '1.4' })).toBeUndefined()
  expect(signaturesOf({ id: 'clamav', ok: false, version: '1.4', signatures_version: '1' })).toBeUndefined()
  expect(signaturesOf({ id: 'clamav', ok: true, version: '1.4', signatures_version: '1' })).toBe('1.4 1')
})

test('the oldest is forgotten first', () => {
  const verdicts = createCleanVerdicts(2)
  for (const char of ['a', 'b', 'a', 'c']) verdicts.add(digest(char), '1')
  expect(['a', 'b', 'c'].map(char => verdicts.has(digest(char), '1'))).toEqual([true, false, true])
})
