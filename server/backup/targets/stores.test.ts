import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startS3, type Fault, type S3Server } from '../../../test/support/s3-server.ts'
import { keysBelow, testTargetStore } from '../../../test/support/target-store-suite.ts'
import { createFolderStore } from './folder-store.ts'
import type { S3Place } from './s3-client.ts'
import { createS3Store } from './s3-store.ts'
import { bytesOf, readAll, type TargetStore } from './target-store.ts'

const NEVER = new AbortController().signal
const LARGE = Buffer.alloc(8 * 2 ** 20 + 5, 'y')

describe('a directory', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-target-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))
  testTargetStore(() => createFolderStore(folder))

  test('that is missing is never made, and says so', async () => {
    const missing = join(folder, 'not-mounted')
    const store = createFolderStore(missing)
    const why = `The directory ${missing}: it does not exist.`
    await expect(store.put('blobs/aa/1', bytesOf('x'), NEVER)).rejects.toThrow(why)
    await expect(store.free()).rejects.toThrow(why)
    expect(await readdir(folder)).not.toContain('not-mounted')
  })

  test('is rid of what was begun and never finished, once that is old', async () => {
    const store = createFolderStore(folder)
    await store.put('blobs/ae/kept', bytesOf('x'), NEVER)
    const [old, young] = ['0'.repeat(12), '1'.repeat(12)].map(id => join(folder, 'blobs', 'ae', `.kept.${id}.tmp`))
    for (const path of [old, young]) await writeFile(path ?? '', 'half')
    await utimes(old ?? '', new Date(0), new Date(0))
    await store.sweepUnfinished(new Date(Date.now() - 86_400_000), NEVER)
    expect((await readdir(join(folder, 'blobs', 'ae'))).sort()).toEqual([`.kept.${'1'.repeat(12)}.tmp`, 'kept'])
  })
})

