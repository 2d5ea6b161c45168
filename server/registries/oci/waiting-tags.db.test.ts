import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createStock, type Stock } from '../../../test/support/test-catalog.ts'
import { findManifest } from '../../catalog/queries/store.ts'
import type { Codename, PackageName } from '../../core/identity.ts'
import type { State } from '../../core/manifest.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import { createWaitingTags, type WaitingTags } from './waiting-tags.ts'

const of: PackageName = { format: 'oci', codename: 'jammy' as Codename, name: 'app' }
const actor = { name: 'mae' }
const [GOOD, HELD] = ['sha256:good', 'sha256:held']

let stock: Stock
let waiting: WaitingTags
beforeAll(async () => {
  stock = await createStock()
  waiting = createWaitingTags(stock)
})
/** As `waiting`, and something happens right behind the moment at which it has read what waits. */
function interrupted(work: () => Promise<unknown>): WaitingTags {
  const query = async <T extends object>(sql: string, values?: readonly unknown[]) => {
    const rows = await stock.db.query<T>(sql, values)
    if (sql.startsWith('select w.tag')) await work()
    return rows
  }
  return createWaitingTags({ ...stock, db: { ...stock.db, query } })
}
const name = async (version: string): Promise<void> => {
  const manifest = await findManifest(stock.db, ALL_SEEING, { ...of, version, arch: 'amd64' })
  if (manifest === undefined) throw new Error('the version is not there')
  await waiting.name(of, { tag: 'latest', manifest }, actor)
}
afterAll(() => stock.close())

const at = (minute: number): void => stock.clock.set(`2026-03-01T10:0${minute}:00Z`)
const put = (version: string, state: State) => stock.put({ ...of, version, state })
const setTag = (version?: string) =>
  stock.catalog.change({ kind: 'tag', of, tag: 'latest', ...(version === undefined ? {} : { version }) }, actor)
const approve = () =>
  stock.db.query(`update package set state = 'published' where format = 'oci' and version = $1`, [HELD])
const tags = async () => (await stock.catalog.tags(ALL_SEEING, of)).map(({ tag, version }) => `${tag} ${version}`)

/** `latest` is at the good version, and a push of the held one waits for it. */
beforeEach(async () => {
  await stock.clear()
  await stock.db.query('truncate registry_waiting_tag')
  at(0)
  await put(GOOD, 'published')
  await put(HELD, 'pending_review')
  await setTag(GOOD)
  at(1)
  await name(HELD)
  expect(await waiting.settle(of)).toMatchObject([{ tag: 'latest', version: HELD }])
  at(2)
})

test('a tag moves to the version that it waits for when that is approved', async () => {
  await approve()
  expect(await waiting.settle(of)).toEqual([])
  expect(await tags()).toEqual([`latest ${HELD}`])
})

test('a tag that was set after the push stays where it was set', async () => {
  await put('sha256:other', 'published')
  await setTag('sha256:other')
  expect(await waiting.settle(of)).toEqual([])
  await approve()
  await waiting.settle(of)
  expect(await tags()).toEqual(['latest sha256:other'])
})

test('a tag that was removed after the push does not come back', async () => {
  await setTag()
  await approve()
  expect(await waiting.settle(of)).toEqual([])
  expect(await tags()).toEqual([])
})

test('a push after the tag was set waits again', async () => {
  await setTag(HELD)
  at(3)
  await name(HELD)
  expect(await waiting.settle(of)).toMatchObject([{ tag: 'latest', version: HELD }])
})

test('an older push that is approved at that moment does not move the tag back behind a later one', async () => {
  await put('sha256:later', 'published')
  await approve()
  await interrupted(() => name('sha256:later')).settle(of)
  expect(await tags()).toEqual(['latest sha256:later'])
  await waiting.settle(of)
  expect(await tags()).toEqual(['latest sha256:later'])
})

test('a later push that waits goes on waiting while an older one is approved', async () => {
  await put('sha256:later', 'pending_review')
  await approve()
  await interrupted(async () => {
    await name('sha256:later')
    at(3)
  }).settle(of)
  expect(await waiting.settle(of)).toMatchObject([{ tag: 'latest', version: 'sha256:later' }])
})
