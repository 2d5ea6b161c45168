import { afterAll, beforeAll, expect, test } from 'vitest'
import { countSigned } from '../catalog/queries/signed-by.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import { createStock, type Stock } from '../../test/support/test-catalog.ts'
import type { KeyCard } from './signer.ts'
import { createOutlived } from './signed-by-retired-keys.ts'

let stock: Stock
beforeAll(async () => {
  stock = await createStock()
})
afterAll(() => stock.close())

test('packages signed with a retired or retiring key are reported by distribution until they are deleted', async () => {
  const card = (fingerprint: string, retires?: string): KeyCard => ({
    fingerprint,
    user_id: 'T',
    algorithm: 'ed25519',
    created_at: '2026-01-01',
    role: retires === undefined ? 'current' : 'previous',
    ...(retires === undefined ? {} : { retires_at: retires }),
  })
  const keys = { keys: async () => [card('A'.repeat(40)), card('B'.repeat(40), '2026-12-01T00:00:00.000Z')] }
  const outlived = createOutlived({ signed: () => countSigned(stock.db, ALL_SEEING), keyring: keys })
  for (const [name, key] of [
    ['one', 'A'],
    ['two', 'B'],
    ['three', 'B'],
    ['four', 'C'],
    ['held', 'C'],
    ['bare', undefined],
  ] as const) {
    await stock.put({ name, bytes: name, ...(name === 'held' ? { state: 'pending_review' as const } : {}) })
    if (key !== undefined)
      await stock.db.query(
        `update package set manifest = jsonb_set(manifest::jsonb, '{files,0,signed}', $2::jsonb) where name = $1`,
        [name, JSON.stringify({ key: key.repeat(40) })],
      )
  }
  expect(outlived.warnings(ALL_SEEING)).toEqual([])
  await outlived.look()
  expect(outlived.warnings(ALL_SEEING)).toEqual([
    expect.stringMatching(
      /^Packages of jammy \(2\) are signed with the key B{16}, which retires on 2026-12-01: .* upload them again\.$/,
    ),
    expect.stringMatching(/^Packages of jammy \(1\) are signed with the key C{16}, which is retired: /),
  ])
  expect(outlived.warnings({ hidden: ['jammy'] })).toEqual([])
  await stock.db.query(`delete from package where name in ('two', 'three', 'four')`)
  await outlived.look()
  expect(outlived.warnings(ALL_SEEING)).toEqual([])
})
