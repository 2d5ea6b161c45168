import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { ALL_SEEING } from '../../core/viewer.ts'
import { codeOf, createCaller } from '../../../test/support/routes.ts'
import { createStock, type Stock } from '../../../test/support/test-catalog.ts'
import type { Codename } from '../../core/identity.ts'
import { retention } from './contract.ts'
import { retentionHandlers } from './handlers.ts'
import type { WorkKind } from '../../core/work.ts'
import type { Worker } from '../../work/worker.ts'
import { runAlone, startWorker } from '../../../test/support/jobs.ts'
import { clean } from './retention.ts'
import { auditWork, versionsWork } from './work.ts'
import { repositories } from '../../../test/support/repositories.ts'

let stock: Stock
let worker: Worker
let cutsAudit = true
beforeAll(async () => {
  stock = await createStock()
  const { db, catalog, audit } = stock
  const kinds = [versionsWork({ db, catalog, repositories }), auditWork({ audit, days: () => 90 })]
  worker = await startWorker(db, kinds as WorkKind[])
})
afterAll(async () => {
  await worker.stop()
  await stock.close()
})
const cleanAll = () => versionsWork({ db: stock.db, catalog: stock.catalog, repositories }).run(runAlone(), {})
beforeEach(async () => {
  await stock.clear()
  await stock.db.query('truncate retention, pin')
})
const { call } = createCaller(retention, retentionHandlers, () => ({
  db: stock.db,
  catalog: stock.catalog,
  repositories,
  audit: stock.audit,
  clock: stock.clock,
  jobs: worker,
  cutsAudit: () => cutsAudit,
}))
const params = { codename: 'jammy' }
const versions = async (name = 'hello', codename = 'jammy') =>
  (
    await stock.db.query<{ version: string }>(
      'select version from package where name = $1 and codename = $2 order by sort_key',
      [name, codename],
    )
  ).map(row => row.version)

async function shelf(): Promise<void> {
  for (const version of ['1.10', '1.9', '1.2', '1:0.1', '1.9~rc1']) await stock.put({ version })
  await stock.put({ version: '0.9', state: 'pending_review' })
  await stock.put({ name: 'single', version: '1.0' })
  await stock.put({ version: '1.2', codename: 'noble' })
}

test('a preview names what would go by version order and changes nothing', async () => {
  await shelf()
  expect(await call('POST /distributions/{codename}/retention/preview', { params, body: { keep: 2 } })).toMatchObject({
    keep: 2,
    dry_run: true,
    removed: [{ version: '1.9' }, { version: '1.9~rc1' }, { version: '1.2' }],
    pinned: [],
  })
  expect(await versions()).toHaveLength(6)
})

test('a run removes them, but never a pinned, held or only version, nor one of another distribution', async () => {
  await shelf()
  await call('PATCH /distributions/{codename}/retention', { params, body: { keep: 1 } })
  await call('POST /distributions/{codename}/pins', {
    params,
    body: { name: 'hello', version: '1.2', reason: 'the old controllers' },
  })
  const { removed, pinned } = await call('POST /distributions/{codename}/retention/run', { params })
  expect([removed.map(one => one.version), pinned.map(one => one.version)]).toEqual([
    ['1.10', '1.9', '1.9~rc1'],
    ['1.2'],
  ])
  expect(await versions()).toEqual(['0.9', '1.2', '1:0.1'])
  expect([await versions('single'), await versions('hello', 'noble')]).toEqual([['1.0'], ['1.2']])
  expect((await stock.audit.search(ALL_SEEING, { page: 1, perPage: 5, action: 'DELETE' })).items).toHaveLength(3)
  expect(
    await call('DELETE /distributions/{codename}/pins/{name}/{version}', {
      params: { ...params, name: 'hello', version: '1.2' },
    }),
  ).toMatchObject({ keep: 1, pins: [] })
  await cleanAll()
  expect(await versions()).toEqual(['0.9', '1:0.1'])
})

