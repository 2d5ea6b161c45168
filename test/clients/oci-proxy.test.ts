import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildImage, buildIndex, layerOf, sha256, type BuiltImage } from '../support/oci-images.ts'
import { createOciClient, rootWithRegistries } from '../support/oci-registry.ts'
import { servedBytes } from '../support/oci-upstream.ts'
import { createSkopeo, noSkopeo, said } from '../support/skopeo.ts'
import { osvRecord, osvZip } from '../support/zip.ts'

/** A registry of somebody else, which wants a token, and the one that reads through to it. */
let far: Daemon
let farRoot: string
let daemon: Daemon
let work: string
let farToken: string
let token: string

const { at, skopeo, pull } = createSkopeo(
  () => work,
  () => daemon.url,
)
const imageOf = (text: string, architecture?: string): BuiltImage =>
  buildImage({
    layers: [layerOf({ name: 'etc/said', body: text })],
    comment: text,
    ...(architecture === undefined ? {} : { architecture }),
  })

const settings = async (one: Daemon, secret: string, body: object): Promise<void> => {
  const { status, text } = await one.call('PATCH', '/settings/', { token: secret, body })
  expect(status, text).toBe(200)
}
async function makeProxy(name: string, upstream: object, more: object = {}): Promise<void> {
  const made = await daemon.call('POST', '/registries/', {
    token,
    body: { name, format: 'oci', kind: 'proxy', upstream, ...more },
  })
  expect(made.status, made.text).toBe(201)
}
async function pushFar(image: BuiltImage, reference: string): Promise<void> {
  const [name = '', tag = ''] = reference.split(':')
  const { status, error } = await createOciClient(far.url, name, `Bearer ${farToken}`).push(image, tag)
  expect([status, error]).toEqual([201, {}])
}

beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), 'gh-oci-proxy-client-'))
  farRoot = await rootWithRegistries('lib')
  ;[far, daemon] = await Promise.all([startDaemon({ root: farRoot }), startDaemon()])
  const quiet = { validation: { on_scanner_unavailable: 'warn', clamav_scan: false } }
  farToken = await far.setupAdmin()
  await settings(far, farToken, quiet)
  await far.call('PUT', '/access/distributions/lib', { token: farToken, body: { private: true } })
  token = await daemon.setupAdmin()
  await settings(daemon, token, { ...quiet, notifications: { allow_private_hosts: '127.0.0.1' } })
  const reader = await far.call<{ token: string }>('POST', '/auth/api-tokens', {
    token: farToken,
    body: { name: 'reads', role: 'reader' },
  })
  expect(reader.status, reader.text).toBe(201)
  await makeProxy('hub', { url: `${far.url}/lib`, user: 'bot', secret: reader.body.token })
  await makeProxy('stranger', { url: `${far.url}/lib` })
})
afterAll(async () => {
  await daemon.close()
  await far.close()
  for (const folder of [work, farRoot]) await rm(folder, { recursive: true, force: true })
})

