import { expect, test } from 'vitest'
import { normalName } from '../formats/pypi/names.ts'
import { complainPattern, matchesPattern, plainKey } from './registry-names.ts'

test.each([
  [plainKey, '@ours/*', '@ours/lib', true],
  [plainKey, '@ours/*', '@OURS/lib', true],
  [plainKey, '@ours/*', '@ours-not/lib', false],
  [plainKey, 'ours-*', 'ours-lib', true],
  [plainKey, 'ours-*', 'ours', false],
  [plainKey, 'ours', 'ours', true],
  [plainKey, 'ours', 'ours2', false],
  [normalName, 'ours-*', 'Ours_Lib', true],
  [normalName, 'ours.*', 'ours-lib', true],
  [normalName, 'Our.Lib', 'our_lib', true],
  [plainKey, 'com.ours.*', 'com.ours:lib', true],
  [plainKey, 'com.ours.*', 'com.ours.deep:lib', true],
  [plainKey, 'com.ours.*', 'com.oursother:lib', false],
  [plainKey, 'com.ours:lib', 'com.ours:lib', true],
  [plainKey, 'team/*', 'team/app', true],
])('of names by %o, %s holds %s: %j', (keyOf, pattern, name, is) =>
  expect(matchesPattern(keyOf, pattern, name)).toBe(is),
)

test.each(['*', '@*', '', ' ours', 'a*b', 'ours/**', '-ours', 'x'.repeat(300)])('%j is no pattern', pattern =>
  expect(complainPattern(pattern)).toBeDefined(),
)
test.each(['@ours/*', 'com.ours.*', 'ours-*', 'Ours', 'team/app'])('%j is one', pattern =>
  expect(complainPattern(pattern)).toBeUndefined(),
)