describe('a bucket', () => {
  let server: S3Server
  beforeAll(async () => {
    server = await startS3()
  })
  beforeEach(() => {
    server.objects.clear()
    server.uploads.clear()
    server.seen.length = 0
    server.faults = []
  })
  afterAll(() => server.close())
  const waits: number[] = []
  const open = (change: Partial<S3Place> = {}, prefix = 'site a/gate'): TargetStore =>
    createS3Store({ endpoint: server.endpoint, bucket: server.bucket, ...server.keys, ...change }, prefix, {
      wait: ms => Promise.resolve(waits.push(ms)),
    })
  const on = (method: string, how: Fault['how'], times: number, query = ''): void =>
    void server.faults.push({ on: ask => ask.method === method && (query === '' || ask.query.has(query)), how, times })
  testTargetStore(() => open())

  test('is written below its prefix alone, and no file of others is listed', async () => {
    server.objects.set('elsewhere', { bytes: Buffer.from('x'), at: new Date() })
    await open().put('blobs/aa/1', bytesOf('x'), NEVER)
    expect([...server.objects.keys()]).toEqual(['elsewhere', 'site a/gate/blobs/aa/1'])
    expect(await keysBelow(open(), 'blobs/')).toEqual(['blobs/aa/1'])
    expect(await keysBelow(open({}, ''), '')).toEqual(['elsewhere', 'site a/gate/blobs/aa/1'])
  })

  test.each<[string, Fault['how']]>([
    ['answers with an error of its own', { status: 503, code: 'SlowDown' }],
    ['drops the connection', 'drop'],
  ])('that %s is asked again, and what was sent is there once', async (_what, how) => {
    on('PUT', how, 3)
    on('POST', how, 1, 'uploads')
    on('POST', how, 1, 'uploadId')
    await open().put('blobs/aa/1', bytesOf('small'), NEVER)
    await open().put('blobs/aa/2', bytesOf(LARGE), NEVER)
    expect([...server.objects.values()].map(({ bytes }) => bytes.length)).toEqual([5, LARGE.length])
    expect(server.uploads.size).toBe(0)
  })

  test('that goes on failing is given up after five times, and nothing of the upload stays', async () => {
    on('PUT', { status: 500, code: 'InternalError' }, 5, 'partNumber')
    await expect(open().put('blobs/aa/2', bytesOf(LARGE), NEVER)).rejects.toThrow('answers 500 InternalError')
    expect([server.objects.size, server.uploads.size]).toEqual([0, 0])
  })

  test('whose answer to a completion is an error has not taken the file', async () => {
    on('POST', { status: 200, code: 'InternalError' }, 1, 'uploadId')
    await expect(open().put('blobs/aa/2', bytesOf(LARGE), NEVER)).rejects.toThrow(
      'did not complete an upload: Internal',
    )
    expect([server.objects.size, server.uploads.size]).toEqual([0, 0])
  })

  test('that breaks off while it is read is asked for the rest', async () => {
    await open().put('blobs/aa/2', bytesOf(LARGE), NEVER)
    on('GET', { cut: 3_000_000 }, 2)
    const body = await open().read('blobs/aa/2', NEVER)
    expect((await readAll(body ?? bytesOf(), 2 ** 30)).equals(LARGE)).toBe(true)
    expect(server.seen.filter(one => one.startsWith('GET'))).toHaveLength(3)
  })

  test.each<[string, Partial<S3Place>, string]>([
    ['a wrong secret key', { secretKey: 'other' }, '403 SignatureDoesNotMatch: the secret key is not the one'],
    ['an unknown access key', { accessKey: 'NOBODY' }, '403 InvalidAccessKeyId: it does not know the access key'],
    ['another region', { region: 'us-east-1' }, 'the bucket is in another region'],
    ['a bucket that is not there', { bucket: 'none' }, '404 NoSuchBucket: it has no such bucket'],
    ['a host that does not listen', { endpoint: 'http://127.0.0.1:1' }, 'nothing listens there'],
  ])('%s is told, without any secret', async (_what, change, why) => {
    for (const work of [
      (store: TargetStore) => store.put('a', bytesOf('x'), NEVER),
      (store: TargetStore) => keysBelow(store, 'blobs/'),
    ]) {
      const told: unknown = await work(open(change)).catch((error: unknown) => error)
      expect(String(told)).toContain(why)
      expect(String(told)).not.toContain(server.keys.secretKey)
    }
    expect(server.objects.size).toBe(0)
  })

  test('whose name leads to this machine is not asked', async () => {
    const endpoint = server.endpoint.replace('127.0.0.1', 'localhost')
    await expect(open({ endpoint }).put('a', bytesOf('x'), NEVER)).rejects.toThrow('no address of the open internet')
    expect(server.seen).toEqual([])
    await open({ endpoint, allow: '127.0.0.1,::1' }).put('a', bytesOf('x'), NEVER)
  })

  test('is rid of old uploads below its prefix that were never completed', async () => {
    const begun = (key: string, at: Date) => ({ key, at, parts: new Map<number, Buffer>() })
    server.uploads.set('old', begun('site a/gate/blobs/aa/1', new Date(0)))
    server.uploads.set('young', begun('site a/gate/blobs/aa/1', new Date()))
    server.uploads.set('of others', begun('elsewhere', new Date(0)))
    await open().sweepUnfinished(new Date(Date.now() - 86_400_000), NEVER)
    expect([...server.uploads.keys()]).toEqual(['young', 'of others'])
  })

  test('is left alone at once by whoever is told to stop', async () => {
    const stop = new AbortController()
    on('PUT', 'drop', 9)
    const store = createS3Store({ endpoint: server.endpoint, bucket: server.bucket, ...server.keys }, '', {
      wait: (_, signal) => {
        stop.abort(new Error('told to stop'))
        return Promise.reject(signal.reason as Error)
      },
    })
    await expect(store.put('a', bytesOf('x'), stop.signal)).rejects.toThrow('told to stop')
  })
})
