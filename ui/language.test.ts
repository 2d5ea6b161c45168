import { expect, test } from 'vitest'
import { firstSpoken } from './language.ts'

test.each([
  [['de-AT', 'en'], 'de'],
  [['fr', 'de', 'en'], 'de'],
  [['en-GB', 'de'], 'en'],
  [['fr-FR', 'it'], 'en'],
  [[], 'en'],
])('a browser that wants %j is spoken to in %s', (wanted, language) => {
  expect(firstSpoken(wanted)).toBe(language)
})
