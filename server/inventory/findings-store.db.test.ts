import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDb, type TestDb } from '../../test/support/postgres.ts'
import type { Finding } from '../core/findings.ts'
import { replaceFindings, replaceUpdates, type KeptFinding } from './findings-store.ts'
import { forgetScans, forgetWords, logScan } from './scan-log.ts'
import type { Update } from './updates.ts'
import { noFindings } from './client-row.ts'

let it: TestDb
let id: number
beforeAll(async () => {
  it = await createTestDb()
  const row = await it.db.first<{ id: number }>(
    `insert into inventory_client (hostname, connection_type) values ('a', 'agent') returning id`,
  )
  id = row?.id ?? 0
})
afterAll(() => it.close())

const day = (n: number): Date => new Date(Date.UTC(2026, 0, n))
const kept = (version: string, cve: string, more: Partial<Finding> = {}): KeptFinding => ({
  installed: { name: 'openssl', version, arch: 'amd64', source: 'openssl', sourceVersion: version },
  finding: { id: cve, package: 'openssl', severity: 'high', detected_by: ['osv'], ...more },
  updateState: undefined,
})
const keep = (all: readonly KeptFinding[], at: Date) => it.db.tx(tx => replaceFindings(tx, id, all, at))
const stored = () =>
  it.db.query(
    'select version, cve, severity, epss, first_seen from inventory_finding where client_id = $1 order by cve',
    [id],
  )

test('a vulnerability keeps its first sight across versions of its package, and loses it when it was gone', async () => {
  expect(await keep([kept('1', 'CVE-1'), kept('1', 'CVE-2', { severity: 'low', epss: 0.01234 })], day(1))).toEqual({
    high: day(1).toISOString(),
    low: day(1).toISOString(),
  })
  // as it was: nothing is written
  const place = () => it.db.query('select ctid, cve from inventory_finding where client_id = $1 order by cve', [id])
  const before = await place()
  await keep([kept('1', 'CVE-1'), kept('1', 'CVE-2', { severity: 'low', epss: 0.01234 })], day(2))
  expect(await place()).toEqual(before)
  // an update that closes one of two, which is rated otherwise now
  expect(await keep([kept('2', 'CVE-2', { severity: 'critical', epss: 0.5 })], day(3))).toEqual({
    critical: day(1).toISOString(),
  })
  expect(await stored()).toEqual([{ version: '2', cve: 'CVE-2', severity: 'critical', epss: 0.5, first_seen: day(1) }])
  expect(await keep([], day(4))).toEqual({})
  await keep([kept('2', 'CVE-2')], day(5))
  expect(await stored()).toMatchObject([{ cve: 'CVE-2', severity: 'high', first_seen: day(5) }])
})

test('the words about a vulnerability are kept once, and go when no machine has it', async () => {
  await keep(
    [kept('2', 'CVE-2', { summary: 'An overflow.', references: ['https://x.test/2'] }), kept('2', 'CVE-3')],
    day(6),
  )
  await keep([kept('2', 'CVE-3', { severity: 'low', summary: 'A leak.' })], day(7))
  await forgetWords(it.db)
  expect(await it.db.query('select cve, summary, urls from inventory_cve')).toEqual([
    { cve: 'CVE-3', summary: 'A leak.', urls: [] },
  ])
})

test('an update waits since it was first seen, whatever version it moves on to, and anew when it is served', async () => {
  const update = (available: string, state: Update['state']): Update => ({
    name: 'curl',
    arch: 'amd64',
    installed: '1',
    available,
    state,
    closes: noFindings(),
  })
  const put = (all: readonly Update[], at: Date) => it.db.tx(tx => replaceUpdates(tx, id, all, at))
  const since = async () =>
    (await it.db.query<{ available: string; since: Date }>('select available, since from inventory_update')).map(
      ({ available, since: at }) => [available, at],
    )
  await put([update('2', 'in_review')], day(1))
  await put([update('2', 'here')], day(2))
  await put([update('3', 'here')], day(3))
  expect(await since()).toEqual([['3', day(2)]])
  await put([], day(4))
  expect(await since()).toEqual([])
})

test('the history ends after its days, so many rows at a time', async () => {
  for (const n of [1, 2, 3, 20])
    await logScan(it.db, { clientId: id, at: day(n), connection: 'agent', by: 'agent', durationMs: 1 })
  expect([await forgetScans(it.db, day(10), 2), await forgetScans(it.db, day(10), 2)]).toEqual([true, false])
  expect(await it.db.query('select at from inventory_scan')).toEqual([{ at: day(20) }])
})
