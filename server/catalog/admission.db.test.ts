import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createStock, type Item, type Stock } from '../../test/support/test-catalog.ts'
import { isRefusal } from '../core/errors.ts'
import { sha256, type Codename } from '../core/identity.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import { lockDistribution } from '../db/distribution-lock.ts'

let stock: Stock
beforeAll(async () => {
  stock = await createStock()
})
afterAll(() => stock.close())
beforeEach(() => stock.clear())

const bytesOf = (item: Item): string => JSON.stringify(item)
const placeOf = (item: Item): ReturnType<Stock['pool']['has']> =>
  stock.pool.has(sha256(createHash('sha256').update(bytesOf(item)).digest('hex')))

/** Adds these so that they share a transaction, and says what became of each. */
async function putTogether(items: readonly Item[], codename = 'jammy'): Promise<readonly string[]> {
  return stock.db
    .tx(async tx => {
      await lockDistribution(tx, codename as Codename)
      const first = stock.put({ codename, ...items[0], name: 'first', bytes: 'first', others: {} })
      // it waits for the lock, and the others for it
      const puts = [first, ...items.map(item => stock.put({ codename, ...item, bytes: bytesOf(item) }))].map(put =>
        put.then(
          ({ outcome }) => outcome,
          (error: unknown) => (isRefusal(error) ? error.code : `fault: ${String(error)}`),
        ),
      )
      while ((await Promise.all(items.map(placeOf))).includes('nowhere'))
        await new Promise(resolve => setImmediate(resolve))
      return { puts }
    })
    .then(async ({ puts }) => (await Promise.all(puts)).slice(1))
}

const names = async (): Promise<readonly string[]> =>
  (await stock.db.query<{ name: string }>('select name from package order by name')).map(({ name }) => name)

test('a version that the database cannot take fails alone, and those that share its transaction come in', async () => {
  // PostgreSQL takes no text with such a character
  const items = ['a', 'b', 'c', 'd'].map((name): Item => ({ name, summary: name === 'c' ? 'half\u0000' : name }))
  const [a, b, c, d] = await putTogether(items)
  expect([a, b, d]).toEqual(['created', 'created', 'created'])
  expect(c).toMatch(/^fault: .*unsupported Unicode escape sequence/)
  expect(await names()).toEqual(['a', 'b', 'd', 'first'])
  await stock.outbox.drain()
  const lines = await stock.audit.search(ALL_SEEING, { page: 1, perPage: 10 })
  expect(lines.items.map(line => line.package).sort()).toEqual(['a', 'b', 'd', 'first'])
})

test('one that its repository does not take is refused, and those that share its transaction come in', async () => {
  const items = ['a', 'b', 'c'].map((name): Item => ({ name, ...(name === 'b' ? { arch: 'sparc' } : {}) }))
  expect(await putTogether(items)).toEqual(['created', 'wrong_arch', 'created'])
  expect(await names()).toEqual(['a', 'c', 'first'])
})

test('of packages that clients would find at one address one comes in, also when they arrive together', async () => {
  const apk = (name: string, arch: string): Item => ({ format: 'apk', name, arch, codename: 'alpine3.22' })
  const items = [apk('a', 'noarch'), apk('a', 'x86_64'), apk('b', 'x86_64'), apk('b', 'aarch64')]
  const [one, other, ...apart] = await putTogether(items, 'alpine3.22')
  expect([one, other].sort()).toEqual(['created', 'duplicate_conflict'])
  expect(apart).toEqual(['created', 'created'])
  await expect(stock.put(apk('b', 'noarch'))).rejects.toMatchObject({ code: 'duplicate_conflict' })
  expect(await names()).toEqual(['a', 'b', 'b', 'first'])
})

test('of two source packages with a file of one name and other bytes one comes in', async () => {
  const source = (version: string, tarball: string): Item => ({
    ...{ name: 'src', version, arch: 'source', kind: 'source' },
    others: { 'src_1.orig.tar.gz': tarball },
  })
  const together = await putTogether([source('1-1', 'one'), source('1-2', 'other')])
  expect([...together].sort()).toEqual(['created', 'file_conflict'])
})
