import { createHold } from '../db/distribution-lock.ts'
import { createHash, randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ALL_SEEING } from '../core/viewer.ts'
import { createTestDb, type TestDb } from '../../test/support/postgres.ts'
import { notePublications } from '../../test/support/test-catalog.ts'
import { isRefusal } from '../core/errors.ts'
import { sha256, type Codename, type PackageRef } from '../core/identity.ts'
import type { Manifest, State } from '../core/manifest.ts'
import { createOutbox, handleDebts, type Outbox } from '../db/outbox.ts'
import type { Layout } from '../files/layout.ts'
import { createManifests, type Manifests } from '../files/manifests.ts'
import { createPool, type Pool } from '../files/pool.ts'
import type { SpooledFile } from '../files/spool.ts'
import { hasTree } from '../formats/index.ts'
import { systemClock } from '../lib/clock.ts'
import { createAudit } from '../record/audit.ts'
import { createEvents } from '../record/events.ts'
import { publishDebts } from '../publish/compose.ts'
import type { Outcome } from '../lib/groups.ts'
import { createArrivals } from '../lib/arrivals.ts'
import type { Admit } from './change.ts'
import { createCatalog, type Catalog } from './catalog.ts'
import { catalogDebts } from './compose.ts'
import { createRebuild } from './rebuild.ts'
import { layoutOf, repositories } from '../../test/support/repositories.ts'
import { judge } from '../../test/support/review-change.ts'

let testDb: TestDb
let root: string
let layout: Layout
let outbox: Outbox
let pool: Pool
let manifests: Manifests
let catalog: Catalog
const published: string[] = []

beforeAll(async () => {
  testDb = await createTestDb()
})
afterAll(() => testDb.close())
beforeEach(async () => {
  const { db } = testDb
  await db.query('truncate package, artifact, outbox, publish_dirty, audit_pending, package_offer cascade')
  root = await mkdtemp(join(tmpdir(), 'gh-catalog-'))
  layout = layoutOf(root)
  await mkdir(layout.incoming, { recursive: true })
  published.length = 0
  outbox = createOutbox({
    db,
    onError: (key, error) => {
      throw new Error(key, { cause: error })
    },
  })
  pool = createPool({ layout, clock: systemClock })
  manifests = createManifests(layout)
  const audit = createAudit({ db, layout, clock: systemClock, outbox })
  catalog = createCatalog({
    db,
    outbox,
    pool,
    audit,
    events: createEvents({ clock: systemClock }),
    clock: systemClock,
    hasTree,
    hold: createHold(repositories),
  })
  handleDebts(outbox, {
    ...catalogDebts({ catalog, db, manifests }),
    ...publishDebts(notePublications(published), createArrivals()),
    audit: { deliver: () => audit.deliver() },
  })
})
afterEach(() => rm(root, { recursive: true, force: true }))

async function spooled(bytes: string): Promise<SpooledFile> {
  const path = join(layout.incoming, randomBytes(6).toString('hex'))
  await writeFile(path, bytes)
  const hex = (algorithm: string): string => createHash(algorithm).update(bytes).digest('hex')
  const blob = {
    sha256: sha256(hex('sha256')),
    md5: hex('md5'),
    sha1: hex('sha1'),
    sha512: hex('sha512'),
    size: bytes.length,
  }
  return { path, filename: 'hello.deb', blob, head: Buffer.from(bytes), discard: () => rm(path, { force: true }) }
}

function manifestOf(file: SpooledFile, version: string, state: State, codename = 'jammy'): Manifest {
  const ref = { format: 'deb', name: 'hello', version, arch: 'amd64', codename: codename as Codename } as const
  return {
    schema: 2,
    ref,
    files: [{ path: file.filename, blob: file.blob }],
    state,
    reports: [],
    findings: [],
    facts: { control: `Package: hello\nVersion: ${version}` },
    paths: ['usr/bin/hello'],
    by: 'ann',
    from: 'upload',
    at: '2026-01-01T00:00:00.000Z',
    changed_at: '2026-01-01T00:00:00.000Z',
    about: {
      summary: 'greets',
      description: '',
      source: 'hello',
      source_version: version,
      depends: [],
      provides: [{ name: 'hello', version }, { name: 'greeter' }],
      conflicts: [],
    },
  }
}

async function admit(
  bytes: string,
  version: string,
  state: State,
  codename?: string,
): Promise<Awaited<ReturnType<Catalog['change']>>> {
  const file = await spooled(bytes)
  return catalog.change(
    { kind: 'admit', manifest: manifestOf(file, version, state, codename), files: [file] },
    { name: 'ann' },
  )
}

