import { describe, expect, test } from 'vitest'
import { endsWithTyped, fingerprintOf, groupsOf, isSame, parseFingerprint } from './fingerprint.ts'

const ONE = fingerprintOf(Buffer.from('a certificate'))

test('a fingerprint is sixteen groups of four, in rows of four on the screen', () => {
  expect(groupsOf(ONE)).toHaveLength(16)
  expect(groupsOf(ONE).join('')).toBe(ONE)
})

test.each([
  ['as it is', ONE],
  ['in small letters', ONE.toLowerCase()],
  ['in groups', groupsOf(ONE).join(' ')],
  ['with colons', ONE.replace(/(..)(?=.)/g, '$1:')],
  ['in rows', groupsOf(ONE).join('\n')],
  ['after its kind', `SHA256:${ONE}`],
  ['after its kind, spelt out', `sha-256 = ${ONE}`],
])('a fingerprint is read %s', (_, text) => {
  expect(parseFingerprint(text)).toBe(ONE)
})

test.each(['', 'abc', ONE.slice(1), `${ONE}0`, `${ONE.slice(1)}G`, `md5:${ONE}`, `${ONE}<script>`])(
  'is not read: %s',
  text => {
    expect(parseFingerprint(text)).toBeUndefined()
  },
)

describe('the digits that are typed', () => {
  test('are the last eight, in any case and with spaces', () => {
    expect(
      [ONE.slice(-8), ONE.slice(-8).toLowerCase(), ` ${ONE.slice(-8, -4)} ${ONE.slice(-4)} `].map(typed =>
        endsWithTyped(ONE, typed),
      ),
    ).toEqual([true, true, true])
  })
  test('are nothing less and nothing else', () => {
    for (const typed of ['', ONE.slice(-7), ONE.slice(-9), ONE, ONE.slice(0, 8), '00000000', '········'])
      expect(endsWithTyped(ONE, typed), typed).toBe(false)
  })
})

test('two fingerprints of different length are not the same', () => {
  expect([isSame(ONE, ONE), isSame(ONE, ONE.slice(1)), isSame(ONE, '')]).toEqual([true, false, false])
})
