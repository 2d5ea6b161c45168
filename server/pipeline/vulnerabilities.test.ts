import { describe, expect, test } from 'vitest'
import { getDistribution } from '../../test/support/repositories.ts'
import { NOTHING, type Component, type Contents } from '../contents/component.ts'
import type { Finding } from '../core/findings.ts'
import { decide, policyOf } from '../core/policy.ts'
import { EngineUnavailable, type CoverageAnswer, type VulnerabilityScanner } from '../scanners/scanner.ts'
import type { Subject } from './subject.ts'
import { vulnerabilitiesStep, type Enrich } from './vulnerabilities.ts'

type Cve = Partial<Subject['settings']['cve_policy']>
const subject = (cve: Cve = {}, contents: Contents = NOTHING): Subject =>
  ({
    distribution: getDistribution('jammy'),
    format: { purl: () => 'pkg:deb/ubuntu/p@1' },
    settings: {
      validation: { grype_scan: true, on_scanner_unavailable: 'hold' },
      cve_policy: {
        critical: 'block',
        high: 'review',
        medium: 'warn',
        low: 'allow',
        negligible: 'allow',
        auto_enrich: true,
        kev_action: 'allow',
        epss_action: 'allow',
        epss_threshold: 0.5,
        require_fix: false,
        ...cve,
      },
    },
    contents: async () => contents,
    inspected: async () => ({
      identity: { format: 'deb', name: 'p', version: '1', arch: 'all' },
      about: { source: 'p' },
    }),
  }) as unknown as Subject
const finding = (id: string, severity: Finding['severity'] = 'low'): Finding => ({
  id,
  package: 'p',
  severity,
  detected_by: ['x'],
})
const engine = (
  id: string,
  coverage: CoverageAnswer | 'fails' | 'absent',
  findings: readonly Finding[] = [],
): VulnerabilityScanner => ({
  id,
  kind: 'vulnerability',
  status: async () => ({ id, ok: true }),
  isPresent: async () => coverage !== 'absent',
  scan: async () => {
    if (coverage === 'fails') throw new EngineUnavailable(id, 'it hangs')
    if (coverage === 'absent') throw new Error('nobody asks an engine that is not there')
    return { coverage, said: `${id} ${coverage}.`, findings }
  },
})
test('findings of old data never say that the package is served while it is held', async () => {
  const { report, state } = await judge([engine('a', 'stale', [finding('CVE-1', 'medium')])])
  expect([report.said, state]).toEqual([
    '1 known vulnerability: 1 medium. The policy warns of this. a stale.',
    'pending_review',
  ])
})

test("a vendor's word closes what another engine alone found, and is said", async () => {
  const denied = [{ id: 'CVE-1', package: 'p', said: 'Red Hat: not affected.', source: 'csaf/red-hat' }]
  const first = engine('osv', 'covered')
  const vendor: VulnerabilityScanner = {
    ...first,
    scan: async (one, signal) => ({ ...(await first.scan(one, signal)), denied }),
  }
  const found = (...by: string[]) => engine('x', 'covered', [{ ...finding('CVE-1', 'critical'), detected_by: by }])
  const { report, state } = await judge([vendor, found('x')])
  expect([report.said, report.findings, report.denied, state]).toEqual([
    'osv covered. x covered. CVE-1 does not count: Red Hat: not affected.',
    undefined,
    denied,
    'published',
  ])
  // the engine that knows the vendor's word found it nevertheless
  expect((await judge([vendor, found('osv', 'x')])).state).toBe('quarantined')
})

test('malicious code is named and blocked, whatever the severities of the policy say', async () => {
  const engines = [engine('a', 'covered', [{ ...finding('MAL-2024-1', 'critical'), malicious: true }])]
  expect(await judge(engines, { critical: 'allow' })).toMatchObject({
    report: {
      said: 'Malicious code: MAL-2024-1 in p. 1 known vulnerability: 1 critical. The policy blocks this; the file is in quarantine.',
    },
    state: 'quarantined',
  })
  expect((await judge(engines, { critical: 'allow', malicious_action: 'allow' })).state).toBe('published')
})

async function judge(
  engines: readonly VulnerabilityScanner[],
  cve: Cve = {},
  { enrich, contents }: { readonly enrich?: Enrich; readonly contents?: Contents } = {},
) {
  const one = subject(cve, contents)
  const report = await vulnerabilitiesStep(engines, enrich).run(one, new AbortController().signal)
  return {
    report,
    state: decide([report], policyOf(one.settings), 'native').state,
    word: `${report.outcome} ${report.verdict}`,
  }
}

