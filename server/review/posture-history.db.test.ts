import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { repositories } from '../../test/support/repositories.ts'
import { createStock, type Stock } from '../../test/support/test-catalog.ts'
import type { Finding } from '../core/findings.ts'
import { HISTORY_DAYS, readFindingDays, recordDay, type FindingDay } from './posture-history.ts'

let stock: Stock
let known: readonly string[]
beforeAll(async () => {
  stock = await createStock()
})
afterAll(() => stock.close())
beforeEach(async () => {
  await stock.clear()
  await stock.db.query('truncate posture_day cascade')
  known = ['jammy', 'noble']
  stock.clock.set('2026-03-10T06:10:00Z')
})

const record = (ifMissing = false): Promise<void> =>
  recordDay(
    { ...stock, repositories: { all: () => repositories.all().filter(one => known.includes(one.codename)) } },
    ifMissing,
  )
const read = (codenames: readonly string[] = known, days = 5): Promise<FindingDay[]> =>
  readFindingDays(stock.db, { days, now: stock.clock.now(), codenames })
const at = (day: number): void => stock.clock.set(`2026-03-${day}T06:10:00Z`)
const finding = (id: string, severity: Finding['severity']): Finding => ({
  id,
  package: 'hello',
  severity,
  detected_by: ['osv'],
})
const scan = { step: 'vulnerabilities' as const, outcome: 'ok' as const, verdict: 'ok' as const, said: '' }
const looked = [scan]
const NONE = { critical: 0, high: 0, medium: 0, low: 0, negligible: 0, unknown: 0 }
const gap = (date: string) => ({ date, open: null, appeared: null, gone: null, packages: null, not_looked: null })

test('a day that nobody counted is unknown, a day with no finding is 0', async () => {
  await stock.put({ reports: looked })
  await record()
  at(12)
  expect(await read()).toEqual([
    gap('2026-03-08'),
    gap('2026-03-09'),
    { date: '2026-03-10', open: NONE, appeared: null, gone: null, packages: 1, not_looked: 0 },
    gap('2026-03-11'),
    gap('2026-03-12'),
  ])
})

test('served and waiting packages count, with what nobody accepted; those that no engine answered for are named', async () => {
  await stock.put({ findings: [finding('CVE-1', 'high'), finding('CVE-2', 'low')], reports: looked })
  await stock.put({
    name: 'b',
    state: 'pending_review',
    findings: [finding('CVE-1', 'high')],
    reports: [{ ...scan, outcome: 'unavailable', verdict: 'unavailable' }],
  })
  await stock.put({ name: 'c', state: 'quarantined', findings: [finding('CVE-3', 'critical')] })
  await stock.db.query(`update finding set accepted = true where cve = 'CVE-2'`)
  await record()
  expect((await read()).at(-1)).toMatchObject({ packages: 2, not_looked: 1, open: { ...NONE, high: 2 } })
})

test('what came and what went since the count before adds up, over days that were missed too', async () => {
  await stock.put({ findings: [finding('CVE-1', 'high'), finding('CVE-2', 'low')] })
  await record()
  at(12)
  await stock.put({ version: '2.0', findings: [finding('CVE-9', 'critical')] })
  await stock.db.query(`delete from finding where cve = 'CVE-2'`)
  await record()
  const days = await read()
  expect(days.slice(2)).toEqual([
    expect.objectContaining({ open: { ...NONE, high: 1, low: 1 }, appeared: null, gone: null }),
    gap('2026-03-11'),
    expect.objectContaining({ open: { ...NONE, critical: 1, high: 1 }, appeared: 1, gone: 1 }),
  ])
})

test('a second run on a day makes its rows again; one that only catches up leaves them', async () => {
  await stock.put({ findings: [finding('CVE-1', 'high')] })
  await record()
  at(11)
  await Promise.all([record(true), record(true)])
  await stock.put({ name: 'b', findings: [finding('CVE-2', 'high')] })
  await record(true)
  expect((await read()).at(-1)).toMatchObject({ open: { high: 1 }, appeared: 0 })
  await record()
  await record()
  expect((await read()).at(-1)).toMatchObject({ open: { high: 2 }, appeared: 1, gone: 0 })
})

test('who does not see a distribution has it in no sum', async () => {
  await stock.put({ findings: [finding('CVE-1', 'high')] })
  await stock.put({ codename: 'noble', findings: [finding('CVE-2', 'critical'), finding('CVE-3', 'low')] })
  await record()
  at(11)
  await stock.put({ codename: 'noble', name: 'new', findings: [finding('CVE-4', 'critical')] })
  await record()
  expect((await read(['jammy'])).slice(-2)).toMatchObject([
    { packages: 1, open: { ...NONE, high: 1 }, appeared: null },
    { packages: 1, open: { ...NONE, high: 1 }, appeared: 0, gone: 0 },
  ])
  expect((await read([])).at(-1)).toEqual(gap('2026-03-11'))
})

test('a new distribution has all its findings come in; one that is no more is forgotten, as are days of two years ago', async () => {
  known = ['jammy']
  await stock.put({ findings: [finding('CVE-1', 'high')] })
  await stock.put({ codename: 'noble', findings: [finding('CVE-2', 'critical')] })
  await record()
  at(11)
  known = ['jammy', 'noble']
  await record()
  expect((await read()).at(-1)).toMatchObject({ open: { high: 1, critical: 1 }, appeared: 1, gone: 0 })
  known = ['noble']
  stock.clock.set(new Date(Date.parse('2026-03-11T06:10:00Z') + HISTORY_DAYS * 86_400_000).toISOString())
  await record()
  expect(await stock.db.query('select distinct day::text, codename from posture_day order by 1')).toEqual([
    { day: '2026-03-11', codename: 'noble' },
    { day: '2028-03-11', codename: 'noble' },
  ])
})
