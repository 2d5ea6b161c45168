import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { addSource, startSync } from '../../../test/support/catalogue.ts'
import { aptTree, fetchFrom, rpmTree, type IndexTree } from '../../../test/support/index-trees.ts'
import { startWorker } from '../../../test/support/jobs.ts'
import { createTestDb } from '../../../test/support/postgres.ts'
import { codeOf, createCaller } from '../../../test/support/routes.ts'
import { Line, type StreamEvent } from '../../core/contract.ts'
import type { Codename } from '../../core/identity.ts'
import type { WorkKind } from '../../core/work.ts'
import type { Db } from '../../db/db.ts'
import { FORMATS } from '../../formats/index.ts'
import { createSyncMany } from '../../imports/catalogue/sync-many.ts'
import { createSourceStore } from '../../imports/sources/store.ts'
import type { Worker } from '../../work/worker.ts'
import { catalogue } from './contract.ts'
import { catalogueHandlers, type CatalogueRouteDeps } from './handlers.ts'
import { SYNC, syncWork, type SyncReport } from './work.ts'

let db: Db
let close: () => Promise<void>
let syncing: Awaited<ReturnType<typeof startSync>>
let worker: Worker
let deps: CatalogueRouteDeps
const trees: Record<string, IndexTree | 'waits'> = {}
const audited: unknown[] = []
let switches: Record<string, boolean> = {}
const held = Promise.withResolvers<undefined>()

beforeAll(async () => {
  ;({ db, close } = await createTestDb())
  syncing = await startSync(db, source => {
    const tree = trees[source.key] ?? {}
    return tree === 'waits' ? () => held.promise : fetchFrom(() => tree)
  })
})
afterAll(async () => {
  await syncing.close()
  await close()
})
beforeEach(async () => {
  await db.query('truncate import_source, import_package, import_capability, import_name, job cascade')
  for (const key of Object.keys(trees)) Reflect.deleteProperty(trees, key)
  audited.length = 0
  switches = {}
  const clock = { now: () => new Date() }
  const store = createSourceStore({ db, clock, switches: () => switches })
  const common = {
    db,
    formats: FORMATS,
    sources: async () => (await store.list()).map(({ source }) => source),
    audit: { record: async (fact: unknown) => void audited.push(fact) },
  }
  worker = await startWorker(db, [syncWork({ ...common, syncMany: createSyncMany(syncing) }) as WorkKind])
  deps = {
    ...common,
    worker,
    clock,
    schedule: () => ({ enabled: true, hour: 3, minute: 5, timezone: 'UTC', nextRun: null }),
  }
})
afterEach(() => worker.stop())
const { call } = createCaller(catalogue, catalogueHandlers, () => deps)
const NEVER = new AbortController().signal

const apt = (...names: string[]): Promise<IndexTree> =>
  aptTree({ components: { main: names.map(name => ({ name, fields: { Depends: 'libc6 (>= 2.36), a | b' } })) } })

/** Waits for the end of a job, and gives its result. */
async function resultOf(id: string): Promise<SyncReport> {
  const end = await worker.ended(id, NEVER)
  expect(end.state).toBe('done')
  return end.result as SyncReport
}
async function synchronise(target?: string): Promise<SyncReport> {
  const begun =
    target === undefined
      ? await call('POST /import/sync/start')
      : await call('POST /import/sync/start/{target}', { params: { target } })
  return resultOf(begun.job_id)
}
async function collect(events: AsyncIterable<StreamEvent>): Promise<unknown[]> {
  const all = []
  for await (const { data } of events) all.push(data instanceof Line ? data.text : data)
  return all
}

