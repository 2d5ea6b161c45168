import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startWorker } from '../../../test/support/jobs.ts'
import { buildDeb } from '../../../test/support/packages.ts'
import { repositories } from '../../../test/support/repositories.ts'
import { digest, openUploads } from '../../../test/support/uploads.ts'
import { AppError, fail } from '../../core/errors.ts'
import { relPath, type Codename } from '../../core/identity.ts'
import { deb } from '../../formats/deb/index.ts'
import { EngineUnavailable } from '../../scanners/scanner.ts'
import { passGate } from '../../pipeline/gate.ts'
import type { Worker } from '../../work/worker.ts'
import type { Source } from '../source.ts'
import {
  IMPORT_PACKAGES,
  importWork,
  type ImportDeps,
  type ImportPlan,
  type ImportRequest,
  type ImportResult,
} from './import-work.ts'
import { listGroups } from './groups.ts'
import type { Planned } from './planned.ts'

const it = openUploads()
const CODENAME = 'bookworm' as Codename

let folder: string
let files: Map<string, Buffer>
let plan: ImportPlan
let downloads: string[]
let onDownload: (name: string) => Promise<void> | void
let published: string[]
let worker: Worker
let planned: number
let boundOf: ImportDeps['boundOf']

const source = { id: 1, key: 'elsewhere', format: deb.id } as Source
const never = new AbortController().signal

async function begin(): Promise<void> {
  worker = await startWorker(it.db, [
    importWork({
      ...{ db: it.db, gate: it.deps.gate, spool: it.deps.spool, settings: it.deps.settings, repositories },
      formatOf: () => deb,
      findSource: async () => source,
      plan: async () => {
        planned++
        return plan
      },
      download: async (_, item, { signal }) => {
        downloads.push(item.identity.name)
        await onDownload(item.identity.name)
        signal.throwIfAborted()
        // two jobs fetch the same file beside each other
        const path = join(folder, `${item.identity.name}-${downloads.length}`)
        await writeFile(path, files.get(item.identity.name) ?? Buffer.alloc(0))
        return path
      },
      needRoom: async () => undefined,
      boundOf: async (bounds, bytes) => boundOf(bounds, bytes),
      publish: async codename => void published.push(codename),
    }),
  ])
}

/** A package of the source; `needs` are places of those before it. */
async function offer(name: string, needs: readonly number[] = [], more: Partial<Planned> = {}): Promise<Planned> {
  const bytes = await buildDeb({ name, version: '1.0' })
  files.set(name, bytes)
  return {
    identity: { format: deb.id, name, version: '1.0', arch: 'amd64' },
    sourceId: source.id,
    sourceKey: source.key,
    path: relPath(`pool/${name}_1.0_amd64.deb`),
    size: bytes.length,
    digests: { sha256: digest(bytes) },
    isRoot: false,
    needs,
    ...more,
  }
}

/** aa ← bb ← cc, of which cc was asked for. */
const chain = async (): Promise<Planned[]> => [
  await offer('aa'),
  await offer('bb', [0]),
  await offer('cc', [1], { isRoot: true }),
]

const request: ImportRequest = {
  packages: [{ name: 'cc' }],
  codename: CODENAME,
  arch: 'amd64',
  group: 'letters',
  recommends: false,
}
async function ask(): Promise<string> {
  const order = { kind: IMPORT_PACKAGES, request: { ...request }, codenames: [CODENAME], by: 'uma' }
  return (await worker.ask(order)).id
}
async function run(): Promise<ImportResult> {
  const { state, result, error } = await worker.ended(await ask(), never)
  if (error !== undefined) throw new AppError(error.code, error.facts)
  expect(state).toBe('done')
  return result as ImportResult
}
const fates = ({ packages }: ImportResult): string[] => packages.map(({ name, status }) => `${name} ${status}`)

beforeEach(async () => {
  await it.db.query('truncate import_group, job cascade')
  await it.db.query(`insert into import_source (key, label, format, kind, urls, codenames)
    values ('elsewhere', 'Elsewhere', 'deb', 'http', '{http://elsewhere.example/}', '{bookworm}') on conflict do nothing`)
  const row = await it.db.first<{ id: number }>(`select id from import_source where key = 'elsewhere'`)
  ;(source as { id: number }).id = row?.id ?? 0
  folder = await mkdtemp(join(tmpdir(), 'gh-import-'))
  files = new Map()
  downloads = []
  published = []
  planned = 0
  onDownload = () => undefined
  boundOf = async () => undefined
  plan = { packages: [], unresolved: [] }
  await begin()
})
afterEach(async () => {
  await worker.stop()
  await rm(folder, { recursive: true, force: true })
})

