import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { besideImage, createSigner, payloadFor, signatureBy, SIMPLE_SIGNING, signatureTag } from '../support/cosign.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { decideVersion, defineRegistries, hostedRegistry } from '../support/defined-registries.ts'
import { buildImage, buildIndex, layerOf, sha256, type BuiltImage } from '../support/oci-images.ts'
import { createOciClient } from '../support/oci-registry.ts'

let daemon: Daemon
let root: string
let token: string
const team = createSigner()

const call = (method: string, path: string, body?: Record<string, unknown>) =>
  daemon.call(method, path, { token, ...(body === undefined ? {} : { body }) })

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'gh-oci-races-'))
  await defineRegistries(root, [
    hostedRegistry('asks', 'oci'),
    hostedRegistry('next', 'oci'),
    hostedRegistry('strict', 'oci'),
  ])
  daemon = await startDaemon({ root })
  token = await daemon.setupAdmin()
  const quiet = { validation: { on_scanner_unavailable: 'warn', clamav_scan: false } }
  expect((await call('PATCH', '/settings/', quiet)).status).toBe(200)
  for (const name of ['asks', 'next'])
    expect((await call('PATCH', `/registries/${name}`, { require_signature: 'review' })).status).toBe(200)
  expect((await call('PATCH', '/registries/strict', { require_signature: 'block' })).status).toBe(200)
  const key = await call('POST', '/image-keys', { name: 'release team', public_key: team.pem })
  expect(key.status, key.text).toBe(201)
})
afterAll(async () => {
  await daemon.close()
  await rm(root, { recursive: true, force: true })
})

const AT_ONCE = 20
const client = (name: string, registry = 'asks') =>
  createOciClient(daemon.url, `${registry}/${name}`, `Bearer ${token}`)
const imageOf = (text: string, architecture = 'amd64'): BuiltImage =>
  buildImage({ layers: [layerOf({ name: 'etc/said', body: text })], comment: text, architecture })
type Client = ReturnType<typeof client>
const sign = ({ push }: Client, image: BuiltImage) => push(signatureBy(team, image), signatureTag(image))
/** What a tag or digest is answered with: the digest, or the status. */
async function servedBy({ ask, base }: Client, reference: string): Promise<string | number> {
  const { status, headers } = await ask('GET', `${base}/manifests/${reference}`, {
    headers: { accept: '*/*' },
  })
  return status === 200 ? (headers.get('docker-content-digest') ?? '') : status
}

describe('an image and its signature at once', () => {
  test.each(['image first', 'signature first'])('%s', async order => {
    const to = client(order.replace(' ', '-'))
    const images = Array.from({ length: AT_ONCE }, (_, n) => imageOf(`${order} ${n}`))
    const answers = await Promise.all(
      images.flatMap((image, n) => {
        const both = [() => to.push(image, `v${n}`), () => sign(to, image)]
        return (order === 'image first' ? both : both.reverse()).map(push => push())
      }),
    )
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
    const served = () => Promise.all(images.map((_, n) => servedBy(to, `v${n}`)))
    const digests = images.map(({ digest }) => digest)
    await vi.waitFor(async () => expect(await served()).toEqual(digests), 20_000)
  })

  test('a tag that is set anew while its image is signed ends at what was pushed last', async () => {
    const to = client('retagged')
    await Promise.all(
      Array.from({ length: AT_ONCE }, async (_, n) => {
        const [first, second] = [imageOf(`first ${n}`), imageOf(`second ${n}`)]
        const tag = `v${n}`
        await to.push(first, tag)
        await Promise.all([sign(to, first), to.push(second, tag)])
        // at most what was signed
        expect([first.digest, 403]).toContain(await servedBy(to, tag))
        expect((await sign(to, second)).status).toBe(201)
        await vi.waitFor(async () => expect(await servedBy(to, tag)).toBe(second.digest), 20_000)
        await vi.waitFor(async () => expect(await servedBy(to, first.digest)).toBe(first.digest), 20_000)
        expect(await servedBy(to, tag)).toBe(second.digest)
      }),
    )
  })
})