describe('a synchronisation', () => {
  test('of all sources goes on where one fails, and says of each how it ended', async () => {
    await addSource(db, 'good')
    await addSource(db, 'bad')
    trees.good = await apt('hello')
    const begun = await call('POST /import/sync/start')
    expect(begun).toEqual({
      job_id: expect.stringMatching(/^[0-9a-f]{8}$/) as string,
      label: 'Synchronise every import source',
      status: 'running',
      total: 2,
      already_running: false,
    })
    const { sources, ...rest } = await resultOf(begun.job_id)
    expect(rest).toEqual({ target: 'all', failed: 1, added: 1, removed: 0, bytes: expect.any(Number) as number })
    expect(new Map(sources.map(one => [one.source_id, one.state]))).toEqual(
      new Map([
        ['good', 'ok'],
        ['bad', 'unreachable'],
      ]),
    )
    const [job] = (await call('GET /import/sync/jobs')).jobs
    expect(job).toMatchObject({ status: 'done', total: 2, done_count: 2, error_count: 1, cancelling: false })
    expect(await call('GET /import/sync/jobs/active')).toEqual({ jobs: [] })
    expect(await call('GET /import/sync/jobs/{id}', { params: { id: begun.job_id } })).toEqual(job)
    expect(audited).toEqual([
      {
        action: 'SYNC',
        result: 'WARNING',
        user: 'mae',
        facts: { kind: 'sources.synchronised', target: 'all', sources: 2, failed: ['bad'], added: 1, removed: 0 },
      },
    ])
  })

  test('is of a format, of security updates, or of one source, also one that is switched off', async () => {
    await addSource(db, 'one')
    await addSource(db, 'safe', { security: true })
    await addSource(db, 'packed', { format: 'rpm' })
    await addSource(db, 'off', { enabled: false })
    await addSource(db, 'old', { retired: true })
    Object.assign(trees, { one: await apt('a'), safe: await apt('b'), off: await apt('c'), old: await apt('d') })
    trees.packed = rpmTree([{ name: 'e' }])
    switches = { one: false }
    const keys = async (target?: string): Promise<string[]> =>
      (await synchronise(target)).sources.map(one => one.source_id).sort()
    expect(await keys()).toEqual(['packed', 'safe'])
    expect(await keys('apt')).toEqual(['safe'])
    expect(await keys('rpm')).toEqual(['packed'])
    expect(await keys('security')).toEqual(['safe'])
    for (const key of ['one', 'off', 'old']) expect(await keys(key)).toEqual([key])
    expect(await codeOf(call('POST /import/sync/start/{target}', { params: { target: 'sid' } }))).toBe(
      'bad_sync_target',
    )
    expect(await keys('apk')).toEqual([])
    const { id } = (await db.first<{ id: string }>(`select id from job where target = 'security'`)) ?? { id: '' }
    const stream = await call('GET /import/sync/jobs/{id}/stream', { params: { id } })
    expect(stream).toMatchObject({ headers: { 'X-Job-Id': id, 'X-Job-Total': '1' } })
    const { id: none } = (await db.first<{ id: string }>(`select id from job where target = 'apk'`)) ?? { id: '' }
    expect(await collect(await call('GET /import/sync/jobs/{id}/stream', { params: { id: none } }))).toContain(
      'warning|No source of these is switched on, so nothing was synchronised.',
    )
  })

  test('that is asked for again while it runs is the same one; cancelled, it ends, and what was whole stays', async () => {
    await addSource(db, 'slow')
    await addSource(db, 'good')
    trees.good = await apt('hello')
    trees.slow = 'waits'
    const first = await call('POST /import/sync/start')
    const id = first.job_id
    expect(await call('POST /import/sync/start')).toMatchObject({ job_id: id, already_running: true })
    expect((await call('GET /import/sync/jobs/active')).jobs.map(job => job.job_id)).toEqual([id])
    const whole = Promise.withResolvers<undefined>()
    worker.onMoved(() => {
      void db.first<{ done: number }>('select done from job where id = $1', [id]).then(row => {
        if (row?.done === 1) whole.resolve(undefined)
      })
    })
    await whole.promise
    expect(await call('POST /import/sync/jobs/{id}/cancel', { params: { id } })).toMatchObject({ cancelled: true })
    held.resolve(undefined)
    expect(await worker.ended(id, NEVER)).toMatchObject({ state: 'cancelled' })
    expect(await call('POST /import/sync/jobs/{id}/cancel', { params: { id } })).toMatchObject({
      cancelled: false,
      status: 'cancelled',
    })
    expect(audited).toMatchObject([{ action: 'JOB_CANCEL' }])
    expect(await db.query('select name from import_package')).toEqual([{ name: 'hello' }])
  })

  test('goes on after a restart with the sources that had not ended', async () => {
    await addSource(db, 'done')
    await addSource(db, 'rest')
    trees.rest = await apt('hello')
    await worker.stop()
    const { id } = await worker.ask({ kind: SYNC, target: 'all', request: { target: 'all' }, by: 'ada' })
    const before = {
      source_id: 'done',
      state: 'ok',
      said: null,
      changed: false,
      packages: 7,
      added: 0,
      removed: 0,
      bytes: 1,
    }
    await db.query('update job set cursor = $1', [JSON.stringify({ ended: [before] })])
    await worker.start()
    const { sources } = await resultOf(id)
    expect(sources).toEqual([before, expect.objectContaining({ source_id: 'rest', state: 'ok' })])
  })

  test('of many sources that say the same of their dates suspects the clock', async () => {
    for (const key of ['one', 'two', 'three']) {
      await addSource(db, key)
      trees[key] = await aptTree({ date: new Date('2999-01-01'), components: { main: [{ name: 'hello' }] } })
    }
    await addSource(db, 'well')
    trees.well = await apt('world')
    for (const key of ['away', 'far']) await addSource(db, key) // they give no answer
    const report = await synchronise()
    const states = async (): Promise<string[]> =>
      (await call('GET /import/sync-status')).sources.map(({ source_id: key, state }) => `${key} ${state}`)
    const bad = ['one clock_suspect', 'three clock_suspect', 'two clock_suspect']
    expect(await states()).toEqual(['away unreachable', 'far unreachable', ...bad, 'well ok'])
    expect(report.sources.filter(({ state }) => state === 'clock_suspect')).toHaveLength(3)
    const [, , first] = (await call('GET /import/sync-status')).sources
    expect(first).toMatchObject({ status: 'error', error: expect.stringContaining('Check the clock of this machine') })
    // the clock is right again
    for (const key of ['one', 'two', 'three']) trees[key] = await apt('hello')
    await synchronise()
    expect((await states()).filter(state => state.endsWith(' ok'))).toHaveLength(4)
  })

  test('streams what it says, as lines, or of one source as counts', async () => {
    const source = await addSource(db, 'good')
    trees.good = await apt('hello', 'world')
    expect(await collect(await call('POST /import/sync'))).toEqual([
      'info|Asked for by mae.',
      expect.stringMatching(/^info\|The source good: 2 packages, 2 new, 0 gone, 0\.00 MB\.$/),
      'info|Done.',
      'success|It is done.',
    ])
    expect((await collect(await call('POST /import/sync-security'))).at(-1)).toBe('success|It is done.')
    for (const id of ['good', String(source.id)]) {
      const events = await collect(await call('POST /import/sources/{id}/sync', { params: { id } }))
      expect(events).toContainEqual({
        status: 'ok',
        count: 2,
        message: expect.stringContaining('2 packages, unchanged') as string,
      })
    }
    expect(await call('POST /import/sync/{source_id}', { params: { source_id: 'good' } })).toMatchObject({
      source_id: 'good',
      status: 'running',
    })
    expect(await codeOf(call('POST /import/sync/{source_id}', { params: { source_id: 'sid' } }))).toBe(
      'source_not_found',
    )
  })
})