const ref = (version: string, codename = 'jammy'): PackageRef => ({
  format: 'deb',
  name: 'hello',
  version,
  arch: 'amd64',
  codename: codename as Codename,
})
const codeOf = async (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no refusal',
    (error: unknown) => (isRefusal(error) ? error.code : String(error)),
  )
const latest = async (): Promise<unknown> => await testDb.db.first('select versions, latest from artifact')

describe('admission', () => {
  test('a published package is in the pool, has its manifest on disk, and its distribution is published', async () => {
    const { outcome, manifest } = await admit('one', '1.0', 'published')
    expect(outcome).toBe('created')
    await outbox.drain()
    expect(await pool.has(manifest.files[0].blob.sha256)).toBe('pool')
    expect(await manifests.read(ref('1.0'))).toEqual(manifest)
    expect(published).toEqual(['jammy'])
    expect(await latest()).toEqual({ versions: 1, latest: '1.0' })
  })

  test('a held package is in the pool and nothing is published', async () => {
    const { manifest } = await admit('one', '1.0', 'pending_review')
    await outbox.drain()
    expect(await pool.has(manifest.files[0].blob.sha256)).toBe('pool')
    expect(published).toEqual([])
  })

  test('a quarantined package never enters the pool', async () => {
    const { manifest } = await admit('evil', '1.0', 'quarantined')
    expect(await pool.has(manifest.files[0].blob.sha256)).toBe('quarantine')
    await outbox.drain()
    expect(await pool.has(manifest.files[0].blob.sha256)).toBe('quarantine')
    expect(published).toEqual([])
  })

  test('the same bytes again change nothing', async () => {
    await admit('one', '1.0', 'published')
    const again = await admit('one', '1.0', 'pending_review')
    expect(again.outcome).toBe('already')
    expect(again.manifest.state).toBe('published')
    expect(await testDb.db.query('select 1 from package')).toHaveLength(1)
  })

  test('other bytes under the same identity are refused and leave everything as it was', async () => {
    await admit('one', '1.0', 'published')
    expect(await codeOf(admit('two', '1.0', 'published'))).toBe('duplicate_conflict')
    expect((await catalog.find(ALL_SEEING, ref('1.0')))?.files[0].blob.sha256).toBe(
      createHash('sha256').update('one').digest('hex'),
    )
  })

  test('of ten uploads of one identity at once one is created and the others are answered as duplicates', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, (_, n) => codeOf(admit(`bytes ${n % 2}`, '1.0', 'published'))),
    )
    expect(await testDb.db.query('select 1 from package')).toHaveLength(1)
    expect(outcomes.filter(outcome => outcome === 'duplicate_conflict')).toHaveLength(5)
    expect(outcomes.filter(outcome => outcome === 'no refusal')).toHaveLength(5)
  })

  test('the newest version of an artifact is the newest by the order of its format', async () => {
    for (const version of ['1.9', '1.10', '1.10~rc1']) await admit(version, version, 'published')
    expect(await latest()).toEqual({ versions: 3, latest: '1.10' })
  })
})

