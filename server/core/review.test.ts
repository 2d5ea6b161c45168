import { describe, expect, test } from 'vitest'
import type { Finding, Severity } from './findings.ts'
import type { Decision, Manifest } from './manifest.ts'
import type { CvePolicy } from './policy.ts'
import type { Outcome, Report } from './report.ts'
import {
  acceptanceOf,
  dueAt,
  heldSince,
  keepBooks,
  newFindings,
  openFindings,
  reconsider,
  reopensAt,
  slaDays,
  type Reviewed,
} from './review.ts'

const POLICY: CvePolicy = {
  critical: 'block',
  high: 'review',
  medium: 'warn',
  low: 'allow',
  negligible: 'allow',
  on_scanner_unavailable: 'hold',
}
const T = (day: number): string => new Date(Date.UTC(2026, 0, day)).toISOString()
const finding = (id: string, severity: Severity = 'high', more: Partial<Finding> = {}): Finding => ({
  id,
  package: 'hello',
  severity,
  detected_by: ['osv'],
  ...more,
})
const said = (action: Decision['action'], at: number, more: Partial<Decision> = {}): Decision => ({
  decision: action,
  action,
  justification: 'because',
  by: 'mae',
  at: T(at),
  ...more,
})
const report = (step: Report['step'], outcome: Outcome): Report => ({ step, outcome, verdict: 'x', said: '.' })
const known = (over: Partial<Reviewed> = {}): Reviewed => ({
  state: 'pending_review',
  reports: [],
  findings: [finding('A')],
  changed_at: T(1),
  ...over,
})

describe('what an acceptance covers', () => {
  test.each<[string, readonly Decision[], boolean]>([
    ['nothing was said', [], false],
    ['a decision about it', [said('approve', 2, { cve: 'A' })], true],
    ['in other letters', [said('approve', 2, { cve: 'a' })], true],
    ['about another', [said('approve', 2, { cve: 'B' })], false],
    ['that has not ended', [said('approve', 2, { cve: 'A', expires_at: T(11) })], true],
    ['that ends at this moment', [said('approve', 2, { cve: 'A', expires_at: T(10) })], false],
    ['an approval of the package when it had it', [said('approve', 2, { covers: ['A'] })], true],
    ['an approval of the package before it had it', [said('approve', 2, { covers: ['B'] })], false],
    ['taken back', [said('approve', 2, { cve: 'A' }), said('reject', 3, { cve: 'A' })], false],
    ['taken back by a rejection of the package', [said('approve', 2, { cve: 'A' }), said('reject', 3)], false],
    ['taken back for another one', [said('approve', 2, { cve: 'A' }), said('reject', 3, { cve: 'B' })], true],
    [
      'taken back and given again',
      [said('approve', 2, { cve: 'A' }), said('reject', 3), said('approve', 4, { covers: ['A'] })],
      true,
    ],
    [
      'one that has ended, and an older one that has not',
      [said('approve', 2, { cve: 'A' }), said('approve', 3, { cve: 'A', expires_at: T(5) })],
      true,
    ],
  ])('%s', (_, history, accepted) => {
    const manifest = known({ review: { history } })
    expect(acceptanceOf(manifest, finding('A'), T(10)) !== undefined).toBe(accepted)
    expect(openFindings(manifest, T(10))).toHaveLength(accepted ? 0 : 1)
  })

  test('an alias is the same vulnerability', () => {
    expect(
      acceptanceOf(
        known({ review: { history: [said('approve', 2, { cve: 'GHSA-1' })] } }),
        finding('A', 'high', { aliases: ['GHSA-1'] }),
        T(3),
      ),
    ).toBeDefined()
  })
})

describe('what the policy makes of a known package', () => {
  const approved = {
    decision: said('approve', 2, { covers: ['A'] }),
    review: { history: [said('approve', 2, { covers: ['A'] })] },
  }
  test.each<[string, Partial<Reviewed>, Manifest['state']]>([
    [
      'a block never rejects later, it holds',
      { state: 'published', findings: [finding('A', 'critical')] },
      'pending_review',
    ],
    ['a review holds', { state: 'published' }, 'pending_review'],
    ['a warning serves', { findings: [finding('A', 'medium')] }, 'published'],
    ['nothing found serves', { findings: [] }, 'published'],
    ['what is accepted does not count', { review: { history: [said('approve', 2, { cve: 'A' })] } }, 'published'],
    [
      'a new one beside it does',
      { findings: [finding('A'), finding('B')], review: { history: [said('approve', 2, { cve: 'A' })] } },
      'pending_review',
    ],
    ['an approval stands for what it covered', { state: 'published', ...approved }, 'published'],
    [
      'and for none that came later',
      { state: 'published', ...approved, findings: [finding('A'), finding('B')] },
      'pending_review',
    ],
    [
      'an engine that did not answer goes on holding',
      { findings: [], reports: [report('antivirus', 'unavailable')] },
      'pending_review',
    ],
    [
      'a scan that did not answer goes on holding',
      { findings: [], reports: [report('vulnerabilities', 'unavailable')] },
      'pending_review',
    ],
    [
      'but takes nothing away that is served',
      {
        state: 'published',
        findings: [],
        reports: [report('antivirus', 'unavailable'), report('vulnerabilities', 'unavailable')],
      },
      'published',
    ],
    ['malware goes on holding', { findings: [], reports: [report('antivirus', 'failed')] }, 'pending_review'],
    [
      'a scan that failed by the policy of its day is judged by the one of now',
      { findings: [finding('A', 'low')], reports: [report('vulnerabilities', 'failed')] },
      'published',
    ],
  ])('%s', (_, over, state) => {
    expect(reconsider(known(over), POLICY, T(10)).state).toBe(state)
  })
})

