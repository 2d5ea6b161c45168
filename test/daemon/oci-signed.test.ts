import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import {
  besideImage,
  BUNDLE,
  bundleOf,
  createSigner,
  DSSE,
  envelopeOf,
  messageOf,
  payloadFor,
  SIMPLE_SIGNING,
  signatureBy,
  signatureTag,
} from '../support/cosign.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { decideVersion, defineRegistries, hostedRegistry } from '../support/defined-registries.ts'
import { DOCKER_IMAGE } from '../../server/formats/oci/document.ts'
import { buildImage, buildIndex, described, layerOf, sha256, type BuiltImage } from '../support/oci-images.ts'
import { createOciClient } from '../support/oci-registry.ts'

let daemon: Daemon
let root: string
let token: string
const team = createSigner()
const stranger = createSigner()

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'gh-oci-signed-'))
  await defineRegistries(root, [
    hostedRegistry('free', 'oci'),
    hostedRegistry('asks', 'oci'),
    hostedRegistry('strict', 'oci'),
    hostedRegistry('late', 'oci'),
  ])
  daemon = await startDaemon({ root })
  token = await daemon.setupAdmin()
  await onUnavailable('warn')
  for (const [name, rule] of Object.entries({ asks: 'review', strict: 'block', late: 'review' })) {
    const { status, text, body } = await call('PATCH', `/registries/${name}`, { require_signature: rule })
    expect([status, body.require_signature], text).toEqual([200, rule])
  }
  await trust('release team', team.pem, { registries: ['free', 'asks', 'strict'] })
})
afterAll(async () => {
  await daemon.close()
  await rm(root, { recursive: true, force: true })
})

const call = (method: string, path: string, body?: Record<string, unknown>) =>
  daemon.call(method, path, { token, ...(body === undefined ? {} : { body }) })
async function onUnavailable(value: 'hold' | 'warn'): Promise<void> {
  const body = { validation: { on_scanner_unavailable: value, clamav_scan: false } }
  expect((await call('PATCH', '/settings/', body)).status).toBe(200)
}
async function trust(name: string, pem: string, more: Record<string, unknown> = {}): Promise<void> {
  const { status, text } = await call('POST', '/image-keys', { name, public_key: pem, ...more })
  expect(status, text).toBe(201)
}
const client = (name: string, registry = 'asks') =>
  createOciClient(daemon.url, `${registry}/${name}`, `Bearer ${token}`)
const imageOf = (text: string, more: { readonly architecture?: string } = {}): BuiltImage =>
  buildImage({ layers: [layerOf({ name: 'etc/said', body: text })], comment: text, ...more })
const referrer = (image: BuiltImage, mediaType: string, bytes: Buffer): BuiltImage =>
  besideImage([{ mediaType, bytes }], image)

/** State and sentence of the signature step, as the console shows them. */
async function stateOf(name: string, { digest }: BuiltImage, registry = 'asks'): Promise<[unknown, string]> {
  const { body, text } = await call('GET', `/artifacts/${name}/${digest}?distribution=${registry}`)
  expect(body.validation, text).toBeDefined()
  const { steps } = body.validation as {
    readonly steps: readonly { readonly name: string; readonly message: string }[]
  }
  return [body.status, steps.find(step => step.name === 'signature')?.message ?? '']
}
const by = `Signed by release team (key SHA-256 ${team.fingerprint})`
const WAITS = 'It waits for its signature: this registry asks for one by a trusted key.'

test('a registry without the rule says what it found, and holds nothing', async () => {
  const { push } = client('plain', 'free')
  const image = imageOf('plain')
  expect((await push(image, 'v1')).status).toBe(201)
  expect(await stateOf('plain', image, 'free')).toEqual(['published', 'It has no signature.'])
  await push(signatureBy(stranger, image), signatureTag(image))
  expect(await stateOf('plain', image, 'free')).toEqual(['published', 'Signed by a key that is not known here.'])
  await push(referrer(image, DSSE, Buffer.from(JSON.stringify(envelopeOf(team, image.digest)))))
  expect(await stateOf('plain', image, 'free')).toEqual(['published', `${by}.`])
})

