import { expect, test } from 'vitest'
import { componentAt } from './component.ts'
import { askedOf, isMatchedBy } from './asked.ts'
import type { Found } from './reader.ts'

const shipped = { presence: 'shipped', rule: 'r', confidence: 'certain' } as const satisfies Partial<Found>
const askedAbout = (...components: readonly ReturnType<typeof componentAt>[]) => askedOf({ components, unopened: [] })

test.each([
  [
    { type: 'npm', namespace: '@babel', name: 'core', version: '7.0.0' },
    { ecosystem: 'npm', name: '@babel/core', version: '7.0.0' },
  ],
  [
    { type: 'maven', namespace: 'org.apache.logging.log4j', name: 'log4j-core', version: '2.14.1' },
    { ecosystem: 'maven', name: 'org.apache.logging.log4j:log4j-core', version: '2.14.1' },
  ],
  [
    { type: 'golang', namespace: 'golang.org/x', name: 'net', version: 'v0.1.0+incompatible' },
    { ecosystem: 'go', name: 'golang.org/x/net', version: '0.1.0' },
  ],
  [
    { type: 'pypi', name: 'Zope.Interface', version: '5' },
    { ecosystem: 'pypi', name: 'zope-interface', version: '5' },
  ],
  [
    { type: 'cargo', name: 'time', version: '0.1.43' },
    { ecosystem: 'crates', name: 'time', version: '0.1.43' },
  ],
  [
    { type: 'gem', name: 'rack', version: '2.0.1' },
    { ecosystem: 'rubygems', name: 'rack', version: '2.0.1' },
  ],
  [
    { type: 'composer', namespace: 'symfony', name: 'http-kernel', version: 'v4.4.0' },
    { ecosystem: 'packagist', name: 'symfony/http-kernel', version: 'v4.4.0' },
  ],
  [
    { type: 'swift', namespace: 'github.com/apple', name: 'swift-nio', version: '2.0.0' },
    { ecosystem: 'swift', name: 'github.com/apple/swift-nio', version: '2.0.0' },
  ],
  [
    { type: 'githubactions', namespace: 'tj-actions', name: 'changed-files', version: 'v45' },
    { ecosystem: 'actions', name: 'tj-actions/changed-files', version: 'v45' },
  ],
  [
    { type: 'generic', name: 'openssl', version: '1.0.2k' },
    { ecosystem: 'native', name: 'openssl', version: '1.0.2k', arch: 'linux' },
  ],
  [
    { type: 'conda', name: 'libsqlite', version: '3.40.0' },
    { ecosystem: 'native', name: 'sqlite', version: '3.40.0', arch: 'linux' },
  ],
  [
    { type: 'bitnami', name: 'nginx', version: '1.25.3-2' },
    { ecosystem: 'native', name: 'nginx', version: '1.25.3', arch: 'linux' },
  ],
  [
    { type: 'generic', name: 'OpenSSL', version: '3.0.2' },
    { ecosystem: 'native', name: 'openssl', version: '3.0.2', arch: 'linux' },
  ],
  [
    { type: 'generic', name: 'openssh', version: '9.2p1' },
    { ecosystem: 'native', name: 'openssh', version: '9.2', arch: 'linux' },
  ],
  [
    { type: 'generic', name: 'openjdk', version: '1.8.0_392' },
    { ecosystem: 'native', name: 'openjdk', version: '8.0.392', arch: 'linux' },
  ],
])('%j is asked about as %j', (found, query) => {
  const component = componentAt({ ...found, ...shipped }, 'opt/app/lock')
  const { purl, path, presence, rule, confidence } = component
  expect(askedAbout(component)).toEqual([{ ...query, at: { purl, path, presence, rule, confidence } }])
  expect([isMatchedBy(component, query), isMatchedBy(component, { ...query, version: '9' })]).toEqual([true, false])
})

