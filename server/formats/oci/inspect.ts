import { readFile } from 'node:fs/promises'
import type { PackageIdentity } from '../../core/identity.ts'
import type { Description } from '../../core/manifest.ts'
import type { SpooledFile } from '../../files/spool.ts'
import type { Unpacked } from '../../files/unpacked.ts'
import { malformed, quote } from '../../lib/limited.ts'
import type { Inspection, InnerStream } from '../format.ts'
import { refuse } from '../refuse.ts'
import { archOf, MAX_CONFIG, readConfigOf, type ImageConfig } from './config.ts'
import type { Descriptor } from './descriptor.ts'
import { artifactTypeOf, MAX_DOCUMENT, readDocument, type OciDocument } from './document.ts'
import type { OciFacts } from './facts.ts'
import { hidesOf } from './whiteouts.ts'
import { inspectLayer, newRoom, openLayer, type Layer } from './layers.ts'

/**
 * A manifest as the protocol hands it to the gate: `filename` is the repository's name below its registry, and `beside`
 * the blobs that it names, each with its digest as the filename.
 */
export interface Pushed {
  readonly document: OciDocument
  readonly layers: readonly Layer[]
  readonly config: SpooledFile | undefined
}

async function readBytes(file: SpooledFile, most: number, what: string): Promise<Buffer> {
  if (file.blob.size > most) malformed(`${what} has ${file.blob.size} bytes, the most is ${most}`)
  return file.bytes ?? readFile(file.path)
}

/** How findings name a layer. @param n  its place among the layers, from 0 */
export const layerName = (digest: string, n: number): string =>
  `layer-${n + 1}-${digest.replace(':', '-').slice(0, 19)}`

/** @throws Malformed */
export async function readPushed(file: SpooledFile): Promise<Pushed> {
  const document = readDocument(await readBytes(file, MAX_DOCUMENT, 'the manifest'))
  const byDigest = new Map((file.beside ?? []).map(one => [one.filename, one]))
  const seen = new Set<string>()
  const layers = document.layers.flatMap(({ digest }, n): Layer[] => {
    const one = byDigest.get(digest)
    // one that comes twice is looked at once
    if (one === undefined || seen.has(digest)) return []
    seen.add(digest)
    return [{ name: layerName(digest, n), file: one }]
  })
  return { document, layers, config: document.config && byDigest.get(document.config.digest) }
}

/** What the config of an image says; empty where it is none. @throws Malformed */
async function configOf({ document, config }: Pushed): Promise<ImageConfig> {
  if (document.kind !== 'image' || config === undefined) return {}
  return readConfigOf(document, await readBytes(config, MAX_CONFIG, 'its config'))
}

function describe(
  { annotations: notes, kind, layers, manifests }: OciDocument,
  identity: PackageIdentity,
  { bytes, licenses }: { readonly bytes: number; readonly licenses: string | undefined },
): Description {
  const note = (key: string): string | undefined => notes[`org.opencontainers.image.${key}`]
  const what = {
    image: `Container image of ${layers.length === 1 ? '1 layer' : `${layers.length} layers`}`,
    artifact: 'Artifact',
    index: `Index of ${manifests.length === 1 ? '1 manifest' : `${manifests.length} manifests`}`,
  }[kind]
  const [homepage, maintainer, license] = [note('url') ?? note('source'), note('authors'), note('licenses') ?? licenses]
  return {
    summary: (note('title') ?? `${what}, ${identity.arch}`).slice(0, 200),
    description: (note('description') ?? '').slice(0, 10_000),
    source: identity.name,
    source_version: identity.version,
    ...(homepage === undefined ? {} : { homepage: homepage.slice(0, 500) }),
    ...(maintainer === undefined ? {} : { maintainer: maintainer.slice(0, 200) }),
    ...(license === undefined ? {} : { license: license.slice(0, 200) }),
    installed_size: bytes,
    depends: [],
    provides: [{ name: identity.name, version: identity.version }],
    conflicts: [],
  }
}

async function look(
  file: SpooledFile,
  signal: AbortSignal,
  unpacked: Pick<Unpacked, 'keep'> | undefined,
): Promise<Inspection<OciFacts>> {
  const pushed = await readPushed(file)
  const { document } = pushed
  const { platform, licenses } = await configOf(pushed)
  const identity: PackageIdentity = {
    format: 'oci',
    name: file.filename,
    version: `sha256:${file.blob.sha256}`,
    arch: archOf(document, platform),
  }
  const room = newRoom()
  const opaque: string[] = []
  if (document.kind === 'image')
    for (const layer of pushed.layers)
      if ((await inspectLayer(layer, { signal, room, unpacked })) === 'opaque') opaque.push(layer.name)
  const sizeOf = (one: Descriptor | undefined): number => one?.size ?? 0
  const stored = sizeOf(document.config) + document.layers.reduce((sum, one) => sum + one.size, 0)
  const artifactType = artifactTypeOf(document)
  const { config, subject, layers, manifests, annotations, kind, mediaType } = document
  return {
    identity,
    about: describe(document, identity, { bytes: room.unpacked || stored, licenses }),
    facts: {
      kind,
      media_type: mediaType,
      ...(artifactType === undefined ? {} : { artifact_type: artifactType }),
      ...(subject === undefined ? {} : { subject: subject.digest }),
      ...(platform === undefined ? {} : { platform }),
      ...(config === undefined ? {} : { config }),
      layers,
      manifests,
      annotations,
      stored_bytes: stored,
      opaque,
    },
    paths: [],
  }
}

/**
 * Identity and facts of a manifest with the blobs that it names; layers of an image are read to their end.
 * @throws bad_package naming what breaks which rule; the signal's reason when it is aborted
 */
export async function inspect(
  file: SpooledFile,
  signal: AbortSignal,
  unpacked?: Pick<Unpacked, 'keep'>,
): Promise<Inspection<OciFacts>> {
  try {
    return await look(file, signal, unpacked)
  } catch (error) {
    return refuse(`the manifest of ${quote(file.filename)}`, error)
  }
}

async function* readable(file: SpooledFile, open: () => AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* open()
  } catch (error) {
    refuse(file.filename, error)
  }
}

async function* whole(file: SpooledFile): AsyncGenerator<Buffer> {
  yield await readBytes(file, MAX_DOCUMENT, 'it')
}

/** The manifest, the config, and every layer as a plain tar: engines open no zstd. */
export async function* inner(file: SpooledFile, unpacked?: Pick<Unpacked, 'read'>): AsyncGenerator<InnerStream> {
  let pushed: Pushed
  try {
    pushed = await readPushed(file)
  } catch (error) {
    return refuse(file.filename, error)
  }
  const { layers, config, document } = pushed
  yield { name: 'manifest.json', open: () => readable(file, () => whole(file)) }
  if (config !== undefined && config.blob.size > 0)
    yield {
      name: 'config.json',
      open: () => readable(file, () => openLayer({ name: 'config.json', file: config })),
      sha256: config.blob.sha256,
    }
  const hides = document.kind === 'image' ? hidesOf(layers, unpacked) : undefined
  for (const [n, layer] of layers.entries())
    yield {
      name: layer.name,
      open: () => readable(file, () => openLayer(layer, unpacked === undefined ? {} : { unpacked })),
      sha256: layer.file.blob.sha256,
      ...(hides === undefined ? {} : { hides: () => hides(n) }),
    }
}
