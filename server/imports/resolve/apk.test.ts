import { describe, expect, test } from 'vitest'
import { apkCandidate } from '../../../test/support/apk-repository.ts'
import { APK_CASES } from '../../../test/support/closure-cases-apk.ts'
import { compareVersions } from '../../formats/apk/version.ts'
import { apkResolver } from './apk.ts'
import type { Candidate, Closure, Question } from './closure.ts'
import { gather, rowsIn } from './prefetch.ts'
import { createUniverse } from './universe.ts'

const all = (texts: readonly string[], sourceKey?: string): Candidate[] =>
  texts.map((text, at) => apkCandidate(text, at, sourceKey))

async function resolve(packages: readonly string[], root: string, more: Partial<Question> = {}): Promise<Closure> {
  const [name = '', version] = root.split('@')
  const roots = more.roots ?? [{ name, ...(version === undefined ? {} : { version }) }]
  const { universe } = await gather(
    { upstream: rowsIn(createUniverse(all(packages), compareVersions)), published: () => Promise.resolve([]) },
    { roots, recommends: false },
    compareVersions,
  )
  return apkResolver.resolve(universe, { arch: 'x86_64', base: [], published: [], recommends: false, ...more, roots })
}
const names = (list: readonly Candidate[]): string[] => list.map(({ name }) => name)

describe('as apk does: apk.tool.test.ts asks it about the same repositories, where there is one', () => {
  test.each(APK_CASES)('$rule', async ({ packages, root, closure }) => {
    const found = await resolve(packages, root)
    expect(found.satisfied, JSON.stringify(found.unresolved)).toBe(closure !== undefined)
    if (closure === undefined) return
    const got = found.packages.flatMap(({ name, version }) => (closure.includes(name) ? name : `${name} ${version}`))
    expect(got.sort()).toEqual(closure)
  })
})

test('what is imported stands after what it needs', async () => {
  const found = await resolve(['a 1-r0; D: b c', 'b 1-r0; D: c', 'c 1-r0'], 'a')
  expect(names(found.packages)).toEqual(['c', 'b', 'a'])
})

test('what is published counts before newer versions, and what it lacks comes too', async () => {
  const packages = ['a 1-r0; D: b', 'b 1-r0; D: c', 'b 2-r0', 'c 1-r0']
  const found = await resolve(packages, 'a', { published: all(['b 1-r0; D: c'], '') })
  expect([names(found.packages), names(found.assumed)]).toEqual([['c', 'a'], ['b']])
})

test('the base set is told where something needs it', async () => {
  const packages = ['a 1-r0; D: b', 'b 1-r0; D: c', 'c 1-r0']
  const found = await resolve(packages, 'a', { base: all(packages).slice(1) })
  expect(names(found.packages)).toEqual(['a'])
  expect(names(found.assumed)).toContain('b')
})

test('a version that is asked for is taken exactly', async () => {
  const packages = ['a 1-r0; D: b=1-r0', 'a 2-r0', 'b 1-r0', 'b 2-r0']
  const found = await resolve(packages, 'a@1-r0')
  expect(found.packages.map(({ name, version }) => `${name} ${version}`)).toEqual(['b 1-r0', 'a 1-r0'])
})

describe('what cannot be met is told with its reason', () => {
  test.each([
    ['nobody has it', ['a 1-r0; D: b'], 'a', 'a 1-r0', 'b', 'No enabled source has a package that meets it.'],
    [
      'too old',
      ['a 1-r0; D: b>2', 'b 1-r0'],
      'a',
      'a 1-r0',
      'b (> 2)',
      'b is there in version 1-r0, which does not meet it.',
    ],
    [
      'no choice',
      ['a 1-r0; D: v', 'b 1-r0; p: v'],
      'a',
      'a 1-r0',
      'v',
      'Only b provides it, without a version: apk takes none of those by itself.',
    ],
    ['no such root', ['a 1-r0'], 'x', 'x', 'x', 'No enabled source has a package of this name.'],
  ])('%s', async (_what, packages, root, needed_by, group, reason) => {
    const found = await resolve(packages, root)
    expect(found.unresolved).toEqual([{ needed_by, group, reason }])
    expect(found.satisfied).toBe(false)
  })
  test('a conflict names both', async () => {
    const found = await resolve(['a 1-r0; D: b c', 'b 1-r0', 'c 1-r0; D: !b'], 'a')
    expect(found.satisfied).toBe(false)
    expect(JSON.stringify([found.conflicts, found.unresolved])).toMatch(/b/)
  })
})

test('a chain of 20,000 packages is followed to its end', async () => {
  const chain = Array.from({ length: 20_000 }, (_, n) => `p${n} 1-r0; D: p${n + 1}`)
  const universe = createUniverse(all([...chain, 'p20000 1-r0']), compareVersions)
  const found = apkResolver.resolve(universe, {
    roots: [{ name: 'p0' }],
    arch: 'x86_64',
    base: [],
    published: [],
    recommends: false,
  })
  expect([found.satisfied, found.packages.length]).toEqual([true, 20_001])
})