describe('a search', () => {
  test('before the first synchronisation says what to do, of one source too', async () => {
    await addSource(db, 'one')
    await addSource(db, 'two')
    expect(await codeOf(call('GET /import/search', { query: { q: 'hello' } }))).toBe('catalogue_empty')
    trees.one = await apt('hello')
    await synchronise('one')
    expect(await call('GET /import/search', { query: { q: 'nothing' } })).toEqual({
      query: 'nothing',
      count: 0,
      results: [],
    })
    expect(await codeOf(call('GET /import/search', { query: { q: 'hello', source_id: 'two' } }))).toBe(
      'source_not_synchronised',
    )
    expect(await codeOf(call('GET /import/search', { query: { q: 'hello', source_id: 'sid' } }))).toBe(
      'source_not_found',
    )
  })

  test('has one result for a name, with the newest version and all others', async () => {
    await addSource(db, 'one')
    await addSource(db, 'two', { security: true, suite: 'tested-security' })
    trees.one = await apt('hello')
    trees.two = await aptTree({
      suite: 'tested-security',
      components: {
        main: [
          { name: 'hello', version: '2.0', fields: { 'Homepage': 'https://hello.example/', 'Installed-Size': '10' } },
        ],
      },
    })
    await synchronise()
    const found = await call('GET /import/search', { query: { q: 'hello' } })
    const version = (key: string, number: string, distro: string) => ({
      version: number,
      arch: 'amd64',
      source_id: key,
      distro,
      component: 'main',
      security: key === 'two',
      size: 1000,
      module: null,
      hidden: false,
    })
    expect(found).toEqual({
      query: 'hello',
      count: 1,
      results: [
        {
          name: 'hello',
          version: '2.0',
          arch: 'amd64',
          format: 'deb',
          section: '',
          group_name: '',
          summary: 'the hello of the tests',
          description: 'the hello of the tests',
          depends: '',
          requires: '',
          provides: '',
          size: 1000,
          installed_size: 10_240,
          sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
          filename: 'pool/main/hello_2.0_amd64.deb',
          rpm_url: 'http://mirror.example/pool/main/hello_2.0_amd64.deb',
          url: 'https://hello.example/',
          license: '',
          maintainer: 'Jo <jo@example.test>',
          distro: 'tested-security',
          source_id: 'two',
          synced_at: expect.any(String) as string,
          security: true,
          versions: [version('two', '2.0', 'tested-security'), version('one', '1.0', 'tested')],
          version_count: 2,
          sources: ['two', 'one'],
        },
      ],
    })
    const depends = async (query: Record<string, unknown>): Promise<string[]> =>
      (await call('GET /import/search', { query: { q: 'hello', ...query } })).results.map(one => one.depends)
    expect(await depends({ source_id: 'one' })).toEqual(['libc6 (>= 2.36), a | b'])
    expect(await depends({ distro: 'tested-s' })).toEqual([''])
    expect(await depends({ distro: 'jammy' })).toEqual([])
    expect(await depends({ format: 'rpm' })).toEqual([])
  })

  test('does not look into sources of distributions that the caller does not see', async () => {
    await addSource(db, 'open')
    await addSource(db, 'secret', { codenames: ['noble' as Codename] })
    trees.open = await apt('hello')
    trees.secret = await apt('hello-secret')
    await synchronise()
    const viewer = { hidden: ['noble'] }
    const names = (await call('GET /import/search', { query: { q: 'hello' }, viewer })).results.map(({ name }) => name)
    expect(names).toEqual(['hello'])
    const seen = (await call('GET /import/sync-status', { viewer })).sources.map(one => one.source_id)
    expect(seen).toEqual(['open'])
    expect(await call('GET /import/sync/jobs', { viewer })).toEqual({ jobs: [] })
    expect(await codeOf(call('GET /import/search', { query: { q: 'x', source_id: 'secret' }, viewer }))).toBe(
      'source_not_found',
    )
  })
})

