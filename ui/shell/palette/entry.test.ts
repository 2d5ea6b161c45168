import { describe, expect, test } from 'vitest'
import { fitsWords, isNamed, markedIn } from './entry.ts'

describe('what the palette finds', () => {
  test('a screen is meant by the beginning of its name, nothing else is', () => {
    expect([
      isNamed({ id: 'screen backups', title: 'Backups' }, 'backup'),
      isNamed({ id: 'screen backups', title: 'Backups' }, 'up'),
      isNamed({ id: 'setting backup.hour', title: 'Backup hour' }, 'backup'),
    ]).toEqual([true, false, false])
  })

  test.each([
    ['Back up now', 'now back', true],
    ['Back up now', 'backup', false],
    ['Review queue', '', true],
  ])('%s for "%s": %s', (text, sought, fits) => {
    expect(fitsWords(text, sought)).toBe(fits)
  })

  test.each([
    ['openssl', 'ope', ['', 'ope', 'nssl']],
    ['libOpenSSL', 'open', ['lib', 'Open', 'SSL']],
    ['curl', 'x', ['curl', '', '']],
    ['curl', '', ['curl', '', '']],
  ] as const)('%s is marked for "%s"', (text, sought, parts) => {
    expect(markedIn(text, sought)).toEqual(parts)
  })
})
