import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { createTestDb } from '../../../test/support/postgres.ts'
import type { PackageRef } from '../../core/identity.ts'
import { fail } from '../../core/errors.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { WorkKind } from '../../core/work.ts'
import type { Db } from '../../db/db.ts'
import type { Rescanned } from '../../review/rescan.ts'
import { answerOf } from '../../work/answer.ts'
import { createWorker, type Worker } from '../../work/worker.ts'
import { RESCAN } from '../../review/rescan-request.ts'
import { rescanWork } from './rescan-work.ts'

let db: Db
let close: () => Promise<void>
beforeAll(async () => {
  ;({ db, close } = await createTestDb())
})
afterAll(() => close())
beforeEach(() => db.query('truncate job cascade'))

const NEVER = new AbortController().signal
const quiet = { error: vi.fn(), warn: vi.fn(), info: vi.fn() }
const refOf = (codename: string): PackageRef =>
  ({ format: 'deb', name: 'curl', version: '8.0', arch: 'amd64', codename }) as PackageRef
const order = {
  kind: RESCAN,
  target: 'curl 8.0',
  request: { refs: ['jammy', 'noble', 'bookworm'].map(refOf), viewer: ALL_SEEING, ip: '192.0.2.1' },
  by: 'ada',
}
const NOTHING_NEW = (ref: PackageRef): Rescanned =>
  ({
    changed: {
      outcome: 'changed',
      settled: () => Promise.resolve(true),
      manifest: { ref, state: 'published', findings: [], files: [], changed_at: '2026-01-01T00:00:00.000Z' },
    },
    before: 'published',
    report: { step: 'vulnerabilities', outcome: 'passed', verdict: 'clean', said: 'No known vulnerability.' },
    fresh: [],
    gone: [],
  }) as unknown as Rescanned

async function start(scan: (ref: PackageRef, signal: AbortSignal) => Promise<Rescanned>): Promise<Worker> {
  const worker = createWorker({ db, log: quiet, lookMs: 20, renewMs: 20 })
  worker.handle([rescanWork({ rescans: { rescan: ({ ref }, _, signal) => scan(ref, signal) } }) as WorkKind])
  await worker.start()
  return worker
}
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })

test('a rescan of several packages that a stop cuts short goes on behind the last one, for whoever waits for it', async () => {
  const scanned: string[] = []
  const first = await start((ref, signal) => {
    scanned.push(ref.codename)
    return ref.codename === 'jammy' ? Promise.resolve(NOTHING_NEW(ref)) : untilAborted(signal)
  })
  const { id } = await first.ask(order)
  await vi.waitFor(() => expect(scanned).toEqual(['jammy', 'noble']))
  expect(await first.ask(order)).toEqual({ id, isNew: false })
  await first.stop()
  const asked = Promise.withResolvers<void>()
  const second = await start(async ref => {
    scanned.push(ref.codename)
    await asked.promise // whoever asks after its end gets a new job
    if (ref.codename === 'noble') throw new Error('the disk broke')
    return NOTHING_NEW(ref)
  })
  const answer = answerOf({ ...second, ask: given => second.ask(given).finally(() => asked.resolve()) }, order, NEVER)
  // a fault is no refusal: it ends the job, and names no internals
  await expect(answer).rejects.toMatchObject({ code: 'job_failed' })
  await second.stop()
  expect(scanned).toEqual(['jammy', 'noble', 'noble'])
})

test('one that is refused is named beside the others; where all are refused, the answer is the first refusal', async () => {
  const isGone = new Set(['noble'])
  const worker = await start(ref =>
    isGone.has(ref.codename) ? Promise.reject(refusal()) : Promise.resolve(NOTHING_NEW(ref)),
  )
  const refusal = (): unknown => {
    try {
      return fail('version_not_found', { name: 'curl', version: '8.0' })
    } catch (error) {
      return error
    }
  }
  expect(await answerOf(worker, order, NEVER)).toMatchObject({
    packages: [{ distribution: 'jammy', cve_scan: 'clean' }, { distribution: 'bookworm' }],
    errors: [{ distribution: 'noble', arch: 'amd64', code: 'version_not_found' }],
  })
  for (const codename of ['jammy', 'bookworm']) isGone.add(codename)
  await expect(answerOf(worker, order, NEVER)).rejects.toMatchObject({
    code: 'version_not_found',
    facts: { name: 'curl', version: '8.0' },
  })
  await worker.stop()
})

test('one that is cancelled ends at once, in the middle of a scan', async () => {
  const worker = await start((_, signal) => untilAborted(signal))
  const { id } = await worker.ask(order)
  await vi.waitFor(async () =>
    expect(await db.first('select state, total from job where id = $1', [id])).toEqual({ state: 'running', total: 3 }),
  )
  const asked = performance.now()
  await worker.cancel(id, 'grace')
  expect(await worker.ended(id, NEVER)).toMatchObject({ state: 'cancelled' })
  expect(performance.now() - asked).toBeLessThan(2_000)
  await worker.stop()
})
