import { expect, test } from 'vitest'
import { buildNpm } from '../../../test/support/packages-npm.ts'
import { spoolBytes } from '../../../test/support/packages.ts'
import { getDistribution } from '../../../test/support/repositories.ts'
import type { PackageIdentity } from '../../core/identity.ts'
import { testFormatContract } from '../contract-suite.ts'
import { npm } from './index.ts'

const id = (name: string, version: string, arch = 'any'): PackageIdentity => ({ format: 'npm', name, version, arch })

/** Names that packages got before the rules of today. */
const LEGACY = ['JSONStream', 'Base64', '@Ours/Hello', '@a/_b', 'hello!', "it's", '(x)*', '~tilde']

testFormatContract({
  format: npm,
  distribution: { ...getDistribution('jammy'), kind: 'registry', format: 'npm' },
  build: async ({ name, version }, path, content) => buildNpm({ name, version, files: { [path]: content } }),
  spool: spoolBytes,
  identities: [
    id('hello', '1.0.0'),
    id('@ours/hello', '1.0.0'),
    id('hello', '1.0.0-beta.1'),
    id('hello.js', '10.20.30'),
    id('3d', '1.0.0'),
    id('constructor', '1.0.0'),
    id('snake_case', '0.0.0'),
    ...LEGACY.map(name => id(name, '1.0.0')),
  ],
  refused: [
    id('', '1.0.0'),
    id('.hello', '1.0.0'),
    id('_hello', '1.0.0'),
    id('__proto__', '1.0.0'),
    id('-', '1.0.0'),
    id('../x', '1.0.0'),
    id('a/b', '1.0.0'),
    id('@/b', '1.0.0'),
    id('@a/', '1.0.0'),
    id('@a/b/c', '1.0.0'),
    id('@a/.b', '1.0.0'),
    id('@_a/b', '1.0.0'),
    id('a b', '1.0.0'),
    id('héllo', '1.0.0'),
    id('node_modules', '1.0.0'),
    id('favicon.ico', '1.0.0'),
    id('hello?', '1.0.0'),
    id('hello%2fb', '1.0.0'),
    id('a\\b', '1.0.0'),
    id('Node_Modules', '1.0.0'),
    id('x'.repeat(215), '1.0.0'),
    id('hello', ''),
    id('hello', '1'),
    id('hello', 'v1.0.0'),
    id('hello', '1.0.0+build'),
    id('hello', '01.0.0'),
    id('hello', '1.0.0-01'),
    id('hello', '1.0.0/../../x'),
    id('hello', `1.0.0-${'9'.repeat(17)}`),
    id('hello', `1.0.0-${'a'.repeat(260)}`),
    id('x'.repeat(200), `1.0.0-${'a'.repeat(60)}`),
    id('hello', '1.0.0', 'amd64'),
  ],
  ascending: [
    '0.0.0',
    '0.0.1',
    '0.1.0',
    '0.9.0',
    '0.10.0',
    '1.0.0-0',
    '1.0.0-2',
    '1.0.0-10',
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-alpha.1.0',
    '1.0.0-alpha.beta',
    '1.0.0-beta',
    '1.0.0-beta.2',
    '1.0.0-beta.11',
    '1.0.0-beta-1',
    '1.0.0-rc.1',
    '1.0.0',
    '1.0.1-0',
    '1.0.1',
    '2.0.0',
    '10.0.0',
  ],
})

test('names of before the rules of today are taken from others, and no new package gets one', () => {
  for (const name of LEGACY)
    expect(npm.complainNew?.(id(name, '1.0.0')), name).toMatch(/is not allowed: a name has lower-case letters/)
  expect(['hello', '@ours/hello', '3d'].map(name => npm.complainNew?.(id(name, '1.0.0')))).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})

test.each([
  [id('hello', '1.0.0'), 'main/hello/-/hello-1.0.0.tgz', 'pkg:npm/hello@1.0.0', 'npm install hello@1.0.0'],
  [
    id('@ours/hello', '1.0.0-rc.1'),
    'main/@ours/hello/-/hello-1.0.0-rc.1.tgz',
    'pkg:npm/%40ours/hello@1.0.0-rc.1',
    'npm install @ours/hello@1.0.0-rc.1',
  ],
])('%j lies in the pool as in its address, and has a purl', (identity, path, purl, command) => {
  expect(npm.poolName(identity, identity.name, 'main')).toBe(path)
  expect(npm.purl(identity, getDistribution('jammy'))).toBe(purl)
  expect(npm.installCommand(identity)).toBe(command)
})

test.each([
  ['^1.2.0', ['1.2.0', '1.9.9'], ['1.1.9', '2.0.0', '1.3.0-beta.1']],
  ['~1.2 || 3.x', ['1.2.5', '3.0.0'], ['1.3.0', '4.0.0']],
  ['>=1.0.0 <2.0.0-0', ['1.0.0', '1.99.0'], ['2.0.0', '2.0.0-rc.1']],
  ['1.0.0 - 1.4', ['1.0.0', '1.4.9'], ['1.5.0']],
])('the range %s takes what npm takes', (version, yes, no) => {
  const has = (have: string): boolean => npm.satisfies({ name: 'a', version: have }, { name: 'a', op: '=', version })
  expect(yes.map(has)).toEqual(yes.map(() => true))
  expect(no.map(has)).toEqual(no.map(() => false))
})
