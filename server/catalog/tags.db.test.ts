import { readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createStock, type Stock } from '../../test/support/test-catalog.ts'
import { isRefusal } from '../core/errors.ts'
import type { Codename, PackageName } from '../core/identity.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import { hasTree } from '../formats/index.ts'
import type { Changed } from './change.ts'
import { createRebuild } from './rebuild.ts'

let stock: Stock
beforeAll(async () => {
  stock = await createStock()
})
afterAll(() => stock.close())
beforeEach(async () => {
  await stock.clear()
  for (const version of ['1.0', '2.0']) await stock.put({ version })
  await stock.put({ version: '2.0', arch: 'arm64' })
  await stock.outbox.drain()
  stock.published.length = 0
})

const of: PackageName = { format: 'deb', codename: 'jammy' as Codename, name: 'hello' }
const set = (tag: string, version?: string): Promise<Changed> =>
  stock.catalog.change(
    { kind: 'tag', of, tag, ...(version === undefined ? {} : { version }) },
    { name: 'mae', ip: '192.0.2.9' },
  )
const remove = (version: string, arch = 'amd64'): Promise<Changed> =>
  stock.catalog.change({ kind: 'delete', ref: { ...of, version, arch }, why: '' }, { name: 'max' })
const tags = async (): Promise<Record<string, string>> =>
  Object.fromEntries((await stock.catalog.tags(ALL_SEEING, of)).map(({ tag, version }) => [tag, version]))
const filed = async (): Promise<unknown> =>
  readFile(stock.layout.tags(of), 'utf8').then(
    text => JSON.parse(text) as unknown,
    () => undefined,
  )
const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no refusal',
    (error: unknown) => (isRefusal(error) ? error.code : String(error)),
  )
const lines = async () =>
  (await stock.audit.recent(ALL_SEEING, ['TAG'], 9)).map(({ user, version, detail }) => `${user} ${version}: ${detail}`)

test('a tag is set, moved and removed: each is a line in the audit log, and none is a new version or a publication', async () => {
  expect(await set('latest', '1.0')).toMatchObject({ outcome: 'created', manifest: { ref: { version: '1.0' } } })
  expect(await set('latest', '1.0')).toMatchObject({ outcome: 'already' })
  stock.clock.set('2026-03-02T00:00:00Z')
  expect(await set('latest', '2.0')).toMatchObject({ outcome: 'changed', manifest: { ref: { version: '2.0' } } })
  expect(await set('next', '2.0')).toMatchObject({ outcome: 'created' })
  await stock.outbox.drain()
  const at = '2026-03-02T00:00:00.000Z'
  expect(await filed()).toEqual({
    schema: 1,
    of,
    tags: [
      { tag: 'latest', version: '2.0', by: 'mae', at },
      { tag: 'next', version: '2.0', by: 'mae', at },
    ],
  })
  expect(await set('next')).toMatchObject({ outcome: 'deleted', manifest: { ref: { version: '2.0' } } })
  await stock.outbox.drain()
  expect(await tags()).toEqual({ latest: '2.0' })
  expect(await lines()).toEqual([
    'mae 2.0: The tag next named 2.0 and is removed.',
    'mae 2.0: The tag next names 2.0.',
    'mae 2.0: The tag latest names 2.0, it named 1.0.',
    'mae 1.0: The tag latest names 1.0.',
  ])
  expect(stock.published).toEqual([])
  expect(await stock.db.query('select 1 from package')).toHaveLength(3)
  await set('latest')
  await stock.outbox.drain()
  expect(await filed()).toBeUndefined()
})

test('a tag can only name an existing version', async () => {
  expect(await codeOf(set('latest', '9'))).toBe('version_not_found')
  expect(await codeOf(set('latest'))).toBe('tag_not_found')
  expect(await tags()).toEqual({})
  expect(await lines()).toEqual([])
})

test('deleting the last architecture of a version removes its tags, and other tags stay', async () => {
  await set('latest', '2.0')
  await set('next', '2.0')
  await set('stable', '1.0')
  await remove('2.0')
  expect(await tags()).toEqual({ latest: '2.0', next: '2.0', stable: '1.0' })
  await remove('2.0', 'arm64')
  expect(await tags()).toEqual({ stable: '1.0' })
  await stock.outbox.drain()
  expect(await filed()).toMatchObject({ tags: [{ tag: 'stable', version: '1.0' }] })
  expect((await lines()).slice(0, 2).sort()).toEqual([
    'max 2.0: The tag latest named 2.0 and is removed. That version was deleted.',
    'max 2.0: The tag next named 2.0 and is removed. That version was deleted.',
  ])
})

test('setting a tag and deleting its version at the same moment happen one after the other', async () => {
  for (let round = 0; round < 10; round++) {
    const version = `3.${round}`
    await stock.put({ version })
    const done = await Promise.allSettled([set('latest', version), remove(version)])
    expect(done[1]).toMatchObject({ status: 'fulfilled' })
    expect((await tags()).latest).not.toBe(version)
  }
})

test('a lost database gets the tags back from disk, except those whose version was deleted', async () => {
  await set('latest', '2.0')
  await set('stable', '1.0')
  await stock.outbox.drain()
  const before = await stock.catalog.tags(ALL_SEEING, of)
  const rebuild = createRebuild({ ...stock, hasTree })
  await stock.db.query('truncate package, artifact, package_offer, tag cascade')
  expect(await rebuild(ALL_SEEING)).toMatchObject({ added: 3, broken: [] })
  expect(await stock.catalog.tags(ALL_SEEING, of)).toEqual(before)
  await stock.manifests.remove({ ...of, version: '1.0', arch: 'amd64' })
  await rebuild(ALL_SEEING)
  expect(await tags()).toEqual({ latest: '2.0' })
  await writeFile(stock.layout.tags(of), '{"schema":')
  expect(await rebuild(ALL_SEEING)).toMatchObject({ broken: [{ path: 'deb/jammy/hello/tags.json' }] })
  expect(await tags()).toEqual({ latest: '2.0' })
  await stock.manifests.removeTags(of)
  await rebuild(ALL_SEEING)
  expect(await tags()).toEqual({})
})
