import { expect, test } from 'vitest'
import type { Finding } from '../../core/findings.ts'
import type { CveRating } from '../advisory.ts'
import { familyOf } from './ecosystems.ts'
import { rateFinding } from './rate.ts'

const V31 = 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H'
const V2 = 'AV:N/AC:L/Au:N/C:P/I:N/A:N'
const cvss = { version: '3.1', vector: V31, score: 9.8 }
const all: CveRating = { vectors: [V31], nvd: [V2], ubuntu: 'low', red_hat: 'medium' }

test.each<[string, string, Partial<Finding>, CveRating, string]>([
  [
    "the distribution's own word stays",
    'debian-12',
    { severity: 'negligible', severity_source: 'distribution' },
    all,
    'negligible distribution',
  ],
  ["then Ubuntu's word", 'debian-12', { severity: 'unknown' }, all, 'low ubuntu'],
  [
    "then Ubuntu's word, before a score",
    'debian-12',
    { severity: 'critical', severity_source: 'cvss', cvss },
    all,
    'low ubuntu',
  ],
  ["Red Hat's first for RPM", 'rocky-9', { severity: 'unknown' }, all, 'medium red_hat'],
  ["Red Hat's where Ubuntu has none", 'debian-12', { severity: 'unknown' }, { red_hat: 'high' }, 'high red_hat'],
  [
    'then the score of another advisory',
    'debian-12',
    { severity: 'unknown' },
    { vectors: [V31], nvd: [V2] },
    'critical alias_cvss',
  ],
  ["then the NVD's", 'debian-12', { severity: 'unknown' }, { nvd: [V2] }, 'medium nvd'],
  [
    'an own score stays where nobody has a word',
    'debian-12',
    { severity: 'critical', severity_source: 'cvss', cvss },
    { nvd: [V2] },
    'critical cvss',
  ],
  [
    "a language's own score stays before other words",
    'npm',
    { severity: 'critical', severity_source: 'cvss', cvss },
    all,
    'critical cvss',
  ],
  ['nobody knows', 'debian-12', { severity: 'unknown' }, {}, 'unknown undefined'],
])('%s', (_, ecosystem, given, rating, expected) => {
  const family = familyOf(ecosystem) ?? expect.unreachable()
  const finding: Finding = { id: 'CVE-2024-10001', package: 'p', severity: 'unknown', detected_by: ['osv'], ...given }
  const { severity, severity_source: source } = rateFinding(finding, rating, family)
  expect(`${severity} ${source}`).toBe(expected)
})