test('a vulnerability is new when no scan had it: not under an alias, not when it comes back', () => {
  const manifest = known({ findings: [finding('A', 'high', { aliases: ['G-1'] })], review: { gone: ['OLD'] } })
  expect(
    newFindings(manifest, [finding('A'), finding('G-1'), finding('OLD'), finding('N')]).map(({ id }) => id),
  ).toEqual(['N'])
})

describe('deadlines', () => {
  const days = slaDays({ sla_critical_days: 0, sla_high_days: 30, sla_medium_days: 90 })
  test.each<[string, Partial<Reviewed>, string | undefined]>([
    ['0 days are at once', { findings: [finding('A', 'critical')] }, T(1)],
    ['by the worst', { findings: [finding('A', 'medium'), finding('B', 'high')] }, T(31)],
    ['unknown counts as medium', { findings: [finding('A', 'unknown')] }, T(91)],
    ['low has none', { findings: [finding('A', 'low')] }, undefined],
    [
      'what is accepted does not count',
      {
        findings: [finding('A', 'critical'), finding('B', 'high')],
        review: { history: [said('approve', 1, { cve: 'A' })] },
      },
      T(31),
    ],
    ['from when it was held, not from the last change', { changed_at: T(5), review: { held_at: T(2) } }, T(32)],
    ['none for what does not wait', { state: 'published' }, undefined],
  ])('%s', (_, over, due) => {
    expect(dueAt(known(over), days, T(3))).toBe(due)
  })
})

describe('when an acceptance ends', () => {
  const until = (day: number) => ({ expires_at: T(day) })
  test.each<[string, Partial<Reviewed>, string | undefined]>([
    [
      'the first end counts',
      {
        review: {
          history: [said('approve', 2, { cve: 'A', ...until(9) }), said('approve', 2, { cve: 'B', ...until(8) })],
        },
      },
      T(8),
    ],
    [
      'a later word about the same replaces it',
      {
        review: {
          history: [said('approve', 2, { cve: 'A', ...until(8) }), said('approve', 3, { cve: 'A', ...until(9) })],
        },
      },
      T(9),
    ],
    [
      'what was taken back does not end',
      { review: { history: [said('approve', 2, { cve: 'A', ...until(8) }), said('reject', 3, { cve: 'A' })] } },
      undefined,
    ],
    [
      'what was acted on is over',
      { review: { lapsed_at: T(8), history: [said('approve', 2, { cve: 'A', ...until(8) })] } },
      undefined,
    ],
    [
      'the approval of what is served',
      {
        state: 'published',
        decision: said('approve', 2, until(7)),
        review: { history: [said('approve', 2, until(7))] },
      },
      T(7),
    ],
    [
      'not of what waits again',
      {
        state: 'pending_review',
        decision: said('approve', 2, until(7)),
        review: { history: [said('approve', 2, until(7))] },
      },
      undefined,
    ],
    [
      'nor of one that was replaced',
      {
        state: 'published',
        decision: said('approve', 3),
        review: { history: [said('approve', 2, until(7)), said('approve', 3)] },
      },
      undefined,
    ],
  ])('%s', (_, over, at) => {
    expect(reopensAt(known(over))).toBe(at)
  })
})

test('the review record keeps since when a package is held and every decision once', () => {
  const base = { ...known(), ref: {}, review: {} } as unknown as Manifest
  const held = keepBooks({ ...base, state: 'published' }, { ...base, changed_at: T(4) })
  expect(heldSince(held)).toBe(T(4))
  const later = keepBooks(held, {
    ...held,
    changed_at: T(6),
    review: { ...held.review, assigned_to: 'max', held_for: 'Rescan.' },
  })
  expect(later.review).toEqual({ held_at: T(4), assigned_to: 'max', held_for: 'Rescan.' })
  const decision = said('approve', 7)
  const done = keepBooks(later, { ...later, state: 'published', changed_at: T(7), decision })
  expect(done.review).toEqual({ history: [decision] })
  expect(keepBooks(done, { ...done, changed_at: T(8) }).review).toEqual({ history: [decision] })
})
