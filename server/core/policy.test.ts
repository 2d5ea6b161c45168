import { describe, expect, test } from 'vitest'
import type { Finding, Severity } from './findings.ts'
import type { InstallFactKind } from './install-facts.ts'
import { actionFor, decide, hardestAction, whileUnavailable, type CvePolicy } from './policy.ts'
import type { Report } from './report.ts'

const policy: CvePolicy = {
  critical: 'block',
  high: 'review',
  medium: 'warn',
  low: 'allow',
  negligible: 'allow',
  on_scanner_unavailable: 'hold',
}
const finding = (severity: Severity): Finding => ({
  id: `CVE-${severity}`,
  package: 'p',
  severity,
  detected_by: ['test'],
})
const vulnerabilities = (...severities: Severity[]): Report => ({
  step: 'vulnerabilities',
  outcome: 'ok',
  verdict: 'findings',
  said: '',
  findings: severities.map(finding),
})
const ok: Report = { step: 'antivirus', outcome: 'ok', verdict: 'clean', said: '' }
const infected: Report = { step: 'antivirus', outcome: 'failed', verdict: 'infected', said: '', quarantine: true }
const broken: Report = { step: 'provenance', outcome: 'failed', verdict: 'mismatch', said: '' }
const silent: Report = { step: 'antivirus', outcome: 'unavailable', verdict: 'unavailable', said: '' }

const keyless: Report = { step: 'signature', outcome: 'unavailable', verdict: 'no_signing_key', said: '' }

describe('malicious packages', () => {
  const lenient: CvePolicy = { ...policy, critical: 'allow', high: 'allow', require_fix: true }
  const mal: Finding = { ...finding('critical'), id: 'MAL-2024-1' }
  const flagged: Finding = { ...finding('low'), id: 'GHSA-aaaa-bbbb-cccc', malicious: true }
  test.each<[string, Finding, CvePolicy, string]>([
    ['block by themselves, whatever the severities say', mal, lenient, 'block'],
    ['block under another name', flagged, lenient, 'block'],
    ['block by an alias', { ...finding('low'), aliases: ['MAL-2024-1'] }, lenient, 'block'],
    ['follow the row of the policy about them', mal, { ...lenient, malicious_action: 'review' }, 'review'],
    ['can be left to the severities', mal, { ...lenient, malicious_action: 'allow' }, 'allow'],
    ['are told apart from other findings', finding('critical'), lenient, 'allow'],
  ])('%s', (_, one, rules, action) => {
    expect(hardestAction([one], rules)).toBe(action)
  })
})

describe('decide, at upload', () => {
  test('without a signing key a package waits, also where a silent engine only warns', () => {
    expect(decide([silent, keyless], { ...policy, on_scanner_unavailable: 'warn' }, 'native')).toMatchObject({
      state: 'pending_review',
      because: [keyless],
    })
  })
  test.each<[string, Report[], string]>([
    ['nothing to report is published', [ok], 'published'],
    ['a blocked severity is quarantined', [ok, vulnerabilities('critical')], 'quarantined'],
    ['a reviewed severity waits', [ok, vulnerabilities('high')], 'pending_review'],
    ['a warned severity is published', [vulnerabilities('medium')], 'published'],
    ['an allowed severity is published', [vulnerabilities('low', 'negligible')], 'published'],
    ['the hardest of several wins, in any order', [vulnerabilities('low', 'critical', 'high')], 'quarantined'],
    ['malware is quarantined', [infected], 'quarantined'],
    ['any other failure is rejected', [broken], 'rejected'],
    ['malware outweighs a rejection', [broken, infected], 'quarantined'],
    ['an engine that did not answer holds', [silent], 'pending_review'],
    ['a block outweighs an engine that did not answer', [silent, vulnerabilities('critical')], 'quarantined'],
  ])('%s', (_, reports, state) => {
    expect(decide(reports, policy, 'native').state).toBe(state)
  })

  test('an engine that did not answer only warns where the setting says so', () => {
    const verdict = decide([silent], { ...policy, on_scanner_unavailable: 'warn' }, 'native')
    expect(verdict).toMatchObject({ state: 'published', warned: true, because: [silent] })
  })

  test('a clean package carries no warning and no reason', () => {
    expect(decide([ok], policy, 'native')).toEqual({ state: 'published', because: [], warned: false })
  })
})

