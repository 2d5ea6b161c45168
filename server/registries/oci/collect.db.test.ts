import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDb } from '../../../test/support/postgres.ts'
import { layoutOf } from '../../../test/support/repositories.ts'
import { createBlobs } from '../../catalog/blobs.ts'
import { addBlob, findBlob, findBlobs, type Repository } from '../../catalog/queries/oci.ts'
import type { Codename } from '../../core/identity.ts'
import type { Db } from '../../db/db.ts'
import { createOutbox, type Outbox } from '../../db/outbox.ts'
import { createPool, type Pool } from '../../files/pool.ts'
import { createSpool, type Spool } from '../../files/spool.ts'
import { sha256 } from '../../core/identity.ts'
import { createDigestThreads } from '../../lib/digest.ts'
import { collectBlobs } from './collect.ts'
import { createUploads } from './uploads.ts'

const HOUR_MS = 60 * 60 * 1000
const repository: Repository = { codename: 'ours' as Codename, name: 'app' }
const signal = new AbortController().signal
const threads = createDigestThreads({ threads: 1 })

let db: Db
let close: () => Promise<void>
let root: string
let pool: Pool
let spool: Spool
let outbox: Outbox
let now = new Date('2026-11-27T08:00:00Z')
const clock = { now: () => now }
const settings = { now: () => ({ validation: { max_upload_size_mb: 1 } }) } as never

beforeAll(async () => {
  ;({ db, close } = await createTestDb())
  root = await mkdtemp(join(tmpdir(), 'gh-collect-'))
  const layout = layoutOf(root)
  await mkdir(layout.incoming, { recursive: true })
  pool = createPool({ layout, clock })
  spool = createSpool({ layout, random: randomBytes, threads })
  outbox = createOutbox({ db, onError: (_, error) => expect.fail(String(error)) })
  const blobs = createBlobs({ db, outbox, pool })
  outbox.handle('blob', async rests => {
    for (const rest of rests) await blobs.settle(sha256(rest))
  })
})
afterAll(async () => {
  await threads.close()
  await close()
  await rm(root, { recursive: true, force: true })
})
beforeEach(() => db.query('truncate registry_blob, registry_upload'))

const uploadsOf = () => createUploads({ db, spool, layout: layoutOf(root), settings, clock })
async function pushed(text: string) {
  const file = await spool.receive(Readable.from([Buffer.from(text)]), { filename: 'blob', limitBytes: 1e6, signal })
  await pool.add(file)
  await addBlob(db, repository, file.blob, now)
  return file.blob
}

test('a blob that no manifest names is removed after a day, and not before', async () => {
  const [old, uploads] = [await pushed('old'), uploadsOf()]
  now = new Date(now.getTime() + 23 * HOUR_MS)
  const young = await pushed('young')
  expect(await collectBlobs({ db, outbox, clock }, uploads)).toEqual({ removed: 0 })
  now = new Date(now.getTime() + 2 * HOUR_MS)
  expect(await collectBlobs({ db, outbox, clock }, uploads)).toEqual({ removed: 1 })
  await outbox.drain()
  expect([await pool.has(old.sha256), await pool.has(young.sha256)]).toEqual(['nowhere', 'pool'])
  expect(await findBlob(db, repository, `sha256:${old.sha256}`)).toBeUndefined()
  expect(await findBlob(db, repository, `sha512:${young.sha512}`)).toEqual({ blob: young, states: [] })
  const digests = [`sha512:${young.sha512}`, `sha256:${young.sha256}`]
  expect(await findBlobs(db, repository, [...digests, `sha256:${old.sha256}`])).toEqual(
    new Map(digests.map(digest => [digest, young])),
  )
})

test('a blob that another repository waits for stays', async () => {
  const blob = await pushed('shared')
  now = new Date(now.getTime() + 25 * HOUR_MS)
  const other = { ...repository, name: 'other' }
  await addBlob(db, other, blob, now)
  expect(await collectBlobs({ db, outbox, clock }, uploadsOf())).toEqual({ removed: 1 })
  await outbox.drain()
  expect(await pool.has(blob.sha256)).toBe('pool')
  expect(await findBlob(db, other, `sha256:${blob.sha256}`)).toBeDefined()
})

test('an upload that nobody goes on with ends after a day, with its file', async () => {
  const uploads = uploadsOf()
  const { id } = await uploads.start(repository, 'person')
  await uploads.append(repository, id, { body: Readable.from([Buffer.from('some')]), signal })
  now = new Date(now.getTime() + 23 * HOUR_MS)
  await collectBlobs({ db, outbox, clock }, uploads)
  // each piece begins the day anew
  await uploads.append(repository, id, { body: Readable.from([Buffer.from(' more')]), signal })
  now = new Date(now.getTime() + 23 * HOUR_MS)
  await collectBlobs({ db, outbox, clock }, uploads)
  expect((await uploads.need(repository, id)).size).toBe(9)
  now = new Date(now.getTime() + 2 * HOUR_MS)
  await collectBlobs({ db, outbox, clock }, uploads)
  await expect(uploads.need(repository, id)).rejects.toMatchObject({ code: 'BLOB_UPLOAD_UNKNOWN' })
  expect(await readdir(layoutOf(root).uploads)).toEqual([])
})

test('an upload that begins while others are swept keeps its file', async () => {
  const uploads = uploadsOf()
  await mkdir(layoutOf(root).uploads, { recursive: true })
  let id = ''
  // whatever is asked first, one begins right behind the answer
  const slow = {
    ...db,
    query: async <T extends object>(sql: string, values?: readonly unknown[]) => {
      const rows = await db.query<T>(sql, values)
      if (!sql.startsWith('select id from registry_upload')) return rows
      ;({ id } = await uploads.start(repository, 'person'))
      await uploads.append(repository, id, { body: Readable.from([Buffer.from('some')]), signal })
      return rows
    },
  }
  await createUploads({ db: slow, spool, layout: layoutOf(root), settings, clock }).sweep(now)
  expect((await uploads.need(repository, id)).size).toBe(4)
  await uploads.cancel(repository, id)
})

test('an upload is never larger than the setting allows, in however many pieces', async () => {
  const uploads = uploadsOf()
  const { id } = await uploads.start(repository, 'person')
  const half = { body: () => Readable.from([Buffer.alloc(600 * 1024)]), signal }
  await uploads.append(repository, id, { ...half, body: half.body() })
  await expect(uploads.append(repository, id, { ...half, body: half.body() })).rejects.toMatchObject({
    code: 'upload_too_large',
    message: expect.stringContaining('1 MB') as string,
  })
  expect((await uploads.need(repository, id)).size).toBe(600 * 1024)
})
