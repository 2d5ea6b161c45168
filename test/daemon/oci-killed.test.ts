import { randomBytes } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Failpoint } from '../../server/lib/failpoint.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildImage, buildIndex, layerOf, sha256, type BuiltImage } from '../support/oci-images.ts'
import { createOciClient, rootWithRegistries } from '../support/oci-registry.ts'
import { run } from '../support/tools.ts'

const VERIFY = join(import.meta.dirname, '..', '..', 'server', 'cli', 'verify.ts')
const PIECE = 4 * 2 ** 20
/** Where the process dies while an image is pushed, each in a run of its own. */
const MOMENTS: readonly (Failpoint | `${Failpoint}#${number}`)[] = [
  'spool:before-done',
  'pool:before-rename',
  'pool:before-rename#3',
  'catalog:before-commit',
  'catalog:before-commit#2',
  'catalog:after-commit',
  'manifest:before-write',
  'manifest:after-write',
  'audit:before-append',
  'audit:after-append',
]

let daemon: Daemon
let root: string
let token: string

beforeAll(async () => {
  root = await rootWithRegistries('ours')
  daemon = await startDaemon({ root, env: { LOG_LEVEL: 'error', JWT_EXPIRE_MINUTES: '600' } })
  token = await daemon.setupAdmin()
  const body = { validation: { on_scanner_unavailable: 'warn', clamav_scan: false } }
  expect((await daemon.call('PATCH', '/settings/', { token, body })).status).toBe(200)
})
afterAll(async () => {
  await daemon.close()
  await rm(root, { recursive: true, force: true })
})

const client = (name: string) => createOciClient(daemon.url, `ours/${name}`, `Bearer ${token}`)
const imageOf = (text: string, architecture = 'amd64'): BuiltImage =>
  buildImage({ layers: [layerOf({ name: 'etc/said', body: text })], comment: text, architecture })

async function proveWhole(): Promise<void> {
  const { out, err } = await run(process.execPath, [VERIFY, '--json'], {
    env: {
      REPOS_ROOT: daemon.root,
      ENV: 'test',
      ...(daemon.databaseUrl === undefined ? {} : { DATABASE_URL: daemon.databaseUrl }),
    },
  })
  expect((JSON.parse(out || err) as { differences: unknown }).differences).toEqual([])
  expect(await readdir(join(root, 'incoming'))).toEqual([])
}

/** Sends so many bytes of a piece that is said to be longer, and resolves when they arrive. The answer never comes. */
async function sendHalf(place: string, bytes: Buffer, { first, last }: { first: number; last: number }): Promise<void> {
  const sending = request(new URL(place, daemon.url), {
    method: 'PATCH',
    headers: {
      'authorization': `Bearer ${token}`,
      'content-type': 'application/octet-stream',
      'content-range': `${first}-${last}`,
      'content-length': String(last - first + 1),
    },
  })
  // its connection ends with the daemon
  sending.on('error', () => undefined)
  sending.write(bytes)
  await vi.waitFor(async () => expect(await readdir(join(root, 'incoming'))).not.toEqual([]), 10_000)
}

test('an upload in pieces goes on behind the last whole piece after a kill -9 within the next', async () => {
  const { base, ask, manifest, push } = client('pieces')
  const layer = layerOf({ name: 'opt/random', body: randomBytes(3 * PIECE) })
  const image = buildImage({ layers: [layer] })
  const begun = await ask('POST', `${base}/blobs/uploads/`)
  let place = begun.headers.get('location') ?? ''
  const type = { 'content-type': 'application/octet-stream' }
  const first = await ask('PATCH', place, {
    body: layer.subarray(0, PIECE),
    headers: { ...type, 'content-range': `0-${PIECE - 1}` },
  })
  expect(first.status).toBe(202)
  place = first.headers.get('location') ?? ''
  await sendHalf(place, layer.subarray(PIECE, PIECE + PIECE / 2), { first: PIECE, last: 2 * PIECE - 1 })
  await daemon.kill9()
  await daemon.restart()
  const now = await ask('GET', place)
  expect([now.status, now.headers.get('range')]).toEqual([204, `0-${PIECE - 1}`])
  const rest = layer.subarray(PIECE)
  const second = await ask('PATCH', place, {
    body: rest,
    headers: { ...type, 'content-range': `${PIECE}-${layer.length - 1}` },
  })
  expect([second.status, second.headers.get('range')]).toEqual([202, `0-${layer.length - 1}`])
  // once more before the end is told
  await daemon.kill9()
  await daemon.restart()
  const ended = await ask('PUT', `${place}?digest=${sha256(layer)}`, { headers: { 'content-length': '0' } })
  expect(ended.status, ended.error.message).toBe(201)
  expect((await ask('GET', place)).status).toBe(404)
  expect((await push({ ...image, layers: [] }, 'v1')).status).toBe(201)
  expect((await manifest('v1')).bytes.equals(image.manifest)).toBe(true)
  expect((await ask('GET', `${base}/blobs/${sha256(layer)}`)).bytes.equals(layer)).toBe(true)
  await proveWhole()
})

test.each(MOMENTS)('an image is pushed again as its client does, after a kill at %s', async moment => {
  const name = moment.replace(/\W+/g, '-')
  await daemon.stop()
  await daemon.restart({ GATEHOUSE_FAILPOINT: moment })
  const images = [imageOf(moment), imageOf(moment, 'arm64')] as const
  const index = buildIndex({ amd64: images[0], arm64: images[1] })
  const pushAll = async (): Promise<readonly number[]> => {
    const { push } = client(name)
    const statuses: number[] = []
    for (const [image, tag] of [
      [images[0], 'amd64'],
      [images[1], 'arm64'],
      [index, 'v1'],
    ] as const)
      statuses.push((await push(image, tag)).status)
    return statuses
  }
  await pushAll().catch(() => undefined)
  await daemon.ended()
  await daemon.restart()
  expect(await pushAll()).toEqual([201, 201, 201])
  const { manifest } = client(name)
  for (const [tag, image] of Object.entries({ v1: index, amd64: images[0], arm64: images[1] }))
    expect((await manifest(tag)).bytes.equals(image.manifest), tag).toBe(true)
  await proveWhole()
})

test('twenty images that are pushed at once, and a kill -9 in the middle', async () => {
  const to = client('many')
  const images = Array.from({ length: 20 }, (_, n) => imageOf(`many ${n}`))
  const acknowledged = new Set<number>()
  const pushing = images.map(async (image, n) => {
    const answer = await to.push(image, `v${n}`).catch(() => undefined)
    if (answer?.status === 201) acknowledged.add(n)
  })
  await Promise.any(pushing)
  await daemon.kill9()
  await Promise.all(pushing)
  await daemon.restart()
  // what was answered is there
  for (const n of acknowledged)
    expect((await to.manifest(`v${n}`)).bytes.equals(images[n]?.manifest as Buffer)).toBe(true)
  expect(acknowledged.size).toBeGreaterThan(0)
  for (const [n, image] of images.entries()) expect((await to.push(image, `v${n}`)).status).toBe(201)
  await proveWhole()
})
