import { describe, expect, test } from 'vitest'
import { DEB_CASES, stanza } from '../../../test/support/closure-cases-deb.ts'
import { parseParagraph, valueOf } from '../../formats/deb/paragraph.ts'
import { relationsOf } from '../../formats/deb/index-relations.ts'
import { compareVersions } from '../../formats/deb/version.ts'
import type { Candidate, Closure, Question } from './closure.ts'
import { debResolver } from './deb.ts'
import { gather, rowsIn } from './prefetch.ts'
import { createUniverse } from './universe.ts'

function read(text: string, at: number, sourceKey = 's'): Candidate {
  const paragraph = parseParagraph(Buffer.from(`${stanza(text)}\n`), 'it')
  const [name, version, arch] = ['package', 'version', 'architecture'].map(key => valueOf(paragraph, key))
  return {
    id: `${sourceKey}-${at}`,
    name: name ?? '',
    version: version ?? '',
    arch: arch ?? '',
    size: 1000,
    sourceKey,
    relations: relationsOf(paragraph),
  }
}
const all = (texts: readonly string[], sourceKey?: string): Candidate[] =>
  texts.map((text, at) => read(text, at, sourceKey))

function resolve(packages: readonly string[], root: string, more: Partial<Question> = {}): Closure {
  const [name = '', version] = root.split('=')
  return debResolver.resolve(createUniverse(all(packages), compareVersions), {
    roots: [{ name, ...(version === undefined ? {} : { version }) }],
    arch: 'amd64',
    base: [],
    published: [],
    recommends: false,
    ...more,
  })
}
const names = (list: readonly Candidate[]): string[] => list.map(({ name }) => name)

describe('as apt does: deb.tool.test.ts asks it about the same repositories', () => {
  test.each(DEB_CASES)('$rule', async ({ packages, root, base = [], recommends, closure }) => {
    const candidates = all(packages)
    const whole = createUniverse(candidates, compareVersions)
    const { universe } = await gather(
      { upstream: rowsIn(whole), published: () => Promise.resolve([]) },
      { roots: [{ name: root }], recommends: recommends === true },
      compareVersions,
    )
    const found = debResolver.resolve(universe, {
      roots: [{ name: root }],
      arch: 'amd64',
      base: candidates.filter(({ name }) => base.includes(name)),
      published: [],
      recommends: recommends === true,
    })
    expect(found.satisfied).toBe(closure !== undefined)
    if (closure === undefined) return
    const got = found.packages.flatMap(({ name, version }) => (closure.includes(name) ? name : `${name} ${version}`))
    expect(got.sort()).toEqual(closure)
    expect([found.unresolved, found.conflicts]).toEqual([[], []])
  })
})

describe('beside what is published', () => {
  const packages = ['a 1; Depends: b | c, d (>= 2)', 'b 1', 'c 1', 'd 2', 'd 3']

  test('it counts before anything is imported, and is told', () => {
    const published = all(['c 1', 'd 2'], '')
    const found = resolve(packages, 'a', { published })
    expect(names(found.packages)).toEqual(['a'])
    expect(found.assumed.map(({ id }) => id).sort()).toEqual(['-0', '-1'])
  })
  test('a version that does not fit is not taken for one that does', () => {
    expect(names(resolve(packages, 'a', { published: all(['c 1', 'd 1'], '') }).packages)).toEqual(['d', 'a'])
  })
  test('what a published package lacks comes too', () => {
    const found = resolve(packages, 'a', { published: all(['c 1; Depends: b', 'd 2'], '') })
    expect([names(found.packages), names(found.assumed).sort()]).toEqual([
      ['b', 'a'],
      ['c', 'd'],
    ])
  })
  test('a published package that nothing can complete gives way to another', () => {
    const found = resolve(packages, 'a', { published: all(['c 1; Depends: nothing', 'd 2'], '') })
    expect(names(found.packages)).toEqual(['b', 'a'])
  })
  test('one that is published in that version is not imported again', () => {
    const found = resolve(['a 1; Depends: b', 'b 1'], 'a', { published: all(['a 1; Depends: b'], '') })
    expect([names(found.packages), names(found.assumed)]).toEqual([['b'], ['a']])
    expect(found.roots).toEqual([{ asked: { name: 'a' }, package: expect.objectContaining({ id: '-0' }) as unknown }])
  })
})

describe('the base set', () => {
  const packages = ['a 1; Depends: b', 'b 1; Depends: c', 'c 1', 'b 2']
  test('is told where something needs it, directly', () => {
    const base = all(['b 1; Depends: c', 'c 1'], 'base')
    const found = resolve(packages, 'a', { base })
    expect([names(found.packages), names(found.assumed)]).toEqual([['a'], ['b']])
  })
  test('does not hide what is asked for by name', () => {
    const found = resolve(packages, 'c', { base: all(['b 1; Depends: c', 'c 1'], 'base') })
    expect([names(found.packages), found.satisfied]).toEqual([['c'], true])
  })
  test('of machines that reach the upstream holds everything but the roots', () => {
    const found = resolve(packages, 'a', { onlyRoots: true })
    expect([names(found.packages), names(found.assumed)]).toEqual([['a'], ['b']])
  })
})

