import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openImporting, type Importing } from '../../../test/support/importing.ts'
import { startWorker } from '../../../test/support/jobs.ts'
import { buildDeb, type DebSpec } from '../../../test/support/packages.ts'
import { repositories } from '../../../test/support/repositories.ts'
import { formOf, openUploads } from '../../../test/support/uploads.ts'
import { AppError } from '../../core/errors.ts'
import type { WorkKind } from '../../core/work.ts'
import { getFormat } from '../../formats/index.ts'
import type { Notice } from '../../outbound/notice.ts'
import type { Worker } from '../../work/worker.ts'
import { freeze } from '../mirror/frozen.ts'
import { saveRule, WHOLE } from '../mirror/rules.ts'
import { IMPORT_PACKAGES } from '../run/import-work.ts'
import type { SyncState } from '../source.ts'
import { summaryOf, type Entry, type ReportPart, type SecurityReport } from './report.ts'
import { SECURITY_UPDATES } from './run.ts'
import { securityWork } from './work.ts'

const it = openUploads()
const never = new AbortController().signal

let from: Importing
let worker: Worker
let now: Date
let limit: number
let ownBuilds: boolean
let synchronised: SyncState
let audited: unknown[]
let noticed: Notice[]

async function begin(): Promise<void> {
  worker = await startWorker(it.db, [from.work])
  const deps = {
    ...{ db: it.db, worker, repositories, planner: from.planner, formatOf: getFormat },
    clock: { now: () => now },
    bounds: () => ({ max_packages_per_run: limit, max_runtime_minutes: 60, min_free_disk_gb: 0 }),
    freeBytes: async () => 2 ** 40,
    listSources: from.listSources,
    ownBuilds: () => ownBuilds,
    held: async () => new Set<number>(),
    audit: { owe: async (_: unknown, fact: unknown) => void audited.push(fact) },
    notices: { owe: async (_: unknown, notice: Notice) => void noticed.push(notice) },
  }
  const said = synchronised === 'ok' ? null : 'It does not answer.'
  const result = { state: synchronised, said, changed: false, packages: 0, added: 0, removed: 0, bytes: 0 }
  worker.handle([
    securityWork({
      ...deps,
      async syncMany(sources, { ended }) {
        for (const source of sources) await ended(source, { ...result, source_id: source.key, state: synchronised })
      },
    }) as WorkKind,
  ])
}

beforeEach(async () => {
  from = await openImporting(it)
  now = new Date('2026-03-01T03:00:00Z')
  limit = 1_000
  ownBuilds = false
  synchronised = 'ok'
  audited = []
  noticed = []
  await begin()
})
afterEach(async () => {
  await worker.stop()
  await from.close()
})

const pkg = (name: string, version = '1.0', fields: Record<string, string> = {}): DebSpec => ({ name, version, fields })
const main = (packages: readonly DebSpec[]) => from.offer('main', packages)
const secure = (packages: readonly DebSpec[]) => from.offer('secure', packages, { security: true })

async function importNamed(...names: string[]): Promise<void> {
  const request = { packages: names.map(name => ({ name })), codename: 'bookworm', arch: 'amd64', group: 'first' }
  const { id } = await worker.ask({
    ...{ kind: IMPORT_PACKAGES, target: 'first', by: 'ada' },
    request: { ...request, recommends: false },
  })
  expect(await worker.ended(id, never)).toMatchObject({ state: 'done' })
}
const start = async (): Promise<string> =>
  (await worker.ask({ kind: SECURITY_UPDATES, target: 'security', request: {}, codenames: 'all', by: 'mae' })).id
async function run(): Promise<SecurityReport> {
  const { state, result, error } = await worker.ended(await start(), never)
  if (error !== undefined) throw new AppError(error.code, error.facts)
  expect(state).toBe('done')
  return result as SecurityReport
}
const partOf = (report: SecurityReport): ReportPart => report.parts[0] as ReportPart
const named = (entries: readonly Entry[]): string[] =>
  entries.map(({ name, version, standing }) => `${name} ${version} ${standing}`)
const here = async (): Promise<string[]> =>
  (
    await it.db.query<{ name: string; version: string }>(
      `select name, version from package where codename = 'bookworm' and state = 'published' order by name, sort_key`,
    )
  ).map(({ name, version }) => `${name} ${version}`)

