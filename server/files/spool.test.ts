import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { fail } from '../core/errors.ts'
import { createDigestThreads } from '../lib/digest.ts'
import { createRoom, type Room } from './room.ts'
import { createSpool, type ReceiveOptions } from './spool.ts'
import { layoutOf } from '../../test/support/repositories.ts'

const threads = createDigestThreads({ threads: 1 })
afterAll(() => threads.close())

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'spool-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

async function makeSpool(room?: Room) {
  const layout = layoutOf(root)
  const spool = createSpool({ layout, random: randomBytes, threads, ...(room === undefined ? {} : { room }) })
  await spool.sweep()
  const options: ReceiveOptions = { filename: 'a.deb', limitBytes: 64 << 20, signal: new AbortController().signal }
  return { spool, options, left: () => readdir(layout.incoming) }
}

function chunked(bytes: Buffer, size: number): AsyncIterable<Buffer> {
  return (async function* () {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  })()
}

const hex = (algorithm: string, bytes: Buffer): string => createHash(algorithm).update(bytes).digest('hex')

describe('a body that arrives whole', () => {
  test.each([
    [0, 100],
    [1, 1],
    [511, 7],
    [512, 512],
    [513, 100],
    [100_000, 65_536],
    [256 * 1024, 65_536],
    [256 * 1024 + 1, 65_536],
    [700_000, 1 << 20],
    [5_000_001, 65_536],
    [5_000_001, 3_000_000],
  ])('of %i bytes in chunks of %i has its bytes, its head and its four digests', async (size, chunk) => {
    const { spool, options, left } = await makeSpool()
    const bytes = randomBytes(size)
    const file = await spool.receive(chunked(bytes, chunk), options)
    expect(file.blob).toEqual({
      size,
      md5: hex('md5', bytes),
      sha1: hex('sha1', bytes),
      sha256: hex('sha256', bytes),
      sha512: hex('sha512', bytes),
    })
    expect(Buffer.from(file.head)).toEqual(bytes.subarray(0, 512))
    expect((await readFile(file.path)).equals(bytes)).toBe(true)
    expect(file.bytes?.equals(bytes)).toBe(size > 128 * 1024 ? undefined : true)
    expect(await left()).toHaveLength(1)
    await file.discard()
    await file.discard()
    expect(await left()).toEqual([])
  })

  test('of exactly the limit is taken', async () => {
    const { spool, options } = await makeSpool()
    expect((await spool.receive(chunked(Buffer.alloc(1000), 10), { ...options, limitBytes: 1000 })).blob.size).toBe(
      1000,
    )
  })

  test('of small files at most 16 MiB stay in memory, until they are discarded', async () => {
    const { spool, options } = await makeSpool()
    const take = (n: number) =>
      Promise.all(Array.from({ length: n }, () => spool.receive(chunked(Buffer.alloc(128 * 1024), 65_536), options)))
    const first = await take(130)
    expect(first.filter(({ bytes }) => bytes !== undefined)).toHaveLength(128)
    for (const file of first.slice(0, 3)) {
      await file.discard()
      await file.discard()
    }
    expect((await take(4)).filter(({ bytes }) => bytes !== undefined)).toHaveLength(3)
  })

  test('many at once do not mix', async () => {
    const { spool, options } = await makeSpool()
    const bodies = Array.from({ length: 12 }, (_, i) => randomBytes(600_000 + i))
    const files = await Promise.all(bodies.map(body => spool.receive(chunked(body, 50_000), options)))
    expect(files.map(file => file.blob.sha512)).toEqual(bodies.map(body => hex('sha512', body)))
  })
})

