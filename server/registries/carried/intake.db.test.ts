import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { hostedRegistry } from '../../../test/support/defined-registries.ts'
import { createStock, type Stock } from '../../../test/support/test-catalog.ts'
import type { Codename, PackageName } from '../../core/identity.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { RegistryIntake } from '../../pipeline/registry-intake.ts'
import type { RegistryDeps } from '../deps.ts'
import { createIntake } from './intake.ts'

const of: PackageName = { format: 'npm', codename: 'jammy' as Codename, name: 'lib' }
const registry = hostedRegistry('jammy', 'npm')
const by = 'source:bundle-hub'
const actor = { name: by }

let stock: Stock
beforeAll(async () => (stock = await createStock()))
afterAll(() => stock.close())

const setTag = (version: string, who = 'mae') =>
  stock.catalog.change({ kind: 'tag', of, tag: 'next', version, by: who }, { name: who })
const tags = async () => (await stock.catalog.tags(ALL_SEEING, of)).map(one => `${one.tag} ${one.version} ${one.by}`)

/** The way in, where somebody does something right behind the moment at which it has read tags. */
function intake(meanwhile: () => Promise<unknown>): RegistryIntake {
  const after = async <T>(rows: T, sql: string): Promise<T> => {
    if (sql.startsWith('select tag, version')) await meanwhile()
    return rows
  }
  const db = {
    ...stock.db,
    query: async <T extends object>(sql: string, values?: readonly unknown[]) =>
      after(await stock.db.query<T>(sql, values), sql),
    first: async <T extends object>(sql: string, values?: readonly unknown[]) =>
      after(await stock.db.first<T>(sql, values), sql),
  }
  // tags need neither the gate nor anything outside
  return createIntake({ ...stock, db } as unknown as RegistryDeps)
}
const nothing = (): Promise<void> => Promise.resolve()
const keepNone = (way: RegistryIntake) =>
  way.keepTags({ registry, of, tags: [], until: '2026-03-01T11:00:00.000Z', by }, actor)
const bring = (way: RegistryIntake, version: string) =>
  way.setTag({ registry, ref: { ...of, version, arch: 'all' }, tag: 'next', at: '2026-03-01T10:30:00.000Z', by }, actor)

beforeEach(async () => {
  await stock.clear()
  stock.clock.set('2026-03-01T10:00:00Z')
  for (const version of ['1.0.0', '2.0.0', '3.0.0']) await stock.put({ ...of, version, arch: 'all' })
  await setTag('1.0.0', by)
})

test('a tag that is gone at the sender goes', async () => {
  expect(await keepNone(intake(nothing))).toMatchObject([{ tag: 'next', version: '1.0.0' }])
  expect(await tags()).toEqual([])
})

test('a tag that somebody sets while a bundle takes it away stays', async () => {
  expect(await keepNone(intake(() => setTag('2.0.0')))).toEqual([])
  expect(await tags()).toEqual(['next 2.0.0 mae'])
})

test('a tag that somebody sets while a bundle moves it stays where it was set', async () => {
  expect(await bring(intake(nothing), '2.0.0')).toMatchObject({ outcome: 'done' })
  stock.clock.set('2026-03-01T10:40:00Z')
  const fate = await bring(
    intake(() => setTag('1.0.0')),
    '3.0.0',
  )
  expect(await tags()).toEqual(['next 1.0.0 mae'])
  expect(fate).toMatchObject({ outcome: 'stays' })
})
