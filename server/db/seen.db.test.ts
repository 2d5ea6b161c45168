import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createStock, type Stock } from '../../test/support/stock.ts'
import { searchArtifacts } from '../catalog/search.ts'
import { seeingAllBut } from '../lib/caller.ts'
import { createSeenDb, shadowed } from './seen.ts'

let stock: Stock
beforeAll(async () => {
  stock = await createStock()
  await stock.put({ name: 'both', version: '1.0', summary: 'open' })
  await stock.put({ name: 'both', version: '2.0', codename: 'noble', summary: 'secret words' })
  await stock.put({
    name: 'secret',
    codename: 'noble',
    findings: [{ id: 'CVE-2026-1', package: 'secret', severity: 'high', detected_by: ['osv'] }],
  })
})
afterAll(() => stock.close())

const seen = <T>(work: (db: ReturnType<typeof createSeenDb>) => Promise<T>): Promise<T> =>
  seeingAllBut(['noble'], () => work(createSeenDb(stock.db)))
const count = (sql: string, params: readonly unknown[] = []) =>
  seen(async db => (await db.first<{ n: number }>(sql, params))?.n)

describe('the database as a caller sees it', () => {
  test('hides packages from rows, counts, joins, parts and tables beside', async () => {
    expect(await count('select count(*)::int as n from package')).toBe(1)
    expect(await count('select count(*)::int as n from package p where p.name = $1', ['secret'])).toBe(0)
    expect(
      await count('with mine as (select * from package where name = $1) select count(*)::int as n from mine', ['both']),
    ).toBe(1)
    expect(
      await count('select count(*)::int as n from (select 1 from finding f join package p on p.id = f.package_id) x'),
    ).toBe(0)
    expect(await count('select count(*)::int as n from finding')).toBe(0)
    expect(
      await count('select (select count(*) from package where codename = any($1))::int as n', [['noble', 'jammy']]),
    ).toBe(1)
  })

  test('tells of an artifact only what the visible versions tell', async () => {
    const page = await seen(db => searchArtifacts(db, {}, { page: 1, perPage: 10 }))
    expect(page).toMatchObject({ total: 1, items: [{ name: 'both', latest: '1.0', versions: 1, summary: 'open' }] })
    expect((await seen(db => searchArtifacts(db, { q: 'secret' }, { page: 1, perPage: 10 }))).total).toBe(0)
    expect((await searchArtifacts(stock.db, { q: 'secret' }, { page: 1, perPage: 10 })).total).toBe(2)
  })

  test('is the database itself for who sees everything, and for what writes', async () => {
    expect((await createSeenDb(stock.db).first<{ n: number }>('select count(*)::int as n from package'))?.n).toBe(3)
    expect(
      await seen(async db =>
        db.tx(async tx => (await tx.first<{ n: number }>('select count(*)::int as n from package'))?.n),
      ),
    ).toBe(3)
  })

  test('refuses what it cannot shadow rather than show it', () => {
    expect(() => shadowed('with recursive x as (select 1) select * from package', [], ['noble'])).toThrow('recursive')
    expect(() => shadowed('delete from package', [], ['noble'])).toThrow('reads')
  })
})
