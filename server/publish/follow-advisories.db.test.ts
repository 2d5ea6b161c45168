import { afterAll, beforeAll, expect, test } from 'vitest'
import { createStock, type Stock } from '../../test/support/test-catalog.ts'
import type { Database, Snapshot } from '../vulndb/store/database.ts'
import { repositories } from '../../test/support/repositories.ts'
import { createAdvisoryFollower } from './follow-advisories.ts'

let stock: Stock
beforeAll(async () => {
  stock = await createStock()
})
afterAll(() => stock.close())

test('new vulnerability data renew the advisories of published trees, once for each generation', async () => {
  let generation: number | undefined
  const owed: string[] = []
  const outbox = { ...stock.outbox, owe: async (_tx: unknown, key: string) => owed.push(key), nudge: () => undefined }
  const database: Database = {
    open: async () => (generation === undefined ? undefined : ({ meta: { generation } } as Snapshot)),
  }
  const advisories = createAdvisoryFollower({ db: stock.db, outbox, repositories, database })
  for (const codename of ['jammy', 'almalinux9', 'fedora'])
    await stock.db.query(
      'insert into generation (codename, n, made_at, packages, bytes) values ($1, 1, now(), 0, 0), ($1, 2, now(), 0, 0)',
      [codename],
    )
  const follow = async (): Promise<readonly string[]> => {
    owed.length = 0
    await advisories.jobs?.[0]?.run()
    return owed.toSorted()
  }
  expect(await follow(), 'no data').toEqual([])
  generation = 7
  expect(await follow()).toEqual(['contents:almalinux9', 'contents:fedora'])
  expect(await follow(), 'the same').toEqual([])
  generation = 8
  expect(await follow()).toHaveLength(2)
})
