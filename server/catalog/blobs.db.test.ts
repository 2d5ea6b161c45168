import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { createTestDb } from '../../test/support/postgres.ts'
import { layoutOf } from '../../test/support/repositories.ts'
import { sha256, type Sha256 } from '../core/identity.ts'
import { createBlobHolds } from '../db/blob-holds.ts'
import type { Db } from '../db/db.ts'
import { createPool, type Pool } from '../files/pool.ts'
import type { SpooledFile } from '../files/spool.ts'
import { systemClock } from '../lib/clock.ts'
import { digestBytes } from '../lib/digest.ts'
import { createBlobs, type Blobs } from './blobs.ts'

let db: Db
let close: () => Promise<void>
let root: string
beforeAll(async () => {
  ;({ db, close } = await createTestDb())
  root = await mkdtemp(join(tmpdir(), 'gh-blobs-'))
})
afterAll(async () => {
  await close()
  await rm(root, { recursive: true, force: true })
})
beforeEach(() => db.query('truncate blob_hold, replica'))

/** What each replica has for itself: its locks in memory, and the folder that all share. */
async function replica(id: string): Promise<{ readonly blobs: Blobs; readonly pool: Pool }> {
  await db.query(`insert into replica (id, host, version) values ($1, 'h', '1') on conflict do nothing`, [id])
  const pool = createPool({ layout: layoutOf(root), clock: systemClock })
  return { pool, blobs: createBlobs({ db, pool, outbox: {} as never, holds: createBlobHolds(db, id) }) }
}
let number = 0
async function spooled(): Promise<SpooledFile & { readonly digest: Sha256 }> {
  const bytes = Buffer.from(`bytes ${number++}`)
  const path = join(root, `spooled-${number}`)
  await writeFile(path, bytes)
  const digests = digestBytes(bytes)
  const digest = sha256(digests.sha256)
  const blob = { ...digests, sha256: digest, size: bytes.length }
  return { path, filename: 'x.deb', blob, head: bytes, discard: () => Promise.resolve(), digest }
}
/** An upload that has put its file in place, and not yet written its row. */
async function between(blobs: Blobs, file: SpooledFile) {
  const [placed, gate] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
  const done = blobs.hold([{ blob: file.blob }], async () => {
    await blobs.place([file], 'published')
    placed.resolve(undefined)
    await gate.promise
  })
  await placed.promise
  return { end: async () => (gate.resolve(undefined), done) }
}

test('bytes that one replica is about to need are not removed by what another one owes to their last owner', async () => {
  const [one, leader] = [await replica('one'), await replica('leader')]
  const file = await spooled()
  const upload = await between(one.blobs, file)
  const isSettled = vi.fn()
  const settling = leader.blobs.settle(file.digest).then(isSettled)
  // others are not held up
  await leader.blobs.settle((await spooled()).digest)
  expect(isSettled).not.toHaveBeenCalled()
  expect(await leader.pool.has(file.digest)).toBe('pool')
  await upload.end()
  await settling
  // no row came: nothing needs them
  expect(await leader.pool.has(file.digest)).toBe('nowhere')
  expect(await db.query('select * from blob_hold')).toEqual([])
})

test('whoever comes while bytes are removed waits, and puts them there again', async () => {
  const [one, two] = [createBlobHolds(db, 'one'), createBlobHolds(db, 'two')]
  const [begun, gate] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
  const order: string[] = []
  const removing = one.alone('d', async () => {
    begun.resolve(undefined)
    await gate.promise
    order.push('removed')
  })
  await begun.promise
  const placing = two.hold(['d'], async () => void order.push('placed'))
  await vi.waitFor(async () =>
    expect(await db.first(`select 1 from pg_locks where locktype = 'advisory' and not granted`)).toBeDefined(),
  )
  gate.resolve(undefined)
  await Promise.all([removing, placing])
  expect(order).toEqual(['removed', 'placed'])
})

test('a sweep by a clock that is two hours ahead removes no fresh bytes', async () => {
  const [one, leader] = [await replica('one'), await replica('leader')]
  const file = await spooled()
  const upload = await between(one.blobs, file)
  const past = new Date(Date.now() - 2 * 3_600_000)
  await utimes(layoutOf(root).blob(file.digest), past, past)
  const { alone } = createBlobHolds(db, 'leader')
  await leader.pool.sweep(async () => false, alone)
  expect(await leader.pool.has(file.digest)).toBe('pool')
  await upload.end()
  await leader.pool.sweep(async () => false, alone)
  expect(await leader.pool.has(file.digest)).toBe('nowhere')
})

test('a replica that died holds nothing', async () => {
  const [one, leader] = [await replica('one'), await replica('leader')]
  const file = await spooled()
  const upload = await between(one.blobs, file)
  await db.query(`update replica set seen_at = now() - interval '31 seconds' where id = 'one'`)
  await leader.blobs.settle(file.digest)
  expect(await leader.pool.has(file.digest)).toBe('nowhere')
  await upload.end()
})