describe('several engines', () => {
  test.each<[string, VulnerabilityScanner[], string, string]>([
    [
      'one that covers and one that is not installed',
      [engine('a', 'covered'), engine('b', 'absent')],
      'ok no_findings',
      'published',
    ],
    [
      'one that covers and one that has no data for it',
      [engine('a', 'covered'), engine('b', 'not_covered')],
      'ok no_findings',
      'published',
    ],
    [
      'one that covers and one that hangs',
      [engine('a', 'covered'), engine('b', 'fails')],
      'unavailable unavailable',
      'pending_review',
    ],
    ['only one that hangs', [engine('b', 'fails')], 'unavailable unavailable', 'pending_review'],
    ['only one with old data', [engine('a', 'stale'), engine('b', 'no_data')], 'unavailable stale', 'pending_review'],
    ['none that knows the distribution', [engine('a', 'not_covered')], 'unavailable no_data', 'pending_review'],
    [
      'one that hangs beside one that found something to block',
      [engine('a', 'covered', [finding('CVE-1', 'critical')]), engine('b', 'fails')],
      'failed findings',
      'quarantined',
    ],
    [
      'one that hangs beside one that found something harmless',
      [engine('a', 'covered', [finding('CVE-1')]), engine('b', 'fails')],
      'unavailable unavailable',
      'pending_review',
    ],
  ])('%s: %s', async (_, engines, word, state) => {
    expect(await judge(engines)).toMatchObject({ word, state })
  })
  test('one whose current data do not name the package warns, and holds nothing', async () => {
    const silent: VulnerabilityScanner = {
      ...engine('a', 'not_covered'),
      scan: async () => ({ coverage: 'not_covered', said: 'a does not name p.', isUnnamed: true, findings: [] }),
    }
    expect(await judge([silent])).toMatchObject({
      word: 'warned no_data',
      state: 'published',
      report: { said: 'a does not name p.', engines: [{ id: 'a', coverage: 'not_covered' }] },
    })
    expect(await judge([silent, engine('b', 'fails')])).toMatchObject({ state: 'pending_review' })
  })
  test('a finding beside a gap in what was looked up does not hide the gap', async () => {
    expect(await judge([engine('a', 'partial', [finding('CVE-1')])])).toMatchObject({
      word: 'ok findings',
      state: 'published',
      report: { said: '1 known vulnerability: 1 low. The policy allows them. a partial.' },
    })
  })
  test('a blocking finding of the second engine only is held for review, and the report names the engine', async () => {
    const critical = (...detected_by: string[]): Finding => ({ ...finding('CVE-1', 'critical'), detected_by })
    const answer = await judge([
      engine('osv', 'covered'),
      engine('grype', 'covered', [critical('grype')]),
      engine('trivy', 'not_covered'),
    ])
    expect(answer).toMatchObject({
      word: 'warned findings',
      state: 'pending_review',
      report: {
        said: "1 known vulnerability: 1 critical. The policy blocks what grype alone saw; a second engine's word asks for a review.",
      },
    })
    expect(
      await judge([engine('osv', 'covered', [critical('osv')]), engine('grype', 'covered', [critical('grype')])]),
    ).toMatchObject({ state: 'quarantined' })
    expect(await judge([engine('osv', 'no_data'), engine('grype', 'covered', [critical('grype')])])).toMatchObject({
      state: 'quarantined',
    })
  })
  test('what is only probably there is held for review, and the report says so', async () => {
    const at = {
      purl: 'pkg:generic/openssl@3.0.2',
      path: 'opt/libcrypto.so.3',
      rule: 'version-string',
      confidence: 'probable',
      presence: 'shipped',
    } as const
    expect(await judge([engine('osv', 'covered', [{ ...finding('CVE-1', 'critical'), at }])])).toMatchObject({
      word: 'warned findings',
      state: 'pending_review',
      report: {
        said: '1 known vulnerability: 1 critical. The policy blocks what is only probably in it; a finding that is not certain asks for a review.',
      },
    })
  })
  test('what each said is on record, with the program that said it', async () => {
    const binary = { path: '/usr/bin/grype', sha256: 'a', version: '0.116.0' }
    const grype: VulnerabilityScanner = {
      ...engine('grype', 'covered'),
      scan: async () => ({ coverage: 'covered', said: 'grype covered.', findings: [finding('CVE-1')], binary }),
    }
    expect((await judge([engine('osv', 'no_data'), grype, engine('trivy', 'fails')])).report.engines).toEqual([
      { id: 'osv', coverage: 'no_data', said: 'osv no_data.', findings: 0 },
      { id: 'grype', coverage: 'covered', said: 'grype covered.', findings: 1, binary },
      { id: 'trivy', coverage: 'failed', said: 'trivy does not answer: it hangs.', findings: 0 },
    ])
  })
})

