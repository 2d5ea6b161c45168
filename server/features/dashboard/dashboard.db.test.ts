import { Value } from '@sinclair/typebox/value'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createCaller } from '../../../test/support/routes.ts'
import { createStock, rawRequest, someone, type Stock } from '../../../test/support/test-catalog.ts'
import type { StreamEvent } from '../../core/contract.ts'
import type { Finding } from '../../core/findings.ts'
import type { Report } from '../../core/report.ts'
import { dashboard } from './contract.ts'
import { createDashboard } from './dashboard.ts'
import { dashboardHandlers, type DashboardRouteDeps } from './handlers.ts'
import { whileUnavailable } from '../../core/policy.ts'
import { ALL_SEEING, type Viewer } from '../../core/viewer.ts'
import type { EngineStatus } from '../../scanners/scanner.ts'
import { SETTINGS, type SettingsValue } from '../../settings/schema.ts'

let stock: Stock
let deps: DashboardRouteDeps
let engine: EngineStatus
const SETTINGS_NOW = Value.Create(SETTINGS) as SettingsValue
beforeAll(async () => {
  stock = await createStock()
})
afterAll(() => stock.close())
beforeEach(async () => {
  await stock.clear()
  engine = { id: 'clamav', ok: true }
  stock.clock.set('2026-03-10T10:00:00Z')
  const board = {
    ...stock,
    settings: { now: () => SETTINGS_NOW },
    antivirus: { status: () => Promise.resolve(engine) },
  }
  deps = { dashboard: createDashboard(board), events: stock.events, clock: stock.clock }
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
    packages: { total: 2, total_size_bytes: 15, deps_missing_count: 0, imports_today: 1 },
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

test('each day counts what came in, what was refused, decisions and scans, also of entries that came since', async () => {
  stock.clock.set('2026-03-09T23:59:59Z')
  await stock.put()
  await stock.put({ version: '2.0', codename: 'noble', state: 'pending_review' })
  const decided = { action: 'SECURITY_DECISION', result: 'SUCCESS', user: 'ada', distribution: 'noble' } as const
  await stock.audit.record({ ...decided, facts: { kind: 'refused', why: 'wrong_password' } })
  stock.clock.set('2026-03-10T10:00:00Z')
  const history = async (viewer?: Viewer) =>
    (await call('GET /dashboard/history', { query: { days: 2 }, ...(viewer ? { viewer } : {}) })).history
  const nothing = { imports: 0, failures: 0, decisions: 0, cve_scans: 0 }
  const before = { date: '2026-03-09', ...nothing, imports: 2, decisions: 1 }
  expect(await history()).toEqual([before, { date: '2026-03-10', ...nothing }])
  await stock.put({ version: '3.0', state: 'quarantined' })
  await stock.audit.record({ ...decided, action: 'RESCAN', facts: { kind: 'refused', why: 'wrong_password' } })
  expect(await history()).toEqual([before, { date: '2026-03-10', ...nothing, failures: 1, cve_scans: 1 }])
  expect(await history({ hidden: ['noble'] })).toEqual([
    { date: '2026-03-09', ...nothing, imports: 1 },
    { date: '2026-03-10', ...nothing, failures: 1 },
  ])
})

test('the history says from which day on it was counted: zeros before it are none', async () => {
  const since = async () => [
    (await call('GET /dashboard/history', { query: { days: 90 } })).counted_since,
    (await call('GET /dashboard/stats')).counted_since,
  ]
  expect(await since()).toEqual(['2026-03-10', '2026-03-10']) // nothing was ever written: today
  stock.clock.set('2026-03-04T10:00:00Z')
  await stock.put()
  stock.clock.set('2026-03-12T10:00:00Z')
  expect(await since()).toEqual(['2026-03-04', '2026-03-04'])
  await stock.put({ version: '2.0' })
  await stock.audit.deliver()
  stock.clock.set('2026-03-14T10:00:00Z')
  await stock.audit.cut({ days: 5, by: 'ada', acceptsBroken: false, signal: new AbortController().signal })
  stock.clock.set('2026-03-15T10:00:00Z') // retention removed the first day
  expect(await since()).toEqual(['2026-03-12', '2026-03-12'])
})

test('alerts say what somebody has to do, the most urgent first, and nothing on a quiet day', async () => {
  expect((await call('GET /dashboard/stats')).alerts).toEqual([])
  await stock.put({ state: 'pending_review', findings: [finding('CVE-1', 'critical')] })
  stock.clock.set('2026-04-10T10:00:00Z')
  await stock.put({ name: 'blind', reports: [] })
  engine = { id: 'clamav', ok: false }
  const { alerts, clamav } = await call('GET /dashboard/stats')
  expect(alerts).toEqual([
    {
      kind: 'overdue',
      level: 'error',
      count: 1,
      message: '1 package waits for a decision longer than the policy allows.',
    },
    {
      kind: 'antivirus',
      level: 'warning',
      count: null,
      message: `The antivirus engine does not answer. ${whileUnavailable(SETTINGS_NOW.validation, true).said}`,
    },
    {
      kind: 'not_looked',
      level: 'warning',
      count: 2,
      message:
        '2 packages that are served or waiting were not scanned in full: no engine with current data answered, or files inside were not opened.',
    },
    { kind: 'waiting', level: 'info', count: 1, message: '1 package waits for a decision.' },
  ])
  engine = { id: 'clamav', ok: false, silence: 'no_signatures' }
  stock.clock.set('2026-04-10T10:01:00Z') // it is not asked again at once
  expect((await call('GET /dashboard/stats')).alerts.find(({ kind }) => kind === 'antivirus')?.message).toMatch(
    /^The antivirus engine has no signatures of malware yet, .* They come by freshclam .* Then start clamd/,
  )
  expect(clamav).toEqual({
    available: false,
    enabled: true,
    set_up: true,
    daemon_running: false,
    version: null,
    db_version: null,
    db_date: null,
  })
})

test('packages with needs that are not served here are counted, what sources need to be built is not', async () => {
  const missing = (outcome: 'warned' | 'ok') => [
    { step: 'dependencies' as const, outcome, verdict: 'missing', said: '', missing: ['nowhere'] },
  ]
  await stock.put({ reports: missing('warned') })
  await stock.put({ name: 'gone', state: 'rejected', reports: missing('warned') })
  await stock.put({ name: 'source', reports: missing('ok') })
  expect((await call('GET /dashboard/stats')).packages).toMatchObject({ total: 2, deps_missing_count: 1 })
})

test('the extended statistics show what is large, new and found, and what each distribution holds', async () => {
  await stock.put({ bytes: '12345', findings: [finding('CVE-1', 'high'), finding('CVE-2', 'low')] })
  stock.clock.set('2026-03-11T10:00:00Z')
  await stock.put({ version: '2.0', bytes: '1' })
  await stock.put({ name: 'zlib', codename: 'noble', bytes: '123' })
  const { cve_trends, top_packages, distributions, summary, sla_overdue } = await call('GET /dashboard/stats/enriched')
  expect(cve_trends).toHaveLength(30)
  expect(cve_trends.at(-2)).toEqual({
    date: '2026-03-10',
    total: 2,
    critical: 0,
    high: 1,
    medium: 0,
    low: 1,
    negligible: 0,
    unknown: 0,
  })
  expect(cve_trends.at(-1)).toMatchObject({ date: '2026-03-11', total: 0 })
  expect(top_packages.by_versions).toEqual([
    { name: 'hello', format: 'deb', versions: 2 },
    { name: 'zlib', format: 'deb', versions: 1 },
  ])
  expect(top_packages.by_size.map(({ size_bytes }) => size_bytes)).toEqual([5, 3, 1])
  expect(top_packages.recently_added.map(({ name, version }) => `${name} ${version}`)).toEqual([
    'zlib 1.0',
    'hello 2.0',
    'hello 1.0',
  ])
  expect(distributions).toMatchObject([
    { distribution: 'jammy', package_count: 1, version_count: 2, cve_totals: { high: 1, low: 1, critical: 0 } },
    { distribution: 'noble', package_count: 1, version_count: 1, cve_totals: { high: 0 } },
  ])
  expect(summary).toMatchObject({ packages: 3, artifacts: 2 })
  expect(sla_overdue).toEqual([])
  const noble = { viewer: { hidden: ['jammy'] } }
  expect((await call('GET /dashboard/stats/enriched', noble)).distributions.map(one => one.distribution)).toEqual([
    'noble',
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

const report = (step: Report['step'], outcome: Report['outcome'], more: Partial<Report> = {}): Report => ({
  step,
  outcome,
  verdict: outcome,
  said: '',
  ...more,
})

test('the gate counts what each step made of the packages that came in, and what became of them', async () => {
  const clean = [report('format', 'ok'), report('provenance', 'skipped'), report('antivirus', 'ok')]
  stock.clock.set('2026-03-03T23:59:59Z')
  await stock.put({ name: 'old', reports: clean })
  stock.clock.set('2026-03-04T00:00:00Z')
  await stock.put({ name: 'good', reports: [...clean, report('vulnerabilities', 'ok')] })
  await stock.put({ name: 'asked', reports: [...clean, report('vulnerabilities', 'warned')], from: 'source:hub' })
  stock.clock.set('2026-03-10T10:00:00Z')
  await stock.put({
    name: 'held',
    state: 'pending_review',
    reports: [...clean, report('vulnerabilities', 'warned', { holds: true })],
  })
  await stock.put({
    name: 'dark',
    state: 'pending_review',
    reports: [
      report('format', 'ok'),
      report('antivirus', 'unavailable'),
      report('vulnerabilities', 'warned', { verdict: 'no_data' }),
    ],
  })
  await stock.put({
    name: 'evil',
    state: 'quarantined',
    reports: [report('format', 'ok'), report('antivirus', 'failed', { quarantine: true })],
  })
  // found by a later look: held, and refused by nobody
  await stock.put({ name: 'late', state: 'pending_review', reports: [report('antivirus', 'failed')] })
  const none = { passed: 0, warned: 0, held: 0, refused: 0, unavailable: 0, skipped: 0 }
  expect(await call('GET /dashboard/gate', { query: { days: 7 } })).toEqual({
    days: 7,
    since: '2026-03-04T00:00:00.000Z',
    arrived: 6,
    uploaded: 5,
    imported: 1,
    states: { published: 2, pending_review: 3, quarantined: 1, rejected: 0 },
    steps: [
      { name: 'format', ...none, passed: 5 },
      { name: 'provenance', ...none, skipped: 3 },
      { name: 'antivirus', ...none, passed: 3, held: 1, refused: 1, unavailable: 1 },
      { name: 'vulnerabilities', ...none, passed: 1, warned: 1, held: 1, unavailable: 1 },
      { name: 'scripts', ...none },
      { name: 'signature', ...none },
      { name: 'dependencies', ...none },
    ],
  })
  expect((await call('GET /dashboard/gate', { query: {} })).arrived).toBe(7)
})

test('the gate does not count what a viewer may not see', async () => {
  await stock.put({ reports: [report('format', 'ok')] })
  await stock.put({
    codename: 'noble',
    reports: [report('format', 'ok'), report('antivirus', 'failed')],
    state: 'rejected',
  })
  const flow = await deps.dashboard.gate({ ...ALL_SEEING, hidden: ['noble'] }, 7)
  expect([flow.arrived, flow.states.rejected, flow.steps[0]?.passed, flow.steps[2]?.refused]).toEqual([1, 0, 1, 0])
})

test('vulnerabilities count once however many packages have them, with those that have a fix and are exploited', async () => {
  await stock.put({ findings: [{ ...finding('CVE-1', 'high'), kev: true }, finding('CVE-2', 'low')] })
  await stock.put({ version: '2.0', findings: [{ ...finding('CVE-1', 'high'), fixed_in: '3.0', kev: true }] })
  await stock.put({ codename: 'noble', findings: [finding('CVE-3', 'high')] })
  const { vulnerabilities } = await call('GET /dashboard/stats', { viewer: { hidden: ['noble'] } })
  expect(vulnerabilities).toEqual([
    { severity: 'high', cves: 1, fixable: 1, exploited: 1 },
    { severity: 'low', cves: 1, fixable: 0, exploited: 0 },
  ])
})
