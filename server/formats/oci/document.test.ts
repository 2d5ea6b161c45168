import { describe, expect, test } from 'vitest'
import { DOCKER_IMAGE, IMAGE, INDEX, readDocument } from './document.ts'

const digest = (char: string): string => `sha256:${char.repeat(64)}`
const config = { mediaType: 'application/vnd.oci.image.config.v1+json', digest: digest('a'), size: 2 }
const layer = { mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip', digest: digest('b'), size: 3 }
const image = { schemaVersion: 2, mediaType: IMAGE, config, layers: [layer] }
const index = { schemaVersion: 2, mediaType: INDEX, manifests: [{ mediaType: IMAGE, digest: digest('c'), size: 4 }] }
const bytes = (value: unknown): Buffer => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))

test('a manifest says what it is, by its fields where it has no media type', () => {
  expect(readDocument(bytes(image))).toEqual({
    kind: 'image',
    mediaType: IMAGE,
    config,
    layers: [layer],
    manifests: [],
    annotations: {},
  })
  const { mediaType: _, ...untyped } = image
  expect(readDocument(bytes(untyped))).toMatchObject({ kind: 'image', mediaType: IMAGE })
  expect(readDocument(bytes(index))).toMatchObject({ kind: 'index', mediaType: INDEX, manifests: index.manifests })
  expect(readDocument(bytes({ schemaVersion: 2, manifests: [] }))).toMatchObject({ kind: 'index', mediaType: INDEX })
  expect(readDocument(bytes({ ...image, mediaType: DOCKER_IMAGE, subject: layer }))).toMatchObject({
    mediaType: DOCKER_IMAGE,
    subject: layer,
  })
  const empty = { ...config, mediaType: 'application/vnd.oci.empty.v1+json' }
  expect(readDocument(bytes({ ...image, config: empty, artifactType: 'a/b' }))).toMatchObject({
    kind: 'image',
    artifactType: 'a/b',
  })
  const chart = { ...layer, mediaType: 'application/vnd.cncf.helm.chart.content.v1.tar+gzip' }
  const other = { ...image, config: empty, layers: [chart] }
  expect(readDocument(bytes(other))).toMatchObject({ kind: 'artifact' })
  expect(readDocument(bytes({ ...other, mediaType: DOCKER_IMAGE }))).toMatchObject({ kind: 'image' })
  const taken = { ...config, mediaType: 'application/octet-stream' }
  expect(readDocument(bytes({ ...other, config: taken }))).toMatchObject({ kind: 'image' })
})

describe('a manifest is refused', () => {
  test.each([
    ['that is no JSON', '{', /no JSON/],
    ['that is no UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), /no JSON/],
    ['that is a list', [], /no object/],
    ['that is null', 'null', /no object/],
    ['of schema 1', { schemaVersion: 1, name: 'x' }, /schema 1/],
    [
      'of schema 1, by its type',
      { ...image, mediaType: 'application/vnd.docker.distribution.manifest.v1+prettyjws' },
      /schema 1/,
    ],
    ['without schemaVersion', { ...image, schemaVersion: undefined }, /schemaVersion/],
    ['of an unknown type', { ...image, mediaType: 'text/plain' }, /is none of/],
    ['that is an image and an index', { ...image, manifests: [] }, /two ways/],
    ['whose type is not that of its fields', { ...image, mediaType: INDEX }, /does not go with/],
    ['with a field that Go reads as another', { ...image, Layers: [] }, /"Layers"/],
    ['with such a field of a descriptor', { ...image, config: { ...config, Digest: digest('d') } }, /"Digest"/],
    [
      'with its layers twice, of which clients take the first, the last or a mixture',
      JSON.stringify(image).replace('"layers":', '"layers":[],"layers":'),
      /"layers" twice/,
    ],
    [
      'with a digest twice in a descriptor',
      JSON.stringify(image).replace('"digest":', `"digest":"${digest('d')}","digest":`),
      /"digest" twice/,
    ],
    ['without a config', { ...image, config: undefined }, /config/],
    ['with a digest of MD5', { ...image, config: { ...config, digest: 'md5:aa' } }, /sha256 or sha512/],
    ['with a digest in capitals', { ...image, config: { ...config, digest: digest('A') } }, /sha256 or sha512/],
    [
      'with a digest that leads out',
      { ...image, config: { ...config, digest: 'sha256:../../etc/passwd' } },
      /sha256 or sha512/,
    ],
    ['with a negative size', { ...image, layers: [{ ...layer, size: -1 }] }, /no count of bytes/],
    ['with a size beyond whole numbers', { ...image, layers: [{ ...layer, size: 1e300 }] }, /no count of bytes/],
    ['with a size that is text', { ...image, layers: [{ ...layer, size: '3' }] }, /no count of bytes/],
    ['with a layer that is null', { ...image, layers: [null] }, /no object/],
    ['with 10,000 layers', { ...image, layers: Array.from({ length: 10_000 }, () => layer) }, /the most is 512/],
    [
      'with 10,000 manifests',
      { ...index, manifests: Array.from({ length: 10_000 }, () => index.manifests[0]) },
      /the most is 1024/,
    ],
    ['with a media type of a line break', { ...image, config: { ...config, mediaType: 'a/b\nX: y' } }, /no media type/],
    ['with an artifact type of a line break', { ...image, artifactType: 'a/b\r\nX: y' }, /no media type/],
    ['with an annotation that is a number', { ...image, annotations: { a: 1 } }, /is no text/],
    ['with an annotation that no database keeps', { ...image, annotations: { a: '\0' } }, /is no text/],
    ['with half a character', `{"schemaVersion":2,"manifests":[],"annotations":{"a":"\\ud800"}}`, /is no text/],
    [
      'with a thousand and one annotations',
      { ...image, annotations: Object.fromEntries(Array.from({ length: 1001 }, (_, n) => [`a${n}`, ''])) },
      /more than 1000/,
    ],
    ['with addresses that are none', { ...image, layers: [{ ...layer, urls: [1] }] }, /"urls"/],
    ['about a thing that is none', { ...image, subject: 'x' }, /no object/],
    ['of more than 4 MiB', ' '.repeat(4 * 2 ** 20 + 1), /4 MiB/],
  ])('%s', (_, value, why) => {
    expect(() => readDocument(Buffer.isBuffer(value) ? value : bytes(value))).toThrow(why)
  })

  test('nested a million times, without harm', () => {
    expect(() => readDocument(bytes(`{"schemaVersion":2,"manifests":${'['.repeat(1e6)}${']'.repeat(1e6)}}`))).toThrow()
  })
})