describe('enrichment at upload', () => {
  const known: Enrich = async findings => ({ findings: findings.map(one => ({ ...one, kev: true })), without: [] })
  const engines = [engine('a', 'covered', [finding('CVE-1')])]
  test('decides together with the severity', async () => {
    expect(await judge(engines, { kev_action: 'block' }, { enrich: known })).toMatchObject({
      word: 'failed findings',
      state: 'quarantined',
    })
    expect(await judge(engines, {}, { enrich: known })).toMatchObject({
      word: 'ok findings',
      state: 'published',
      report: { findings: [{ kev: true }] },
    })
  })
  test('is left out where it is switched off', async () => {
    expect(await judge(engines, { kev_action: 'block', auto_enrich: false }, { enrich: known })).toMatchObject({
      state: 'published',
    })
  })
  test('a policy that uses a catalogue which is not loaded holds the package, another does not', async () => {
    const without: Enrich = async findings => ({ findings, without: ['epss', 'kev'] })
    expect(await judge(engines, { kev_action: 'review' }, { enrich: without })).toMatchObject({
      word: 'unavailable unavailable',
      state: 'pending_review',
      report: { said: expect.stringContaining('The policy looks at KEV') },
    })
    expect(await judge(engines, {}, { enrich: without })).toMatchObject({ state: 'published' })
    expect(await judge([engine('a', 'covered')], { kev_action: 'review' }, { enrich: without })).toMatchObject({
      word: 'ok no_findings',
      state: 'published',
    })
  })
})

describe('what a package carries', () => {
  const shipped = { presence: 'shipped', rule: 'pom-properties', confidence: 'certain' } as const
  const jar: Component = { purl: 'pkg:maven/g/a@1', group: 'g', name: 'a', version: '1', path: 'opt/a.jar', ...shipped }
  const lock: Component = { ...jar, purl: 'pkg:npm/b@1', name: 'b', path: 'opt/yarn.lock', presence: 'declared' }
  const locked = { path: 'opt/x.zip!/y.jar', size: 7, why: 'It is encrypted.' }

  test('is asked about with the package itself', async () => {
    const asked: unknown[] = []
    const spy: VulnerabilityScanner = {
      ...engine('a', 'covered'),
      scan: async ({ embedded }) => {
        asked.push(...(embedded ?? []))
        return { coverage: 'covered', said: '', findings: [] }
      },
    }
    const { report } = await judge([spy], {}, { contents: { components: [jar, lock], unopened: [] } })
    expect(asked).toMatchObject([{ ecosystem: 'maven', name: 'g:a', version: '1', at: { path: 'opt/a.jar' } }])
    expect(report.contents).toEqual({ shipped: 1, declared: 1, unopened: [] })
  })
  test('and was not opened is like an engine that could not answer', async () => {
    const contents = { components: [], unopened: [locked] }
    expect(await judge([engine('a', 'covered')], {}, { contents })).toMatchObject({
      word: 'unavailable partial',
      state: 'pending_review',
      report: {
        said: 'a covered. opt/x.zip!/y.jar (7 bytes) in it was not opened: It is encrypted.',
        contents: { shipped: 0, declared: 0, unopened: [locked] },
      },
    })
    const found = await judge([engine('a', 'covered', [finding('CVE-1', 'critical')])], {}, { contents })
    expect([found.word, found.state]).toEqual(['failed findings', 'quarantined'])
  })
  test('and was not read to its end is so, too, with the reason and the number', async () => {
    const cut = 'It is too much.'
    const { report, word } = await judge(
      [engine('a', 'covered')],
      {},
      { contents: { components: [], unopened: Array.from({ length: 60 }, () => locked), more: 2, cut } },
    )
    expect([word, report.said, report.contents?.unopened.length, report.contents?.more]).toEqual([
      'unavailable partial',
      'a covered. It is too much. opt/x.zip!/y.jar (7 bytes) in it was not opened: It is encrypted. 61 more files were not opened.',
      50,
      12,
    ])
  })
})
