import { afterEach, beforeEach, expect, test } from 'vitest'
import { openImporting, type Importing } from '../../../test/support/importing.ts'
import { startWorker } from '../../../test/support/jobs.ts'
import { openUploads } from '../../../test/support/uploads.ts'
import { deb } from '../../formats/deb/index.ts'
import type { DebSpec } from '../../../test/support/packages.ts'
import type { Worker } from '../../work/worker.ts'
import { listChanged } from './changed.ts'
import { IMPORT_PACKAGES } from './import-work.ts'

const it = openUploads()
let from: Importing
let worker: Worker
const one = (name: string, said = 'as ever'): DebSpec => ({ name, version: '1.0', fields: { Description: said } })

async function changed(...keys: string[]): Promise<string[]> {
  const sources = (await from.listSources()).filter(({ key }) => keys.length === 0 || keys.includes(key))
  const found = await listChanged(it.db, { codename: 'bookworm', format: deb, sources: sources.map(({ id }) => id) })
  return found.map(({ name, sourceKey }) => `${name} ${sourceKey}`)
}

beforeEach(async () => {
  from = await openImporting(it)
  worker = await startWorker(it.db, [from.work])
  await from.offer('main', [one('aa'), one('bb')], { codenames: ['bookworm'] as never })
  const request = { packages: [{ name: 'aa' }, { name: 'bb' }], codename: 'bookworm', arch: 'amd64', recommends: false }
  const { id } = await worker.ask({ kind: IMPORT_PACKAGES, request: { ...request, group: 'g' }, by: 'uma' })
  expect((await worker.ended(id, new AbortController().signal)).state).toBe('done')
})
afterEach(async () => {
  await worker.stop()
  await from.close()
})

test('nothing has changed while the source lists what came', async () => {
  expect(await changed()).toEqual([])
})

test('other bytes of the same version have changed, another version has not', async () => {
  await from.offer('main', [one('aa', 'another'), { ...one('bb', 'another'), version: '1.1' }])
  expect(await changed()).toEqual(['aa main'])
})

test('where one source lists the bytes that are here, nothing has changed, unless the other one alone is asked', async () => {
  await from.offer('again', [one('aa', 'built again')], { codenames: ['bookworm'] as never })
  expect(await changed()).toEqual([])
  expect(await changed('again')).toEqual(['aa again'])
})

test('a file that carries the signature of this repository now is compared as it came', async () => {
  await it.db.query(`update package set sha256 = repeat('0', 64),
    manifest = jsonb_set(jsonb_set(manifest, '{files,0,signed}', jsonb_build_object('received', manifest->'files'->0->'blob')),
      '{files,0,blob,sha256}', to_jsonb(repeat('0', 64)))`)
  expect(await changed()).toEqual([])
  await from.offer('main', [one('aa', 'another'), one('bb')])
  expect(await changed()).toEqual(['aa main'])
})