test('the status shows every source, also one that was never synchronised', async () => {
  await addSource(db, 'one', { security: true })
  await addSource(db, 'two', { format: 'rpm', enabled: false })
  trees.one = await apt('hello')
  await synchronise('one')
  const { sources } = await call('GET /import/sync-status')
  expect(sources).toMatchObject([
    {
      source_id: 'one',
      label: 'The source one',
      format: 'apt',
      distro: 'tested',
      component: 'main',
      security: true,
      enabled: true,
      pkg_count: 1,
      status: 'ok',
      state: 'ok',
      error: null,
      added: 1,
      mirror: 'http://mirror.example/',
    },
    { source_id: 'two', format: 'rpm', enabled: false, last_sync: null, pkg_count: 0, status: 'never', state: 'never' },
  ])
  // as after a restore, which brings the sources back and not the catalogue
  await db.query('delete from import_held')
  expect((await call('GET /import/sync-status')).sources[0]).toMatchObject({ status: 'never', last_sync: null })
  expect(await call('GET /import/sync-schedule')).toEqual({
    schedule: 'Every day at 03:05 (UTC)',
    cron: '0 5 3 * * *',
    enabled: true,
    timezone: 'UTC',
    next_run: null,
    security_sources: [{ id: 'one', label: 'The source one' }],
  })
})
