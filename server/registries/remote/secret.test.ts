import { expect, test } from 'vitest'
import { createSecretBox } from '../../lib/secret-box.ts'
import { openSecret, sealSecret } from './secret.ts'

const box = createSecretBox('x'.repeat(40))
const URL_GIVEN = 'https://registry.example/npm'

test.each([
  ['https://registry.example/npm', 'hunter-2'],
  ['https://registry.example/', 'hunter-2'],
  ['https://registry.example:443/other', 'hunter-2'],
  ['http://registry.example/npm', undefined],
  ['https://registry.example:8443/npm', undefined],
  ['https://registry.example.evil.example/npm', undefined],
])('the secret for a server, asked for %s, is %s', (url, secret) => {
  const sealed = sealSecret(box, URL_GIVEN, 'hunter-2')
  expect(sealed).not.toContain('hunter')
  expect(openSecret(box, url, sealed)).toBe(secret)
})

test('what cannot be read is said without a piece of it', () => {
  const sealed = sealSecret(createSecretBox('y'.repeat(40)), URL_GIVEN, 'hunter-2')
  expect(() => openSecret(box, URL_GIVEN, sealed)).toThrow('another SETTINGS_ENCRYPTION_KEY')
  expect(() => openSecret(box, URL_GIVEN, box.seal('hunter-2'))).toThrow(/^it was not kept by this release$/)
})