describe('the refusal of a body over the limit says what raises the limit', () => {
  test.each([
    [undefined, 'The file is larger than 1 MB. An admin can raise validation.max_upload_size_mb.'],
    ['security.max_database_mb', 'The file is larger than 1 MB. An admin can raise security.max_database_mb.'],
    ['none', 'The file is larger than 1 MB. No setting raises this limit.'],
  ])('%s', async (setting, message) => {
    const { spool, options } = await makeSpool()
    const limit = { limitBytes: 2 ** 20, setting }
    await expect(spool.receive(chunked(randomBytes(2 ** 20 + 1), 50_000), { ...options, ...limit })).rejects.toThrow(
      message,
    )
  })
})

describe('a body that is refused leaves nothing', () => {
  test.each([
    [1001, 1000],
    [3_000_000, 2_999_999],
  ])('%i bytes over a limit of %i', async (size, limitBytes) => {
    const { spool, options, left } = await makeSpool()
    await expect(spool.receive(chunked(randomBytes(size), 50_000), { ...options, limitBytes })).rejects.toMatchObject({
      code: 'upload_too_large',
    })
    expect(await left()).toEqual([])
  })

  test.each([100, 3_000_000])('a sender that goes away after %i bytes', async size => {
    const { spool, options, left } = await makeSpool()
    const gone = new AbortController()
    const body = (async function* () {
      yield* chunked(randomBytes(size), 50_000)
      gone.abort()
      yield Buffer.alloc(1)
    })()
    await expect(spool.receive(body, { ...options, signal: gone.signal })).rejects.toMatchObject({
      code: 'upload_incomplete',
    })
    expect(await left()).toEqual([])
  })

  test('a stream that breaks', async () => {
    const { spool, options, left } = await makeSpool()
    const stream = new Readable({ read() {} })
    stream.push(randomBytes(2_000_000))
    const received = spool.receive(stream, options)
    stream.destroy()
    await expect(received).rejects.toMatchObject({ code: 'upload_incomplete' })
    expect(await left()).toEqual([])
  })

  test('first bytes that are refused stop the rest', async () => {
    const { spool, options, left } = await makeSpool()
    let sent = 0
    const endless = (async function* () {
      for (;;) yield Buffer.alloc((sent += 100))
    })()
    const check = (): void => fail('unknown_format', { filename: 'a', formats: 'b' })
    await expect(spool.receive(endless, { ...options, check })).rejects.toMatchObject({ code: 'unknown_format' })
    expect(sent).toBeLessThan(2000)
    expect(await left()).toEqual([])
  })

  test('what a check sees of a body shorter than 512 bytes is the whole body', async () => {
    const { spool, options } = await makeSpool()
    const seen: number[] = []
    await spool.receive(chunked(Buffer.alloc(30), 7), {
      ...options,
      check: head => {
        seen.push(head.length)
      },
    })
    expect(seen).toEqual([30])
  })
})

test('a start empties incoming/', async () => {
  const { spool, left } = await makeSpool()
  await writeFile(join(layoutOf(root).incoming, 'a.part'), 'x')
  await writeFile(join(layoutOf(root).incoming, 'b'), 'x')
  expect(await spool.sweep()).toEqual({ removed: 2 })
  expect(await left()).toEqual([])
})

test('without the room that the settings ask for nothing is taken in but what is urgent', async () => {
  const limits = { warn_used_pct: 0, min_free_disk_gb: 1e9 }
  const { spool, options, left } = await makeSpool(createRoom(layoutOf(root), () => limits))
  for (const size of [10, 300_000]) {
    await expect(spool.receive(chunked(Buffer.alloc(size), 4096), options)).rejects.toMatchObject({
      code: 'uploads_stopped',
      facts: { free_gb: expect.any(Number), least_gb: 1e9 },
    })
    expect(await left()).toEqual([])
    const file = await spool.receive(chunked(Buffer.alloc(size), 4096), { ...options, isUrgent: true })
    expect(file.blob.size).toBe(size)
    await file.discard()
  }
  limits.min_free_disk_gb = 0
  expect((await spool.receive(chunked(Buffer.alloc(10), 10), options)).blob.size).toBe(10)
})
