import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  besideImage,
  BUNDLE,
  bundleOf,
  createSigner,
  envelopeOf,
  signatureBy,
  signatureTag,
} from '../support/cosign.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { defineRegistries } from '../support/defined-registries.ts'
import { buildImage, buildIndex, described, layerOf, type BuiltImage } from '../support/oci-images.ts'
import { createOciClient } from '../support/oci-registry.ts'
import { putImage, servedBytes } from '../support/oci-upstream.ts'
import { proxyRegistry, startRegistryUpstream, type RegistryUpstream } from '../support/registry-upstream.ts'

const INDEX = 'application/vnd.oci.image.index.v1+json'
const team = createSigner('ed25519')
let root: string
let upstream: RegistryUpstream
let daemon: Daemon
let token: string

beforeAll(async () => {
  upstream = await startRegistryUpstream()
  root = await mkdtemp(join(tmpdir(), 'gh-oci-signed-proxy-'))
  await defineRegistries(root, [
    proxyRegistry('free', 'oci', { url: upstream.url }),
    proxyRegistry('hub', 'oci', { url: upstream.url, requireSignature: 'block' }),
    proxyRegistry('aged', 'oci', { url: upstream.url, requireSignature: 'block', minAgeDays: 7 }),
  ])
  daemon = await startDaemon({ root })
  token = await daemon.setupAdmin()
  for (const body of [
    { notifications: { allow_private_hosts: '127.0.0.1' } },
    { validation: { on_scanner_unavailable: 'warn', clamav_scan: false } },
  ])
    expect((await daemon.call('PATCH', '/settings/', { token, body })).status).toBe(200)
  const key = { name: 'upstream team', public_key: team.pem }
  expect((await daemon.call('POST', '/image-keys', { token, body: key })).status).toBe(201)
})
afterAll(async () => {
  await daemon.close()
  await upstream.close()
  await rm(root, { recursive: true, force: true })
})

const client = (name: string, registry = 'hub') => createOciClient(daemon.url, `${registry}/${name}`, '')
const imageOf = (text: string, created?: string): BuiltImage =>
  buildImage({
    layers: [layerOf({ name: 'etc/said', body: text })],
    comment: text,
    ...(created === undefined ? {} : { created }),
  })
/** What the upstream says is about an image. */
function putReferrers(name: string, { digest }: BuiltImage, ...referrers: readonly BuiltImage[]): void {
  for (const one of referrers) putImage(upstream, name, one)
  const manifests = referrers.map(({ manifest, mediaType }) => ({
    ...described(mediaType, manifest),
    artifactType: BUNDLE,
  }))
  const list = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests }))
  upstream.put(`/v2/${name}/referrers/${digest}`, servedBytes(list, INDEX))
}

test('signatures are asked for at the upstream where a rule wants them, and nowhere else', async () => {
  const image = imageOf('tagged')
  putImage(upstream, 'tagged', image, 'v1')
  putImage(upstream, 'tagged', signatureBy(team, image), signatureTag(image))
  expect((await client('tagged', 'free').manifest('v1')).status).toBe(200)
  expect(upstream.asked().filter(path => /referrers|\.sig/.test(path))).toEqual([])
  const got = await client('tagged').manifest('v1')
  expect([got.status, got.error]).toEqual([200, {}])
  expect(got.bytes.equals(image.manifest)).toBe(true)
  expect((await client('tagged').manifest(signatureTag(image))).status).toBe(200)
})

test('a bundle among the referrers of an index lets its images through, too', async () => {
  const [a, b] = [imageOf('one'), imageOf('two')]
  const index = buildIndex({ amd64: a, arm64: b })
  for (const one of [a, b]) putImage(upstream, 'many', one)
  putImage(upstream, 'many', index, 'latest')
  const bundle = bundleOf({ dsseEnvelope: envelopeOf(team, index.digest) })
  putReferrers('many', index, besideImage([{ mediaType: BUNDLE, bytes: bundle }], index))
  const { manifest } = client('many')
  for (const reference of ['latest', a.digest, b.digest]) {
    const got = await manifest(reference)
    expect([got.status, got.error], reference).toEqual([200, {}])
  }
})

test('a young signature comes with an image that is old enough', async () => {
  const image = imageOf('old', new Date(Date.now() - 30 * 86_400_000).toISOString())
  putImage(upstream, 'old', image, 'v1')
  putImage(upstream, 'old', signatureBy(team, image), signatureTag(image))
  const got = await client('old', 'aged').manifest('v1')
  expect([got.status, got.error]).toEqual([200, {}])
})

test('without one, or with that of somebody else, it waits until a good one is there', async () => {
  const image = imageOf('unsigned')
  putImage(upstream, 'unsigned', image, 'v1')
  putImage(upstream, 'unsigned', signatureBy(createSigner(), image), signatureTag(image))
  const refused = await client('unsigned').manifest('v1')
  expect([refused.status, refused.error.code]).toEqual([403, 'DENIED'])
  expect(refused.error.message).toContain('Quarantined by Gatehouse: Signed by a key that is not known here.')

  putImage(upstream, 'unsigned', signatureBy(team, image), signatureTag(image))
  // it was asked for a moment ago
  expect((await client('unsigned').manifest('v1')).status).toBe(403)
  putReferrers(
    'unsigned',
    image,
    besideImage([{ mediaType: BUNDLE, bytes: bundleOf({ dsseEnvelope: envelopeOf(team, image.digest) }) }], image),
  )
  // what was asked is remembered for minutes, and not over a start
  await daemon.close()
  daemon = await startDaemon({ root })
  const got = await client('unsigned').manifest('v1')
  expect([got.status, got.error]).toEqual([200, {}])
})

test('while the upstream does not say whether there is one, nothing comes in', async () => {
  const image = imageOf('silent')
  putImage(upstream, 'silent', image, 'v1')
  upstream.put(`/v2/silent/referrers/${image.digest}`, { status: 500, body: '' })
  const refused = await client('silent').manifest('v1')
  expect(refused.status).toBeGreaterThanOrEqual(500)
  const at = `/artifacts/silent/${image.digest}?distribution=hub`
  expect((await daemon.call('GET', at, { token })).status).toBe(404)
})
