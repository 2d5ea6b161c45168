import { Value } from '@sinclair/typebox/value'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startWorker } from '../../../test/support/jobs.ts'
import { codeOf } from '../../../test/support/routes.ts'
import { createStock, type Stock } from '../../../test/support/test-catalog.ts'
import type { Finding, Severity } from '../../core/findings.ts'
import type { Codename, PackageRef } from '../../core/identity.ts'
import type { Report } from '../../core/report.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import { SETTINGS, type SettingsValue } from '../../settings/schema.ts'
import type { Worker } from '../../work/worker.ts'
import { createDecisions } from '../decisions.ts'
import { findOne } from '../find-version.ts'
import { createBulk, type Bulk } from './bulk.ts'
import type { Caller, WhichMany } from './preview.ts'
import type { ManyResult } from './work.ts'

let stock: Stock
let worker: Worker
let now: SettingsValue
let bulk: Bulk
const settings = { now: () => now }
const mae: Caller = { who: { name: 'mae' }, viewer: ALL_SEEING }
const forever = new AbortController().signal

const decisions = () => createDecisions({ db: stock.db, catalog: stock.catalog, settings })
const makeBulk = (undoMs: number): Bulk =>
  createBulk({
    ...{ db: stock.db, settings, clock: stock.clock, decisions: decisions(), undoMs },
    jobs: { ask: order => worker.ask(order) },
  })

beforeAll(async () => {
  stock = await createStock()
  now = Value.Create(SETTINGS) as SettingsValue
  // the job of every test is run by this worker; the window is what a test asks for
  worker = await startWorker(stock.db, [])
})
afterAll(async () => {
  await worker.stop()
  await stock.close()
})
beforeEach(async () => {
  await stock.clear()
  await stock.db.query('truncate decision, sla_breach, finding, review_selection, job cascade')
  now = Value.Create(SETTINGS) as SettingsValue
  stock.clock.set('2026-03-01T10:00:00.000Z')
  use(0)
})
function use(undoMs: number): void {
  bulk = makeBulk(undoMs)
  worker.handle([bulk.work])
}

const finding = (id: string, severity: Severity, more: Partial<Finding> = {}): Finding => ({
  ...{ id, package: 'hello', severity, detected_by: ['osv'] },
  ...more,
})
const report = (step: Report['step'], outcome: Report['outcome'] = 'ok'): Report => ({
  ...{ step, outcome, verdict: '', said: '' },
})
const SCANNED = [report('antivirus'), report('vulnerabilities')]
const held = (
  name: string,
  findings: readonly Finding[] = [],
  more: { by?: string; codename?: string; reports?: readonly Report[] } = {},
) => stock.put({ name, findings, state: 'pending_review', reports: SCANNED, ...more })
const ref = (name: string, codename = 'jammy'): PackageRef => ({
  ...{ format: 'deb', name, version: '1.0', arch: 'amd64', codename: codename as Codename },
})
const stateOf = async (name: string, codename?: string) =>
  (await stock.catalog.find(ALL_SEEING, ref(name, codename)))?.state
const preview = (which: Partial<WhichMany> = {}, caller = mae) =>
  bulk.preview({ decision: 'approve', ...which }, caller)
const said = (more = {}) => ({
  ...{ decision: 'approve', justification: 'Seen and known.', cves: [], arrivedAt: stock.clock.now().toISOString() },
  ...more,
})
const sendAs = (caller: Caller, selection: string, more: { confirmed?: number[]; said?: object } = {}) =>
  bulk.send({ selection, said: said(more.said), confirmed: more.confirmed ?? [], ip: '192.0.2.9' }, caller)
const send = (selection: string, more = {}) => sendAs(mae, selection, more)
async function decide(selection: string, more = {}) {
  const { job } = await send(selection, more)
  const end = await worker.ended(job, forever)
  return { job, end, result: end.result as ManyResult }
}
const lines = async (job: string) =>
  (await stock.db.query<{ message: string }>('select message from job_event where job_id = $1 order by n', [job])).map(
    ({ message }) => message,
  )

