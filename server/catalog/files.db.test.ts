import { createHash } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { judge } from '../../test/support/review-change.ts'
import { spoolBytes } from '../../test/support/packages.ts'
import { getDistribution } from '../../test/support/repositories.ts'
import { createStock, type Item, type Stock } from '../../test/support/test-catalog.ts'
import { isRefusal } from '../core/errors.ts'
import { sha256, type Codename, type PackageRef, type Sha256 } from '../core/identity.ts'
import type { Manifest } from '../core/manifest.ts'
import { createRepositories } from '../core/repository.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import { hasTree } from '../formats/index.ts'
import { createRebuild } from './rebuild.ts'
import { whereBlobBelongs } from './queries/store.ts'

const repositories = createRepositories([
  { ...getDistribution('jammy'), components: ['main', 'extra'] },
  getDistribution('noble'),
])

let stock: Stock
beforeAll(async () => {
  stock = await createStock({ repositories })
})
afterAll(() => stock.close())
beforeEach(() => stock.clear())

const ref = (version: string, codename = 'jammy'): PackageRef => ({
  format: 'deb',
  name: 'hello',
  version,
  arch: 'amd64',
  codename: codename as Codename,
})
const digest = (bytes: string): Sha256 => sha256(createHash('sha256').update(bytes).digest('hex'))
const ORIG = 'what upstream wrote'
/** Two versions that share the tarball of the upstream's release, each with a patch of its own. */
const version = (n: string, more: Partial<Item> = {}): Item => ({
  version: `1.0-${n}`,
  bytes: `dsc ${n}`,
  others: { 'hello_1.0.orig.tar.gz': ORIG, [`hello_1.0-${n}.debian.tar.xz`]: `patch ${n}` },
  ...more,
})
const blobsOf = ({ files }: Manifest): Sha256[] => files.map(({ blob }) => blob.sha256)
const places = (manifest: Manifest): Promise<string[]> => Promise.all(blobsOf(manifest).map(stock.pool.has))
const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no refusal',
    (error: unknown) => (isRefusal(error) ? error.code : String(error)),
  )
const rows = (): Promise<unknown[]> =>
  stock.db.query(`
    select p.version, f.n, f.path, f.sha256, f.size from package_file f join package p on p.id = f.package_id
    order by p.version, f.n`)

