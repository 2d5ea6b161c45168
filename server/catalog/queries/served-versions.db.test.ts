import { afterAll, beforeAll, expect, test } from 'vitest'
import { createStock, type Stock } from '../../../test/support/test-catalog.ts'
import type { Codename } from '../../core/identity.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import { saveIndex, saveVerdicts } from './remote-versions.ts'
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

test('a registry that reads through serves what its index lists, too, but for what it hides and what waits here', async () => {
  const { db } = stock
  const key = { codename: 'bookworm' as Codename, name: 'a' }
  const [now, revision] = [new Date(), 'first']
  // the last one has no verdict yet
  const versions = ['1.0', '2.0', '3.0', '4.0', '5.0', '6.0', '7.0']
  const entries = versions.map(version => ({ version, arch: 'amd64', sort_key: version, facts: {} }))
  async function* chunks() {
    yield JSON.stringify(entries)
  }
  const keys = versions.map(version => `${version}\tamd64`)
  const index = { about: {}, validators: {}, keys, chunks: chunks() }
  await saveIndex(db, key, { format: 'deb', now, revision, index })
  const verdict = (version: string, hidden: 'blocked' | 'young' | null, ripe: number | null) => ({
    ...{
      version,
      arch: 'amd64',
      hidden,
      said: 'it is',
      ripe_at: ripe === null ? null : new Date(now.getTime() + ripe),
    },
  })
  const verdicts = [
    verdict('1.0', null, null),
    verdict('2.0', 'blocked', null),
    verdict('3.0', 'young', 3_600_000),
    verdict('4.0', 'young', -3_600_000),
    verdict('5.0', 'young', null),
    verdict('6.0', null, null),
  ]
  await saveVerdicts(db, key, { revision, mark: 'judged', verdicts })
  await stock.put({ name: 'a', version: '6.0', codename: 'bookworm', state: 'pending_review' })
  const found = await listServedVersions(db, ALL_SEEING, { format: 'deb', codename: 'bookworm', names: ['a'] })
  expect(found.get('a')?.toSorted()).toEqual(['1.0', '4.0'])
})
