import { describe, expect, test } from 'vitest'
import type { Finding } from '../core/findings.ts'
import { enrich, type Intel } from './enrich.ts'

const EPSS: Record<string, number> = { 'CVE-2026-1': 0.1, 'CVE-2026-2': 0.9 }
const KEV: Record<string, string> = { 'CVE-2026-2': '2026-12-01', 'CVE-2026-3': '2026-11-01' }
const intel: Intel = {
  epss: async cve => (EPSS[cve] === undefined ? undefined : { epss: EPSS[cve], percentile: 0.5, date: '2026-11-20' }),
  kev: async cve => (KEV[cve] === undefined ? undefined : { added: '2026-01-01', due: KEV[cve], ransomware: false }),
  status: async () => ({ epss: {} as never, kev: {} as never }),
}
const finding = (id: string, more: Partial<Finding> = {}): Finding => ({
  id,
  package: 'p',
  severity: 'high',
  detected_by: ['osv'],
  ...more,
})
const one = async (f: Finding, source: Intel = intel): Promise<Partial<Finding> | undefined> =>
  (await enrich([f], source)).findings[0]

describe('findings are enriched', () => {
  test('by their CVE, also where it is an alias or in other letters', async () => {
    expect(await one(finding('CVE-2026-1'))).toMatchObject({ epss: 0.1, epss_percentile: 0.5 })
    expect(await one(finding('GHSA-a', { aliases: ['cve-2026-2'] }))).toMatchObject({
      epss: 0.9,
      kev: true,
      kev_due: '2026-12-01',
    })
    expect(await one(finding('GHSA-b'))).toEqual(finding('GHSA-b'))
  })
  test('of several CVEs the likeliest and the earliest day count', async () => {
    expect(await one(finding('GHSA-a', { aliases: ['CVE-2026-1', 'CVE-2026-2', 'CVE-2026-3'] }))).toMatchObject({
      epss: 0.9,
      kev: true,
      kev_due: '2026-11-01',
    })
  })
  test('values of the engine stay where the catalogue has none, and are replaced where it has', async () => {
    expect(await one(finding('CVE-2026-9', { epss: 0.3, kev: true }))).toMatchObject({ epss: 0.3, kev: true })
    expect(await one(finding('CVE-2026-1', { epss: 0.3 }))).toMatchObject({ epss: 0.1 })
  })
  test('missing or unreadable catalogues are reported', async () => {
    expect(
      await enrich([finding('CVE-2026-1')], { ...intel, status: async () => ({ kev: {} as never }) }),
    ).toMatchObject({ without: ['epss'] })
    const broken: Intel = { ...intel, epss: () => Promise.reject(new Error('damaged')) }
    expect(await enrich([finding('CVE-2026-1')], broken)).toEqual({
      findings: [finding('CVE-2026-1')],
      without: ['epss', 'kev'],
    })
  })
})
