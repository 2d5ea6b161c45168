import { expect, test } from 'vitest'
import { registry } from '../../test/support/registries.ts'
import type { Finding, Severity } from '../core/findings.ts'
import { decide, policyOf } from '../core/policy.ts'
import type { Alternatives } from '../core/relation.ts'
import type { Queryable } from '../db/db.ts'
import { compareSemver } from '../core/versions/semver.ts'
import { EngineUnavailable } from '../scanners/scanner.ts'
import { registryDependencies, type LookUp } from './registry-dependencies.ts'
import type { Subject } from './subject.ts'

const finding = (severity: Severity, more: Partial<Finding> = {}): Finding => ({
  id: 'CVE-2026-1001',
  package: 'pad',
  severity,
  detected_by: ['osv'],
  ...more,
})
const exact = (name: string, version: string): Alternatives => [{ name, op: '=', version }]

const subject = (depends: readonly Alternatives[], more: Partial<Subject> = {}): Subject =>
  ({
    distribution: registry('npm'),
    format: {
      id: 'npm',
      satisfies: (have: { version: string }, { version }: { version?: string }) =>
        version === undefined || have.version === version,
      compareVersions: compareSemver,
      complain: () => undefined,
      purl: ({ name, version }: { name: string; version: string }) =>
        `pkg:npm/${name}@${version}?file_name=${name}.tgz`,
    },
    settings: {
      validation: { grype_scan: true, on_scanner_unavailable: 'hold' },
      cve_policy: { critical: 'block', high: 'review', medium: 'warn', low: 'allow', negligible: 'allow' },
      script_policy: {},
    },
    inspected: async () => ({
      identity: { format: 'npm', name: 'app', version: '1.0.0', arch: 'any' },
      about: { depends },
    }),
    ...more,
  }) as unknown as Subject

interface Given {
  readonly served?: readonly { readonly name: string; readonly version: string }[]
  readonly found?: readonly Finding[]
  readonly data?: Partial<LookUp>
}
async function look(one: Subject, { served = [], found = [], data = {} }: Given = {}) {
  const asked: string[] = []
  const db = { query: async () => served } as unknown as Queryable
  const all: LookUp = {
    coverage: async () => ({ coverage: 'covered', said: 'Current.' }),
    match: async (_, packages) =>
      packages.map(({ name, version }) => {
        asked.push(`${name} ${version}`)
        return found.filter(({ package: of }) => of === name)
      }),
    ...data,
  }
  const report = await registryDependencies(one, { db, data: all }, new AbortController().signal)
  const { state } = decide([report], policyOf(one.settings as never), 'native')
  return { report, state, asked }
}

test('what is not served here comes from elsewhere, which holds nothing and warns of nothing', async () => {
  const needs = [exact('pad', '1.3.0'), exact('left', '1.0.0')]
  const { report, state } = await look(subject(needs), { served: [{ name: 'pad', version: '1.3.0' }] })
  expect(report).toMatchObject({ outcome: 'ok', verdict: 'missing', missing: ['left (= 1.0.0)'] })
  expect(report.said).toBe('1 of 2 needs is served here; the others come from elsewhere.')
  expect(state).toBe('published')
})

test('a vulnerability that blocks a package holds what needs it, with its name and the chosen version', async () => {
  const { report, state, asked } = await look(subject([exact('pad', '1.3.0')]), { found: [finding('critical')] })
  expect(asked).toEqual(['pad 1.3.0'])
  expect(state).toBe('pending_review')
  expect(report).toMatchObject({ outcome: 'warned', holds: true, verdict: 'findings' })
  expect(report.findings).toMatchObject([
    {
      id: 'CVE-2026-1001',
      package: 'pad',
      at: { purl: 'pkg:npm/pad@1.3.0', path: 'needs pad (= 1.3.0)', rule: 'dependency' },
    },
  ])
  expect(report.said).toContain(
    'The policy blocks CVE-2026-1001 (critical) in pad 1.3.0; in a dependency that asks for a review.',
  )
})

test.each([
  ['critical', {}, 'pending_review'],
  ['low', { id: 'MAL-2026-1' }, 'pending_review'],
  ['high', {}, 'published'],
  ['medium', {}, 'published'],
  ['low', {}, 'published'],
] as const)('a dependency with a %s finding %o: %s, never in quarantine', async (severity, more, state) => {
  const found = [finding(severity, more)]
  expect((await look(subject([exact('pad', '1.3.0')]), { found })).state).toBe(state)
})

test('a finding that was accepted holds nothing', async () => {
  const again = { isAccepted: () => true }
  const { report } = await look(subject([exact('pad', '1.3.0')], { again }), { found: [finding('critical')] })
  expect(report).toMatchObject({ outcome: 'ok', findings: [{ id: 'CVE-2026-1001' }] })
  expect(report.said).toContain('1 accepted.')
})

test('without data nothing is clean, and an engine that fails is no answer', async () => {
  const one = subject([exact('pad', '1.3.0')])
  const without = await look(one, {
    data: { coverage: async () => ({ coverage: 'no_data', said: 'Nothing is loaded.' }) },
  })
  expect(without.asked).toEqual([])
  expect(without.report.said).toContain('Its dependencies were not looked up. Nothing is loaded.')
  const fails = async (): Promise<never> => {
    throw new EngineUnavailable('osv', 'its data cannot be read')
  }
  const failed = await look(one, { data: { match: fails } })
  expect([failed.report.outcome, failed.state]).toEqual(['unavailable', 'pending_review'])
})

test('where the scan is switched off nothing is looked up', async () => {
  const one = subject([exact('pad', '1.3.0')])
  const { settings } = one
  const off = { ...one, settings: { ...settings, validation: { ...settings.validation, grype_scan: false } } }
  expect((await look(off, { found: [finding('critical')] })).asked).toEqual([])
})
