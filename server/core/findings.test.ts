import { describe, expect, test } from 'vitest'
import { mergeFindings, type Finding, type FoundIn } from './findings.ts'

const f = (id: string, by: string, more: Partial<Finding> = {}): Finding => ({
  id,
  package: 'p',
  severity: 'high',
  detected_by: [by],
  ...more,
})
const merged = (...findings: Finding[]): string[] =>
  mergeFindings([findings]).map(
    ({ id, aliases = [], detected_by }) => `${id} [${aliases.join(' ')}] ${detected_by.join('+')}`,
  )

describe('findings of several engines', () => {
  test('the same CVE is one finding that names every engine that found it', () => {
    expect(merged(f('CVE-2026-1', 'trivy'), f('CVE-2026-1', 'osv'), f('CVE-2026-2', 'osv'))).toEqual([
      'CVE-2026-1 [] osv+trivy',
      'CVE-2026-2 [] osv',
    ])
  })
  test('a CVE and its alias are one, in either order, and the CVE is the name', () => {
    const [a, b, c] = [f('GHSA-1', 'osv', { aliases: ['CVE-2026-1'] }), f('CVE-2026-1', 'grype'), f('GHSA-1', 'trivy')]
    for (const order of [
      [a, b, c],
      [c, b, a],
      [b, c, a],
    ])
      expect(merged(...order)).toEqual(['CVE-2026-1 [GHSA-1] grype+osv+trivy'])
  })
  test('names join over a third one: PYSEC and GHSA that never name the CVE themselves', () => {
    expect(
      merged(
        f('PYSEC-1', 'a', { aliases: ['GHSA-1'] }),
        f('GHSA-1', 'b'),
        f('CVE-2026-1', 'c', { aliases: ['PYSEC-1'] }),
      ),
    ).toEqual(['CVE-2026-1 [GHSA-1 PYSEC-1] a+b+c'])
  })
  test('an advisory about two CVEs never makes them one', () => {
    expect(
      merged(
        f('CVE-2026-1', 'a', { aliases: ['GHSA-1'] }),
        f('CVE-2026-2', 'a', { aliases: ['GHSA-1'] }),
        f('GHSA-1', 'b', { aliases: ['CVE-2026-1', 'CVE-2026-2'] }),
      ),
    ).toEqual(['CVE-2026-1 [GHSA-1] a', 'CVE-2026-2 [GHSA-1] a', 'GHSA-1 [CVE-2026-1 CVE-2026-2] b'])
  })
  test('without a CVE the first name in order is the name', () => {
    expect(merged(f('PYSEC-1', 'a', { aliases: ['GHSA-1'] }), f('GHSA-1', 'b'))).toEqual(['GHSA-1 [PYSEC-1] a+b'])
  })
  test('other packages are other findings', () => {
    expect(merged(f('CVE-2026-1', 'a'), f('CVE-2026-1', 'b', { package: 'q' }))).toEqual([
      'CVE-2026-1 [] a',
      'CVE-2026-1 [] b',
    ])
  })
  test('a finding has the worst severity of all engines, the other fields of the first, and is exploited if one says so', () => {
    const [finding] = mergeFindings([
      [f('CVE-2026-1', 'a', { severity: 'low', fixed_in: '2' })],
      [f('CVE-2026-1', 'b', { severity: 'unknown', fixed_in: '3', summary: 's', kev: true, advisories: ['DSA-1'] })],
    ])
    expect(finding).toEqual({
      id: 'CVE-2026-1',
      package: 'p',
      severity: 'low',
      detected_by: ['a', 'b'],
      fixed_in: '2',
      summary: 's',
      kev: true,
      advisories: ['DSA-1'],
    })
  })
  test('the surer of two places counts, and what one engine says of the package itself is about no place', () => {
    const at = (confidence: 'certain' | 'probable'): FoundIn => ({
      purl: 'pkg:generic/p@1',
      path: confidence,
      rule: 'r',
      confidence,
      presence: 'shipped',
    })
    const placeOf = (...findings: Finding[]) => mergeFindings([findings])[0]?.at?.path
    const [guess, sure] = [f('CVE-1', 'a', { at: at('probable') }), f('CVE-1', 'a', { at: at('certain') })]
    expect([placeOf(guess, sure), placeOf(sure, guess)]).toEqual(['certain', 'certain'])
    expect([placeOf(guess, f('CVE-1', 'a')), placeOf(f('CVE-1', 'a'), sure)]).toEqual([undefined, undefined])
    expect([placeOf(guess, f('CVE-1', 'b')), placeOf(f('CVE-1', 'b'), guess)]).toEqual(['probable', 'probable'])
  })
  test('worst first, then by name', () => {
    expect(
      mergeFindings([[f('CVE-2026-9', 'a', { severity: 'low' }), f('CVE-2026-2', 'a'), f('CVE-2026-1', 'a')]]).map(
        ({ id }) => id,
      ),
    ).toEqual(['CVE-2026-1', 'CVE-2026-2', 'CVE-2026-9'])
  })
})