test("what is the distribution's own, and what has no coordinates, is not asked about", () => {
  const packaged = componentAt(
    { type: 'pypi', name: 'requests', version: '2', ...shipped },
    'usr/lib/python3/dist-packages/requests-2.dist-info/METADATA',
  )
  const nameless = componentAt({ type: 'generic', name: 'x', version: '1', ...shipped }, 'opt/x-1.jar')
  const contents = { components: [packaged, nameless], unopened: [] }
  expect(askedOf(contents, { known: 'version', sourceVersion: '2-1', builtUsing: [] })).toEqual([])
  expect(askedOf(contents)).toMatchObject([{ ecosystem: 'pypi', name: 'requests', version: '2' }])
})

test('native code of a rebuilt package is its own where it has the version of the package', () => {
  const openssl = componentAt({ type: 'generic', name: 'openssl', version: '3.0.2', ...shipped }, 'usr/lib/libssl.so.3')
  const windows = componentAt({ type: 'generic', name: 'php', version: '8.2.7', ...shipped }, 'opt/php/php8ts.dll')
  const rebuilt = (sourceVersion: string) =>
    askedOf({ components: [openssl], unopened: [] }, { known: 'source', sourceVersion, builtUsing: [] }).length
  expect(['3.0.2-0ubuntu1.10+site1', '1:3.0.2.dfsg-1', '3.0.2+2-1'].map(rebuilt)).toEqual([0, 0, 0])
  expect(['2.1-1', '3.0.20-1', '3.0.2.1-1'].map(rebuilt)).toEqual([1, 1, 1])
  expect(askedAbout(windows)).toMatchObject([{ name: 'php', arch: 'windows' }])
  const vim = componentAt({ type: 'generic', name: 'vim', version: '9.0', ...shipped }, 'opt/vim')
  expect(askedAbout(vim)).toEqual([])
})

test('what is only declared is asked about where a compiled program does not say what was built in', () => {
  const lock = componentAt(
    { type: 'cargo', name: 'time', version: '0.1.43', ...shipped, presence: 'declared' },
    'Cargo.lock',
  )
  const wanted = componentAt(
    { type: 'npm', name: 'a', version: '1.0.0', ...shipped, presence: 'declared' },
    'yarn.lock',
  )
  const built = componentAt({ type: 'cargo', name: 'libc', version: '0.2.1', ...shipped }, 'usr/bin/app')
  const query = { ecosystem: 'crates', name: 'time', version: '0.1.43' }
  expect(askedOf({ components: [lock, wanted], unopened: [] })).toEqual([])
  expect(askedOf({ components: [lock, wanted], unopened: [], hasPrograms: true })).toMatchObject([query])
  expect(askedOf({ components: [lock, built], unopened: [], hasPrograms: true })).toMatchObject([
    { ecosystem: 'crates', name: 'libc', version: '0.2.1' },
  ])
  const types = ['golang', 'hackage', 'npm', 'pub', 'pypi', 'swift']
  const all = types.map(type =>
    componentAt({ type, name: 'a', version: '1', ...shipped, presence: 'declared' }, 'a.lock'),
  )
  expect(askedOf({ components: all, unopened: [], hasPrograms: true }).map(({ ecosystem }) => ecosystem)).toEqual([
    'go',
    'hackage',
    'pub',
    'swift',
  ])
})

test('what has no version, or a reason not to be asked about, is listed only', () => {
  expect(
    askedAbout(
      componentAt({ type: 'npm', name: 'a', version: undefined, ...shipped }, 'a'),
      componentAt({ type: 'npm', name: 'b', version: '1.0.0', ...shipped, unasked: 'It is private.' }, 'b'),
    ),
  ).toEqual([])
})

test('what a copy cannot have goes with the question', () => {
  const cleared = { ids: ['CVE-2021-44228'], why: 'Its class X is not in this copy.' }
  const found = { type: 'maven', namespace: 'g', name: 'a', version: '1', ...shipped, cleared }
  expect(askedAbout(componentAt(found, 'a.jar'))).toMatchObject([
    { ecosystem: 'maven', name: 'g:a', version: '1', cleared },
  ])
})
