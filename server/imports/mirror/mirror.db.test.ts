import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openImporting, type Importing } from '../../../test/support/importing.ts'
import { startWorker } from '../../../test/support/jobs.ts'
import type { DebSpec } from '../../../test/support/packages.ts'
import { repositories } from '../../../test/support/repositories.ts'
import { openUploads } from '../../../test/support/uploads.ts'
import { AppError } from '../../core/errors.ts'
import type { WorkKind } from '../../core/work.ts'
import { getFormat } from '../../formats/index.ts'
import type { Notice } from '../../outbound/notice.ts'
import type { Worker } from '../../work/worker.ts'
import type { SyncState } from '../source.ts'
import { freeze, thaw } from './frozen.ts'
import type { MirrorReport } from './report.ts'
import { saveRule, WHOLE, type MirrorRule } from './rules.ts'
import type { MirrorRequest } from './run.ts'
import { MIRROR, mirrorWork } from './work.ts'

const it = openUploads()
const never = new AbortController().signal

let from: Importing
let worker: Worker
let now: Date
let bounds: { max_packages_per_run: number; max_runtime_minutes: number; min_free_disk_gb: number }
let free: number
let synchronised: SyncState
let audited: unknown[]
let noticed: Notice[]

async function begin(): Promise<void> {
  const kinds: WorkKind[] = [from.work]
  worker = await startWorker(it.db, kinds)
  worker.handle([
    mirrorWork({
      db: it.db,
      worker,
      clock: { now: () => now },
      repositories,
      planner: from.planner,
      formatOf: getFormat,
      bounds: () => bounds,
      freeBytes: async () => free,
      listSources: from.listSources,
      synchronise: async () => ({ state: synchronised, said: synchronised === 'ok' ? null : 'It does not answer.' }),
      audit: { owe: async (_, fact) => void audited.push(fact) },
      notices: { owe: async (_, notice) => void noticed.push(notice) },
    }) as WorkKind,
  ])
}

beforeEach(async () => {
  from = await openImporting(it)
  now = new Date('2026-03-01T10:00:00Z')
  bounds = { max_packages_per_run: 200, max_runtime_minutes: 60, min_free_disk_gb: 0 }
  free = 2 ** 40
  synchronised = 'ok'
  audited = []
  noticed = []
  await begin()
})
afterEach(async () => {
  await worker.stop()
  await from.close()
})

const pkg = (name: string, version = '1.0', depends?: string, fields: Record<string, string> = {}): DebSpec => ({
  name,
  version,
  fields: { ...(depends === undefined ? {} : { Depends: depends }), ...fields },
})
const many = (...names: string[]): DebSpec[] => names.map(name => pkg(name))
const start = async (request: Partial<MirrorRequest> = {}): Promise<string> =>
  (await worker.ask({ kind: MIRROR, target: 'upstream', request: { source: 'upstream', ...request }, by: 'mae' })).id
async function run(request: Partial<MirrorRequest> = {}): Promise<MirrorReport> {
  const { state, result, error } = await worker.ended(await start(request), never)
  if (error !== undefined) throw new AppError(error.code, error.facts)
  expect(state).toBe('done')
  return result as MirrorReport
}
const here = async (): Promise<string[]> =>
  (
    await it.db.query<{ name: string; version: string }>(
      `select name, version from package where codename = 'bookworm' and state = 'published' order by name, sort_key`,
    )
  ).map(({ name, version }) => `${name} ${version}`)
const rule = (more: Partial<MirrorRule>): Promise<void> =>
  it.db.tx(async tx => {
    const row = await tx.first<{ id: number }>(`select id from import_source where key = 'upstream'`)
    await saveRule(tx, row?.id ?? 0, { ...WHOLE, ...more }, 'mae')
  })

