import { expect, test } from 'vitest'
import type { Finding } from '../../core/findings.ts'
import type { Manifest } from '../../core/manifest.ts'
import type { Report } from '../../core/report.ts'
import { waived } from './bring.ts'

const NOW = '2026-11-21T12:00:00.000Z'
const waiver = { reason: 'It is not reached here.', given_by: 'ann', expires_at: new Date('2026-12-01T00:00:00Z') }
const finding = (id: string): Finding => ({ id, package: 'pad', severity: 'critical', detected_by: ['osv'] })
const blocked: Report = {
  ...{ step: 'vulnerabilities', outcome: 'failed', verdict: 'findings', quarantine: true, said: 'Blocked.' },
  engines: [{ id: 'osv', coverage: 'covered', said: 'Current.', findings: 1 }],
}
const state = (of: Manifest['state'], reports: readonly Report[], findings = [finding('CVE-2026-1')]): string =>
  waived({ state: of, reports, findings } as unknown as Manifest, waiver, NOW).state

test('a waiver lets through what known vulnerabilities alone stand against', () => {
  const held = { ...blocked, outcome: 'warned', holds: true } as const
  const needs: Report = { step: 'dependencies', outcome: 'warned', verdict: 'findings', holds: true, said: 'Needs it.' }
  expect(state('quarantined', [blocked])).toBe('published')
  expect(state('pending_review', [held])).toBe('published')
  expect(state('pending_review', [needs])).toBe('published')
  const manifest = {
    state: 'quarantined',
    reports: [blocked],
    findings: [finding('CVE-2026-1')],
  } as unknown as Manifest
  expect(waived(manifest, waiver, NOW).decision).toEqual({
    ...{ decision: 'exception', action: 'approve', justification: waiver.reason, by: 'ann', at: NOW },
    ...{ expires_at: '2026-12-01T00:00:00.000Z', covers: ['CVE-2026-1'] },
  })
})

test('what is malicious, or what an engine refused or did not look at, waits for a person all the same', () => {
  const infected: Report = { step: 'antivirus', outcome: 'failed', verdict: 'infected', said: 'Found.' }
  const silent: Report = { step: 'antivirus', outcome: 'unavailable', verdict: 'unavailable', said: 'No answer.' }
  const scripts: Report = { step: 'scripts', outcome: 'warned', verdict: 'changed', holds: true, said: 'New.' }
  const stale = { ...blocked, engines: [{ id: 'osv', coverage: 'stale', said: 'Old.', findings: 1 }] } as Report
  const closed = { path: 'a.bin', size: 1, why: 'it is encrypted' }
  const unopened: Report = { ...blocked, contents: { shipped: 0, declared: 0, unopened: [closed] } }
  for (const other of [infected, silent, scripts])
    expect(state('quarantined', [blocked, other]), other.said).toBe('quarantined')
  for (const one of [stale, unopened]) expect(state('quarantined', [one])).toBe('quarantined')
  expect(state('quarantined', [blocked], [finding('MAL-2026-1')])).toBe('quarantined')
})

test('who waits although there is a waiver is told what else stands against it', () => {
  const held = { ...blocked, outcome: 'warned', holds: true } as const
  const silent: Report = { step: 'antivirus', outcome: 'unavailable', verdict: 'unavailable', said: 'No answer.' }
  const manifest = { state: 'pending_review', reports: [held, silent], findings: [] } as unknown as Manifest
  expect(waived(manifest, waiver, NOW).review).toEqual({
    held_at: NOW,
    held_for: 'A waiver was given for it, and is about known vulnerabilities and licences alone: No answer.',
  })
})