describe('the preview of a decision about many', () => {
  test('counts all that match the filter, and what clients get', async () => {
    await stock.put({ name: 'known', version: '0.9' })
    await held('known', [finding('CVE-1', 'high')])
    await held('fresh', [finding('CVE-2', 'medium', { kev: true })])
    await held('bad', [finding('MAL-2026-1', 'critical')], { by: 'mae' })
    await held('other', [], { codename: 'noble' })
    stock.clock.set('2026-03-20T10:00:00.000Z')
    await held('late')
    expect(await preview({ filter: { distribution: 'jammy' } })).toMatchObject({
      ...{ publishes: true, total: 4, decidable: 4, kev: 1, overdue: 1, malicious: 1, own: 1, remarked_count: 2 },
      by_severity: { critical: 1, high: 1, medium: 1, low: 0, negligible: 0, unknown: 0, none: 1, not_looked: 0 },
      not_scanned: { any: 0, antivirus: 0, vulnerabilities: 0 },
      remarked: [
        { name: 'fresh', kev: true, overdue: false, malicious: false },
        { name: 'bad', kev: false, overdue: true, malicious: true, severity: 'critical' },
      ],
      left_out: [],
      clients: [{ distribution: 'jammy', new: 3, newer: 1, older: 0, held_back: false }],
    })
    expect(await preview({ decision: 'reject' })).toMatchObject({ publishes: false, total: 5, clients: [] })
  })
  test('counts what was not scanned in full by each scan, and never as without a finding', async () => {
    await held('clean')
    await held('never', [], { reports: [] })
    await held('off', [], { reports: [report('antivirus', 'skipped'), report('vulnerabilities')] })
    await held('dry', [], { reports: [report('antivirus'), report('vulnerabilities', 'unavailable')] })
    const partly = [report('antivirus'), report('vulnerabilities', 'unavailable')]
    await held('partly', [finding('CVE-1', 'high')], { reports: partly })
    expect(await preview()).toMatchObject({
      by_severity: { critical: 0, high: 1, medium: 0, low: 0, negligible: 0, unknown: 0, none: 2, not_looked: 2 },
      not_scanned: { any: 4, antivirus: 2, vulnerabilities: 3 },
    })
  })
  test('names those that one may not decide on', async () => {
    now = { ...now, review: { ...now.review, four_eyes: true } }
    await held('mine', [], { by: 'mae' })
    await held('theirs')
    await held('far', [], { codename: 'noble' })
    await stock.put({ name: 'served' })
    const scoped = { ...mae, who: { name: 'mae', scope: { distributions: ['jammy'], uploadOnly: false } } }
    const packages = (['mine', 'theirs', 'served'] as const).map(name => ({
      ...{ name, version: '1.0', distribution: 'jammy', arch: 'amd64' },
    }))
    const far = { name: 'far', version: '1.0', distribution: 'noble', arch: 'amd64' }
    const seen = await preview({ packages: [...packages, far] }, scoped)
    expect(seen).toMatchObject({
      ...{ total: 4, decidable: 1 },
      left_out_by_code: { four_eyes: 1, not_waiting: 1, outside_distribution: 1 },
    })
    expect(await preview({ decision: 'reject' })).toMatchObject({ decidable: 3, left_out: [] })
    const blind = { ...mae, viewer: { hidden: ['noble'] } }
    expect(await preview({ packages: [far] }, blind)).toMatchObject({ total: 1, decidable: 0, left_out: [] })
  })
})

