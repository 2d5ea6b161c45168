import { describe, expect, test } from 'vitest'
import type { Finding, Severity } from '../core/findings.ts'
import type { Codename } from '../core/identity.ts'
import type { Manifest } from '../core/manifest.ts'
import { asciiLine, cutLine, reviewLink, whyHeld } from './held.ts'

const finding = (id: string, severity: Severity): Finding => ({ id, package: 'p', severity, detected_by: ['osv'] })
const ref = { format: 'npm', codename: 'ours' as Codename, name: '@s/n', version: '1.0.0+x', arch: 'any' }
const held = (more: Partial<Manifest> = {}): Parameters<typeof whyHeld>[0] => ({
  ref,
  state: 'pending_review',
  reports: [],
  findings: [],
  ...more,
})

describe('why a version is not served', () => {
  test('the gravest findings come first, three of them, each once', () => {
    const findings = [
      finding('CVE-4', 'low'),
      finding('CVE-3', 'high'),
      finding('CVE-1', 'critical'),
      finding('CVE-1', 'critical'),
      finding('CVE-2', 'critical'),
      finding('CVE-5', 'high'),
    ]
    expect(whyHeld(held({ findings }), 'https://h')).toEqual({
      sentence:
        'Held for review by Gatehouse: CVE-1 (critical), CVE-2 (critical), CVE-3 (high) and 1 more. https://h/#/review?pick=%40s%2Fn&version=1.0.0%2Bx&in=ours&arch=any',
      short: 'Held for review by Gatehouse: CVE-1 (critical), CVE-2 (critical), CVE-3 (high) and 1 more.',
    })
  })
  test('known malicious code is named before anything else', () => {
    const findings = [finding('CVE-1', 'critical'), finding('MAL-2024-1', 'critical')]
    expect(whyHeld(held({ state: 'quarantined', findings })).short).toBe(
      'Quarantined by Gatehouse: MAL-2024-1 (malicious), CVE-1 (critical).',
    )
  })
  test('a silent engine is the cause where only a low finding is there', () => {
    const reports = [
      { step: 'antivirus' as const, outcome: 'unavailable' as const, verdict: 'unavailable', said: 'Nobody looked.' },
    ]
    expect(whyHeld(held({ reports, findings: [finding('CVE-1', 'low')] })).short).toBe(
      'Held for review by Gatehouse: Nobody looked.',
    )
  })
  test('what cannot be signed is the cause, whatever engines were silent', () => {
    const silent = { outcome: 'unavailable' as const, verdict: 'unavailable' }
    const reports = [
      { ...silent, step: 'vulnerabilities' as const, said: 'No data.' },
      { ...silent, step: 'signature' as const, said: 'There is no signing key.' },
    ]
    expect(whyHeld(held({ reports })).short).toBe('Held for review by Gatehouse: There is no signing key.')
  })
  test('a person who rejected it is quoted, on one line of ASCII', () => {
    const decision = {
      ...{ decision: 'rejected', action: 'reject' as const, by: 'ada', at: '2026-01-01T00:00:00.000Z' },
      justification: 'Nicht für uns\r\nSet-Cookie: x',
    }
    expect(whyHeld(held({ state: 'rejected', decision })).sentence).toBe(
      'Rejected by Gatehouse: Nicht fur uns Set-Cookie: x.',
    )
  })
  test('the short form fits behind a status code, whatever was said', () => {
    const reports = [{ step: 'scripts' as const, outcome: 'failed' as const, verdict: 'x', said: 'word '.repeat(200) }]
    const { short } = whyHeld(held({ reports }))
    expect(short).toMatch(/^[ -~]{1,120}$/)
    expect(short.endsWith('...')).toBe(true)
  })
  test('there is a sentence where nothing was recorded', () => {
    expect(whyHeld(held()).short).toBe('Held for review by Gatehouse: somebody decides whether clients get it.')
  })
})

test('a line of ASCII has no control characters and no second blank', () => {
  expect(asciiLine(' a\u0000\t b\u2028é ')).toBe('a b e')
  expect(cutLine('abcdef', 5)).toBe('ab...')
})

test('the link opens the version in the review queue', () => {
  expect(reviewLink('https://h', ref)).toBe('https://h/#/review?pick=%40s%2Fn&version=1.0.0%2Bx&in=ours&arch=any')
})