test('a version pinned during a run stays, and so does one that became one of the newest by a deletion', async () => {
  for (const version of ['1', '2', '3', '4']) await stock.put({ version })
  const ref = { format: 'deb', name: 'hello', arch: 'amd64' } as const
  let isFirst = true
  const change: typeof stock.catalog.change = async (wanted, actor) => {
    // between the list and the first deletion
    if (isFirst) {
      isFirst = false
      await call('POST /distributions/{codename}/pins', { params, body: { name: 'hello', version: '2' } })
      await stock.catalog.change(
        { kind: 'delete', ref: { ...ref, version: '4', codename: 'jammy' as Codename }, why: 'broken' },
        { name: 'admin' },
      )
    }
    return stock.catalog.change(wanted, actor)
  }
  const { removed } = await clean({ db: stock.db, catalog: { change }, repositories }, 'jammy', {
    keep: 1,
    dryRun: false,
    by: 'admin',
    viewer: ALL_SEEING,
  })
  expect(removed.map(one => one.version)).toEqual(['1'])
  expect(await versions()).toEqual(['2', '3'])
})

test('of versions that are equal, one is as new as the other, and the preview says which one goes', async () => {
  for (const version of ['1.0', '1.00']) await stock.put({ version })
  const { removed: foretold } = await call('POST /distributions/{codename}/retention/preview', {
    params,
    body: { keep: 1 },
  })
  const { removed } = await clean({ db: stock.db, catalog: stock.catalog, repositories }, 'jammy', {
    keep: 1,
    dryRun: false,
    by: 'admin',
    viewer: ALL_SEEING,
  })
  expect(removed).toEqual(foretold)
  expect(await versions()).toHaveLength(1)
})

test('without a rule nothing is removed, and a run is refused with the way out', async () => {
  await shelf()
  await cleanAll()
  expect(await versions()).toHaveLength(6)
  expect(await codeOf(call('POST /distributions/{codename}/retention/run', { params }))).toBe('no_retention_rule')
  expect(await codeOf(call('GET /distributions/{codename}/retention', { params: { codename: 'nowhere' } }))).toBe(
    'distribution_not_found',
  )
  expect(
    await codeOf(call('POST /distributions/{codename}/pins', { params, body: { name: 'hello', version: '7' } })),
  ).toBe('version_not_found')
  expect(
    await codeOf(
      call('DELETE /distributions/{codename}/pins/{name}/{version}', {
        params: { ...params, name: 'hello', version: '7' },
      }),
    ),
  ).toBe('pin_not_found')
})

test('a run of all of them is a job that names what went, goes on where it was, and leaves the audit log to its edition', async () => {
  await shelf()
  await call('PATCH /distributions/{codename}/retention', { params, body: { keep: 3 } })
  await call('PATCH /distributions/{codename}/retention', { params: { codename: 'noble' }, body: { keep: 1 } })
  const ran = await call('POST /settings/run-retention')
  expect(ran).toMatchObject({
    status: 'done',
    message: '2 versions were removed by the rules of 2 distributions. No file of the audit log is older than 90 days.',
    distributions: [
      { codename: 'jammy', removed: [{ version: '1.9~rc1' }, { version: '1.2' }] },
      { codename: 'noble', removed: [] },
    ],
    removed: 2,
    audit: { days: 90, files: 0, lines: 0, bytes: 0, first_day: null, last_day: null },
  })
  const said = await stock.db.query<{ message: string }>(
    `select message from job_event join job on job.id = job_id where kind = 'retention' and target = '' order by n`,
  )
  expect(said.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^Asked for by /),
    'hello 1.9~rc1 (jammy, amd64) was removed.',
    'hello 1.2 (jammy, amd64) was removed.',
    'Done.',
  ])
  cutsAudit = false
  expect(await call('POST /settings/run-retention')).toMatchObject({
    message:
      '0 versions were removed by the rules of 2 distributions. The audit log is kept: its retention is part of the enterprise edition.',
    audit: null,
  })
  cutsAudit = true
  // a run that was cut short after the first distribution
  const [first] = ran.distributions
  const { run } = versionsWork({ db: stock.db, catalog: stock.catalog, repositories })
  expect(await run(runAlone({ cursor: first === undefined ? [] : [first] }), {})).toEqual([
    first,
    expect.objectContaining({ codename: 'noble', removed: [] }),
  ])
})