test('an image waits for its signature, and comes by itself with its tag when that is good', async () => {
  const { push, ask, base } = client('app')
  const image = imageOf('app 1')
  const pushed = await push(image, 'v1')
  expect(pushed.status).toBe(201)
  expect(pushed.headers.get('warning')).toContain(`Held for review by Gatehouse: It has no signature. ${WAITS}`)
  expect(await stateOf('app', image)).toEqual(['pending_review', `It has no signature. ${WAITS}`])
  expect((await ask('GET', `${base}/manifests/v1`)).status).toBe(403)

  // of somebody else, and about another image
  await push(signatureBy(stranger, image), signatureTag(image))
  expect(await stateOf('app', image)).toEqual(['pending_review', `Signed by a key that is not known here. ${WAITS}`])
  const other = payloadFor(imageOf('app 2').digest)
  const annotations = { 'dev.cosignproject.cosign/signature': team.sign(other).toString('base64') }
  await push(besideImage([{ mediaType: SIMPLE_SIGNING, bytes: other, annotations }]), signatureTag(image))
  expect(await stateOf('app', image)).toEqual([
    'pending_review',
    `A signature was not looked at: it is about something else. ${WAITS}`,
  ])

  expect((await push(signatureBy(team, image), signatureTag(image))).status).toBe(201)
  expect(await stateOf('app', image)).toEqual(['published', `${by}.`])
  const got = await ask('GET', `${base}/manifests/v1`)
  expect([got.status, got.bytes.equals(image.manifest)]).toEqual([200, true])
  const audit = await call('GET', '/artifacts/audit/logs?action=RESCAN')
  expect(audit.text).toContain('signature check')
  expect(audit.text).toContain(by)
})

test('whoever may publish reads the manifest of what waits, by its digest, to sign it: nobody else, and no blob', async () => {
  const made = await call('POST', '/auth/api-tokens', { name: 'reads', role: 'reader' })
  const reader = `Bearer ${(made.body as { token: string }).token}`
  for (const registry of ['asks', 'strict']) {
    const { push, ask, base } = client('unsigned', registry)
    const image = imageOf(`unsigned in ${registry}`)
    await push(image, 'v1')
    for (const method of ['GET', 'HEAD'] as const) {
      const got = await ask(method, `${base}/manifests/${image.digest}`)
      expect([got.status, got.headers.get('docker-content-digest'), got.headers.get('cache-control')]).toEqual([
        200,
        image.digest,
        'no-store',
      ])
      expect(got.headers.get('warning')).toContain('by Gatehouse: It has no signature.')
      if (method === 'GET') expect(got.bytes.equals(image.manifest)).toBe(true)
    }
    for (const bytes of [image.config, ...image.layers])
      expect((await ask('GET', `${base}/blobs/${sha256(bytes)}`)).status).toBe(403)
    expect((await ask('GET', `${base}/manifests/v1`)).status).toBe(403)
    expect((await ask('GET', `${base}/manifests/${image.digest}`, { auth: reader })).status).toBe(403)
    expect((await ask('HEAD', `${base}/manifests/${image.digest}`, { auth: reader })).status).toBe(404)
  }
})

test('where the rule blocks, it waits in quarantine, and a person who put it there keeps it there', async () => {
  const { push, ask, base } = client('app', 'strict')
  const image = imageOf('strict 1')
  const pushed = await push(image, 'v1')
  expect(pushed.headers.get('warning')).toContain('Quarantined by Gatehouse: It has no signature. It waits')
  expect((await stateOf('app', image, 'strict'))[0]).toBe('quarantined')
  for (const digest of [image.digest, ...[image.config, ...image.layers].map(sha256)])
    expect(await readdir(join(root, 'quarantine'))).toContain(digest.slice('sha256:'.length))
  const bundle = bundleOf(messageOf(team, image.manifest))
  expect((await push(referrer(image, BUNDLE, bundle))).status).toBe(201)
  expect(await stateOf('app', image, 'strict')).toEqual(['published', `${by}.`])
  expect((await ask('GET', `${base}/manifests/v1`)).bytes.equals(image.manifest)).toBe(true)
  expect(
    (await ask('GET', `${base}/blobs/${JSON.parse(image.manifest.toString()).layers[0].digest as string}`)).status,
  ).toBe(200)

  const second = imageOf('strict 2')
  await push(second, 'v2')
  for (const [what, body] of [
    ['decide', { decision: 'approve', justification: 'It is needed today.' }],
    ['quarantine', { reason: '' }],
  ] as const) {
    const { status, text } = await call(
      'POST',
      `/security/packages/app/${second.digest}/${what}?distribution=strict`,
      body,
    )
    expect(status, text).toBe(200)
  }
  // it waits for no signature: its manifest is given to nobody
  expect((await ask('GET', `${base}/manifests/${second.digest}`)).status).toBe(403)
  await push(signatureBy(team, second), signatureTag(second))
  expect(await stateOf('app', second, 'strict')).toEqual(['quarantined', `${by}.`])
})