describe('decide, later', () => {
  test.each<[string, Report[], string]>([
    ['a block is only held', [vulnerabilities('critical')], 'pending_review'],
    ['a failure is only held', [infected], 'pending_review'],
    ['a warning changes nothing', [vulnerabilities('medium')], 'published'],
  ])('%s', (_, reports, state) => {
    expect(decide(reports, policy, 'retro').state).toBe(state)
  })
})

test('an unknown severity counts as high, or as the one that the setting names', () => {
  expect(actionFor('unknown', policy)).toBe('review')
  expect(actionFor('unknown', { ...policy, high: 'block' })).toBe('block')
  expect(actionFor('unknown', { ...policy, unknown_as: 'medium' })).toBe('warn')
  expect(decide([vulnerabilities('unknown')], policy, 'native').state).toBe('pending_review')
})

test('what is only probable is held at upload where the policy blocks, malicious code excepted', () => {
  const at = (confidence: 'certain' | 'probable') =>
    ({ purl: 'pkg:generic/openssl@3.0.2', path: 'a', rule: 'r', confidence, presence: 'shipped' }) as const
  const stateOf = (...findings: Finding[]) => decide([{ ...vulnerabilities(), findings }], policy, 'native').state
  const probable = { ...finding('critical'), at: at('probable') }
  expect(stateOf(probable)).toBe('pending_review')
  expect(stateOf(probable, { ...finding('critical'), at: at('certain') })).toBe('quarantined')
  expect(stateOf({ ...probable, severity: 'low' })).toBe('published')
  expect(stateOf({ ...probable, malicious: true })).toBe('quarantined')
})

describe('findings of a second engine only', () => {
  const seen = (severity: Severity, ...detected_by: string[]): Finding => ({ ...finding(severity), detected_by })
  const scan = (coverage: [string, string][], ...findings: Finding[]): Report => ({
    step: 'vulnerabilities',
    outcome: 'ok',
    verdict: 'findings',
    said: '',
    findings,
    engines: coverage.map(([id, how]) => ({ id, coverage: how, said: '', findings: 0 })),
  })
  const both: [string, string][] = [
    ['osv', 'covered'],
    ['grype', 'covered'],
  ]
  test.each<[string, Report, string]>([
    ['a block is held for review', scan(both, seen('critical', 'grype')), 'pending_review'],
    ['a review is one', scan(both, seen('high', 'grype')), 'pending_review'],
    ['a warning changes nothing', scan(both, seen('medium', 'grype')), 'published'],
    ['what the first engine saw, too, is blocked', scan(both, seen('critical', 'grype', 'osv')), 'quarantined'],
    [
      'another finding of the first engine is blocked as ever',
      scan(both, seen('high', 'grype'), seen('critical', 'osv')),
      'quarantined',
    ],
    [
      'an engine that knows the distribution and not this package is the first one',
      {
        ...scan(both, seen('critical', 'grype')),
        engines: [
          { id: 'osv', coverage: 'not_covered', unnamed: true, said: '', findings: 0 },
          { id: 'grype', coverage: 'covered', said: '', findings: 1 },
        ],
      },
      'pending_review',
    ],
    [
      'an engine without data for the distribution is no first one',
      scan(
        [
          ['osv', 'no_data'],
          ['grype', 'covered'],
        ],
        seen('critical', 'grype'),
      ),
      'quarantined',
    ],
    [
      'what an engine with old data saw counts beside the first one',
      scan(
        [
          ['osv', 'stale'],
          ['grype', 'covered'],
        ],
        seen('critical', 'osv'),
      ),
      'quarantined',
    ],
    [
      'nor is one with old data, and without any other every finding blocks',
      scan([['osv', 'stale']], seen('critical', 'osv')),
      'quarantined',
    ],
  ])('%s', (_, report, state) => {
    expect(decide([report], policy, 'native').state).toBe(state)
  })
})

test('a policy that is harder on high than on critical is obeyed', () => {
  const odd: CvePolicy = { ...policy, critical: 'allow', high: 'block' }
  expect(hardestAction([finding('critical'), finding('high')], odd)).toBe('block')
})