describe('a version with several files', () => {
  test('is admitted with every file in the pool, in its rows and in the manifest on disk', async () => {
    const { manifest, outcome } = await stock.put(version('1', { component: 'extra' }))
    expect(outcome).toBe('created')
    expect(manifest.files.map(({ path }) => path)).toEqual([
      'hello_1.0-1_amd64.deb',
      'hello_1.0.orig.tar.gz',
      'hello_1.0-1.debian.tar.xz',
    ])
    expect(await places(manifest)).toEqual(['pool', 'pool', 'pool'])
    expect(await rows()).toEqual([
      { version: '1.0-1', n: 0, path: 'hello_1.0-1_amd64.deb', sha256: digest('dsc 1'), size: 5 },
      { version: '1.0-1', n: 1, path: 'hello_1.0.orig.tar.gz', sha256: digest(ORIG), size: ORIG.length },
      { version: '1.0-1', n: 2, path: 'hello_1.0-1.debian.tar.xz', sha256: digest('patch 1'), size: 7 },
    ])
    await stock.outbox.drain()
    expect(await stock.manifests.read(ref('1.0-1'))).toEqual(manifest)
    expect(await stock.catalog.find(ALL_SEEING, ref('1.0-1'))).toEqual(manifest)
    expect(await places(manifest)).toEqual(['pool', 'pool', 'pool'])
    expect(await stock.audit.recent(ALL_SEEING, ['UPLOAD'], 1)).toMatchObject([
      {
        detail: `hello_1.0-1_amd64.deb, SHA-256 ${digest('dsc 1')}, with hello_1.0.orig.tar.gz, hello_1.0-1.debian.tar.xz: published.`,
      },
    ])
    expect(await readdir(stock.layout.incoming)).toEqual([])
  })

  test('is decided on as one: all of its files leave and return together, except those that another version needs', async () => {
    const one = (await stock.put(version('1'))).manifest
    const two = (await stock.put(version('2'))).manifest
    await stock.catalog.change(judge(ref('1.0-1'), 'quarantine'), { name: 'max' })
    await stock.outbox.drain()
    expect(await places(one)).toEqual(['quarantine', 'pool', 'quarantine'])
    await stock.catalog.change(judge(ref('1.0-2'), 'quarantine'), { name: 'max' })
    await stock.outbox.drain()
    expect(await places(two)).toEqual(['quarantine', 'quarantine', 'quarantine'])
    await stock.catalog.change(judge(ref('1.0-1'), 'approve'), { name: 'max' })
    // before what is owed is done: an index may name them from the commit on
    expect(await places(one)).toEqual(['pool', 'pool', 'pool'])
    await stock.catalog.change({ kind: 'delete', ref: ref('1.0-1'), why: '' }, { name: 'max' })
    await stock.outbox.drain()
    expect(await places(one)).toEqual(['nowhere', 'quarantine', 'nowhere'])
    await stock.catalog.change({ kind: 'delete', ref: ref('1.0-2'), why: '' }, { name: 'max' })
    await stock.outbox.drain()
    expect(await places(two)).toEqual(['nowhere', 'nowhere', 'nowhere'])
    expect(await rows()).toEqual([])
  })

  test('is refused when one file differs, is missing or is new', async () => {
    const { manifest } = await stock.put(version('1'))
    expect(await stock.put(version('1'))).toMatchObject({ outcome: 'already', manifest })
    const orig = { 'hello_1.0.orig.tar.gz': ORIG }
    const patch = { 'hello_1.0-1.debian.tar.xz': 'patch 1' }
    for (const others of [{ ...orig, 'hello_1.0-1.debian.tar.xz': 'other' }, orig, { ...orig, ...patch, more: 'x' }])
      expect(await codeOf(stock.put(version('1', { others })))).toBe('duplicate_conflict')
    expect(await stock.catalog.find(ALL_SEEING, ref('1.0-1'))).toEqual(manifest)
    expect(await stock.pool.has(digest('other'))).toBe('nowhere')
    expect(await stock.pool.has(digest('x'))).toBe('nowhere')
  })

  test('that fails halfway leaves none of its files in the pool, and files of other versions unchanged', async () => {
    await stock.put(version('1'))
    const { manifest } = await stock.put(version('2', { codename: 'noble' }))
    await stock.catalog.change({ kind: 'delete', ref: manifest.ref, why: '' }, { name: 'max' })
    await stock.outbox.drain()
    expect(await places(manifest)).toEqual(['nowhere', 'pool', 'nowhere'])
    const first = await spoolBytes(stock.layout.incoming, 'hello.dsc', Buffer.from('dsc 2'))
    const lost = { ...first, path: `${first.path}-lost` }
    const files = manifest.files.map(({ path, blob }, n) => ({ ...(n === 0 ? first : lost), filename: path, blob }))
    const admit = stock.catalog.change({ kind: 'admit', manifest, files }, { name: 'ada' })
    await expect(admit).rejects.toMatchObject({ code: 'ENOENT' })
    await stock.outbox.drain()
    expect(await places(manifest)).toEqual(['nowhere', 'pool', 'nowhere'])
    expect(await stock.catalog.find(ALL_SEEING, manifest.ref)).toBeUndefined()
  })

  test('is promoted with all of its files', async () => {
    const { manifest } = await stock.put(version('1'))
    const to = ref('1.0-1', 'noble')
    const copied = await stock.catalog.change({ kind: 'copy', from: manifest.ref, to }, { name: 'mae' })
    expect(copied.manifest.files).toEqual(manifest.files)
    await stock.catalog.change({ kind: 'delete', ref: manifest.ref, why: '' }, { name: 'mae' })
    await stock.outbox.drain()
    expect(await places(manifest)).toEqual(['pool', 'pool', 'pool'])
    expect(await whereBlobBelongs(stock.db, digest(ORIG))).toBe('pool')
  })

  test('is rebuilt from its manifest, and its wrong rows are corrected', async () => {
    const { manifest } = await stock.put(version('1', { component: 'extra' }))
    await stock.put(version('2'))
    await stock.outbox.drain()
    const before = await rows()
    const rebuild = createRebuild({ ...stock, hasTree })
    expect(await rebuild(ALL_SEEING)).toEqual({ manifests: 2, added: 0, changed: 0, removed: 0, broken: [] })
    await stock.db.query(`delete from package where version = '1.0-1'`)
    await stock.db.query(`delete from package_file where n = 1`)
    expect(await rebuild(ALL_SEEING)).toEqual({ manifests: 2, added: 1, changed: 1, removed: 0, broken: [] })
    expect(await rows()).toEqual(before)
    expect(await stock.catalog.find(ALL_SEEING, ref('1.0-1'))).toEqual(manifest)
    await rm(stock.layout.manifest(ref('1.0-2')))
    expect(await rebuild(ALL_SEEING)).toMatchObject({ removed: 1 })
    await stock.outbox.drain()
    expect(await stock.pool.has(digest('patch 2'))).toBe('nowhere')
    expect(await stock.pool.has(digest(ORIG))).toBe('pool')
  })
})

test('a format without trees owes its manifest and its bytes, and no publication', async () => {
  const bare = await createStock({ trees: () => false })
  try {
    const { manifest, settled } = await bare.put(version('1'))
    expect(await settled(0)).toBe(true)
    await bare.outbox.drain()
    expect(await bare.manifests.read(ref('1.0-1'))).toEqual(manifest)
    expect(bare.published).toEqual([])
    expect(await bare.db.query('select 1 from publish_dirty')).toEqual([])
    await bare.db.query('delete from package')
    await createRebuild({ ...bare, hasTree: () => false })(ALL_SEEING)
    await bare.catalog.change({ kind: 'delete', ref: ref('1.0-1'), why: '' }, { name: 'max' })
    await bare.outbox.drain()
    expect(bare.published).toEqual([])
    expect(await bare.pool.has(digest(ORIG))).toBe('nowhere')
    expect(await bare.db.query('select 1 from publish_dirty')).toEqual([])
  } finally {
    await bare.close()
  }
})