test('what waits for something else goes on waiting, and what was rejected stays so', async () => {
  const { push } = client('others')
  await onUnavailable('hold')
  const image = imageOf('not scanned')
  await push(image, 'v1')
  await push(signatureBy(team, image), signatureTag(image))
  await onUnavailable('warn')
  expect(await stateOf('others', image)).toEqual(['pending_review', `${by}.`])

  const refused = imageOf('refused')
  await push(refused, 'v2')
  await decideVersion(daemon, {
    ...{ token, registry: 'asks', name: 'others', version: refused.digest, action: 'reject' },
    arch: 'linux/amd64',
  })
  await push(signatureBy(team, refused), signatureTag(refused))
  expect((await stateOf('others', refused))[0]).toBe('rejected')
})

test('images of a signed index count as signed by it, and the index follows them', async () => {
  const { push, ask, base } = client('many')
  const [a, b] = [imageOf('for amd64'), imageOf('for arm64', { architecture: 'arm64' })]
  await push(a)
  await push(b)
  const index = buildIndex({ amd64: a, arm64: b })
  await push(index, 'latest')
  expect(await Promise.all([a, b, index].map(async one => (await stateOf('many', one))[0]))).toEqual(
    Array(3).fill('pending_review'),
  )
  await push(signatureBy(team, index), signatureTag(index))
  for (const one of [a, b])
    expect(await stateOf('many', one)).toEqual(['published', `${by}, with the index ${index.digest}.`])
  expect(await stateOf('many', index)).toEqual(['published', `${by}.`])
  expect((await ask('GET', `${base}/manifests/latest`)).bytes.equals(index.manifest)).toBe(true)
})

test('a signed index is held while a part of it is', async () => {
  const { push } = client('parted', 'free')
  const good = imageOf('good')
  await onUnavailable('hold')
  await push(good)
  await onUnavailable('warn')
  const index = buildIndex({ amd64: good })
  await push(index, 'latest')
  await push(signatureBy(team, index), signatureTag(index))
  expect(await stateOf('parted', index, 'free')).toEqual(['pending_review', `${by}.`])
  const rescan = await call('POST', `/security/packages/parted/${index.digest}/rescan?distribution=free`, {})
  expect(rescan.status, rescan.text).toBe(200)
  expect((await stateOf('parted', index, 'free'))[0]).toBe('pending_review')
})

test('a signature that is there before its image counts when the image comes', async () => {
  const { push } = client('early')
  const image = imageOf('early')
  await push(signatureBy(team, image), signatureTag(image))
  const pushed = await push(image, 'v1')
  expect(pushed.headers.get('warning')).toBeNull()
  expect(await stateOf('early', image)).toEqual(['published', `${by}.`])
})

test('an attestation is told, and is no signature', async () => {
  const { push } = client('attested')
  const image = imageOf('attested')
  await push(image, 'v1')
  const envelope = envelopeOf(team, image.digest, 'https://slsa.dev/provenance/v1')
  await push(
    besideImage([{ mediaType: DSSE, bytes: Buffer.from(JSON.stringify(envelope)) }]),
    signatureTag(image, 'att'),
  )
  expect(await stateOf('attested', image)).toEqual([
    'pending_review',
    `It has no signature. Attested by release team (key SHA-256 ${team.fingerprint}): https://slsa.dev/provenance/v1. ${WAITS}`,
  ])
})

test('a certificate is not verified, and said so', async () => {
  const { push } = client('keyless')
  const image = imageOf('keyless')
  await push(image, 'v1')
  const certificate = { 'dev.sigstore.cosign/certificate': '-----BEGIN CERTIFICATE-----\n' }
  await push(signatureBy(stranger, image, certificate), signatureTag(image))
  expect(await stateOf('keyless', image)).toEqual([
    'pending_review',
    `Its signature was made with a certificate, which is not verified here. ${WAITS}`,
  ])
})

