import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDb, type TestDb } from '../../../test/support/postgres.ts'
import { DEFAULT_DISTRIBUTIONS } from '../../core/default-distributions.ts'
import { listBuiltins } from './builtin.ts'
import { createSourceStore, type KnownSource, type SourceStore } from './store.ts'

const now = new Date('2026-11-21T12:00:00Z')
let test_: TestDb
let store: SourceStore
let switches: Record<string, boolean> = {}

beforeAll(async () => {
  test_ = await createTestDb()
  store = createSourceStore({ db: test_.db, clock: { now: () => now }, switches: () => switches })
})
afterAll(() => test_.close())
beforeEach(async () => {
  switches = {}
  await test_.db.query('delete from import_source')
})

const find = (key: string): Promise<KnownSource> => store.get(test_.db, key)
const change = async (key: string, changes: Parameters<SourceStore['change']>[2]): Promise<void> => {
  const { source } = await find(key)
  await test_.db.tx(tx => store.change(tx, source, changes))
}

test('every distribution has its sources, each with an address and a key of its own', () => {
  const all = listBuiltins(now)
  expect(new Set(all.map(({ key }) => key)).size).toBe(all.length)
  expect(new Set(all.map(({ urls, suite }) => `${urls.join()} ${suite ?? ''}`)).size).toBe(all.length)
  const served = new Set(all.flatMap(({ codenames }) => codenames))
  expect([...served].sort()).toEqual(DEFAULT_DISTRIBUTIONS.map(({ codename }) => codename).sort())
  for (const one of all) {
    expect(one.key).toMatch(/^[a-z0-9][a-z0-9._-]{0,79}$/)
    expect(one.urls[0]).toMatch(one.signed ? /^https?:\/\/.*\/$/ : /^https:\/\/.*\/$/)
    expect(one.keys.length).toBeGreaterThan(0)
  }
})

test('retired are those whose distributions have come to their end', () => {
  const retired = (at: string): string[] =>
    listBuiltins(new Date(at)).flatMap(({ key, retired: is }) => (is ? [key] : []))
  expect(retired('2026-08-31')).not.toContain('bullseye')
  expect(retired('2026-09-01')).toEqual(expect.arrayContaining(['bullseye', 'bullseye-security', 'focal', 'fedora']))
  // of four families the last one counts
  expect(retired('2028-01-01')).not.toContain('epel9')
})

test('at a start new ones come, changed ones follow, and others retire', async () => {
  await store.settle()
  const { source } = await find('bookworm')
  await test_.db.query("update import_source set urls = '{http://old.example/}', retired = true where key = 'bookworm'")
  await test_.db.query("delete from import_source where key = 'trixie'")
  await test_.db.query("update import_source set key = 'no-more' where key = 'jammy'")
  await store.settle()
  expect((await find('bookworm')).source).toEqual(source)
  expect((await find('trixie')).source.enabled).toBe(true)
  expect((await find('no-more')).source.retired).toBe(true)
  expect((await find('jammy')).source.retired).toBe(false)
})

test('what an admin changed of one stays, and the rest follows', async () => {
  await store.settle()
  await change('bookworm', { urls: ['http://mirror.example/debian/'], enabled: false })
  await test_.db.query("update import_source set label = 'Old' where key = 'bookworm'")
  await store.settle()
  expect((await find('bookworm')).source).toMatchObject({
    urls: ['http://mirror.example/debian/'],
    enabled: false,
    label: 'Debian 12',
  })
})

test('an own source with the name of a new one stays as it is', async () => {
  const { retired: _, ...own } = { ...listBuiltins(now)[0], key: 'bookworm', label: 'Ours', enabled: true }
  await test_.db.tx(tx => store.add(tx, own as Parameters<SourceStore['add']>[1], 'ada'))
  await store.settle()
  expect((await find('bookworm')).source).toMatchObject({ label: 'Ours', builtin: false })
})

test('is on where both the source and the setting are', async () => {
  await store.settle()
  switches = { trixie: false, bookworm: true }
  await change('bookworm', { enabled: false })
  for (const key of ['trixie', 'bookworm']) expect((await find(key)).source.enabled).toBe(false)
  expect((await find('noble')).source.enabled).toBe(true)
})

test('an older or another root is taken once more after it was forgotten', async () => {
  await store.settle()
  const { source } = await find('bookworm')
  await test_.db.query("insert into import_root (source_id, at, origin, codename) values ($1, now(), 'D', 'b')", [
    source.id,
  ])
  await test_.db.tx(tx => store.forget(tx, source, 'older'))
  expect((await find('bookworm')).status).toMatchObject({ at: null, origin: 'D', codename: 'b' })
  await test_.db.tx(tx => store.forget(tx, source, 'origin'))
  expect((await find('bookworm')).status).toMatchObject({ origin: null, codename: null })
})
