import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { addSource, startSync } from '../../../test/support/catalogue.ts'
import { aptTree, fetchFrom, rpmTree, type IndexTree } from '../../../test/support/index-trees.ts'
import { createTestDb } from '../../../test/support/postgres.ts'
import type { Db } from '../../db/db.ts'
import { candidatesIn } from './candidates.ts'

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

const add = async (key: string, tree: IndexTree, format: 'deb' | 'rpm' = 'deb') => {
  trees[key] = tree
  const source = await addSource(db, key, { format })
  expect(await syncing.run(source, { signal: new AbortController().signal })).toMatchObject({ state: 'ok' })
  return source
}
const said = (found: readonly { name: string; version: string; sourceKey: string }[]): string[] =>
  found.map(({ name, version, sourceKey }) => `${sourceKey}: ${name} ${version}`)

test('candidates are packages of a name, and those found under it, of the sources that are asked alone', async () => {
  const components = (version: string) => ({
    main: [
      { name: 'mawk', version, fields: { Provides: 'awk (= 2)' } },
      { name: 'awk', version, arch: 'all' },
      { name: 'gawk', version, arch: 'i386', fields: { Provides: 'awk' } },
      { name: 'other', version },
    ],
  })
  const one = await add('one', await aptTree({ components: components('1.0') }))
  const two = await add('two', await aptTree({ components: components('2.0') }))
  await add('three', await aptTree({ components: components('3.0') }))
  const find = candidatesIn(db, { sources: [two, one], arch: 'amd64' })
  const found = await find(['awk', 'nothing'])
  expect(said(found)).toEqual(['two: mawk 2.0', 'two: awk 2.0', 'one: mawk 1.0', 'one: awk 1.0'])
  expect(found[0]).toEqual({
    id: expect.any(Number) as number,
    name: 'mawk',
    version: '2.0',
    arch: 'amd64',
    size: 1000,
    sourceKey: 'two',
    relations: { provides: [{ name: 'awk', version: '2' }] },
  })
  expect(await find([])).toEqual([])
  expect(await candidatesIn(db, { sources: [], arch: 'amd64' })(['awk'])).toEqual([])
})

test('what clients do not see for its module is no candidate', async () => {
  const stream = (version: string): string =>
    `---\ndocument: modulemd\nversion: 2\ndata:\n  name: js\n  stream: "${version}"\n  artifacts:\n    rpms:\n    - js-0:${version}.0-1.x86_64\n`
  const standard = '---\ndocument: modulemd-defaults\nversion: 1\ndata:\n  module: js\n  stream: "18"\n'
  const tree = rpmTree(
    [
      { name: 'js', version: '18.0' },
      { name: 'js', version: '20.0' },
      { name: 'js', version: '99.0' },
      { name: 'plain', provides: ['js-engine'] },
    ],
    stream('18') + stream('20') + standard,
  )
  const source = await add('one', tree, 'rpm')
  const find = candidatesIn(db, { sources: [source], arch: 'x86_64' })
  expect(said(await find(['js', 'js-engine']))).toEqual(['one: js 18.0-1', 'one: plain 1.0-1'])
})
