import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createCaller } from '../../../test/support/routes.ts'
import { createStock, rawRequest, someone, type Stock } from '../../../test/support/test-catalog.ts'
import type { StreamEvent } from '../../core/contract.ts'
import type { Finding } from '../../core/findings.ts'
import { dashboard } from './contract.ts'
import { createDashboard } from './dashboard.ts'
import { dashboardHandlers, type DashboardRouteDeps } from './handlers.ts'
import { ALL_SEEING } from '../../core/viewer.ts'

let stock: Stock
let deps: DashboardRouteDeps
beforeAll(async () => {
  stock = await createStock()
})
afterAll(() => stock.close())
beforeEach(async () => {
  await stock.clear()
  stock.clock.set('2026-03-10T10:00:00Z')
  deps = { dashboard: createDashboard(stock), events: stock.events, clock: stock.clock }
})
const { call } = createCaller(dashboard, dashboardHandlers, () => deps)
const finding = (id: string, severity: Finding['severity']): Finding => ({
  id,
  package: 'hello',
  severity,
  detected_by: ['osv'],
})

test('an empty repository has a summary of zeros', async () => {
  expect(await call('GET /dashboard/summary')).toEqual({
    packages: 0,
    artifacts: 0,
    published: 0,
    pending_reviews: 0,
    quarantined: 0,
    rejected: 0,
    not_looked: 0,
    cve_findings: { critical: 0, high: 0, medium: 0, low: 0, negligible: 0, unknown: 0, total: 0 },
    recent_activity: [],
  })
})

test('a package that no engine answered for is counted apart, and one that was looked at is not', async () => {
  const scan = (outcome: 'ok' | 'unavailable' | 'skipped') => [
    { step: 'vulnerabilities' as const, outcome, verdict: outcome, said: '' },
  ]
  await stock.put({ name: 'seen', reports: scan('ok') })
  await stock.put({ name: 'unseen', reports: scan('unavailable') })
  await stock.put({ name: 'off', state: 'pending_review', reports: scan('skipped') })
  await stock.put({ name: 'gone', state: 'rejected', reports: [] })
  expect(await call('GET /dashboard/summary')).toMatchObject({ packages: 3, not_looked: 2 })
})

test('the summary counts states and findings', async () => {
  await stock.put({ findings: [finding('CVE-1', 'high'), finding('CVE-2', 'low')] })
  await stock.put({ version: '2.0', state: 'pending_review', findings: [finding('CVE-1', 'high')] })
  await stock.put({ version: '3.0', state: 'quarantined', findings: [finding('CVE-3', 'critical')] })
  await stock.put({ name: 'zlib', state: 'rejected', findings: [finding('CVE-4', 'critical')] })
  const summary = await call('GET /dashboard/summary')
  expect(summary).toMatchObject({
    packages: 2,
    artifacts: 2,
    published: 1,
    pending_reviews: 1,
    quarantined: 1,
    rejected: 1,
    cve_findings: { critical: 1, high: 2, medium: 0, low: 1, negligible: 0, unknown: 0, total: 4 },
  })
  expect(summary.recent_activity.map(item => `${item.action} ${item.package} ${item.result}`)).toEqual([
    'UPLOAD zlib FAILURE',
    'UPLOAD hello FAILURE',
    'UPLOAD hello WARNING',
    'UPLOAD hello SUCCESS',
  ])
})

test('accounts, logins and addresses are not shown to every role', async () => {
  await stock.put()
  await stock.audit.record({
    action: 'LOGIN',
    result: 'FAILURE',
    user: 'eve',
    facts: { kind: 'refused', why: 'wrong_password' },
    ip: '203.0.113.9',
  })
  await stock.audit.record({
    action: 'USER_CREATE',
    result: 'SUCCESS',
    user: 'root',
    facts: { kind: 'account.removed', username: 'eve' },
  })
  const shown = JSON.stringify([await call('GET /dashboard/summary'), await call('GET /dashboard/history')])
  expect(shown).toContain('UPLOAD')
  for (const hidden of ['eve', '203.0.113.9', '192.0.2.1', 'prev', 'LOGIN', 'USER_CREATE'])
    expect(shown).not.toContain(hidden)
})

test('the statistics count packages and bytes by distribution, format, state and day; equal bytes count once on disk', async () => {
  stock.clock.set('2026-03-09T23:59:59Z')
  await stock.put({ bytes: '1234567890' })
  stock.clock.set('2026-03-10T00:00:00Z')
  await stock.put({ bytes: '1234567890', codename: 'noble' })
  await stock.put({ version: '2.0', bytes: '12345', state: 'quarantined' })
  stock.clock.set('2026-03-10T10:00:00Z')
  const stats = await call('GET /dashboard/stats')
  expect(stats).toMatchObject({
    packages: 2,
    artifacts: 1,
    by_state: { published: 2, pending_review: 0, quarantined: 1, rejected: 0 },
    by_distribution: [
      { distribution: 'jammy', packages: 2, published: 1, bytes: 15 },
      { distribution: 'noble', packages: 1, published: 1, bytes: 10 },
    ],
    by_format: [{ format: 'deb', packages: 3, published: 2, bytes: 25 }],
    storage: { blobs: 2, bytes: 15 },
  })
  expect(stats.uploads_per_day).toHaveLength(30)
  expect(stats.uploads_per_day.slice(-3)).toEqual([
    { day: '2026-03-08', count: 0 },
    { day: '2026-03-09', count: 1 },
    { day: '2026-03-10', count: 2 },
  ])
})

test('the history is paged, newest first', async () => {
  for (let n = 0; n < 5; n++) await stock.put({ version: `${n}` })
  const page = await call('GET /dashboard/history', { query: { page: 2, per_page: 2 } })
  expect([page.items.map(item => item.version), page.total, page.pages]).toEqual([['2', '1'], 5, 3])
})

test('the live stream begins with hello, sends events, and resumes after a break without a gap', async () => {
  const client = new AbortController()
  const open = (headers: Record<string, string> = {}): AsyncIterator<StreamEvent> =>
    (
      dashboardHandlers['GET /dashboard/events'](deps, {
        params: {},
        query: {},
        body: undefined,
        who: someone('reader'),
        viewer: ALL_SEEING,
        raw: rawRequest({ headers, signal: client.signal }),
      }) as AsyncIterable<StreamEvent>
    )[Symbol.asyncIterator]()
  const first = open()
  expect((await first.next()).value).toEqual({
    event: 'hello',
    data: { at: '2026-03-10T10:00:00.000Z', resumed: false },
  })
  await stock.put()
  const seen = (await first.next()).value as StreamEvent
  expect(seen).toMatchObject({
    event: 'package.state',
    data: { type: 'package.state', data: { name: 'hello', state: 'published' } },
  })
  await stock.put({ version: '2.0' })
  const again = open({ 'last-event-id': seen.id ?? '' })
  expect((await again.next()).value).toMatchObject({ event: 'hello', data: { resumed: true } })
  expect((await again.next()).value).toMatchObject({ data: { data: { version: '2.0' } } })
  const waiting = again.next()
  client.abort()
  expect((await waiting).done).toBe(true)
})
