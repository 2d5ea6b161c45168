import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createStock, type Stock } from '../../test/support/test-catalog.ts'
import type { Finding } from '../core/findings.ts'
import type { Codename } from '../core/identity.ts'
import type { CvePolicy } from '../core/policy.ts'
import { createEnrichment } from './enrich.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import { judge } from '../../test/support/review-change.ts'

let stock: Stock
beforeAll(async () => {
  stock = await createStock()
})
afterAll(() => stock.close())
beforeEach(() => stock.clear())

const POLICY: CvePolicy = {
  critical: 'block',
  high: 'review',
  medium: 'warn',
  low: 'allow',
  negligible: 'allow',
  on_scanner_unavailable: 'hold',
}
const finding = (id: string, more: Partial<Finding> = {}): Finding => ({
  id,
  package: 'hello',
  severity: 'low',
  detected_by: ['osv'],
  ...more,
})
const ref = { format: 'deb', name: 'hello', version: '1.0', arch: 'amd64', codename: 'jammy' as Codename } as const
const run = (extra: Record<string, Partial<Finding>>, policy: Partial<CvePolicy> = {}) =>
  createEnrichment({
    db: stock.db,
    catalog: stock.catalog,
    policy: () => ({ ...POLICY, ...policy }),
    enrich: async findings => ({ findings: findings.map(one => ({ ...one, ...extra[one.id] })) }),
  }).run()
const auditLines = async (): Promise<number> => (await stock.audit.search(ALL_SEEING, { page: 1, perPage: 50 })).total

describe('nightly enrichment', () => {
  test('numbers change quietly: same state, same time, no audit line', async () => {
    await stock.put({ findings: [finding('CVE-2026-1')] })
    await stock.outbox.drain()
    const [before, lines] = [await stock.catalog.find(ALL_SEEING, ref), await auditLines()]
    expect(await run({ 'CVE-2026-1': { epss: 0.4, epss_percentile: 0.9 } })).toEqual({ looked: 1, changed: 1, held: 0 })
    const after = await stock.catalog.find(ALL_SEEING, ref)
    expect(after).toMatchObject({
      state: 'published',
      changed_at: before?.changed_at,
      findings: [{ id: 'CVE-2026-1', epss: 0.4, epss_percentile: 0.9 }],
    })
    await stock.outbox.drain()
    expect(await auditLines()).toBe(lines)
    expect(await run({ 'CVE-2026-1': { epss: 0.401, epss_percentile: 0.9 } })).toEqual({
      looked: 1,
      changed: 0,
      held: 0,
    })
  })
  test('what became known to be exploited is held, where the policy asks for that, once and with its reason', async () => {
    await stock.put({ findings: [finding('CVE-2026-1')] })
    await stock.put({ name: 'other', findings: [finding('CVE-2026-2')] })
    expect(await run({ 'CVE-2026-1': { kev: true, kev_due: '2026-12-01' } }, { kev_action: 'block' })).toEqual({
      looked: 2,
      changed: 1,
      held: 1,
    })
    expect(await stock.catalog.find(ALL_SEEING, ref)).toMatchObject({
      state: 'pending_review',
      findings: [{ kev: true, kev_due: '2026-12-01' }],
      review: { held_for: expect.stringContaining('CVE-2026-1') },
    })
    expect(await run({ 'CVE-2026-1': { kev: true, kev_due: '2026-12-01' } }, { kev_action: 'block' })).toEqual({
      looked: 2,
      changed: 0,
      held: 0,
    })
  })
  test('a score just above the threshold counts', async () => {
    await stock.put({ findings: [finding('CVE-2026-1', { epss: 0.4999 })] })
    expect(await run({ 'CVE-2026-1': { epss: 0.5 } }, { epss_action: 'review', epss_threshold: 0.5 })).toEqual({
      looked: 1,
      changed: 1,
      held: 1,
    })
  })
  test('what was accepted, or asked for a review before, moves nothing', async () => {
    await stock.put({
      findings: [finding('CVE-2026-1'), finding('CVE-2026-2', { severity: 'high' })],
      state: 'pending_review',
    })
    const decision = {
      decision: 'approve',
      action: 'approve',
      justification: 'fine',
      by: 'mae',
      at: '2026-03-01T10:00:00.000Z',
      covers: ['CVE-2026-1', 'CVE-2026-2'],
    } as const
    await stock.catalog.change(judge(ref, 'approve', { decision, why: 'test' }), { name: 'mae' })
    expect(await run({ 'CVE-2026-1': { kev: true }, 'CVE-2026-2': { kev: true } }, { kev_action: 'review' })).toEqual({
      looked: 1,
      changed: 1,
      held: 0,
    })
    expect((await stock.catalog.find(ALL_SEEING, ref))?.state).toBe('published')
  })
  test('packages without findings are skipped, quarantined ones stay quarantined', async () => {
    await stock.put({ name: 'clean' })
    await stock.put({ state: 'quarantined', findings: [finding('CVE-2026-1')] })
    expect(await run({ 'CVE-2026-1': { kev: true } }, { kev_action: 'block' })).toEqual({
      looked: 1,
      changed: 1,
      held: 0,
    })
    expect((await stock.catalog.find(ALL_SEEING, ref))?.state).toBe('quarantined')
  })
})
