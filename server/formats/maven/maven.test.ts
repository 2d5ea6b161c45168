import { describe, expect, test } from 'vitest'
import { getDistribution } from '../../../test/support/repositories.ts'
import type { PackageIdentity } from '../../core/identity.ts'
import { relPath } from '../../core/identity.ts'
import { baseOf, buildOf, readKind } from './coordinates.ts'
import { maven } from './index.ts'
import { orderFiles } from './order-files.ts'

const id = (name: string, version: string, arch = 'any'): PackageIdentity => ({ format: 'maven', name, version, arch })

// Source: https://maven.apache.org/pom.html#version-order-specification, and builds of snapshots among them
const ASCENDING = [
  '0',
  '1-alpha-1',
  '1-alpha2',
  '1-beta',
  '1-milestone-1',
  '1-rc1',
  '1-SNAPSHOT',
  '1-20251122.094857-1',
  '1-20261122.094857-2',
  '1-20261122.094857-10',
  '1-20261122.094858-1',
  '1',
  '1-sp',
  '1-foo',
  '1-1',
  '1.0.1-SNAPSHOT',
  '1.0.1',
  '1.9',
  '1.10',
  '2-rc-1',
  '2.0.RELEASE.1',
  '20040616',
]

test('versions have the order of Maven both ways, and their keys that of their code points', () => {
  for (const [i, a] of ASCENDING.entries())
    for (const [j, b] of ASCENDING.entries())
      expect(Math.sign(maven.compareVersions(a, b)), `${a} to ${b}`).toBe(Math.sign(i - j))
  const keys = ASCENDING.map(maven.versionKey)
  expect(keys).toEqual(keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))))
  for (const key of keys) expect(key).toMatch(/^[!-~]+$/)
})

test.each([
  [{ name: 'a:b' }, true],
  [{ name: 'a:c' }, false],
  [{ name: 'a:b', op: '=', version: '1.0-SNAPSHOT' }, true],
  [{ name: 'a:b', op: '=', version: '1.0-20261122.094857-2' }, true],
  [{ name: 'a:b', op: '=', version: '1.0' }, false],
  [{ name: 'a:b', op: '<', version: '1.0' }, true],
  [{ name: 'a:b', op: '>=', version: '1.0' }, false],
] as const)('a build satisfies needs for its snapshot and for the bounds it is in: %j', (need, expected) => {
  expect(maven.satisfies({ name: 'a:b', version: '1.0-20261122.094857-2' }, need)).toBe(expected)
})

describe('identities', () => {
  const good = [
    id('org.example:lib', '1.0'),
    id('junit:junit', '4.13.2'),
    id('org.scala-lang:scala_2.13', '2.13.1+build'),
    id('a_b.c-d:e.f', '1.0-20261122.094857-2'),
    id('a:b', '1.0-SNAPSHOT'),
  ]

  test('of real artifacts are taken, with a purl and a path of their own', () => {
    expect(good.map(maven.complain)).toEqual(good.map(() => undefined))
    const distribution = getDistribution('jammy')
    expect(good.map(one => maven.purl(one, distribution))).toEqual([
      'pkg:maven/org.example/lib@1.0',
      'pkg:maven/junit/junit@4.13.2',
      'pkg:maven/org.scala-lang/scala_2.13@2.13.1%2Bbuild',
      'pkg:maven/a_b.c-d/e.f@1.0-20261122.094857-2',
      'pkg:maven/a/b@1.0-SNAPSHOT',
    ])
    const paths = good.map(one => maven.poolName(one, one.name, 'main'))
    expect(new Set(paths).size).toBe(good.length)
    for (const path of paths) expect(relPath(path)).toBe(path)
    expect(paths[3]).toBe('a_b/c-d/e.f/1.0-SNAPSHOT/e.f-1.0-20261122.094857-2.jar')
  })

  test.each([
    id('lib', '1'),
    id('a:b:c', '1'),
    id(':b', '1'),
    id('a:', '1'),
    id('a..b:c', '1'),
    id('.a:b', '1'),
    id('a.:b', '1'),
    id('a/b:c', '1'),
    id('a:../b', '1'),
    id('a:b', ''),
    id('a:b', '..'),
    id('a:b', '1/2'),
    id('a:b', '1 2'),
    id('a:b', '-1'),
    id('a:b', '[1,2)'),
    id('a:b', '${revision}'),
    id('a:b', 'LATEST'),
    id('a:b', 'release'),
    id('a:maven-metadata.xml', '1'),
    id('a:b', 'maven-metadata.xml'),
    id('a:b', '1'.repeat(121)),
    id('x'.repeat(201).concat(':b'), '1'),
    id('a:b', '1', 'amd64'),
  ])('that no address can have are refused: %j', identity => {
    expect(maven.complain(identity)).toEqual(expect.stringMatching(/.{10}/))
  })
})