test('a version that is asked for is taken exactly, with the older versions that it needs', () => {
  const packages = ['a 1; Depends: a-common (= 1)', 'a 2; Depends: a-common (= 2)', 'a-common 1', 'a-common 2']
  expect(resolve(packages, 'a=1').packages.map(({ name, version }) => `${name} ${version}`)).toEqual([
    'a-common 1',
    'a 1',
  ])
  expect(resolve(packages, 'a=3')).toMatchObject({
    packages: [],
    satisfied: false,
    unresolved: [{ needed_by: 'a', group: 'a (= 3)', reason: expect.stringContaining('version 2, 1') as unknown }],
  })
})

test('roots that exclude each other may both be asked for, and the second uses what the first brought', () => {
  const packages = [
    'full 1; Depends: common | other',
    'light 1; Conflicts: full; Depends: other | common',
    'common 1',
    'other 1',
  ]
  const found = resolve(packages, '', { roots: [{ name: 'full' }, { name: 'light' }] })
  expect([names(found.packages), found.satisfied]).toEqual([['common', 'full', 'light'], true])
})

test('a name that others provide is one of those', () => {
  const found = resolve(['b 1; Provides: v', 'c 1; Provides: v; Priority: standard'], 'v')
  expect([names(found.packages), found.roots[0]?.package?.name]).toEqual([['c'], 'c'])
})

describe('what cannot be met is told with its reason, and the rest of the closure comes', () => {
  test.each<[string, readonly string[], object[], string[]]>([
    [
      'nobody has it',
      ['a 1; Depends: b, c', 'c 1'],
      [{ needed_by: 'a 1', group: 'b', reason: 'No enabled source has a package that meets it.' }],
      ['c', 'a'],
    ],
    [
      'deep down',
      ['a 1; Depends: b', 'b 1; Depends: c | d'],
      [{ needed_by: 'b 1', group: 'c | d', reason: 'No enabled source has a package that meets it.' }],
      ['b', 'a'],
    ],
    [
      'too old',
      ['a 1; Depends: b (>= 2)', 'b 1'],
      [{ needed_by: 'a 1', group: 'b (>= 2)', reason: 'b is there in version 1, and >= 2 is needed.' }],
      ['a'],
    ],
    [
      'other architecture',
      ['a 1; Depends: b', 'b 1; Architecture: arm64'],
      [{ needed_by: 'a 1', group: 'b', reason: 'b is there for arm64 only.' }],
      ['a'],
    ],
  ])('%s', (_what, packages, unresolved, rest) => {
    const found = resolve(packages, 'a')
    expect(found).toMatchObject({ satisfied: false, unresolved, conflicts: [] })
    expect(names(found.packages)).toEqual(rest)
  })

  test('a conflict names both packages and the field', () => {
    const found = resolve(['a 1; Depends: b, c', 'b 1', 'c 1; Breaks: b (<< 2)'], 'a')
    expect(found.conflicts).toEqual([{ package: 'b 1', excluded_by: 'c 1', relation: 'Breaks: b (< 2)' }])
    expect(found.unresolved).toMatchObject([{ needed_by: 'a 1', group: 'c' }])
  })
  test('a root that no source has', () => {
    expect(resolve([], 'a')).toMatchObject({
      roots: [{ asked: { name: 'a' } }],
      unresolved: [{ needed_by: 'a', group: 'a', reason: 'No enabled source has a package of this name.' }],
      satisfied: false,
    })
  })
})

describe('an index that somebody made to be expensive', () => {
  test('a chain of 20,000 packages ends with an answer', () => {
    const chain = Array.from({ length: 20_000 }, (_, n) => `p${n} 1; Depends: p${n + 1}`)
    expect(resolve(chain, 'p0').satisfied).toBe(false)
  })
  test('alternatives that multiply end with an answer', () => {
    const layers = Array.from({ length: 40 }, (_, n) =>
      ['x', 'y', 'z'].map(side => `${side}${n} 1; Depends: x${n + 1} | y${n + 1} | z${n + 1}, bad${n} | x${n + 1}`),
    ).flat()
    expect(
      resolve([...layers, 'x40 1; Depends: nothing', 'y40 1; Depends: nothing', 'z40 1; Depends: nothing'], 'x0')
        .satisfied,
    ).toBe(false)
  })
})

test('what it needs is asked for in one question a level', async () => {
  const whole = createUniverse(
    all(['a 1; Depends: b, c', 'b 1; Depends: d', 'c 1; Depends: d', 'd 1; Depends: v', 'e 1; Provides: v']),
    compareVersions,
  )
  const asked: string[][] = []
  const { universe } = await gather(
    {
      upstream: list => {
        asked.push(list.filter(name => !name.startsWith('if:')))
        return rowsIn(whole)(list)
      },
      published: () => Promise.resolve([]),
    },
    { roots: [{ name: 'a' }], recommends: false },
    compareVersions,
  )
  expect(asked).toEqual([['a'], ['b', 'c'], ['d'], ['v'], []])
  expect(universe.offering('v').map(({ name }) => name)).toEqual(['e'])
})