describe('a decision about many', () => {
  test('decides on each as one by itself: state, record and audit line, with one publication', async () => {
    for (let n = 0; n < 250; n++) await held(`p${n}`, [finding(`CVE-${n}`, 'medium')])
    await held('other', [], { codename: 'noble' })
    const { selection } = await preview()
    await stock.outbox.drain()
    stock.published.length = 0
    const { end, result, job } = await decide(selection)
    expect(end.state).toBe('done')
    expect(result).toEqual({ decision: 'approve', total: 251, decided: 251, left_out: [], left_out_by_code: {} })
    await stock.outbox.drain()
    expect(stock.published.toSorted()).toEqual(['jammy', 'noble'])
    expect(await stock.db.query('select state, count(*) as n from package group by state')).toEqual([
      { state: 'published', n: 251 },
    ])
    expect(
      await stock.db.query('select action, decided_by, justification, count(*) as n from decision group by 1, 2, 3'),
    ).toEqual([{ action: 'approve', decided_by: 'mae', justification: 'Seen and known.', n: 251 }])
    const audited = await stock.audit.search(ALL_SEEING, { action: 'SECURITY_DECISION', page: 1, perPage: 1 } as never)
    expect(audited.total).toBe(251)
    expect(audited.items[0]).toMatchObject({ user: 'mae', ip: '192.0.2.9' })
    expect(await lines(job)).toContain('p7 1.0 in jammy, amd64: published.')
  })
  test('leaves out what was changed since the preview, and says so', async () => {
    await held('same')
    await held('rescanned')
    await held('decided')
    await held('gone')
    const { selection } = await preview()
    stock.clock.set('2026-03-01T10:05:00.000Z')
    await decisions().decide(
      await findOne(stock.db, ALL_SEEING, { name: 'decided', version: '1.0' }),
      said({ decision: 'reject' }),
      { name: 'max' },
    )
    await stock.catalog.change(
      { kind: 'review', ref: ref('rescanned'), judge: (before, at) => ({ after: { ...before, changed_at: at } }) },
      { name: 'max' },
    )
    await stock.catalog.change({ kind: 'delete', ref: ref('gone'), why: 'old' }, { name: 'max' })
    await held('later')
    const { result } = await decide(selection)
    expect(result).toMatchObject({ total: 4, decided: 1, left_out_by_code: { changed_since: 2, version_not_found: 1 } })
    expect(await stateOf('same')).toBe('published')
    expect(await stateOf('decided')).toBe('rejected')
    expect(await stateOf('rescanned')).toBe('pending_review')
    expect(await stateOf('later')).toBe('pending_review')
  })
  test('publishes what is known to be exploited only when it is ticked by itself', async () => {
    await held('plain')
    await held('kev', [finding('CVE-1', 'low', { kev: true })])
    await held('ticked', [finding('MAL-1', 'high')])
    const { selection, remarked } = await preview()
    const { result } = await decide(selection, {
      confirmed: remarked.filter(({ name }) => name === 'ticked').map(({ key }) => key),
    })
    expect(result).toMatchObject({ decided: 2, left_out: [{ name: 'kev', code: 'not_ticked' }] })
    expect([await stateOf('plain'), await stateOf('kev'), await stateOf('ticked')]).toEqual([
      ...['published', 'pending_review', 'published'],
    ])
    const again = await preview({ decision: 'reject' })
    expect((await decide(again.selection, { said: { decision: 'reject' } })).result.decided).toBe(1)
    expect(await stateOf('kev')).toBe('rejected')
  })
  test('four eyes hold also when the rule came after the preview', async () => {
    await held('mine', [], { by: 'mae' })
    const { selection } = await preview()
    now = { ...now, review: { ...now.review, four_eyes: true } }
    expect((await decide(selection)).result).toMatchObject({
      decided: 0,
      left_out: [{ name: 'mine', code: 'four_eyes' }],
    })
    expect(await stateOf('mine')).toBe('pending_review')
  })
  test('taken back while it waits, nothing is decided', async () => {
    use(60_000)
    await held('hello')
    const { selection } = await preview()
    const { job, beginsAt } = await send(selection)
    expect(beginsAt).toBe('2026-03-01T10:01:00.000Z')
    await new Promise<void>(resolve => {
      worker.onMoved(() => resolve())
    })
    expect(await worker.cancel(job, 'mae')).toBe(true)
    expect((await worker.ended(job, forever)).state).toBe('cancelled')
    expect(await stateOf('hello')).toBe('pending_review')
    expect(await stock.db.query('select * from decision')).toEqual([])
  })
  test('is refused for a short reason, another decision, another person, and a second time', async () => {
    await held('hello')
    const { selection } = await preview()
    expect(await codeOf(send(selection, { said: { justification: 'Too short' } }))).toBe('short_justification')
    expect(await codeOf(send(selection, { said: { decision: 'reject' } }))).toBe('bad_decision')
    expect(await codeOf(sendAs({ ...mae, who: { name: 'max' } }, selection))).toBe('selection_not_found')
    expect(await codeOf(sendAs({ ...mae, viewer: { hidden: ['jammy'] } }, selection))).toBe('nothing_selected')
    expect(await stateOf('hello')).toBe('pending_review')
    await decide(selection)
    expect(await codeOf(send(selection))).toBe('selection_used')
    const late = (await preview()).selection
    stock.clock.set('2026-03-01T11:00:01.000Z')
    expect(await codeOf(send(late))).toBe('selection_not_found')
  })
  test('goes on from its cursor in another run', async () => {
    for (let n = 0; n < 150; n++) await held(`p${n}`)
    const { selection } = await preview()
    use(60_000)
    const { job } = await send(selection)
    await new Promise<void>(resolve => {
      worker.onMoved(() => resolve())
    })
    await worker.stop()
    await stock.db.query(`update job set cursor = '{"at": 100, "decided": 100, "left_out": []}' where id = $1`, [job])
    await worker.start()
    const { result } = { result: (await worker.ended(job, forever)).result as ManyResult }
    expect(result).toMatchObject({ total: 150, decided: 150 })
    expect(await stock.db.first('select count(*) as n from decision')).toEqual({ n: 50 })
  })
})