test.each([
  ['1.0-20261122.094857-2', { base: '1.0-SNAPSHOT', timestamp: '20261122.094857', number: 2 }, '1.0-SNAPSHOT'],
  ['1.0-SNAPSHOT', undefined, '1.0-SNAPSHOT'],
  ['1.0', undefined, '1.0'],
  ['1.0-20261122-2', undefined, '1.0-20261122-2'],
  ['20261122.094857-2', undefined, '20261122.094857-2'],
])('%s is the build %j', (version, build, base) => {
  expect(buildOf(version)).toEqual(build)
  expect(baseOf(version)).toBe(base)
})

test.each([
  ['.jar', '', 'jar'],
  ['-sources.jar', 'sources', 'jar'],
  ['-linux-x86_64.tar.gz', 'linux-x86_64', 'tar.gz'],
  ['-jdk1.5.jar', 'jdk1.5', 'jar'],
  ['.jar.asc', '', 'jar.asc'],
  ['-bin.tar.gz.asc', 'bin', 'tar.gz.asc'],
  ['.module', '', 'module'],
])('the name of a file that ends with %s says classifier and extension', (rest, classifier, extension) => {
  expect(readKind(rest)).toEqual({ classifier, extension })
})

test.each(['', 'x.jar', '-', '-.jar', '-a b.jar', '-a/b.jar', `-${'x'.repeat(200)}.jar`, '.'])(
  '%s is no end of a name of a file',
  rest => {
    expect(readKind(rest)).toBeUndefined()
  },
)

test('the main file of a version is what runs; without that it is the pom', () => {
  const order = (...names: readonly string[]): readonly string[] =>
    orderFiles(
      names.map(filename => ({ filename })),
      { artifact: 'lib', version: '1.0' },
    ).map(({ filename }) => filename)
  expect(
    order('lib-1.0-sources.jar', 'lib-1.0.jar.asc', 'lib-1.0.module', 'lib-1.0.pom', 'lib-1.0.tar.gz', 'lib-1.0.jar'),
  ).toEqual([
    'lib-1.0.jar',
    'lib-1.0.tar.gz',
    'lib-1.0.pom',
    'lib-1.0-sources.jar',
    'lib-1.0.module',
    'lib-1.0.jar.asc',
  ])
  expect(order('lib-1.0.pom.asc', 'lib-1.0-x.jar', 'lib-1.0.pom')[0]).toBe('lib-1.0.pom')
})

test('what Maven, Gradle and sbt are set up with names the address and no token', () => {
  const setups = maven.registryClient?.setups(
    { ...getDistribution('jammy'), codename: 'ours' as never },
    { address: 'https://gh.example/maven/ours', needsToken: true, publishes: true },
  )
  expect(setups?.map(({ client }) => client)).toEqual(['Maven', 'Gradle', 'sbt'])
  for (const { files } of setups ?? []) {
    expect(files.map(({ content }) => content).join('')).toContain('https://gh.example/maven/ours')
    for (const { content, secret } of files) expect(content.includes('YOUR_TOKEN') ? secret : true).toBe(true)
  }
})
