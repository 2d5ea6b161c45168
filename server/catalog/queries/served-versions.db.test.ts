import { afterAll, beforeAll, expect, test } from 'vitest'
import { createStock, type Stock } from '../../../test/support/test-catalog.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import { listServedVersions } from './served-versions.ts'

let stock: Stock
beforeAll(async () => {
  stock = await createStock()
})
afterAll(() => stock.close())

test('the versions of some names are those that one repository serves, each once', async () => {
  await stock.put({ name: 'a', version: '1.0' })
  await stock.put({ name: 'a', version: '1.0', arch: 'arm64' })
  await stock.put({ name: 'a', version: '2.0', state: 'pending_review' })
  await stock.put({ name: 'a', version: '3.0', codename: 'noble' })
  await stock.put({ name: 'b', version: '1.1' })
  await stock.put({ name: 'c', version: '1.2' })
  const asked = { format: 'deb', codename: 'jammy', names: ['a', 'b', 'nothing'] }
  const found = await listServedVersions(stock.db, ALL_SEEING, asked)
  expect([...found].sort()).toEqual([
    ['a', ['1.0']],
    ['b', ['1.1']],
  ])
  expect((await listServedVersions(stock.db, ALL_SEEING, { ...asked, format: 'rpm' })).size).toBe(0)
})
