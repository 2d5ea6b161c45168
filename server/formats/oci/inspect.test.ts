import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  buildArtifact,
  buildImage,
  buildIndex,
  described,
  layerOf,
  spoolImage,
  type BuiltImage,
} from '../../../test/support/oci-images.ts'
import { tar, type TarSpec } from '../../../test/support/packages.ts'
import { oci } from './index.ts'

const signal = new AbortController().signal
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oci-inspect-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const inspect = async (image: BuiltImage, name = 'app/web') =>
  oci.inspect(await spoolImage(folder, name, image), signal)
const file = (name: string, body = 'x'): TarSpec => ({ name, body: Buffer.from(body) })

async function innerOf(
  image: BuiltImage,
): Promise<Record<string, { bytes: Buffer; hides: (path: string) => boolean }>> {
  const found: Record<string, { bytes: Buffer; hides: (path: string) => boolean }> = {}
  for await (const { name, open, hides } of oci.inner(await spoolImage(folder, 'app', image))) {
    const chunks: Buffer[] = []
    for await (const chunk of open()) chunks.push(chunk)
    found[name] = { bytes: Buffer.concat(chunks), hides: (await hides?.()) ?? (() => false) }
  }
  return found
}

describe('what a manifest is', () => {
  test('an image has the platform of its config', async () => {
    const image = buildImage({ layers: [layerOf(file('etc/one'))], architecture: 'arm64' })
    const { identity, about, facts, paths } = await inspect(image)
    expect(identity).toEqual({ format: 'oci', name: 'app/web', version: image.digest, arch: 'linux/arm64' })
    expect(oci.complain(identity)).toBeUndefined()
    expect(about).toMatchObject({ source: 'app/web', summary: 'Container image of 1 layer, linux/arm64' })
    expect(facts).toMatchObject({
      kind: 'image',
      media_type: image.mediaType,
      platform: { os: 'linux', architecture: 'arm64' },
      opaque: [],
    })
    expect(paths).toEqual([])
  })

  test('an index and an artifact have none', async () => {
    const image = buildImage({ layers: [layerOf(file('a'))] })
    expect((await inspect(buildIndex({ amd64: image }))).identity.arch).toBe('index')
    const signature = buildArtifact('application/vnd.dev.cosign.artifact.sig.v1+json', Buffer.from('signed'), image)
    const { identity, facts } = await inspect(signature)
    expect(identity.arch).toBe('artifact')
    expect(facts).toMatchObject({
      artifact_type: 'application/vnd.dev.cosign.artifact.sig.v1+json',
      subject: image.digest,
    })
  })

  test('a layer that comes twice is read once, and one from elsewhere not at all', async () => {
    const layer = layerOf(file('a'))
    const foreign = {
      ...described('application/vnd.oci.image.layer.nondistributable.v1.tar+gzip', Buffer.from('elsewhere')),
      urls: ['https://example.com/layer'],
    }
    const twice = buildImage({ layers: [layer, layer] })
    expect(Object.keys(await innerOf(twice)).filter(name => name.startsWith('layer'))).toHaveLength(1)
    const image = buildImage({ layers: [], manifest: { layers: [foreign] } })
    expect((await inspect(image)).facts).toMatchObject({ layers: [foreign] })
  })

  test('its purl names the registry, the digest and the architecture', async () => {
    const { identity } = await inspect(buildImage({ layers: [layerOf(file('a'))] }))
    const purl = oci.purl(identity, { codename: 'ours' } as never)
    expect(purl).toMatch(/^pkg:oci\/web@sha256%3A[0-9a-f]{64}\?arch=amd64&repository_url=ours%2Fapp%2Fweb$/)
  })

  test.each(['App', 'a//b', '/a', 'a/', '-a', 'a..b', 'a'.repeat(201), 'a b', '../a', 'a/.b', ''])(
    'the name %j is refused',
    name => {
      expect(oci.complain({ format: 'oci', name, version: `sha256:${'a'.repeat(64)}`, arch: 'index' })).toContain(
        'name',
      )
    },
  )
})

