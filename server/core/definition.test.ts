import { describe, expect, test } from 'vitest'
import { FORMATS } from '../formats/index.ts'
import { DEFAULT_DISTRIBUTIONS } from './default-distributions.ts'
import { readCodename, readDefinition, type DefinitionFields } from './definition.ts'
import { AppError } from './errors.ts'
import type { Codename } from './identity.ts'
import { createRepositories } from './repository.ts'

const repositories = createRepositories(DEFAULT_DISTRIBUTIONS)
const deps = { repositories, formats: FORMATS }
const define = (wish: DefinitionFields) => readDefinition(readCodename('acme', deps), wish, deps)

function refusal(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    if (error instanceof AppError) return `${error.code}: ${error.message}`
    throw error
  }
  return 'taken'
}

describe('an own distribution', () => {
  test('follows the one it is based on, in all that is not said', () => {
    expect(define({ based_on: 'trixie', components: ['main', 'tools'], label: 'Acme on Debian 13' })).toEqual({
      kind: 'distribution',
      codename: 'acme',
      format: 'deb',
      label: 'Acme on Debian 13',
      archs: ['amd64', 'arm64'],
      neutral: ['all'],
      components: ['main', 'tools'],
      scanner: 'debian:13',
      basedOn: 'trixie',
      endOfLife: '2030-06-30',
      release: {
        suite: 'acme',
        origin: 'Gatehouse',
        label: 'Gatehouse',
        description: 'Packages for Acme on Debian 13 that passed the gate',
      },
      state: 'active',
      builtin: false,
    })
  })

  test('can still be changed when the one it is based on is gone', () => {
    const before = { ...define({ based_on: 'trixie' }), basedOn: 'gone' as Codename }
    const after = readDefinition(before.codename, { label: 'Still here' }, { ...deps, before })
    const { basedOn: _, ...rest } = before
    expect(after).toEqual({ ...rest, label: 'Still here' })
  })

  test('that nobody scans has no scanner, and that is said', () => {
    expect(define({ format: 'apk', scanner: null }).scanner).toBeUndefined()
    expect(define({ based_on: 'trixie', scanner: null }).scanner).toBeUndefined()
  })

  test.each<[string, DefinitionFields, string]>([
    ['no format', {}, 'bad_distribution: format'],
    ['an unknown format', { format: 'nix' }, 'bad_distribution: format'],
    [
      'an architecture of another format',
      { format: 'deb', architectures: ['x86_64'] },
      'bad_distribution: architectures',
    ],
    ['an architecture twice', { format: 'deb', architectures: ['amd64', 'amd64'] }, 'bad_distribution: architectures'],
    ['components where there are none', { format: 'rpm', components: ['main', 'x'] }, 'bad_distribution: components'],
    ['a component with a slash', { format: 'deb', components: ['a/b'] }, 'bad_distribution: components'],
    ['two lines', { format: 'deb', suite: 'a\nOrigin: Debian' }, 'bad_distribution: suite'],
    ['a scanner of nobody', { format: 'deb', scanner: 'templeos:1' }, 'bad_distribution: scanner'],
    ['a base of another format', { format: 'rpm', based_on: 'trixie' }, 'bad_distribution: based_on'],
    ['a base that is not there', { based_on: 'sid' }, 'bad_distribution: based_on'],
    ['a day that is none', { format: 'deb', end_of_life: '2026-13-01' }, 'bad_distribution: end_of_life'],
    ['a day that its month lacks', { format: 'deb', end_of_life: '2026-02-31' }, 'bad_distribution: end_of_life'],
  ])('is refused with %s', (_, wish, said) => {
    expect(refusal(() => define(wish))).toContain(said)
  })

  test.each(['dists', 'pool', 'main', '.', 'a', '-a', 'a-', 'A', 'a/b', 'a..b', 'jammy', 'x'.repeat(65)])(
    'is not called %s',
    codename => {
      expect(refusal(() => readCodename(codename, deps))).toMatch(/^(bad_distribution|distribution_exists)/)
    },
  )

  test('stands behind the default set, and replaces what it changes there', () => {
    const all = createRepositories(DEFAULT_DISTRIBUTIONS)
    const jammy = all.get('jammy')
    all.replace([define({ based_on: 'trixie' }), { ...jammy, state: 'retired' }])
    expect(all.all().at(-1)?.codename).toBe('acme')
    expect([all.all()[0]?.codename, all.get('jammy').state, all.all().length]).toEqual([
      'jammy',
      'retired',
      DEFAULT_DISTRIBUTIONS.length + 1,
    ])
  })
})