describe('an index', () => {
  const state = async (name: string, { digest }: BuiltImage): Promise<unknown> =>
    (await call('GET', `/artifacts/${name}/${digest}?distribution=asks`)).body.status

  test('with a signed and an unsigned image waits, however often it is pushed', async () => {
    const to = client('half')
    const [good, other] = [imageOf('half signed'), imageOf('half unsigned', 'arm64')]
    await to.push(good)
    await to.push(other)
    await sign(to, good)
    const index = buildIndex({ amd64: good, arm64: other })
    for (let n = 0; n < 2; n++) expect((await to.push(index, 'v1')).headers.get('warning')).toContain('Held for review')
    expect(await Promise.all([good, other, index].map(one => state('half', one)))).toEqual([
      'published',
      'pending_review',
      'pending_review',
    ])
    // the signature of the other image is none of the index
    await sign(to, other)
    expect(await state('half', index)).toBe('pending_review')
    expect(await servedBy(to, 'v1')).toBe(403)
    await sign(to, index)
    expect(await servedBy(to, 'v1')).toBe(index.digest)
  })

  test('that is signed stays held for an image that a person rejected', async () => {
    const to = client('spoilt')
    const [good, bad] = [imageOf('spoilt good'), imageOf('spoilt bad', 'arm64')]
    await to.push(good)
    await to.push(bad)
    await decideVersion(daemon, {
      ...{ token, registry: 'asks', name: 'spoilt', version: bad.digest, action: 'reject' },
      arch: 'linux/arm64',
    })
    const index = buildIndex({ amd64: good, arm64: bad })
    await to.push(index, 'v1')
    await sign(to, index)
    expect(await servedBy(to, 'v1')).toBe(403)
    expect(await servedBy(to, bad.digest)).toBe(403)
  })

  test.each([
    ['asks', 'held for review'],
    ['strict', 'in quarantine'],
  ])('of an index, in %s %s, follows what it names also where its own signature came first', async registry => {
    const to = client('nested', registry)
    const image = imageOf('nested')
    const inner = buildIndex({ amd64: image })
    const outer = buildIndex({ amd64: inner })
    for (const [one, tag] of [
      [image, 'image'],
      [inner, 'inner'],
      [outer, 'outer'],
    ] as const)
      await to.push(one, tag)
    const served = () => Promise.all(['image', 'inner', 'outer'].map(tag => servedBy(to, tag)))
    expect(await served()).toEqual([403, 403, 403])
    // it vouches for its parts, and not for theirs
    await sign(to, outer)
    expect(await served()).toEqual([403, 403, 403])
    await sign(to, inner)
    expect(await served()).toEqual([image, inner, outer].map(({ digest }) => digest))
  })

  test('pushed with its images and the signatures of all at once', async () => {
    const to = client('whole')
    const names = Array.from({ length: 8 }, (_, n) => `whole ${n}`)
    await Promise.all(
      names.map(async (name, n) => {
        const images = [imageOf(name), imageOf(name, 'arm64')] as const
        const index = buildIndex({ amd64: images[0], arm64: images[1] })
        const signing = [sign(to, index), ...images.map(image => sign(to, image))]
        await Promise.all([...images.map(image => to.push(image)), ...signing])
        expect((await to.push(index, `v${n}`)).status).toBe(201)
        await vi.waitFor(async () => expect(await servedBy(to, `v${n}`)).toBe(index.digest), 20_000)
      }),
    )
  })
})

test('a signed image is not promoted where signatures are asked for, as its signature stays behind', async () => {
  const to = client('promoted')
  const image = imageOf('promoted')
  await to.push(image, 'v1')
  await sign(to, image)
  expect(await servedBy(to, 'v1')).toBe(image.digest)
  const wish = { package: 'promoted', version: image.digest, from_dist: 'asks', to_dist: 'next' }
  const refused = await call('POST', '/distributions/promote', wish)
  expect([refused.status, refused.body.code]).toEqual([409, 'signature_required'])
  expect(await servedBy(client('promoted', 'next'), image.digest)).toBe(404)
})

test('a payload that names two digests is no signature of either', async () => {
  const to = client('two-digests')
  const image = imageOf('two digests')
  await to.push(image, 'v1')
  const other = sha256(Buffer.from('another'))
  for (const digests of [
    [image.digest, other],
    [other, image.digest],
  ]) {
    const named = digests.map(digest => `"docker-manifest-digest":"${digest}"`).join(',')
    const bytes = Buffer.from(
      payloadFor(image.digest).toString().replace(`"docker-manifest-digest":"${image.digest}"`, named),
    )
    const annotations = { 'dev.cosignproject.cosign/signature': team.sign(bytes).toString('base64') }
    await to.push(besideImage([{ mediaType: SIMPLE_SIGNING, bytes, annotations }]), signatureTag(image))
    expect(await servedBy(to, 'v1')).toBe(403)
  }
})

describe('a manifest that is refused with the reason', () => {
  const put = ({ ask, base }: Client, { manifest, mediaType }: BuiltImage, reference: string) =>
    ask('PUT', `${base}/manifests/${reference}`, { body: manifest, headers: { 'content-type': mediaType } })

  test('of 10,000 layers', async () => {
    const layer = layerOf({ name: 'a', body: 'a' })
    const image = buildImage({ layers: Array.from({ length: 10_000 }, () => layer) })
    const { status, error } = await put(client('layers'), image, 'v1')
    expect([status, error.code, error.message]).toEqual([
      400,
      'MANIFEST_INVALID',
      'The manifest is refused: it names 10000 layers, the most is 512.',
    ])
  })

  test('with its layers twice', async () => {
    const to = client('twice')
    const image = imageOf('twice')
    await to.push(image)
    const manifest = Buffer.from(image.manifest.toString().replace('"layers":', '"layers":[],"layers":'))
    const { status, error } = await put(to, { ...image, manifest }, 'v1')
    expect([status, error.message]).toEqual([
      400,
      'The manifest is refused: it has the field "layers" twice, which readers take in different ways.',
    ])
  })

  test('of a byte more than 4 MiB, and one of 4 MiB waits for its signature as any other', async () => {
    const to = client('large')
    const sized = (bytes: number): BuiltImage => {
      const of = (note: string) =>
        buildImage({
          layers: [layerOf({ name: 'a', body: 'large' })],
          manifest: { annotations: { note } },
        })
      return of('x'.repeat(bytes - of('').manifest.length))
    }
    const most = sized(4 * 2 ** 20)
    expect((await to.push(most, 'v1')).status).toBe(201)
    expect((await sign(to, most)).status).toBe(201)
    expect(await servedBy(to, 'v1')).toBe(most.digest)
    const { status, error } = await put(to, sized(4 * 2 ** 20 + 1), 'v2')
    expect([status, error.code]).toEqual([413, 'SIZE_INVALID'])
  })
})
