import { expect, test } from 'vitest'
import type { FileList, PackagedFile } from '../../contents/file-list.ts'
import { compareFiles, type FileChange } from './files.ts'

const read = (sha256: string, mode = 0o644): PackagedFile => ({ type: 'file', mode, size: 4, sha256 })
const UNREAD: PackagedFile = { type: 'file', size: 4, unread: 'It is a sparse file.' }
const list = (files: Readonly<Record<string, PackagedFile>>, cut?: string): FileList => ({
  files: new Map(Object.entries(files)),
  ...(cut === undefined ? {} : { cut }),
})
const compared = (before: FileList, after: FileList, change?: FileChange) =>
  compareFiles(before, after, { filter: { change }, paging: { page: 1, perPage: 50 } })

test('a file that was not read is of a kind of its own, neither the same nor changed', () => {
  const before = list({ a: read('1'), b: UNREAD, c: UNREAD, d: read('1'), e: { ...UNREAD, size: 5 } })
  const after = list({ a: UNREAD, b: read('2'), c: UNREAD, d: read('2'), e: read('1') })
  const all = compared(before, after)
  expect(all.items.map(({ path, change, differs }) => [path, change, ...differs])).toEqual([
    ['a', 'uncompared'],
    ['b', 'uncompared'],
    ['c', 'uncompared'],
    ['d', 'changed', 'content'],
    ['e', 'changed', 'content'],
  ])
  expect(all).toMatchObject({ added: 0, removed: 0, changed: 2, same: 0, uncompared: 3 })
  expect(compared(before, after, 'uncompared')).toMatchObject({ total: 3, uncompared: 3 })
  expect(all.items[0]?.after).toEqual(UNREAD)
})

test('another owner is a difference, where both archives name one', () => {
  const owned = (owner?: string): FileList => list({ a: { ...read('1'), ...(owner === undefined ? {} : { owner }) } })
  expect(compared(owned('root:root'), owned('root:adm')).items.map(({ differs }) => differs)).toEqual([['owner']])
  expect(compared(owned('root:root'), owned('root:root')).same).toBe(1)
})

test('the reasons of both are told where neither was read to its end', () => {
  expect(compared(list({}, 'One broke off.'), list({}, 'Two broke off.')).cut).toBe('Two broke off. One broke off.')
  expect(compared(list({}), list({})).cut).toBeUndefined()
})