describe('what happens later', () => {
  test('quarantine withdraws one version from one distribution, and its file from the pool when no other version needs it', async () => {
    const { manifest } = await admit('one', '1.0', 'published')
    await admit('one', '1.0', 'published', 'noble')
    await admit('two', '2.0', 'published')
    await catalog.change(judge(ref('1.0'), 'quarantine', { why: 'A customer called.' }), { name: 'max' })
    await outbox.drain()
    expect((await catalog.find(ALL_SEEING, ref('1.0')))?.state).toBe('quarantined')
    expect((await catalog.find(ALL_SEEING, ref('1.0', 'noble')))?.state).toBe('published')
    expect((await catalog.find(ALL_SEEING, ref('2.0')))?.state).toBe('published')
    expect(await pool.has(manifest.files[0].blob.sha256)).toBe('pool') // noble still serves it
    await catalog.change(judge(ref('1.0', 'noble'), 'quarantine'), { name: 'max' })
    await outbox.drain()
    expect(await pool.has(manifest.files[0].blob.sha256)).toBe('quarantine')
    await catalog.change(judge(ref('1.0'), 'approve', { why: 'It was a false alarm.' }), { name: 'max' })
    expect(await pool.has(manifest.files[0].blob.sha256)).toBe('pool')
  })

  test('bytes that left quarantine for a change that was never committed go back there', async () => {
    const { manifest } = await admit('one', '1.0', 'quarantined')
    await outbox.drain()
    const refuse = (): Promise<never> => Promise.reject(new Error('the database is gone'))
    const audit = createAudit({ db: testDb.db, layout, clock: systemClock, outbox })
    const cut = createCatalog({
      hasTree,
      hold: createHold(repositories),
      db: testDb.db,
      outbox,
      pool,
      audit,
      events: createEvents({ clock: systemClock }),
      clock: systemClock,
      notices: { oweMove: refuse },
    })
    await expect(cut.change(judge(ref('1.0'), 'reject'), { name: 'max' })).rejects.toThrow('the database is gone')
    await outbox.drain()
    expect(await pool.has(manifest.files[0].blob.sha256)).toBe('quarantine')
    const file = await spooled('one')
    await expect(
      cut.change(
        { kind: 'admit', manifest: manifestOf(file, '1.0', 'published', 'noble'), files: [file] },
        { name: 'ann' },
      ),
    ).rejects.toThrow('the database is gone')
    await outbox.drain()
    expect(await pool.has(manifest.files[0].blob.sha256)).toBe('quarantine')
    expect((await catalog.find(ALL_SEEING, ref('1.0')))?.state).toBe('quarantined')
  })

  test('deleting one version leaves the other; deleting the last removes the artifact, the manifest and the bytes', async () => {
    const first = await admit('one', '1.0', 'published')
    await admit('two', '2.0', 'published')
    await catalog.change({ kind: 'delete', ref: ref('2.0'), why: '' }, { name: 'max' })
    await outbox.drain()
    expect(await latest()).toEqual({ versions: 1, latest: '1.0' })
    await catalog.change({ kind: 'delete', ref: ref('1.0'), why: '' }, { name: 'max' })
    await outbox.drain()
    expect(await latest()).toBeUndefined()
    expect(await manifests.read(ref('1.0'))).toBeUndefined()
    expect(await pool.has(first.manifest.files[0].blob.sha256)).toBe('nowhere')
  })

  test('what is not there and what is not possible is refused', async () => {
    expect(await codeOf(catalog.change({ kind: 'delete', ref: ref('9'), why: '' }, { name: 'max' }))).toBe(
      'version_not_found',
    )
    await admit('one', '1.0', 'published')
    expect(await codeOf(catalog.change(judge(ref('1.0'), 'reject'), { name: 'max' }))).toBe('not_possible')
    expect((await catalog.find(ALL_SEEING, ref('1.0')))?.state).toBe('published')
  })
})

describe('rebuilding from the manifests', () => {
  const rebuild = () => createRebuild({ db: testDb.db, outbox, manifests, layout, hasTree })(ALL_SEEING)

  test('changes nothing on a healthy service', async () => {
    await admit('one', '1.0', 'published')
    expect(await rebuild()).toEqual({ manifests: 1, added: 0, changed: 0, removed: 0, broken: [] })
  })

  test('restores rows that are missing, corrects rows that differ, and removes rows without a manifest', async () => {
    await admit('one', '1.0', 'published')
    await admit('two', '2.0', 'pending_review')
    await admit('three', '3.0', 'published')
    await outbox.drain()
    const before = await catalog.find(ALL_SEEING, ref('1.0'))
    await testDb.db.query(`delete from package where version = '1.0'`)
    await testDb.db.query(`update package set state = 'published' where version = '2.0'`)
    await manifests.remove(ref('3.0'))
    published.length = 0
    expect(await rebuild()).toEqual({ manifests: 2, added: 1, changed: 1, removed: 1, broken: [] })
    expect(await catalog.find(ALL_SEEING, ref('1.0'))).toEqual(before)
    expect((await catalog.find(ALL_SEEING, ref('2.0')))?.state).toBe('pending_review')
    expect(await catalog.find(ALL_SEEING, ref('3.0'))).toBeUndefined()
    expect(await latest()).toEqual({ versions: 2, latest: '1.0' })
    await outbox.drain()
    expect(published).toEqual(['jammy'])
  })

  test('a damaged manifest is named and deletes nothing', async () => {
    await admit('one', '1.0', 'published')
    await outbox.drain()
    await writeFile(layout.manifest(ref('1.0')), (await readFile(layout.manifest(ref('1.0')), 'utf8')).slice(0, 40))
    const done = await rebuild()
    expect(done).toMatchObject({ manifests: 0, removed: 0, broken: [{ path: 'deb/jammy/hello/1.0_amd64.json' }] })
    expect(await catalog.find(ALL_SEEING, ref('1.0'))).toBeDefined()
  })
})

