import { describe, expect, test } from 'vitest'
import { getDistribution } from '../../../test/support/repositories.ts'
import { OSV_LANGUAGES } from '../../core/osv-ecosystems.ts'
import type { Meta, SourceFacts } from '../store/generation-meta.ts'
import type { EcosystemFacts } from '../store/tables.ts'
import { coverageOf, languageCoverage } from './coverage.ts'

const NOW = new Date('2026-11-23T10:00:00Z')
const IMPORTED = '2026-11-23T09:00:00.000Z'

const source = (as_of: string, dated: boolean): SourceFacts => ({
  kind: 'osv',
  as_of,
  dated,
  imported_at: IMPORTED,
  records: 1,
  rows: 1,
  skipped: {},
  files: [],
})
const table = (sources: EcosystemFacts['sources'], ranks = { 1: 0, 2: 1, 3: 0 }): EcosystemFacts => ({
  rows: Object.values(sources).reduce((sum, { rows }) => sum + rows, 0),
  ranks,
  sources,
  digits: 0,
  pieces: ['00'],
})
const metaOf = (ecosystems: Meta['ecosystems'], sources: Meta['sources']): Meta => ({
  format: 1,
  generation: 1,
  created: IMPORTED,
  ecosystems,
  sources,
  vector_digits: 0,
  intel: {},
})
const covers = (codename: string, meta: Meta) =>
  coverageOf(getDistribution(codename), { meta, now: NOW, maxAgeDays: 14 })

describe('data are as old as their newest change', () => {
  const debian = (newest: string, facts: SourceFacts) =>
    covers('bookworm', metaOf({ 'debian-12': table({ 'osv/Debian': { rows: 1, newest } }) }, { 'osv/Debian': facts }))
  test('one record that names the package is enough, and the day is its own', () => {
    expect(debian('2026-11-20T01:00:00.000Z', source('2026-11-20T01:00:00.000Z', true))).toEqual({
      coverage: 'covered',
      data_at: '2026-11-20T01:00:00.000Z',
      said: 'The advisories for Debian 12 are of 2026-11-20.',
    })
  })
  test.each([true, false])('never as old as the day on which they were fetched or bundled (whole: %s)', whole => {
    expect(debian('2026-08-01T00:00:00.000Z', source(IMPORTED, whole))).toEqual({
      coverage: 'stale',
      data_at: '2026-08-01T00:00:00.000Z',
      said: 'The advisories for Debian 12 are of 2026-08-01: 114 days old, more than the 14 that “Oldest vulnerability data” allows. Import newer ones.',
    })
  })
  test('a whole dump is as old as its newest record about any release, pieces of one are not', () => {
    const both = (whole: boolean) =>
      covers(
        'alpine3.23',
        metaOf(
          {
            'alpine-3.23': table({ 'osv/Alpine': { rows: 9, newest: '2026-10-01T00:00:00.000Z' } }),
            'alpine-3.24': table({ 'osv/Alpine': { rows: 9, newest: '2026-11-22T00:00:00.000Z' } }),
          },
          { 'osv/Alpine': source('2026-11-22T00:00:00.000Z', whole) },
        ),
      ).coverage
    expect([both(true), both(false)]).toEqual(['covered', 'stale'])
  })
  test('where neither they nor what brought them have a date, nobody knows their age', () => {
    const undated = (as_of: string) =>
      covers(
        'bookworm',
        metaOf({ 'debian-12': table({ 'debian/tracker': { rows: 1 } }) }, { 'debian/tracker': source(as_of, true) }),
      )
    expect(undated('')).toEqual({
      coverage: 'partial',
      said: 'Nothing says of which day the advisories for Debian 12 are.',
    })
    expect([undated('2026-11-22T00:00:00.000Z').coverage, undated('2025-12-31T00:00:00.000Z').coverage]).toEqual([
      'covered',
      'stale',
    ])
  })
})

const fresh = '2026-11-22T00:00:00.000Z'
const current = (ecosystem: string): Meta =>
  metaOf({ [ecosystem]: table({ s: { rows: 1, newest: fresh } }) }, { s: source(fresh, true) })

describe('a release out of support is never covered', () => {
  test.each([
    ['bullseye', 'debian-11', 'Debian 11', '2026-08-31'],
    ['focal', 'ubuntu-20.04', 'Ubuntu 20.04 LTS', '2025-05-29'],
    ['fedora', 'fedora-40', 'Fedora', '2025-05-13'],
    ['alpine3.20', 'alpine-3.20', 'Alpine 3.20', '2026-04-01'],
  ])('%s', (codename, ecosystem, label, end) => {
    expect(covers(codename, current(ecosystem))).toEqual({
      coverage: 'partial',
      data_at: fresh,
      said: `The advisories for ${label} are of 2026-11-22. ${label} has had no free security updates since ${end}: what became known later may be missing.`,
    })
  })
  test('its last day still counts as support, and an admin may know of more', () => {
    const bullseye = getDistribution('bullseye')
    const at = (now: string, endOfLife = bullseye.endOfLife ?? '') =>
      coverageOf({ ...bullseye, endOfLife }, { meta: current('debian-11'), now: new Date(now), maxAgeDays: 999 })
        .coverage
    expect([at('2026-08-31T23:59:59Z'), at('2026-09-01T00:00:00Z'), at('2026-09-01T00:00:00Z', '2030-06-30')]).toEqual([
      'covered',
      'partial',
      'covered',
    ])
  })
})

test('languages are covered by dumps of their own, each as old as its content', () => {
  const meta = metaOf(
    {
      npm: table({ 'osv/npm': { rows: 1, newest: fresh } }),
      rubygems: table({ 'osv/RubyGems': { rows: 1, newest: '2026-01-02T00:00:00.000Z' } }),
    },
    { 'osv/npm': source(fresh, true), 'osv/RubyGems': source(IMPORTED, true) },
  )
  const said = Object.values(OSV_LANGUAGES)
    .map(ecosystem => languageCoverage(ecosystem, { meta, now: NOW, maxAgeDays: 14 }))
    .map(({ ecosystem, coverage }) => `${ecosystem}: ${coverage}`)
  expect(said).toHaveLength(14)
  expect(said).toEqual(
    expect.arrayContaining(['npm: covered', 'RubyGems: stale', 'GitHub Actions: not_covered', 'PyPI: not_covered']),
  )
})
