import { malformed, quote } from '../../lib/limited.ts'
import { parseStrictJson } from '../../lib/strict-json.ts'
import {
  mediaTypeIn,
  needRecord,
  noOtherSpelling,
  readDescriptor,
  readDescriptors,
  textsOf,
  type Descriptor,
} from './descriptor.ts'

/** Source: the OCI image specification 1.1, "media types"; Docker's "Image Manifest V 2, Schema 2". */
export const IMAGE = 'application/vnd.oci.image.manifest.v1+json'
export const INDEX = 'application/vnd.oci.image.index.v1+json'
export const DOCKER_IMAGE = 'application/vnd.docker.distribution.manifest.v2+json'
export const DOCKER_LIST = 'application/vnd.docker.distribution.manifest.list.v2+json'
const IMAGES: readonly string[] = [IMAGE, DOCKER_IMAGE]
const INDEXES: readonly string[] = [INDEX, DOCKER_LIST]
const SCHEMA_1 = /^application\/vnd\.docker\.distribution\.manifest\.v1\+(?:json|prettyjws)$/
/** Configs that describe a file system made of layers. */
const IMAGE_CONFIGS: readonly string[] = [
  'application/vnd.oci.image.config.v1+json',
  'application/vnd.docker.container.image.v1+json',
]
/** Configs that Docker takes for one of an image, too. Source: Moby, `distribution.ImageTypes`. */
const TAKEN_FOR_IMAGES: readonly string[] = ['application/octet-stream', 'application/json', 'text/html']
/** Layers that clients unpack. */
const FILE_SYSTEM = /^application\/vnd\.(?:oci\.image\.layer|docker\.image\.rootfs)\./i
export const isFileSystem = ({ mediaType }: Descriptor): boolean => FILE_SYSTEM.test(mediaType)

/** The most bytes of a manifest. Source: the distribution specification 1.1, "Pushing Manifests". */
export const MAX_DOCUMENT = 4 * 2 ** 20
/** Docker's own limit is 127. */
const MAX_LAYERS = 512
const MAX_MANIFESTS = 1024

/** A manifest as it was pushed. */
export interface OciDocument {
  /** `image`: a file system of layers. `artifact`: anything else that has blobs. `index`: names other manifests. */
  readonly kind: 'image' | 'artifact' | 'index'
  readonly mediaType: string
  readonly artifactType?: string
  readonly config?: Descriptor
  readonly layers: readonly Descriptor[]
  readonly manifests: readonly Descriptor[]
  /** The manifest that it is about. */
  readonly subject?: Descriptor
  readonly annotations: Readonly<Record<string, string>>
}

const KEYS = [
  'schemaVersion',
  'mediaType',
  'artifactType',
  'config',
  'layers',
  'manifests',
  'subject',
  'annotations',
] as const

/** What the bytes say they are, or what the fields say where they do not; never both ways at once. */
function mediaTypeOf(document: Readonly<Record<string, unknown>>): string {
  const { schemaVersion, mediaType, manifests, layers, config } = document
  const isSchema1 = schemaVersion === 1 || (typeof mediaType === 'string' && SCHEMA_1.test(mediaType))
  if (isSchema1) malformed('it is of Docker schema 1, which has no digests of its parts; push it with a newer client')
  if (schemaVersion !== 2) malformed('its schemaVersion is not 2')
  // a reader that goes by one field would see another image than one that goes by the other (CVE-2021-41190)
  if (manifests !== undefined && (layers !== undefined || config !== undefined))
    malformed('it has both "manifests" and "layers" or "config", which clients read in two ways')
  if (mediaType === undefined) return manifests === undefined ? IMAGE : INDEX
  if (typeof mediaType !== 'string' || ![...IMAGES, ...INDEXES].includes(mediaType))
    malformed(`its mediaType ${quote(String(mediaType))} is none of ${[...IMAGES, ...INDEXES].join(', ')}`)
  if (INDEXES.includes(mediaType) !== (manifests !== undefined))
    malformed(`its mediaType ${mediaType} does not go with its fields`)
  return mediaType
}

function limitedList(list: readonly Descriptor[], most: number, what: string): readonly Descriptor[] {
  if (list.length > most) malformed(`it names ${list.length} ${what}, the most is ${most}`)
  return list
}

/** Whether the config says of itself that it is one of an image. */
export const saysImage = ({ mediaType }: Descriptor): boolean => IMAGE_CONFIGS.includes(mediaType)

/** Whether clients run it: what its config is called decides that for some of them alone. */
const isRun = (mediaType: string, config: Descriptor, layers: readonly Descriptor[]): boolean =>
  mediaType === DOCKER_IMAGE ||
  saysImage(config) ||
  TAKEN_FOR_IMAGES.includes(config.mediaType) ||
  layers.some(isFileSystem)

/**
 * Reads a manifest. What readers take in different ways (`Layers`, a field twice, two kinds of content at once) is
 * refused.
 * @throws Malformed naming what breaks which rule
 * Source: OCI image specification 1.1, "manifest" and "image index".
 */
export function readDocument(bytes: Buffer): OciDocument {
  if (bytes.length > MAX_DOCUMENT) malformed('it is larger than 4 MiB, the most a manifest may be')
  const document = needRecord(parseStrictJson(bytes), 'the manifest')
  noOtherSpelling(document, KEYS, 'the manifest')
  const mediaType = mediaTypeOf(document)
  const { artifactType, subject } = document
  const common = {
    mediaType,
    annotations: textsOf(document.annotations, 'its annotations'),
    ...(artifactType === undefined || artifactType === ''
      ? {}
      : { artifactType: mediaTypeIn(artifactType, 'its artifactType') }),
    ...(subject === undefined || subject === null ? {} : { subject: readDescriptor(subject, 'its subject') }),
  }
  if (INDEXES.includes(mediaType)) {
    const manifests = limitedList(readDescriptors(document.manifests, 'manifests'), MAX_MANIFESTS, 'manifests')
    return { ...common, kind: 'index', layers: [], manifests }
  }
  const config = readDescriptor(document.config, 'its config')
  const layers = limitedList(readDescriptors(document.layers, 'layers'), MAX_LAYERS, 'layers')
  return {
    ...common,
    kind: isRun(mediaType, config, layers) ? 'image' : 'artifact',
    config,
    layers,
    manifests: [],
  }
}

/** What lists of referrers say that it is. Source: distribution specification 1.1, "Listing Referrers". */
export const artifactTypeOf = ({
  artifactType,
  config,
}: Pick<OciDocument, 'artifactType' | 'config'>): string | undefined => artifactType ?? config?.mediaType
