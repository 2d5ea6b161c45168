import semver from 'semver'
import { expect, test } from 'vitest'
import type { Alternatives } from '../core/relation.ts'
import { compareSemver } from '../core/versions/semver.ts'
import { pypi } from '../formats/pypi/index.ts'
import { resolveNeeds } from './registry-needs.ts'

/** As npm's format reads them. */
const format = {
  satisfies: (have: { name: string; version?: string }, need: { name: string; version?: string }) =>
    have.name === need.name && semver.satisfies(have.version ?? '', need.version ?? '*', { includePrerelease: true }),
  compareVersions: compareSemver,
  complain: ({ version }: { version: string }) => (semver.valid(version) === version ? undefined : 'no version'),
  isPreRelease: (version: string) => version.includes('-'),
}
const own = { format: 'npm', name: 'app', version: '1.0.0', arch: 'any' }
const need = (name: string, version?: string): Alternatives => [
  version === undefined ? { name } : { name, op: '=', version },
]
const resolve = (needs: readonly Alternatives[], served: Readonly<Record<string, readonly string[]>> = {}) =>
  resolveNeeds(needs, new Map(Object.entries(served)), { format, own })
const versions = (...of: Parameters<typeof resolve>): string[] =>
  resolve(...of).chosen.map(({ name, version, isServed }) => `${name} ${version}${isServed ? '' : ' elsewhere'}`)

test('the newest version that is served here and fits is the one that is taken', () => {
  const served = { pad: ['1.9.0', '1.10.0', '2.0.0', '1.11.0-rc.1'] }
  expect(versions([need('pad', '^1.0.0')], served)).toEqual(['pad 1.10.0'])
  expect(versions([need('pad')], served)).toEqual(['pad 2.0.0'])
  expect(versions([need('pad', '>=1.11.0-0 <2.0.0')], served)).toEqual(['pad 1.11.0-rc.1'])
})

test('all needs for a name count, as the two bounds of a range do', () => {
  expect(versions([need('pad', '>=1.0.0'), need('pad', '<1.5.0')], { pad: ['1.4.0', '1.6.0'] })).toEqual(['pad 1.4.0'])
})

test('what is named exactly is known wherever it comes from; a range that is not served here is not', () => {
  const found = resolve([need('pad', '1.2.3'), need('left', '^1.0.0'), need('any')], { left: ['0.9.0'] })
  expect(found.chosen).toEqual([{ name: 'pad', version: '1.2.3', need: 'pad (= 1.2.3)', isServed: false }])
  expect(found).toMatchObject({ elsewhere: ['pad (= 1.2.3)', 'left (^1.0.0)', 'any'], unknown: 2 })
})

test('one of several names is enough, and a package meets needs for itself', () => {
  const either: Alternatives = [{ name: 'a' }, { name: 'b', op: '=', version: '^1.0.0' }]
  expect(resolve([either, need('app')], { b: ['1.0.0', '2.0.0'] })).toMatchObject({
    chosen: [{ name: 'b', version: '1.0.0', isServed: true }],
    elsewhere: [],
    unknown: 0,
  })
})

test('of Python packages a pre-release is taken only where nothing else fits', () => {
  const python = { format: 'pypi', name: 'app', version: '1.0', arch: 'py3-none-any' }
  const taken = (versions: readonly string[], ...needs: Alternatives[]): string | undefined =>
    resolveNeeds(needs, new Map([['pad', versions]]), { format: pypi, own: python }).chosen[0]?.version
  expect(taken(['1.0', '2.0rc1'], [{ name: 'pad' }])).toBe('1.0')
  expect(taken(['0.9', '2.0rc1'], need('pad', '>=1.0,<3'))).toBe('2.0rc1')
  expect(taken([], need('pad', '1.2.3'))).toBe('1.2.3')
  expect(taken([], need('pad', '>=1.2,<2'))).toBeUndefined()
})
