import { afterEach, beforeEach, expect, test } from 'vitest'
import { openImporting, type Importing } from '../../../test/support/importing.ts'
import { startWorker } from '../../../test/support/jobs.ts'
import { repositories } from '../../../test/support/repositories.ts'
import { openUploads } from '../../../test/support/uploads.ts'
import type { DebSpec } from '../../../test/support/packages.ts'
import { getFormat } from '../../formats/index.ts'
import type { Worker } from '../../work/worker.ts'
import { IMPORT_PACKAGES } from '../run/import-work.ts'
import { compareMirrored } from './compare.ts'
import { listsOf } from './lists.ts'
import { WHOLE } from './rules.ts'

const it = openUploads()
let from: Importing
let worker: Worker
const one = (name: string, version = '1.0', said = 'as ever'): DebSpec => ({
  name,
  version,
  fields: { Description: said },
})

async function compared(): Promise<string[]> {
  const all = await from.listSources()
  const sources = all.map(source => ({ source, rule: WHOLE, lists: listsOf(source, WHOLE, repositories) }))
  const found = await compareMirrored(it.db, getFormat, { codename: 'bookworm', sources, all })
  return found.map(({ source_id, name, version, here, standing }) =>
    [source_id, name, version, here, standing].join(' '),
  )
}

beforeEach(async () => {
  from = await openImporting(it)
  worker = await startWorker(it.db, [from.work])
  await from.offer('main', [one('aa'), one('bb'), one('cc')], { codenames: ['bookworm'] as never })
  const packages = ['aa', 'bb', 'cc'].map(name => ({ name }))
  const request = { packages, codename: 'bookworm', arch: 'amd64', recommends: false, group: 'g' }
  const { id } = await worker.ask({ kind: IMPORT_PACKAGES, request, by: 'uma' })
  expect((await worker.ended(id, new AbortController().signal)).state).toBe('done')
})
afterEach(async () => {
  await worker.stop()
  await from.close()
})

test('a version that the source lists with other bytes now has changed; it is neither newer nor gone', async () => {
  expect(await compared()).toEqual([])
  await from.offer('main', [one('aa', '1.0', 'built again'), one('bb', '1.1'), one('dd')])
  expect((await compared()).toSorted()).toEqual([
    'main aa 1.0 1.0 changed',
    'main bb 1.0 1.0 gone',
    'main bb 1.1 1.0 newer',
    'main cc 1.0 1.0 gone',
    'main dd 1.0  new',
  ])
})

test('where another of its sources lists the bytes that are here, nothing has changed', async () => {
  await from.offer('again', [one('aa', '1.0', 'built again')], { codenames: ['bookworm'] as never })
  expect(await compared()).toEqual([])
})