describe('many at once', () => {
  const NOTHING = (): Promise<void> => Promise.resolve()
  async function admitting(bytes: string, version: string, state: State = 'published'): Promise<Admit> {
    const file = await spooled(bytes)
    return { kind: 'admit', manifest: manifestOf(file, version, state), files: [file] }
  }
  const manifestFiles = async (): Promise<string[]> =>
    (await readdir(layout.manifests, { recursive: true })).filter(name => name.endsWith('.json')).sort()

  test('one transaction has their rows, their audit lines, what is written within, and one debt for all manifests', async () => {
    const { db } = testDb
    const changes = await Promise.all(['1.0', '2.0', '3.0'].map(version => admitting(version, version)))
    const seen: unknown[] = []
    const outcomes = await catalog.changeAll(changes, { name: 'ann' }, async (tx, fates) => {
      seen.push(...fates.map(fate => 'value' in fate && fate.value.outcome))
      const [row] = await tx.query<{ n: number }>('select count(*)::int as n from package')
      expect(row?.n).toBe(3)
    })
    expect(seen).toEqual(['created', 'created', 'created'])
    expect(outcomes.map(one => 'value' in one && one.value.outcome)).toEqual(seen)
    const debts = await db.query<{ key: string }>(`select key from outbox where key like 'manifest%'`)
    expect(debts).toEqual([{ key: expect.stringMatching(/^manifests:\d+-\d+$/) as string }])
    expect(await db.query('select 1 from audit_pending')).toHaveLength(3)
    await outbox.drain()
    expect(await manifestFiles()).toEqual(['1.0', '2.0', '3.0'].map(version => `deb/jammy/hello/${version}_amd64.json`))
    expect(published).toEqual(['jammy'])
  })

  test('what is refused, or here already, holds no other up', async () => {
    await admit('other bytes', '1.0', 'published')
    await admit('the same', '2.0', 'published')
    const changes = [
      await admitting('these bytes', '1.0'),
      await admitting('the same', '2.0'),
      await admitting('new', '3.0'),
      await admitting('twice, one', '4.0'),
      await admitting('twice, two', '4.0'),
    ]
    const told: string[] = []
    const wordsOf = (outcomes: readonly Outcome<{ readonly outcome: string }>[]): string[] =>
      outcomes.map(one => ('value' in one ? one.value.outcome : isRefusal(one.error) ? one.error.code : 'a fault'))
    const outcomes = await catalog.changeAll(
      changes,
      { name: 'ann' },
      async (_, fates) => void told.push(...wordsOf(fates)),
    )
    expect(told).toEqual(['duplicate_conflict', 'already', 'created', 'created', 'duplicate_conflict'])
    expect(wordsOf(outcomes)).toEqual(told)
  })

  test('when what is written within fails, nothing was added', async () => {
    const changes = [await admitting('one', '1.0'), await admitting('two', '2.0')]
    await expect(
      catalog.changeAll(changes, { name: 'ann' }, () => Promise.reject(new Error('the job is lost'))),
    ).rejects.toThrow('the job is lost')
    for (const table of ['package', 'outbox', 'audit_pending', 'publish_dirty'])
      expect(await testDb.db.query(`select 1 from ${table}`), table).toEqual([])
  })

  test('one that the database cannot take does not take the others with it', async () => {
    const bad = await admitting('bad', '1.0')
    const changes = [
      { ...bad, manifest: { ...bad.manifest, about: { ...bad.manifest.about, summary: 'a\u0000b' } } },
      await admitting('good', '2.0'),
    ]
    const outcomes = await catalog.changeAll(changes, { name: 'ann' }, NOTHING)
    expect(outcomes.map(one => ('value' in one ? one.value.outcome : 'a fault'))).toEqual(['a fault', 'created'])
  })

  test('a version that was deleted before its manifest was written leaves no file', async () => {
    const changes = [await admitting('one', '1.0'), await admitting('two', '2.0')]
    await catalog.changeAll(changes, { name: 'ann' }, NOTHING)
    const [first] = changes
    if (first === undefined) throw new Error('there are two')
    await catalog.change({ kind: 'delete', ref: first.manifest.ref, why: 'a mistake' }, { name: 'ann' })
    await outbox.drain()
    expect(await manifestFiles()).toEqual(['deb/jammy/hello/2.0_amd64.json'])
  })
})