describe('what engines get', () => {
  test('each layer is a plain tar, however it is compressed', async () => {
    const plain = tar([file('etc/one', 'the same')])
    const image = buildImage({ layers: [gzipSync(plain), zstdCompressSync(plain), plain] })
    const layers = Object.entries(await innerOf(image)).filter(([name]) => name.startsWith('layer'))
    expect(layers.map(([name]) => name)).toEqual(
      image.layers.map((_, n) => expect.stringMatching(`^layer-${n + 1}-sha256-[0-9a-f]{12}$`) as string),
    )
    for (const [, { bytes }] of layers) expect(bytes.equals(plain)).toBe(true)
  })

  test('what a layer above removes or replaces is hidden in those below', async () => {
    const image = buildImage({
      layers: [
        layerOf(
          file('app/old.js'),
          file('app/kept.js'),
          file('lib/a'),
          file('lib/deep/b'),
          file('opt/x/c'),
          file('etc/conf'),
        ),
        layerOf(
          file('app/.wh.old.js'),
          file('lib/.wh..wh..opq'),
          file('lib/new'),
          file('etc/conf', 'newer'),
          file('opt/.wh.x'),
        ),
      ],
    })
    const [below, above] = Object.entries(await innerOf(image)).flatMap(([name, one]) =>
      name.startsWith('layer') ? [one] : [],
    )
    const paths = ['app/old.js', 'app/kept.js', 'lib/a', 'lib/deep/b', 'opt/x/c', 'etc/conf']
    expect(paths.filter(path => below?.hides(path))).toEqual([
      'app/old.js',
      'lib/a',
      'lib/deep/b',
      'opt/x/c',
      'etc/conf',
    ])
    expect(['lib/new', 'etc/conf'].filter(path => above?.hides(path))).toEqual([])
  })
})

describe('an image is refused', () => {
  const NAMES = /leads out of its folder/
  test.each<[string, Buffer, RegExp]>([
    ['with a name that leads out', layerOf(file('../etc/passwd')), NAMES],
    ['with a name that leads out later', layerOf(file('a/b/../../../etc/passwd')), NAMES],
    ['with a hard link that leads out', layerOf({ name: 'a', type: '1', link: '../../etc/shadow' }), NAMES],
    ['with a character device', layerOf({ name: 'dev/mem', type: '3' }), /device node/],
    ['with a block device', layerOf({ name: 'dev/sda', type: '4' }), /device node/],
    ['with a line break in a name', layerOf(file('a\nb')), /control character/],
    ['with a layer that is cut off', layerOf(file('a', 'y'.repeat(5000))).subarray(0, 60), /cut off|damaged/],
    ['with a tar that is cut off', gzipSync(tar([file('a', 'y'.repeat(5000))]).subarray(0, 3000)), /cut off/],
    [
      'with bytes behind the end of a tar',
      gzipSync(Buffer.concat([tar([file('a')]), tar([file('b')])])),
      /behind its end mark/,
    ],
    [
      'with bytes behind the end of gzip',
      Buffer.concat([layerOf(file('a')), Buffer.from('more')]),
      /gzip stream|goes on/,
    ],
    ['with a layer that unpacks a thousandfold', gzipSync(Buffer.alloc(600 * 2 ** 20)), /bomb/],
  ])('%s', async (_, layer, why) => {
    await expect(inspect(buildImage({ layers: [layer] }))).rejects.toMatchObject({
      code: 'bad_package',
      message: expect.stringMatching(why) as string,
    })
  })

  test('whose config is no JSON', async () => {
    const config = Buffer.from('{')
    const image = buildImage({ layers: [] })
    const manifest = Buffer.from(
      JSON.stringify({
        schemaVersion: 2,
        config: described('application/vnd.oci.image.config.v1+json', config),
        layers: [],
      }),
    )
    await expect(inspect({ ...image, manifest, config })).rejects.toMatchObject({ code: 'bad_package' })
  })

  test('but for a layer that is no archive at all, which is named', async () => {
    const { facts } = await inspect(buildImage({ layers: [Buffer.from('plain words')] }))
    expect(facts).toMatchObject({ opaque: [expect.stringMatching(/^layer-1-/)] })
  })
})
