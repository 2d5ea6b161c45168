import { expect, test } from 'vitest'
import type { Codename } from '../core/identity.ts'
import { createMetrics } from './metrics.ts'

const [JAMMY, NOBLE] = ['jammy' as Codename, 'noble' as Codename]

test('the nine metrics of the specification are exposed with their names, types and labels', async () => {
  const metrics = createMetrics()
  for (const name of [
    'svc_packages_total',
    'svc_pending_review_total',
    'svc_quarantine_total',
    'svc_clamav_last_update',
    'svc_grype_db_age_seconds',
  ] as const) {
    metrics.gauge(name, () => 7)
  }
  metrics.uploaded('published', JAMMY)
  metrics.found('high', 3, JAMMY)
  metrics.request('GET', '/api/v1/artifacts/{name}', 200, 0.02)
  const text = await metrics.text()
  expect([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => `${name} ${type}`).sort()).toEqual([
    'http_request_duration_seconds histogram',
    'http_requests_total counter',
    'svc_clamav_last_update gauge',
    'svc_cve_findings_total counter',
    'svc_grype_db_age_seconds gauge',
    'svc_packages_total gauge',
    'svc_pending_review_total gauge',
    'svc_quarantine_total gauge',
    'svc_uploads_total counter',
  ])
  for (const line of [
    'svc_packages_total 7',
    'svc_uploads_total{status="published"} 1',
    'svc_uploads_total{status="rejected"} 0',
    'svc_cve_findings_total{severity="high"} 3',
    'http_requests_total{method="GET",path="/api/v1/artifacts/{name}",status="200"} 1',
    'http_request_duration_seconds_count 1',
    'http_request_duration_seconds_bucket{le="0.025"} 1',
    'http_request_duration_seconds_bucket{le="0.01"} 0',
  ])
    expect(text.split('\n')).toContain(line)
})

test('a gauge whose source does not answer is left out, and the scrape answers with the rest', async () => {
  const metrics = createMetrics()
  let answer: () => number = () => 1
  metrics.gauge('svc_packages_total', () => answer())
  metrics.gauge('svc_quarantine_total', () => 2)
  expect(await metrics.text()).toContain('\nsvc_packages_total 1\n')
  answer = () => {
    throw new Error('the database is gone')
  }
  const text = await metrics.text()
  expect(text).not.toContain('\nsvc_packages_total 1')
  expect(text).toContain('\nsvc_quarantine_total 2\n')
  answer = () => Number.NaN
  expect(await metrics.text()).not.toMatch(/^svc_packages_total /m)
})

test('package counters leave out hidden distributions, and are absent while it is unknown which are hidden', async () => {
  const metrics = createMetrics()
  let viewer = () => Promise.resolve({ hidden: ['noble'] })
  metrics.showTo(() => viewer())
  for (const codename of [JAMMY, NOBLE, NOBLE]) {
    metrics.uploaded('published', codename)
    metrics.found('high', 2, codename)
  }
  const counted = async (): Promise<string[]> =>
    (await metrics.text()).split('\n').filter(line => /^svc_(uploads|cve_findings)_total.* [1-9]/.test(line))
  expect(await counted()).toEqual([
    'svc_uploads_total{status="published"} 1',
    'svc_cve_findings_total{severity="high"} 2',
  ])
  viewer = () => Promise.reject(new Error('the database is gone'))
  expect(await metrics.text()).not.toMatch(/^svc_(uploads|cve_findings)_total/m)
  viewer = () => Promise.resolve({ hidden: [] })
  expect(await counted()).toEqual([
    'svc_uploads_total{status="published"} 3',
    'svc_cve_findings_total{severity="high"} 6',
  ])
})