describe.skipIf(noSkopeo)('skopeo through a registry that reads through (needs skopeo)', () => {
  test('pulls what another registry gives for a token, and again while that one is gone', async () => {
    const [one, other] = [imageOf('amd64'), imageOf('arm64', 'arm64')]
    const index = buildIndex({ amd64: one, arm64: other })
    for (const [image, tag] of [
      [one, 'one'],
      [other, 'other'],
      [index, 'v1'],
    ] as const)
      await pushFar(image, `lib/team/app:${tag}`)
    const pulled = await pull('hub/team/app:v1')
    expect(pulled.code, said(pulled)).toBe(0)
    expect(pulled.manifest?.equals(one.manifest)).toBe(true)
    const all = await pull('hub/team/app:v1', '--all')
    expect(all.manifest?.equals(index.manifest), said(all)).toBe(true)
    const listed = await skopeo('list-tags', '--tls-verify=false', at('hub/team/app'))
    expect(JSON.parse(listed.out)).toMatchObject({ Tags: ['one', 'other', 'v1'] })
    // without a credential that registry shows nothing
    const stranger = await pull('stranger/team/app:v1')
    expect(stranger.code).not.toBe(0)
    expect(said(stranger)).toContain('it has none, or does not show it to this registry')
    await far.stop()
    try {
      const again = await pull('hub/team/app:v1', '--all')
      expect(again.manifest?.equals(index.manifest), said(again)).toBe(true)
    } finally {
      await far.restart()
      farToken = await far.setupAdmin()
    }
  })

  test('reads why it does not get an image, and why it may not push', async () => {
    const form = new FormData()
    const critical = { database_specific: { severity: 'CRITICAL' } }
    const records = [osvRecord('GHSA-crit-crit-crit', [['npm', 'worst', '2.0.0']], critical)]
    form.set('file', new Blob([new Uint8Array(osvZip(records))]), 'all.zip')
    expect((await daemon.call('POST', '/security/database', { token, form })).status).toBe(200)
    const bad = buildImage({
      layers: [layerOf({ name: 'node_modules/worst/package.json', body: '{"name":"worst","version":"1.0.0"}' })],
    })
    await pushFar(bad, 'lib/bad:v1')
    const refused = await pull('hub/bad:v1')
    expect(refused.code).not.toBe(0)
    expect(said(refused)).toContain('Quarantined by Gatehouse: GHSA-crit-crit-crit (critical).')
    const pushed = await skopeo(
      ...['copy', '--src-tls-verify=false', '--dest-tls-verify=false', '--dest-creds', `admin:${token}`],
      ...[at('hub/team/app:one'), at('hub/team/other:v1')],
    )
    expect(pushed.code).not.toBe(0)
    expect(said(pushed)).toContain('is a proxy: nothing is published into it')
  })

  test('finds images by the names that they have elsewhere, with the file that the set-up names', async () => {
    const image = imageOf('by its own name')
    await pushFar(image, 'lib/team/named:v1')
    const { body } = await daemon.call<{
      clients: { client: string; publish?: string; files: { content: string }[] }[]
    }>('GET', '/registries/hub/setup', { token })
    expect(body.clients.map(({ publish }) => publish)).toEqual([undefined, undefined, undefined, undefined])
    const conf = join(work, 'registries.conf')
    await writeFile(conf, body.clients.find(({ client }) => client === 'podman')?.files[0]?.content ?? '')
    const folder = join(work, 'by-name')
    const from = `docker://${new URL(far.url).host}/lib/team/named:v1`
    const copied = await skopeo('--registries-conf', conf, 'copy', from, `dir:${folder}`)
    // the one that has it asks for a token, and this one got none
    expect(copied.code, said(copied)).toBe(0)
    expect((await readFile(join(folder, 'manifest.json'))).equals(image.manifest)).toBe(true)
  })

  test('asks again for what takes longer than it is let wait', { timeout: 180_000 }, async () => {
    const image = imageOf('slow')
    const slow = await serveSlowly(image)
    try {
      await makeProxy('slow', { url: `http://127.0.0.1:${(slow.address() as AddressInfo).port}` })
      const pulled = await pull('slow/app:v1')
      expect(pulled.code, said(pulled)).toBe(0)
      expect(pulled.manifest?.equals(image.manifest)).toBe(true)
    } finally {
      slow.closeAllConnections()
      slow.close()
    }
  })
})

/** A registry whose layer takes 56 s, more than a client is let wait at once. */
async function serveSlowly(image: BuiltImage): Promise<Server> {
  const [layer = Buffer.alloc(0)] = image.layers
  const server = createServer(({ url = '' }, response) => {
    const bytes = [image.manifest, image.config, layer].find(one => url.endsWith(sha256(one))) ?? image.manifest
    response.writeHead(200, { ...servedBytes(bytes, image.mediaType).headers, 'Content-Length': bytes.length })
    if (bytes !== layer) return void response.end(bytes)
    response.write(bytes.subarray(0, 10))
    setTimeout(() => response.write(bytes.subarray(10, 20)), 28_000)
    setTimeout(() => response.end(bytes.subarray(20)), 56_000)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return server
}
