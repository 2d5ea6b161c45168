import { afterAll, beforeAll, expect, test } from 'vitest'
import { createStock, type Stock } from '../../test/support/test-catalog.ts'
import type { FormatId } from '../core/identity.ts'
import { DEFAULT_DISTRIBUTIONS } from '../core/default-distributions.ts'
import type { Distribution } from '../core/repository.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import { migrate } from '../db/migrate.ts'
import { manifestsOf } from './queries/names.ts'
import { searchPackages } from './queries/search.ts'
import { createRebuild } from './rebuild.ts'

const [jammy] = DEFAULT_DISTRIBUTIONS as readonly [Distribution]
const registry: Distribution = {
  ...jammy,
  kind: 'registry',
  format: 'npm',
  registry: { kind: 'hosted' },
  builtin: true,
}
let stock: Stock
beforeAll(async () => {
  stock = await createStock({ trees: () => false, repositories: { find: () => registry } })
  const put = (format: FormatId, name: string, facts: object) => stock.put({ format, name, arch: 'any', facts })
  await put('npm', 'aged', { full: '{}', short: '{}', keywords: [], deprecated: 'Use "b"' })
  await put('npm', 'fresh', { full: '{}', short: '{}', keywords: [] })
  await put('pypi', 'regret', { yanked: { reason: 'It loses data.', by: 'ada', at: '2026-01-01T00:00:00.000Z' } })
})
afterAll(() => stock.close())

const MARKS = [
  ['aged', { kind: 'deprecated', reason: 'Use "b"' }],
  ['fresh', null],
  ['regret', { kind: 'yanked', reason: 'It loses data.' }],
]
async function listed(): Promise<unknown> {
  const page = await searchPackages(stock.db, ALL_SEEING, {
    filter: { states: ['published'] },
    paging: { page: 1, perPage: 10 },
  })
  return page.items.map(({ name, mark }) => [name, mark])
}

test('what a format says of a version is in lists and in what is told of one', async () => {
  expect(await listed()).toEqual(MARKS)
  expect(await manifestsOf(stock.db, ALL_SEEING, { name: 'aged', most: 9 })).toMatchObject([{ mark: MARKS[0]?.[1] }])
})

test('versions of before this release have their marks, too', async () => {
  await stock.db.query('alter table package drop column mark')
  await stock.db.query(`delete from schema_migration where name = '0061-package-mark'`)
  await migrate(stock.db)
  expect(await listed()).toEqual(MARKS)
})

test('marks are the same after the database was made again from the manifests', async () => {
  await stock.outbox.drain()
  await stock.db.query('truncate package, artifact cascade')
  await createRebuild({ ...stock, hasTree: () => false })(ALL_SEEING, () => undefined)
  expect(await listed()).toEqual(MARKS)
})