describe('an import', () => {
  test('brings what is needed before what needs it, under one group, and asks for one publication', async () => {
    plan = { packages: await chain(), unresolved: [] }
    const result = await run()
    expect(fates(result)).toEqual(['aa added', 'bb added', 'cc added'])
    expect(result.counts).toEqual({
      ...{ added: 3, already: 0, pending_review: 0, blocked: 0, upstream_changed: 0, failed: 0 },
    })
    const owed = await it.db.query<{ key: string; soon: boolean }>(
      `select key, bool_or(not_before < clock_timestamp() + interval '10 s') as soon from outbox where key like 'publish:%' group by key`,
    )
    expect({ owed, published }).toEqual({ owed: [{ key: 'publish:bookworm', soon: false }], published: [CODENAME] })
    const rows = await it.db.query('select name, state, origin, uploaded_by from package order by created_at, name')
    expect(rows).toEqual(
      ['aa', 'bb', 'cc'].map(name => ({ name, state: 'published', origin: 'source:elsewhere', uploaded_by: 'uma' })),
    )
    const [group] = await listGroups(it.db, { hidden: [] })
    expect(group).toMatchObject({ name: 'letters', codename: CODENAME, asked: ['cc'], created_by: 'uma' })
    expect(group?.packages.map(({ name, state, is_root: isRoot }) => [name, state, isRoot])).toEqual([
      ['aa', 'added', false],
      ['bb', 'added', false],
      ['cc', 'added', true],
    ])
  })

  test('of what is here already changes nothing', async () => {
    plan = { packages: await chain(), unresolved: [] }
    const bytes = files.get('aa') ?? Buffer.alloc(0)
    const file = await it.deps.spool.receive(
      (async function* () {
        yield bytes
      })(),
      {
        ...{ filename: 'aa.deb', signal: never, limitBytes: 2 ** 20 },
      },
    )
    const how = { distribution: repositories.get(CODENAME), from: 'upload', actor: { name: 'ada' } } as const
    await passGate(it.deps.gate, { file, format: deb, ...how }, never)
    expect(fates(await run())).toEqual(['aa already', 'bb added', 'cc added'])
  })

  test('that another one was faster with says that it was here already, and counts nothing twice', async () => {
    plan = { packages: await chain(), unresolved: [] }
    const orders = ['letters', 'numbers'].map(group => ({
      ...{ kind: IMPORT_PACKAGES, request: { ...request, group }, target: group, codenames: [CODENAME], by: 'uma' },
    }))
    const jobs = await Promise.all(orders.map(order => worker.ask(order)))
    const ends = await Promise.all(jobs.map(({ id }) => worker.ended(id, never)))
    const told = ends.flatMap(({ result }) => fates(result as ImportResult))
    expect(told.filter(one => one.endsWith(' added')).sort()).toEqual(['aa added', 'bb added', 'cc added'])
    expect(told.filter(one => one.endsWith(' already')).sort()).toEqual(['aa already', 'bb already', 'cc already'])
    expect(await it.rows()).toHaveLength(3)
  })

  test('holds what needs a held package, and says which', async () => {
    plan = { packages: await chain(), unresolved: [] }
    it.given.settings = {
      ...it.given.settings,
      validation: { ...it.given.settings.validation, on_scanner_unavailable: 'hold' },
    }
    it.given.antivirus = {
      ...it.given.antivirus,
      scan: async ({ identity }) => {
        if (identity.name === 'aa') throw new EngineUnavailable('test', 'it is away')
        return { kind: 'clean' }
      },
    }
    const result = await run()
    expect(fates(result)).toEqual(['aa pending_review', 'bb pending_review', 'cc pending_review'])
    expect(result.packages.map(({ why }) => why).slice(1)).toEqual([
      'It needs aa 1.0, which is not published here. Decide on it first.',
      'It needs bb 1.0, aa 1.0, which are not published here. Decide on them first.',
    ])
    expect(await it.db.first(`select count(*) as n from outbox where key like 'publish:%'`)).toEqual({ n: 0 })
  })

  test('goes on behind a file that cannot be had, and holds what needs it', async () => {
    plan = { packages: [...(await chain()), await offer('dd', [], { isRoot: true })], unresolved: [] }
    onDownload = name =>
      name === 'bb' ? fail('outbound_failed', { host: 'elsewhere.example', why: 'it was cut' }) : undefined
    const result = await run()
    expect(fates(result)).toEqual(['aa added', 'bb failed', 'cc pending_review', 'dd added'])
    expect(result.packages[1]?.why).toContain('it was cut')
    expect(await it.rows()).toHaveLength(3)
  })

  test('holds a package with a need that no source meets', async () => {
    const lacks = 'It needs zlib, and no source has it.'
    plan = {
      packages: [await offer('aa', [], { lacks }), await offer('bb', [0], { isRoot: true })],
      unresolved: ['aa needs zlib'],
    }
    const result = await run()
    expect(result.packages.map(({ status, why }) => [status, why])).toEqual([
      ['pending_review', lacks],
      ['pending_review', `It needs aa 1.0. ${lacks}`],
    ])
    expect(result.unresolved).toEqual(['aa needs zlib'])
  })

  test('never replaces a version that has other bytes upstream', async () => {
    plan = { packages: [await offer('aa', [], { isRoot: true })], unresolved: [] }
    await run()
    const before = await it.db.query('select sha256 from package')
    const other = await buildDeb({ name: 'aa', version: '1.0', fields: { Description: 'another' } })
    files.set('aa', other)
    const [one] = plan.packages
    plan = { packages: [{ ...(one as Planned), digests: { sha256: digest(other) } }], unresolved: [] }
    expect(fates(await run())).toEqual(['aa upstream_changed'])
    expect(await it.db.query('select sha256 from package')).toEqual(before)
  })

  test('refuses bytes that are not those of the index, and takes the rest', async () => {
    plan = { packages: [await offer('aa'), await offer('bb', [], { isRoot: true })], unresolved: [] }
    files.set('aa', await buildDeb({ name: 'aa', version: '1.0', fields: { Description: 'another' } }))
    const result = await run()
    expect(fates(result)).toEqual(['aa failed', 'bb added'])
  })

  test('into a group of another distribution is refused, and nothing comes in', async () => {
    await it.db.query(`insert into import_group (name, codename, created_by) values ('letters', 'jammy', 'ada')`)
    plan = { packages: await chain(), unresolved: [] }
    await expect(run()).rejects.toMatchObject({ code: 'import_group_elsewhere' })
    expect({ downloads, rows: await it.rows() }).toEqual({ downloads: [], rows: [] })
  })

  test('goes on after a stop with what is left, planned once', async () => {
    plan = { packages: await chain(), unresolved: [] }
    let stopped: Promise<void> | undefined
    onDownload = name => {
      if (name === 'bb' && stopped === undefined) stopped = worker.stop()
    }
    const id = await ask()
    await expect.poll(() => stopped !== undefined).toBe(true)
    await stopped
    expect(await it.db.first('select state from job where id = $1', [id])).toEqual({ state: 'queued' })
    await begin()
    const { state, result } = await worker.ended(id, never)
    expect(state).toBe('done')
    expect(fates(result as ImportResult)).toEqual(['aa added', 'bb added', 'cc added'])
    expect(planned).toBe(1)
    expect(await it.rows()).toHaveLength(3)
  })

  test('that comes to a bound begins no further file, and says what is left', async () => {
    plan = { packages: await chain(), unresolved: [] }
    const asked: unknown[] = []
    boundOf = async (bounds, bytes) => {
      asked.push([bounds.until, bytes > 0])
      return asked.length > 2 ? 'time' : undefined
    }
    const bounded = { ...request, until: '2026-03-01T10:00:00.000Z' }
    const { id } = await worker.ask({ kind: IMPORT_PACKAGES, request: bounded, by: 'uma' })
    const result = (await worker.ended(id, never)).result as ImportResult
    expect(fates(result)).toEqual(['aa added', 'bb added', 'cc waiting'])
    expect(result).toMatchObject({ stopped: 'time', counts: { added: 2, failed: 0 } })
    expect(downloads).toEqual(['aa', 'bb'])
    expect(asked).toEqual(Array(3).fill(['2026-03-01T10:00:00.000Z', true]))
    expect(await it.rows()).toHaveLength(2)
  })

  test('that is cancelled keeps what has come in; the rest is told as not reached', async () => {
    plan = { packages: await chain(), unresolved: [] }
    let id = ''
    onDownload = async name => {
      if (name !== 'cc') return
      await expect.poll(() => it.rows()).toHaveLength(2)
      await worker.cancel(id, 'ada')
    }
    id = await ask()
    expect(await worker.ended(id, never)).toMatchObject({ state: 'cancelled' })
    const [group] = await listGroups(it.db, { hidden: [] })
    expect(group?.packages.map(({ name, state }) => `${name} ${state}`)).toEqual([
      'aa added',
      'bb added',
      'cc not_reached',
    ])
    expect(published).toEqual([CODENAME])
  })
})
