import { afterAll, beforeAll, expect, test } from 'vitest'
import { createStock, type Stock } from '../../../test/support/test-catalog.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import { countArtifacts, countBlobs, countStates } from './counts.ts'
import { newestOf, searchArtifacts, searchPackages } from './search.ts'
import { listFound } from './vulnerabilities.ts'

const WITHOUT_NOBLE = { hidden: ['noble'] }
const paging = { page: 1, perPage: 10 }
let stock: Stock
beforeAll(async () => {
  stock = await createStock()
  await stock.put({ name: 'both', version: '1.0', summary: 'open' })
  await stock.put({ name: 'both', version: '2.0', codename: 'noble', summary: 'Secret words' })
  await stock.put({
    name: 'secret',
    codename: 'noble',
    findings: [{ id: 'CVE-2026-1', package: 'secret', severity: 'high', detected_by: ['osv'] }],
  })
})
afterAll(() => stock.close())

test.each([undefined, 'both', 'open'])(
  'an artifact is described by its visible versions only, searched by %s',
  async q => {
    const page = await searchArtifacts(stock.db, WITHOUT_NOBLE, { filter: { q }, paging })
    expect(page).toMatchObject({ total: 1, items: [{ name: 'both', latest: '1.0', versions: 1, summary: 'open' }] })
    const [newest] = await newestOf(stock.db, WITHOUT_NOBLE, { artifacts: page.items, most: 1 })
    expect(newest).toMatchObject({ version: '1.0', codename: 'jammy' })
    const whole = await searchArtifacts(stock.db, ALL_SEEING, { filter: { q: 'both' }, paging })
    expect(whole).toMatchObject({ total: 1, items: [{ name: 'both', latest: '2.0', versions: 2 }] })
  },
)

test.each(['secret', 'secret words'])('%s is found only by those who may see it', async q => {
  const total = async (viewer: typeof WITHOUT_NOBLE | typeof ALL_SEEING): Promise<number[]> => [
    (await searchArtifacts(stock.db, viewer, { filter: { q }, paging })).total,
    (await searchPackages(stock.db, viewer, { filter: { q, states: ['published'] }, paging })).total,
  ]
  expect(await total(WITHOUT_NOBLE)).toEqual([0, 0])
  expect((await total(ALL_SEEING))[0]).toBe(q === 'secret' ? 2 : 1)
})

test('a filter by the hidden distribution finds nothing, and one by state counts the others', async () => {
  const of = async (filter: object): Promise<number> =>
    (await searchArtifacts(stock.db, WITHOUT_NOBLE, { filter, paging })).total
  expect([await of({ distribution: 'noble' }), await of({ state: 'published' }), await of({ format: 'deb' })]).toEqual([
    0, 1, 1,
  ])
})

test('counts cover visible packages only', async () => {
  const counts = async (viewer: typeof WITHOUT_NOBLE | typeof ALL_SEEING): Promise<number[]> => [
    await countArtifacts(stock.db, viewer),
    (await countBlobs(stock.db, viewer)).blobs,
    (await countStates(stock.db, viewer)).published,
    (await listFound(stock.db, viewer, { filter: {}, paging, sort: 'id' })).total,
  ]
  expect([await counts(WITHOUT_NOBLE), await counts(ALL_SEEING)]).toEqual([
    [1, 1, 1, 0],
    [2, 3, 3, 1],
  ])
})

test('packages can be narrowed to those that nobody looked at', async () => {
  await stock.put({
    name: 'looked',
    reports: [{ step: 'vulnerabilities', outcome: 'ok', verdict: 'no_findings', said: 'Nothing is known.' }],
  })
  const namesOf = async (scanned: boolean) =>
    (await searchPackages(stock.db, ALL_SEEING, { filter: { states: ['published'], scanned }, paging })).items.map(
      ({ name }) => name,
    )
  expect(await namesOf(true)).toEqual(['looked'])
  expect(await namesOf(false)).toEqual(['both', 'both', 'secret'])
})

test.each([
  ['name', 'Index Only Scan using package_by_name'],
  ['-name', 'Index Only Scan Backward using package_by_name'],
  ['-updated_at', 'Index Only Scan using package_by_change'],
  ['updated_at', 'Index Only Scan Backward using package_by_change'],
] as const)('a far page of packages by %s is found in an index, without the rows before it', async (sort, scan) => {
  const asked: [string, readonly unknown[]][] = []
  const db = {
    ...stock.db,
    query: async (sql: string, values: readonly unknown[] = []) => {
      asked.push([sql, values])
      return []
    },
  } as never
  const filter = { states: ['published', 'pending_review'] as const, sort }
  await searchPackages(db, ALL_SEEING, { filter, paging: { page: 900, perPage: 50 } })
  const [sql, values] = asked[0] ?? ['', []]
  const plan = await stock.db.tx(async tx => {
    // of so few rows all would be read
    for (const way of ['seqscan', 'bitmapscan', 'sort']) await tx.query(`set local enable_${way} = off`)
    return tx.query(`explain ${sql}`, values)
  })
  expect(JSON.stringify(plan)).toMatch(new RegExp(scan))
})