describe('a run', () => {
  test('brings the newer version of what is published with what it needs, and nothing else', async () => {
    await main([pkg('web'), pkg('idle')])
    await importNamed('web')
    await secure([pkg('web', '1.0+deb12u1', { Depends: 'libweb' }), pkg('libweb', '2.0'), pkg('idle', '1.1')])
    const report = await run()
    expect(await here()).toEqual(['libweb 2.0', 'web 1.0', 'web 1.0+deb12u1'])
    expect(report).toMatchObject({ by: 'mae', end: 'complete', result: 'success', error: null })
    expect(report.synchronised).toMatchObject([{ source_id: 'secure', state: 'ok', said: null }])
    expect(partOf(report)).toMatchObject({ codename: 'bookworm', frozen: false, held: [], missing: [] })
    expect(partOf(report).came).toEqual([
      {
        ...{ name: 'libweb', version: '2.0', arch: 'amd64', here: null, source: 'libweb', source_id: 'secure' },
        ...{ standing: 'published', why: null, is_dependency: true },
      },
      {
        ...{ name: 'web', version: '1.0+deb12u1', arch: 'amd64', here: '1.0', source: 'web', source_id: 'secure' },
        ...{ standing: 'published', why: null, is_dependency: false },
      },
    ])
    expect(summaryOf(report).message).toBe('Security updates for bookworm: 2 published, 0 held, 0 missing.')
    expect(audited).toEqual([
      {
        action: 'SECURITY_SYNC',
        result: 'SUCCESS',
        user: 'mae',
        facts: {
          ...{ kind: 'security.updated', distributions: ['bookworm'] },
          ...{ added: 2, pending: 0, blocked: 0, failed: 0 },
        },
      },
    ])
    expect(noticed).toMatchObject([
      {
        ...{ event: 'sync.finished', source: 'security updates', result: 'success', packages: 2 },
        updates: { came: [{ name: 'libweb' }, { name: 'web', distribution: 'bookworm' }], held: [], missing: [] },
      },
    ])
    expect(partOf(await run())).toMatchObject({ came_count: 0, held_count: 0, missing_count: 0 })
    // two lanes fetch at the same time
    expect(from.fetched.toSorted()).toEqual(['libweb', 'web', 'web'])
  })

  test('brings the binaries of one source together, and leaves them together to the next run', async () => {
    await main([pkg('a-tool'), pkg('lib', '1.0', { Source: 'one' }), pkg('tool', '1.0', { Source: 'one' })])
    await importNamed('a-tool', 'lib', 'tool')
    const of = { Source: 'one' }
    await secure([pkg('a-tool', '2.0'), pkg('lib', '2.0', of), pkg('tool', '2.0', of)])
    limit = 2
    const report = await run()
    expect(await here()).toEqual(['a-tool 1.0', 'a-tool 2.0', 'lib 1.0', 'tool 1.0'])
    expect(report).toMatchObject({ end: 'packages', result: 'partial' })
    expect(named(partOf(report).missing)).toEqual(['lib 2.0 wanted', 'tool 2.0 wanted'])
    expect(await run()).toMatchObject({ end: 'complete', result: 'success' })
    expect(await here()).toContain('tool 2.0')
    expect(await it.db.query(`select count(distinct job_id)::int as n from import_item where version = '2.0'`)).toEqual(
      [{ n: 2 }],
    )
  })

  test('holds what needs something that nothing has, says so each night, and sends that once', async () => {
    await main([pkg('web')])
    await importNamed('web')
    await secure([pkg('web', '2.0', { Depends: 'nowhere' })])
    const report = await run()
    expect(await here()).toEqual(['web 1.0'])
    expect(report.result).toBe('partial')
    expect(partOf(report).held).toMatchObject([{ name: 'web', here: '1.0', standing: 'pending_review' }])
    expect(partOf(report).held[0]?.why).toContain('nowhere')
    expect(audited).toMatchObject([{ result: 'PARTIAL', facts: { pending: 1 } }])
    const again = await run()
    expect(partOf(again)).toMatchObject({ held_count: 1, came_count: 0 })
    expect(noticed).toMatchObject([{ packages: 1 }, { packages: 0 }])
    expect(from.fetched).toEqual(['web', 'web'])
  })

  test('goes on behind a file that is damaged or gone, and tries it again the next night', async () => {
    await main([pkg('aa'), pkg('bb'), pkg('cc')])
    await importNamed('aa', 'bb', 'cc')
    await secure([pkg('aa', '2.0'), pkg('bb', '2.0'), pkg('cc', '2.0')])
    from.onFetch = name => {
      if (name === 'bb') throw new AppError('outbound_failed', { host: 'upstream', why: 'it was cut' })
    }
    const report = await run()
    expect(named(partOf(report).came)).toEqual(['aa 2.0 published', 'cc 2.0 published'])
    expect(named(partOf(report).missing)).toEqual(['bb 2.0 failed'])
    expect(partOf(report).missing[0]?.why).toContain('it was cut')
    from.onFetch = () => undefined
    expect(named(partOf(await run()).came)).toEqual(['bb 2.0 published'])
  })

  test('uses the older list where a source does not answer, and is an error where none does', async () => {
    await main([pkg('web')])
    await importNamed('web')
    await secure([pkg('web', '2.0')])
    await worker.stop()
    synchronised = 'unreachable'
    await begin()
    expect(await run()).toMatchObject({
      ...{ end: 'complete', result: 'error' },
      synchronised: [{ source_id: 'secure', state: 'unreachable', said: 'It does not answer.' }],
    })
    expect(await here()).toEqual(['web 1.0', 'web 2.0'])
    expect(audited).toMatchObject([{ result: 'ERROR' }])
    expect(noticed).toMatchObject([{ result: 'failure' }])
  })

  test('goes on after a stop where it was, with the same imports, and reports once', async () => {
    const names = ['aa', 'bb', 'cc', 'dd']
    await main(names.map(name => pkg(name)))
    await importNamed(...names)
    await secure(names.map(name => pkg(name, '2.0')))
    let stopped: Promise<void> | undefined
    from.onFetch = name => {
      if (name === 'cc' && stopped === undefined) stopped = worker.stop()
    }
    const id = await start()
    await expect.poll(() => stopped !== undefined).toBe(true)
    await stopped
    from.onFetch = () => undefined
    await begin()
    const { state, result } = await worker.ended(id, never)
    expect(state).toBe('done')
    expect(named(partOf(result as SecurityReport).came)).toHaveLength(4)
    expect(await it.db.query(`select count(*)::int as n from job where kind = 'import'`)).toEqual([{ n: 2 }])
    expect(audited).toHaveLength(1)
  })

  test('that is cancelled ends its import, and is on record as cancelled', async () => {
    await main([pkg('aa'), pkg('bb')])
    await importNamed('aa', 'bb')
    await secure([pkg('aa', '2.0'), pkg('bb', '2.0')])
    let id = ''
    from.onFetch = async name => {
      if (name !== 'bb') return
      await expect.poll(here).toContain('aa 2.0')
      await worker.cancel(id, 'ada')
      await expect
        .poll(async () => it.db.query(`select 1 as one from job where kind = 'import' and cancelled_by = 'ada'`))
        .toHaveLength(1)
    }
    id = await start()
    expect(await worker.ended(id, never)).toMatchObject({ state: 'cancelled' })
    expect(await it.db.query('select job_id, report->>\'end\' as "end" from security_report')).toEqual([
      { job_id: id, end: 'cancelled' },
    ])
    expect(audited).toMatchObject([{ result: 'PARTIAL' }])
  })

  test('of what is not covered says so', async () => {
    await main([pkg('web')])
    expect(await run()).toMatchObject({ parts: [], result: 'success' })
  })
})