describe('exploitation and fixes', () => {
  const known = (more: Partial<Finding>): Finding => ({ ...finding('low'), ...more })
  test.each<[string, Partial<CvePolicy>, Partial<Finding>, string]>([
    ['the defaults change nothing for what is exploited', {}, { kev: true, epss: 1 }, 'allow'],
    [
      'the settings as they come change nothing either',
      { kev_action: 'allow', epss_action: 'allow', epss_threshold: 0.5, require_fix: false },
      { kev: true, epss: 1 },
      'allow',
    ],
    ['KEV asks for at least its action', { kev_action: 'review' }, { kev: true }, 'review'],
    ['KEV never softens', { kev_action: 'warn' }, { kev: true, severity: 'critical' }, 'block'],
    ['what is not in KEV is left alone', { kev_action: 'block' }, { kev: false }, 'allow'],
    [
      'EPSS at the threshold asks for its action',
      { epss_action: 'block', epss_threshold: 0.5 },
      { epss: 0.5 },
      'block',
    ],
    ['EPSS below it does not', { epss_action: 'block', epss_threshold: 0.5 }, { epss: 0.4999 }, 'allow'],
    ['no score is no reason', { epss_action: 'block', epss_threshold: 0 }, {}, 'allow'],
    [
      'the harder of the two counts',
      { kev_action: 'warn', epss_action: 'review', epss_threshold: 0.1 },
      { kev: true, epss: 0.2 },
      'review',
    ],
    [
      'without a fix a severity only warns, where a fix is required',
      { require_fix: true },
      { severity: 'critical' },
      'warn',
    ],
    ['with a fix it counts', { require_fix: true }, { severity: 'critical', fixed_in: '2' }, 'block'],
    ['requiring a fix never hardens', { require_fix: true }, { severity: 'low' }, 'allow'],
    [
      'what is exploited counts also without a fix',
      { require_fix: true, kev_action: 'review' },
      { severity: 'critical', kev: true },
      'review',
    ],
  ])('%s', (_, rules, more, action) => {
    expect(hardestAction([known(more)], { ...policy, ...rules })).toBe(action)
  })
  test('decide obeys them at upload and only holds later', () => {
    const report: Report = {
      step: 'vulnerabilities',
      outcome: 'ok',
      verdict: 'findings',
      said: '',
      findings: [known({ kev: true })],
    }
    expect(decide([report], { ...policy, kev_action: 'block' }, 'native').state).toBe('quarantined')
    expect(decide([report], { ...policy, kev_action: 'block' }, 'retro').state).toBe('pending_review')
  })
})

test.each([
  ['hold', true, { uploads: 'hold', said: 'Uploads are held for review.' }, 'pending_review'],
  ['warn', true, { uploads: 'warn', said: 'Uploads are published with a warning.' }, 'published'],
  [
    'hold',
    false,
    { uploads: 'unchecked', said: 'The step is switched off, and uploads pass without it.' },
    'published',
  ],
] as const)(
  'what is said of an unavailable engine is what is decided: %s, its step on: %s',
  (rule, isOn, said, state) => {
    const policyNow = { ...policy, on_scanner_unavailable: rule }
    expect(whileUnavailable(policyNow, isOn)).toEqual(said)
    const report: Report = { step: 'antivirus', outcome: isOn ? 'unavailable' : 'skipped', verdict: '', said: '' }
    expect(decide([report], policyNow, 'native').state).toBe(state)
  },
)

describe('what scripts do', () => {
  const told = (kind: InstallFactKind): Report => ({
    step: 'scripts',
    outcome: 'warned',
    verdict: 'facts',
    said: '',
    install: { scripts: [], facts: [{ kind, path: 'postinst' }] },
  })

  test.each([
    ['downloads_and_runs', {}, 'pending_review', true],
    ['downloads_and_runs', { downloads_and_runs: 'block' }, 'quarantined', true],
    ['downloads_and_runs', { downloads_and_runs: 'allow' }, 'published', false],
    ['enables_unit', {}, 'published', false],
    ['enables_unit', { enables_unit: 'review' }, 'pending_review', true],
  ] as const)('%s with %j is %s', (kind, scripts, state, isCause) => {
    const report = told(kind)
    const verdict = decide([ok, vulnerabilities('low'), report], { ...policy, scripts }, 'native')
    expect({ state: verdict.state, isCause: verdict.because.includes(report) }).toEqual({ state, isCause })
    if (isCause) expect(verdict.because).toEqual([report])
  })

  test('later they only hold', () => {
    const policyOfToday: CvePolicy = { ...policy, scripts: { runs_encoded: 'block' } }
    expect(decide([told('runs_encoded')], policyOfToday, 'retro').state).toBe('pending_review')
  })
})
