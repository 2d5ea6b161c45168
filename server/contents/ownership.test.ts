import { expect, test } from 'vitest'
import { componentAt } from './component.ts'
import { isOwn, isOwnPlace, type Owner } from './ownership.ts'
import type { Found } from './reader.ts'

const found = (type: string, name: string, version: string): Found => ({
  type,
  name,
  version,
  presence: 'shipped',
  rule: 'r',
  confidence: 'certain',
})
const DIST = 'usr/lib/python3/dist-packages'
const owner = (known: Owner['known'], sourceVersion = '2.28.1+dfsg-1', built: readonly string[] = []): Owner => ({
  known,
  sourceVersion,
  builtUsing: built.map(name => ({ name, version: '1' })),
})

test.each<[string, Owner, Found, string, boolean]>([
  ['of a known version, in its place', owner('version'), found('pypi', 'requests', '1'), `${DIST}/a.egg-info`, true],
  [
    'of a known version, a jar in a jar',
    owner('version'),
    found('maven', 'a', '1'),
    'usr/share/java/x.jar!/y.jar',
    true,
  ],
  ['of a known version, in /opt', owner('version'), found('pypi', 'requests', '1'), 'opt/a.egg-info', false],
  [
    'of a known version, in /usr/local',
    owner('version'),
    found('npm', 'a', '1'),
    'usr/local/lib/a/package.json',
    false,
  ],
  ['rebuilt, what the package is', owner('source'), found('pypi', 'requests', '2.28.1'), `${DIST}/a.egg-info`, true],
  [
    'rebuilt with an epoch',
    owner('source', '1:4.17.21+dfsg+~cs8-9'),
    found('npm', 'l', '4.17.21'),
    'usr/share/nodejs/l/package.json',
    true,
  ],
  ['rebuilt, something else', owner('source'), found('pypi', 'urllib3', '1.26'), `${DIST}/b.egg-info`, false],
  ['rebuilt, elsewhere', owner('source'), found('pypi', 'requests', '2.28.1'), 'usr/lib/app/a.egg-info', false],
  [
    'of nobody, made by a packaging tool',
    owner(undefined),
    found('pypi', 'requests', '2.28.1'),
    `${DIST}/a.egg-info`,
    false,
  ],
  ['of nobody, a jar', owner(undefined), found('maven', 'a', '2.28.1'), 'usr/share/java/a.jar', false],
  [
    'Go of the distribution',
    owner(undefined, '2', ['golang-1.19', 'rocksdb']),
    found('golang', 'stdlib', '1.19.8'),
    'usr/bin/gh',
    true,
  ],
  ['Go of somebody', owner('source', '2'), found('golang', 'stdlib', '1.19.8'), 'usr/bin/gh', false],
  [
    'modules beside that Go',
    owner(undefined, '2', ['golang-1.19']),
    found('golang', 'net', 'v0.1.0'),
    'usr/bin/gh',
    false,
  ],
])('%s: %s %s', (_, who, what, path, expected) => {
  expect(isOwn(componentAt(what, path), who)).toBe(expected)
})

test('a package whose version is known, or that says what Go or Rust built it, answers for what was not opened', () => {
  expect([isOwnPlace('usr/share/x.zip', owner('version')), isOwnPlace('usr/share/x.zip', owner('source'))]).toEqual([
    true,
    false,
  ])
  expect(isOwnPlace('opt/x.zip', owner('version'))).toBe(false)
  expect(isOwnPlace('usr/bin/gh', owner(undefined, '2', ['golang-1.19']))).toBe(true)
  expect(isOwnPlace('usr/bin/rg', owner(undefined, '2', ['rust-regex', 'rustc']))).toBe(true)
  expect(isOwnPlace('opt/rg', owner(undefined, '2', ['rustc']))).toBe(false)
})