describe('a run', () => {
  test('brings all of a source with what it needs, and says so in report, audit and message', async () => {
    await from.offer('upstream', [pkg('aa', '1.0', 'bb'), pkg('bb', '1.0', 'cc'), pkg('cc')])
    const report = await run()
    expect(await here()).toEqual(['aa 1.0', 'bb 1.0', 'cc 1.0'])
    expect(report).toMatchObject({
      ...{ source_id: 'upstream', end: 'complete', added: 3, pending: 0, blocked: 0, skipped: 0, errors: 0 },
      ...{ remaining: 0, gone_count: 0, troubles: [], missing: [], distributions: ['bookworm'], frozen: [] },
      synchronised: { state: 'ok', said: null },
      message:
        'The source upstream: 3 published, 0 held for review, 0 blocked, 0 here already, 0 failed. All that is wanted of it is here.',
    })
    expect(audited).toEqual([
      {
        action: 'MIRROR',
        result: 'SUCCESS',
        user: 'mae',
        facts: {
          kind: 'source.mirrored',
          ...{ source: 'upstream', end: 'complete', added: 3, pending: 0, blocked: 0, failed: 0 },
        },
      },
    ])
    expect(noticed).toEqual([
      {
        event: 'mirror.finished',
        ...{ source: 'The source upstream', result: 'success', packages: 3, detail: report.message },
      },
    ])
    expect(await it.db.query('select name, codename from import_group')).toEqual([
      { name: 'mirror-upstream', codename: 'bookworm' },
    ])
    const again = await run()
    expect(again).toMatchObject({ end: 'complete', added: 0, skipped: 0 })
    expect(from.fetched).toHaveLength(3)
  })

  test('brings as many packages as it may, and the next goes on behind them', async () => {
    await from.offer('upstream', many('aa', 'bb', 'cc', 'dd', 'ee'))
    bounds.max_packages_per_run = 2
    expect(await run()).toMatchObject({ end: 'packages', added: 2, remaining: 3 })
    expect(await here()).toEqual(['aa 1.0', 'bb 1.0'])
    expect(await run({ limit: 1 })).toMatchObject({ end: 'packages', added: 1 })
    expect(await here()).toEqual(['aa 1.0', 'bb 1.0', 'cc 1.0'])
    expect(await run()).toMatchObject({ end: 'complete', added: 2, remaining: 0 })
  })

  test('leaves a closure that does not fit to the next run, where it comes although it is larger than a run', async () => {
    await from.offer('upstream', [pkg('aa'), pkg('big', '1.0', 'x1, x2, x3'), ...many('x1', 'x2', 'x3', 'zz')])
    bounds.max_packages_per_run = 3
    expect(await run()).toMatchObject({ end: 'packages', added: 1 })
    expect(await here()).toEqual(['aa 1.0'])
    expect(await run()).toMatchObject({ end: 'packages', added: 4 })
    expect(await here()).toEqual(['aa 1.0', 'big 1.0', 'x1 1.0', 'x2 1.0', 'x3 1.0'])
    expect(await run()).toMatchObject({ end: 'complete', added: 1 })
  })

  test('at the end of its time finishes the file that it is at, and the next goes on', async () => {
    // more than are fetched ahead
    const names = [...'abcdefghijkl'].map(letter => letter.repeat(2))
    await from.offer('upstream', many(...names))
    const end = new Date(now.getTime() + 60 * 60_000).toISOString()
    from.boundOf = async ({ until }) => (until !== undefined && now.toISOString() >= until ? 'time' : undefined)
    from.onFetch = name => {
      // the clock goes on while the second file comes
      if (name === 'bb') now = new Date(end)
    }
    const first = await run()
    expect(first.end).toBe('time')
    expect(await here()).toContain('bb 1.0')
    expect(first.added).toBe((await here()).length)
    expect(first.added).toBeLessThan(names.length)
    from.onFetch = () => undefined
    expect(await run()).toMatchObject({ end: 'complete', added: names.length - first.added, skipped: 0 })
    expect(await here()).toHaveLength(names.length)
  })

  test('stops before the disk is as full as the bound says', async () => {
    await from.offer('upstream', many('aa', 'bb'))
    bounds.min_free_disk_gb = 1
    free = 1024 ** 3 + 100
    expect(await run()).toMatchObject({ end: 'disk', added: 0, remaining: 2 })
    expect(from.fetched).toEqual([])
    expect(audited).toMatchObject([{ result: 'WARNING', facts: { end: 'disk' } }])
  })

  test('goes on with the older list where the source does not answer', async () => {
    await from.offer('upstream', many('aa'))
    synchronised = 'unreachable'
    expect(await run()).toMatchObject({
      end: 'complete',
      added: 1,
      synchronised: { state: 'unreachable', said: 'It does not answer.' },
    })
    expect(noticed).toMatchObject([{ result: 'failure' }])
  })

  test('goes on behind what fails, tries it again in the next run, and does not bring what was refused or removed', async () => {
    await from.offer('upstream', many('aa', 'bb', 'cc'))
    from.onFetch = name => {
      if (name === 'bb') throw new AppError('outbound_failed', { host: 'upstream', why: 'it was cut' })
    }
    const report = await run()
    expect(report).toMatchObject({ end: 'complete', added: 2, errors: 1 })
    expect(report.troubles).toMatchObject([{ distribution: 'bookworm', name: 'bb', status: 'failed' }])
    await it.db.query(`delete from package where name = 'cc'`)
    from.onFetch = () => undefined
    expect(await run()).toMatchObject({ added: 1, errors: 0 })
    expect(await here()).toEqual(['aa 1.0', 'bb 1.0'])
  })

  test('tells what the source lists no longer, and removes nothing', async () => {
    await from.offer('upstream', many('aa', 'bb'))
    await run()
    await from.offer('upstream', [pkg('aa', '2.0')])
    const report = await run()
    expect(report).toMatchObject({ added: 1, gone_count: 2 })
    expect(report.gone.map(({ name, version }) => `${name} ${version}`)).toEqual(['aa 1.0', 'bb 1.0'])
    expect(await here()).toEqual(['aa 1.0', 'aa 2.0', 'bb 1.0'])
  })

  test('adds nothing to a frozen distribution, and goes on once that is over', async () => {
    await from.offer('upstream', many('aa'))
    await it.db.tx(tx => freeze(tx, { codename: 'bookworm', reason: 'before the release', by: 'mae' }))
    expect(await run()).toMatchObject({ end: 'frozen', added: 0, frozen: ['bookworm'] })
    expect(await here()).toEqual([])
    await it.db.tx(tx => thaw(tx, 'bookworm'))
    expect(await run()).toMatchObject({ end: 'complete', added: 1, frozen: [] })
  })

  test('goes on after a stop where it was, with the same imports', async () => {
    await from.offer('upstream', [pkg('aa', '1.0', 'bb'), ...many('bb', 'cc', 'dd')])
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
    expect(result).toMatchObject({ end: 'complete', added: 4 })
    expect(await it.db.query(`select count(*)::int as n from job where kind = 'import'`)).toEqual([{ n: 1 }])
    expect(audited).toHaveLength(1)
  })

  test('that is cancelled ends its import, too, and is on record as cancelled', async () => {
    await from.offer('upstream', many('aa', 'bb', 'cc'))
    let id = ''
    from.onFetch = async name => {
      if (name !== 'cc') return
      await expect.poll(here).toHaveLength(2)
      await worker.cancel(id, 'ada')
      await expect
        .poll(async () => it.db.query(`select cancelled_by from job where kind = 'import'`))
        .toEqual([{ cancelled_by: 'ada' }])
    }
    id = await start()
    expect(await worker.ended(id, never)).toMatchObject({ state: 'cancelled' })
    await expect
      .poll(() => it.db.query('select kind, state from job order by kind'))
      .toEqual([
        { kind: 'import', state: 'cancelled' },
        { kind: 'mirror', state: 'cancelled' },
      ])
    expect(audited).toMatchObject([{ action: 'MIRROR', facts: { end: 'cancelled' } }])
    expect(await here()).toEqual(['aa 1.0', 'bb 1.0'])
  })
})

