import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ALL_SEEING } from '../../core/viewer.ts'
import { codeOf, createCaller } from '../../../test/support/routes.ts'
import { createStock, type Stock } from '../../../test/support/test-catalog.ts'
import type { Codename } from '../../core/identity.ts'
import { getFormat } from '../../formats/index.ts'
import { retention } from './contract.ts'
import { retentionHandlers } from './handlers.ts'
import type { RelationOp } from '../../core/relation.ts'
import type { WorkKind } from '../../core/work.ts'
import type { Worker } from '../../work/worker.ts'
import { runAlone, startWorker } from '../../../test/support/jobs.ts'
import { clean } from './retention.ts'
import { auditWork, importedWork, versionsWork } from './work.ts'
import { repositories } from '../../../test/support/repositories.ts'

let stock: Stock
let worker: Worker
let cutsAudit = true
const imported = { formatOf: getFormat, importDays: () => 30 }
beforeAll(async () => {
  stock = await createStock()
  const { db, catalog, audit } = stock
  const kinds = [
    versionsWork({ db, catalog, repositories }),
    importedWork({ ...imported, db, catalog, clock: stock.clock }),
    auditWork({ audit, days: () => 90 }),
  ]
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
  ...imported,
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
    message:
      '2 versions were removed by the rules of 2 distributions. 0 imported versions were removed: a newer one took their place more than 30 days ago. No file of the audit log is older than 90 days.',
    imports: { days: 30, dry_run: false, removed_count: 0, removed: [], kept_count: 0, kept: [], bytes: 0 },
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
      '0 versions were removed by the rules of 2 distributions. The audit log and imported versions are kept: their retention is part of the enterprise edition.',
    imports: null,
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

describe('imported versions', () => {
  const from = 'source:bookworm' as const
  const old = async (name: string, more: Parameters<Stock['put']>[0] = {}): Promise<void> => {
    await stock.put({ name, version: '1.0', from, ...more })
    await stock.put({ name, version: '2.0', from })
  }
  const needs = (name: string, op: RelationOp, version: string) => ({ depends: [[{ name, op, version }]] })
  const clean = (dryRun = false) => call('POST /settings/run-retention', { query: dryRun ? { dry_run: true } : {} })
  beforeEach(() => stock.clock.set('2026-03-01T10:00:00Z'))

  test('go when a newer one has been published beside them for long enough, and are in the audit log', async () => {
    await old('zlib')
    await stock.put({ name: 'own', version: '1.0' })
    await stock.put({ name: 'own', version: '2.0', from })
    await stock.put({ name: 'held', version: '1.0', from })
    await stock.put({ name: 'held', version: '2.0', from, state: 'pending_review' })
    await stock.put({ name: 'fresh', version: '1.0', from })
    stock.clock.set('2026-03-20T10:00:00Z')
    await stock.put({ name: 'fresh', version: '2.0', from })
    stock.clock.set('2026-04-05T10:00:00Z')
    const trial = await clean(true)
    expect(trial).toMatchObject({
      imports: {
        dry_run: true,
        removed: [{ codename: 'jammy', name: 'zlib', version: '1.0', arch: 'amd64', newer: '2.0' }],
      },
      audit: null,
    })
    expect(await versions('zlib')).toEqual(['1.0', '2.0'])
    const { imports } = await clean()
    expect(imports).toMatchObject({ removed: trial.imports?.removed, removed_count: 1, kept: [] })
    expect(await versions('zlib')).toEqual(['2.0'])
    for (const name of ['own', 'held', 'fresh']) expect(await versions(name), name).toEqual(['1.0', '2.0'])
    const { items } = await stock.audit.search(ALL_SEEING, { page: 1, perPage: 5, action: 'DELETE' })
    expect(items.map(({ detail }) => detail)).toEqual([
      expect.stringContaining('It was imported, and 2.0 took its place more than 30 days ago.'),
    ])
  })

  test('stay while pinned, tagged, or all that a published package can be installed with', async () => {
    for (const name of ['pinned', 'tagged', 'exact', 'below', 'either', 'loose']) await old(name)
    await call('POST /distributions/{codename}/pins', { params, body: { name: 'pinned', version: '1.0' } })
    await stock.catalog.change(
      {
        kind: 'tag',
        of: { format: 'deb', codename: 'jammy' as Codename, name: 'tagged' },
        tag: 'stable',
        version: '1.0',
      },
      { name: 'ada' },
    )
    await stock.put({ name: 'app', ...needs('exact', '=', '1.0') })
    await stock.put({ name: 'tool', ...needs('below', '<', '2.0') })
    await stock.put({ name: 'loosely', ...needs('loose', '>=', '1.0') })
    await stock.put({
      name: 'or',
      depends: [[{ name: 'either', op: '=', version: '1.0' }, { name: 'own-one' }]],
    })
    await stock.put({ name: 'own-one' })
    stock.clock.set('2026-05-01T10:00:00Z')
    const { imports } = await clean()
    expect(imports?.removed.map(({ name }) => name)).toEqual(['either', 'loose'])
    expect(imports?.kept.map(({ name, why }) => `${name}: ${why}`)).toEqual([
      'below: tool 1.0 needs it.',
      'exact: app 1.0 needs it.',
      'pinned: It is pinned.',
      'tagged: A tag names it.',
    ])
  })

  test('that need one another go together, and stay together where one must', async () => {
    await old('lib')
    await old('lib-dev', needs('lib', '=', '1.0'))
    await old('core')
    await old('core-dev', needs('core', '=', '1.0'))
    await stock.put({ name: 'builder', ...needs('core-dev', '=', '1.0') })
    stock.clock.set('2026-05-01T10:00:00Z')
    const { imports } = await clean()
    expect(imports?.removed.map(({ name }) => name)).toEqual(['lib', 'lib-dev'])
    expect(imports?.kept.map(({ name }) => name)).toEqual(['core', 'core-dev'])
  })

  test('of a distribution that is rolled back all stay', async () => {
    await old('zlib')
    await stock.db
      .query(`insert into distribution (codename, frozen_to, frozen_head, frozen_seq) values ('jammy', 1, 2, 3)
      on conflict (codename) do update set frozen_to = 1`)
    stock.clock.set('2026-05-01T10:00:00Z')
    expect((await clean()).imports).toMatchObject({ removed: [], kept: [] })
    expect(await versions('zlib')).toEqual(['1.0', '2.0'])
  })
})