describe('what is left out, with the reason', () => {
  const upload = async (spec: DebSpec): Promise<void> => {
    const { body } = await it.send(formOf(await buildDeb(spec), { distribution: 'bookworm' }))
    expect(body).toMatchObject({ status: 'published' })
  }

  test('an own build, also as a need of an update; with the setting it comes', async () => {
    await main([pkg('web')])
    await importNamed('web')
    await upload(pkg('lib', '1.0+corp1'))
    await secure([pkg('web', '2.0', { Depends: 'lib (>= 2.0)' }), pkg('lib', '2.0')])
    const report = await run()
    expect(await here()).toEqual(['lib 1.0+corp1', 'web 1.0'])
    expect(named(partOf(report).missing)).toEqual(['lib 2.0 own_build', 'web 2.0 failed'])
    expect(partOf(report).missing.map(({ why }) => why)).toEqual([
      expect.stringContaining('security_updates.own_builds'),
      'It needs lib 2.0, which would take the place of 1.0+corp1, an own build.',
    ])
    ownBuilds = true
    expect(named(partOf(await run()).came)).toEqual(['lib 2.0 published', 'web 2.0 published'])
  })

  test('not the file of a source that somebody uploaded: that is updated', async () => {
    await main([pkg('web')])
    await upload(pkg('web'))
    await secure([pkg('web', '2.0')])
    expect(named(partOf(await run()).came)).toEqual(['web 2.0 published'])
  })

  test('what a mirror rule leaves out, and a frozen distribution', async () => {
    await main([pkg('web'), pkg('game')])
    await importNamed('web', 'game')
    const { id } = await secure([pkg('web', '2.0'), pkg('game', '2.0')])
    await it.db.tx(tx => saveRule(tx, id, { ...WHOLE, names: ['ngin*', '!game*'] }, 'mae'))
    await it.db.tx(tx => freeze(tx, { codename: 'bookworm', reason: '', by: 'mae' }))
    const report = await run()
    expect(report.result).toBe('success')
    expect(partOf(report).frozen).toBe(true)
    expect(named(partOf(report).missing)).toEqual(['game 2.0 excluded', 'web 2.0 frozen'])
    expect(await here()).toEqual(['game 1.0', 'web 1.0'])
  })

  test('what came and was removed here, and not an older version than the newest here', async () => {
    await main([pkg('web'), pkg('new', '3.0')])
    await importNamed('web', 'new')
    await secure([pkg('web', '2.0'), pkg('new', '2.0')])
    await run()
    await it.db.query(`delete from package where name = 'web' and version = '2.0'`)
    const report = await run()
    expect(named(partOf(report).missing)).toEqual(['web 2.0 removed'])
    expect(await here()).toEqual(['new 3.0', 'web 1.0'])
  })
})