describe('what is mirrored', () => {
  const shelf = [
    pkg('nginx', '1.0', undefined, { Section: 'httpd', Priority: 'optional' }),
    pkg('nginx', '2.0', undefined, { Section: 'httpd', Priority: 'optional' }),
    pkg('nginx-dbg', '2.0', undefined, { Section: 'debug', Priority: 'extra' }),
    pkg('bash', '5.2', undefined, { Section: 'shells', Priority: 'required' }),
  ]
  test.for<[Partial<MirrorRule>, string[]]>([
    [{}, ['bash 5.2', 'nginx 1.0', 'nginx 2.0', 'nginx-dbg 2.0']],
    [{ names: ['nginx*', '!*-dbg'] }, ['nginx 1.0', 'nginx 2.0']],
    [{ names: ['!nginx*'] }, ['bash 5.2']],
    [{ names: ['b?sh', 'nginx.dbg'] }, ['bash 5.2']],
    [{ sections: ['http?', 'shells'] }, ['bash 5.2', 'nginx 1.0', 'nginx 2.0']],
    [{ priorities: ['required', 'extra'] }, ['bash 5.2', 'nginx-dbg 2.0']],
    [{ newest: 1 }, ['bash 5.2', 'nginx 2.0', 'nginx-dbg 2.0']],
    [{ security_only: true }, ['nginx 2.0']],
    [{ distributions: ['trixie'] }, []],
  ])('by the rule %j', async ([wanted, expected]) => {
    await from.offer('upstream', shelf, { codenames: ['bookworm', 'trixie'] as never })
    await from.offer('secure', [pkg('nginx', '2.0')], { security: true })
    await rule({ distributions: ['bookworm'], ...wanted })
    await run()
    expect(await here()).toEqual(expected)
  })

  test('a source for nothing that is here is refused, and one that is switched off', async () => {
    await from.offer('upstream', many('aa'), { codenames: ['nowhere'] as never })
    await expect(run()).rejects.toMatchObject({ code: 'mirror_no_distribution' })
    await it.db.query(`update import_source set enabled = false`)
    await expect(run()).rejects.toMatchObject({ code: 'mirror_source_off' })
  })
})
