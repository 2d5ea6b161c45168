import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { addSource, startSync } from '../../../test/support/catalogue.ts'
import { aptTree, fetchFrom, rpmTree, type DebEntry, type IndexTree } from '../../../test/support/index-trees.ts'
import { createTestDb } from '../../../test/support/postgres.ts'
import type { Db } from '../../db/db.ts'
import { searchCatalogue, type CatalogueQuery } from './search.ts'

let db: Db
let close: () => Promise<void>
let syncing: Awaited<ReturnType<typeof startSync>>
const trees: Record<string, IndexTree> = {}
beforeAll(async () => {
  ;({ db, close } = await createTestDb())
  syncing = await startSync(db, source => fetchFrom(() => trees[source.key] ?? {}))
})
afterAll(async () => {
  await syncing.close()
  await close()
})
beforeEach(() => db.query('truncate import_source, import_package, import_capability, import_name cascade'))

async function add(key: string, entries: readonly DebEntry[]): Promise<number> {
  trees[key] = await aptTree({ components: { main: entries } })
  const source = await addSource(db, key)
  await syncing.run(source, { signal: new AbortController().signal })
  return source.id
}
const search = (q: string, more: Partial<CatalogueQuery> = {}) => searchCatalogue(db, { q, limit: 20, ...more })
const names = async (q: string, more: Partial<CatalogueQuery> = {}): Promise<string[]> =>
  (await search(q, more)).map(({ name }) => name)

describe('a search', () => {
  test('finds the name first, then what begins with it, has it inside, or says it in the summary; short before long', async () => {
    await add('one', [
      { name: 'nginx' },
      { name: 'nginx-full' },
      { name: 'nginx-doc' },
      { name: 'libnginx-mod' },
      { name: 'other', fields: { Description: 'modules of NGINX, as it comes' } },
      { name: 'unrelated' },
    ])
    expect(await names('nginx')).toEqual(['nginx', 'nginx-doc', 'nginx-full', 'libnginx-mod', 'other'])
    expect(await names('NGINX')).toEqual(await names('nginx'))
    expect(await names('nginx', { limit: 2 })).toEqual(['nginx', 'nginx-doc'])
    // the middle, and words, from three letters on
    expect(await names('gi')).toEqual([])
    expect(await names('gin')).toEqual(['nginx', 'nginx-doc', 'nginx-full', 'libnginx-mod'])
    expect(await names('nothing like it')).toEqual([])
  })

  test('takes wildcards as themselves', async () => {
    await add('one', [{ name: 'a.b' }, { name: 'axb' }, { name: 'lib-100' }])
    await db.query(`update import_name set name = 'a_b' where name = 'a.b'`)
    await db.query(`update import_package set name = 'a_b' where name = 'a.b'`)
    expect(await names('a_b')).toEqual(['a_b'])
    expect(await names('%')).toEqual([])
    expect(await names('a\\')).toEqual([])
  })

  test('has one hit for a name, with its versions of all sources, the newest by the order of the format', async () => {
    const one = await add('one', [
      { name: 'hello', version: '1.9' },
      { name: 'hello', version: '1.10~rc1' },
    ])
    const two = await add('two', [{ name: 'hello', version: '1.10', fields: { Depends: 'libc6', Section: 'misc' } }])
    const [hit, ...others] = await search('hello')
    expect(others).toEqual([])
    expect(hit).toMatchObject({
      format: 'deb',
      name: 'hello',
      version_count: 3,
      newest: {
        version: '1.10',
        source_id: two,
        section: 'misc',
        relations: { depends: [[{ name: 'libc6' }]] },
        notes: { maintainer: 'Jo <jo@example.test>' },
      },
    })
    expect(hit?.versions.map(({ version, source_id }) => [version, source_id])).toEqual([
      ['1.10', two],
      ['1.10~rc1', one],
      ['1.9', one],
    ])
  })

  test('looks in the sources that are asked alone, before it cuts off', async () => {
    await add(
      'one',
      Array.from({ length: 30 }, (_, n) => ({ name: `lib${n}` })),
    )
    const two = await add('two', [{ name: 'library-of-two' }, { name: 'lib1', version: '9' }])
    expect(await names('lib', { sources: [two], limit: 2 })).toEqual(['lib1', 'library-of-two'])
    const [hit] = await search('lib1', { sources: [two] })
    expect(hit?.versions.map(({ version }) => version)).toEqual(['9'])
    expect(await names('lib', { sources: [] })).toEqual([])
  })

  test('keeps names of two formats apart', async () => {
    await add('one', [{ name: 'hello' }])
    trees.two = rpmTree([{ name: 'hello', version: '2.0' }])
    await syncing.run(await addSource(db, 'two', { format: 'rpm' }), { signal: new AbortController().signal })
    expect((await search('hello')).map(({ format, newest }) => [format, newest.version])).toEqual([
      ['deb', '1.0'],
      ['rpm', '2.0-1'],
    ])
    expect((await search('hello', { format: 'rpm' })).map(({ format }) => format)).toEqual(['rpm'])
  })

  test('that the database cannot answer in time is told so', async () => {
    const busy = {
      ...db,
      tx: () =>
        Promise.reject(Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' })),
    } as Db
    await expect(searchCatalogue(busy, { q: 'x', limit: 1 })).rejects.toMatchObject({ code: 'search_too_slow' })
  })
})