test('an image that says it is a signature is none: what is an archive needs one itself', async () => {
  const { push } = client('disguised')
  const layers = [layerOf({ name: 'bin/sh', body: 'x' })]
  const { manifest, ...rest } = besideImage([{ mediaType: SIMPLE_SIGNING, bytes: layers[0] as Buffer }])
  expect((await push({ ...rest, manifest, layers })).status).toBe(201)
  expect((await stateOf('disguised', { manifest, ...rest }))[0]).toBe('pending_review')
})

test.each(['application/octet-stream', 'application/vnd.unknown.config.v1+json'])(
  'what clients run needs a signature also where its config is called %s',
  async mediaType => {
    const { push, ask, base } = client(`called-${mediaType.length}`)
    const plain = imageOf(mediaType)
    const config = { ...described(mediaType, plain.config) }
    for (const image of [
      buildImage({ layers: plain.layers, comment: mediaType, manifest: { config } }),
      buildImage({ layers: plain.layers, comment: mediaType, manifest: { config, mediaType: DOCKER_IMAGE } }),
    ]) {
      const pushed = await push(image, 'v1')
      expect(pushed.headers.get('warning')).toContain(WAITS)
      expect((await ask('GET', `${base}/manifests/v1`)).status).toBe(403)
    }
  },
)

test('more than a hundred signatures are not all looked at', async () => {
  const { push } = client('flooded')
  const image = imageOf('flooded')
  await push(image, 'v1')
  const bytes = payloadFor(image.digest)
  const files = Array.from({ length: 101 }, (_, n) => ({
    ...{ mediaType: SIMPLE_SIGNING, bytes },
    annotations: {
      'dev.cosignproject.cosign/signature': (n === 100 ? team : stranger).sign(bytes).toString('base64'),
    },
  }))
  await push(besideImage(files), signatureTag(image))
  expect((await stateOf('flooded', image))[0]).toBe('pending_review')
})

test('a key counts where it is trusted; when one is added, what waits for it is published, and stays when it goes', async () => {
  const { push } = client('app', 'late')
  const image = imageOf('late')
  await push(image, 'v1')
  await push(signatureBy(team, image), signatureTag(image))
  expect(await stateOf('app', image, 'late')).toEqual([
    'pending_review',
    `Signed by a key that is not known here. ${WAITS}`,
  ])
  const again = await call('POST', '/image-keys', { name: 'again', public_key: team.pem })
  expect([again.status, again.body.code]).toEqual([409, 'image_key_exists'])
  expect((await call('DELETE', '/image-keys/release%20team')).status).toBe(204)
  await trust('release team', team.pem)
  await vi.waitFor(async () => expect(await stateOf('app', image, 'late')).toEqual(['published', `${by}.`]), 10_000)
  const { body } = await call('GET', '/image-keys')
  expect(body).toMatchObject({
    keys: [{ name: 'release team', fingerprint: team.fingerprint, algorithm: 'ECDSA P-256', registries: null }],
  })
  expect((await call('DELETE', '/image-keys/release%20team')).status).toBe(204)
  expect((await stateOf('app', image, 'late'))[0]).toBe('published')
  const next = imageOf('after the key')
  await push(next, 'v2')
  await push(signatureBy(team, next), signatureTag(next))
  expect((await stateOf('app', next, 'late'))[0]).toBe('pending_review')
})

test('what an admin cannot ask for is refused with the reason', async () => {
  const truncated = await call('POST', '/image-keys', { name: 'cut', public_key: stranger.pem.slice(0, -40) })
  expect([truncated.status, truncated.body.code]).toEqual([422, 'bad_image_key'])
  const nowhere = await call('POST', '/image-keys', { name: 'x', public_key: stranger.pem, registries: ['nowhere'] })
  expect([nowhere.status, nowhere.body.code]).toEqual([404, 'registry_not_found'])
  const npm = await call('POST', '/registries/', { name: 'js', format: 'npm', require_signature: 'block' })
  expect([npm.status, npm.body.code]).toEqual([422, 'bad_registry'])
  await client('moved', 'free').push(imageOf('moved'), 'v1')
  const wish = { package: 'moved', from_dist: 'free', to_dist: 'strict' }
  const promoted = await call('POST', '/distributions/promote', wish)
  expect([promoted.status, promoted.body.code]).toEqual([409, 'signature_required'])
})
