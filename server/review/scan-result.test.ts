import { expect, test } from 'vitest'
import type { Finding } from '../core/findings.ts'
import type { Manifest } from '../core/manifest.ts'
import type { CvePolicy } from '../core/policy.ts'
import type { Report } from '../core/report.ts'
import { reconsider } from '../core/review.ts'
import { withScan } from './scan-result.ts'

const NOW = '2026-02-01T00:00:00.000Z'
const own: Finding = { id: 'CVE-2026-1001', package: 'app', severity: 'low', detected_by: ['osv'] }
const at = { purl: 'p', path: 'pad', rule: 'dependency', confidence: 'certain', presence: 'declared' } as const
const needed: Finding = { id: 'CVE-2026-1002', package: 'pad', severity: 'critical', detected_by: ['osv'], at }
const scan = (findings: readonly Finding[], more: Partial<Report> = {}): Report => ({
  step: 'vulnerabilities',
  outcome: 'ok',
  verdict: 'findings',
  said: '',
  findings,
  ...more,
})
const dependencies = (findings: readonly Finding[], more: Partial<Report> = {}): Report => ({
  ...scan(findings),
  step: 'dependencies',
  outcome: 'warned',
  ...more,
})
const before = { state: 'pending_review', reports: [dependencies([needed])], findings: [own, needed], changed_at: NOW }
const known = before as unknown as Manifest
const idsAfter = (...reports: Report[]): string[] =>
  withScan(known, reports, NOW)
    .after.findings.map(({ id }) => id)
    .sort()

test('findings in dependencies stay until the dependencies are looked up again', () => {
  expect(idsAfter(scan([own]))).toEqual([own.id, needed.id])
  expect(idsAfter(scan([own]), dependencies([]))).toEqual([own.id])
  expect(idsAfter(scan([own]), dependencies([], { outcome: 'unavailable' }))).toEqual([own.id, needed.id])
  expect(withScan(known, [scan([own]), dependencies([])], NOW).lost).toEqual([needed.id])
})

test('a scan that is switched off changes nothing of what was known', () => {
  expect(idsAfter(scan([], { outcome: 'skipped' }))).toEqual([own.id, needed.id])
})

test('what was accepted of a dependency holds nothing, although the report of the step names it', () => {
  const policy: CvePolicy = {
    ...{ critical: 'block', high: 'review', medium: 'warn', low: 'allow', negligible: 'allow' },
    on_scanner_unavailable: 'hold',
  }
  expect(reconsider(known, policy, NOW).state).toBe('pending_review')
  const accepted = { decision: 'accepted', action: 'approve', justification: 'x', by: 'a', at: NOW, cve: needed.id }
  const decided = { ...known, review: { history: [accepted] } } as unknown as Manifest
  expect(reconsider(decided, policy, NOW).state).toBe('published')
})
