import { createHash } from 'node:crypto'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { together, type SpooledFile } from '../../server/files/spool.ts'
import { spoolBytes, tar, type TarSpec } from './packages.ts'

export const sha256 = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`
export const sha512 = (bytes: Buffer): string => `sha512:${createHash('sha512').update(bytes).digest('hex')}`

const IMAGE = 'application/vnd.oci.image.manifest.v1+json'
const INDEX = 'application/vnd.oci.image.index.v1+json'
const CONFIG = 'application/vnd.oci.image.config.v1+json'
const LAYER = 'application/vnd.oci.image.layer.v1.tar+gzip'

/** A manifest and the blobs that it names. */
export interface BuiltImage {
  readonly manifest: Buffer
  readonly digest: string
  readonly mediaType: string
  readonly config: Buffer
  readonly layers: readonly Buffer[]
}

export const layerOf = (...entries: readonly TarSpec[]): Buffer => gzipSync(tar(entries))
export const described = (mediaType: string, bytes: Buffer) => ({
  mediaType,
  digest: sha256(bytes),
  size: bytes.length,
})

export interface ImageSpec {
  readonly layers: readonly Buffer[]
  readonly architecture?: string
  /** Makes two images of the same layers differ. */
  readonly comment?: string
  /** Of its config. */
  readonly labels?: Readonly<Record<string, string>>
  /** When its builder says that it was made. */
  readonly created?: string
  /** The user that it runs as. */
  readonly user?: string
  /** How its layers were made. */
  readonly history?: readonly object[]
  /** Fields of the manifest that differ from those of an image. */
  readonly manifest?: Readonly<Record<string, unknown>>
}

/** An image for linux of these layers. */
export function buildImage(spec: ImageSpec): BuiltImage {
  const { layers, architecture = 'amd64', comment = '', created, labels, user, history, manifest = {} } = spec
  const rootfs = { type: 'layers', diff_ids: [] }
  const config = Buffer.from(
    JSON.stringify({
      os: 'linux',
      architecture,
      comment,
      created,
      history,
      rootfs,
      config: { Labels: labels, User: user },
    }),
  )
  const mediaType = (manifest.mediaType as string | undefined) ?? IMAGE
  const bytes = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType,
      config: described(CONFIG, config),
      layers: layers.map(layer => described(LAYER, layer)),
      ...manifest,
    }),
  )
  return { manifest: bytes, digest: sha256(bytes), mediaType, config, layers }
}

/** A thing that is about another one, as a signature is. */
export function buildArtifact(
  artifactType: string,
  content: Buffer,
  subject?: BuiltImage,
  annotations = {},
): BuiltImage {
  const config = Buffer.from('{}')
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: IMAGE,
      artifactType,
      config: described('application/vnd.oci.empty.v1+json', config),
      layers: [described('application/octet-stream', content)],
      ...(subject === undefined
        ? {}
        : { subject: { mediaType: subject.mediaType, digest: subject.digest, size: subject.manifest.length } }),
      annotations,
    }),
  )
  return { manifest, digest: sha256(manifest), mediaType: IMAGE, config, layers: [content] }
}

/** An index of images, each for its architecture. */
export function buildIndex(images: Readonly<Record<string, BuiltImage>>, more: object = {}): BuiltImage {
  const manifests = Object.entries(images).map(([architecture, { manifest, mediaType }]) => ({
    ...described(mediaType, manifest),
    platform: { os: 'linux', architecture },
  }))
  const manifest = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests, ...more }))
  return { manifest, digest: sha256(manifest), mediaType: INDEX, config: Buffer.alloc(0), layers: [] }
}

/** An image as the gate gets it. */
export async function spoolImage(
  folder: string,
  name: string,
  { manifest, config, layers }: BuiltImage,
): Promise<SpooledFile> {
  const blobs = new Map([...(config.length === 0 ? [] : [config]), ...layers].map(one => [sha256(one), one]))
  const beside: SpooledFile[] = []
  for (const [digest, bytes] of blobs) {
    const place = await mkdtemp(join(folder, 'blob-'))
    beside.push({ ...(await spoolBytes(place, 'blob', bytes)), filename: digest })
  }
  const main = await spoolBytes(await mkdtemp(join(folder, 'manifest-')), 'manifest', manifest)
  return together({ ...main, filename: name }, beside)
}
