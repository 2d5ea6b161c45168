import { describe, expect, test } from 'vitest'
import { FORMATS } from '../formats/index.ts'
import { DEFAULT_DISTRIBUTIONS } from './default-distributions.ts'
import { readCodename, readDefinition, type DefinitionFields } from './definition.ts'
import { AppError } from './errors.ts'
import type { Codename } from './identity.ts'
import { createRepositories } from './repository.ts'

const repositories = createRepositories(DEFAULT_DISTRIBUTIONS)
const deps = { repositories, formats: FORMATS, scanners: ['debian:13', 'ubuntu:24.04'] }
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
  test('takes every missing field from the distribution it is based on', () => {
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

  test('can still be changed after its base was removed', () => {
    const before = { ...define({ based_on: 'trixie' }), basedOn: 'gone' as Codename }
    const after = readDefinition(before.codename, { label: 'Still here' }, { ...deps, before })
    const { basedOn: _, ...rest } = before
    expect(after).toEqual({ ...rest, label: 'Still here' })
  })

  test('keeps a scanner that no engine has any more, until it is changed', () => {
    const before = { ...define({ based_on: 'trixie' }), scanner: 'debian:99' }
    const change = (wish: DefinitionFields) => readDefinition(before.codename, wish, { ...deps, before })
    expect([change({ label: 'New' }).scanner, change({ scanner: 'debian:99' }).scanner]).toEqual([
      'debian:99',
      'debian:99',
    ])
    expect(refusal(() => change({ scanner: 'debian:98' }))).toContain('bad_distribution: scanner')
  })

  test('cannot be based on a distribution that is based on it', () => {
    const all = createRepositories(DEFAULT_DISTRIBUTIONS)
    const upper = { ...define({ based_on: 'trixie' }), codename: 'upper' as Codename, basedOn: 'middle' as Codename }
    all.replace([upper, { ...upper, codename: 'middle' as Codename, basedOn: 'acme' as Codename }])
    expect(
      refusal(() => readDefinition('acme' as Codename, { based_on: 'upper' }, { ...deps, repositories: all })),
    ).toBe('bad_distribution: based_on: middle is itself based on acme.')
  })

  test('takes letters of every script in its lines', () => {
    expect(define({ format: 'deb', label: 'Пакеты für 会社 – naïve' }).label).toBe('Пакеты für 会社 – naïve')
  })

  test('with scanner null has no scanner', () => {
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
    ...['templeos:1', 'debian:nosuch', 'debian', 'debian:13 '].map((scanner): [string, DefinitionFields, string] => [
      `the scanner ${scanner}`,
      { format: 'deb', scanner },
      `bad_distribution: scanner: no vulnerability data is known for ${scanner}. There are: debian:13, ubuntu:24.04; or null: not scanned.`,
    ]),
    ...[
      ...'\u202e\u2066\u200b\u200d\u00ad\u00a0\u2003\u2028\ufeff\u3164\u2800\u0085\u001b\ud800\ufe0f',
      '\u{e0041}',
    ].flatMap(odd =>
      (['label', 'suite', 'origin', 'release_label', 'version', 'description_line'] as const).map(
        (field): [string, DefinitionFields, string] => [
          `U+${odd.codePointAt(0)?.toString(16)} in ${field}`,
          { format: 'deb', [field]: `Acme${odd} Tools` },
          `bad_distribution: ${field}: one line of 1 to 200 visible characters`,
        ],
      ),
    ),
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

  test('is listed after the default set, and replaces the default one it changes', () => {
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
