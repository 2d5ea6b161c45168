import { listBuildFiles, listPlugins, listVersionRows } from '../../catalog/queries/maven.ts'
import { fail } from '../../core/errors.ts'
import type { Blob } from '../../core/identity.ts'
import { isServed, type Manifest, type PackageFile } from '../../core/manifest.ts'
import { baseOf, fileName, isSnapshot, nameOf, partArch } from '../../formats/maven/coordinates.ts'
import type { RegistryDeps } from '../deps.ts'
import type { RegistryAnswer, RegistryRequest } from '../protocol.ts'
import { refOf } from '../refs.ts'
import { held, list, text, typeOf } from './answers.ts'
import { printBuilds, printListing } from './metadata.ts'
import { isOfBuilds, nameAt, type FilePlace, type MetadataPlace } from '../../formats/maven/place.ts'

export type ReadDeps = Pick<RegistryDeps, 'db' | 'catalog'>

/** @throws maven_no_version */
const notHere = ({ registry, segments }: RegistryRequest): never =>
  fail('maven_no_version', { path: segments.join('/').slice(0, 300), registry: registry.codename })

/** The version that a file belongs to, in any state; of a snapshot whose name says no build the newest published. */
export async function findVersion(
  { db, catalog }: ReadDeps,
  { registry, caller: { viewer } }: Pick<RegistryRequest, 'registry' | 'caller'>,
  place: Pick<FilePlace, 'group' | 'artifact' | 'version'>,
): Promise<Manifest | undefined> {
  const { codename } = registry
  const name = nameOf(place)
  if (!isSnapshot(place.version)) return catalog.findKnown(refOf({ registry }, name, place.version))
  const builds = (await listVersionRows(db, viewer, { codename, name })).filter(
    ({ version }) => baseOf(version) === place.version,
  )
  const newest = builds.findLast(({ state }) => isServed(state)) ?? builds.at(-1)
  return newest === undefined ? undefined : catalog.findKnown(refOf({ registry }, name, newest.version))
}

const findPart = (
  { catalog }: ReadDeps,
  { registry }: Pick<RegistryRequest, 'registry'>,
  place: FilePlace,
): Promise<Manifest | undefined> =>
  catalog.findKnown({ ...refOf({ registry }, nameOf(place), place.version), arch: partArch(place) })

/** Its file of that kind, whatever build the address names. */
export function fileOf(
  { ref: { version }, files }: Manifest,
  { artifact, classifier, extension }: FilePlace,
): PackageFile | undefined {
  const wanted = fileName(artifact, version, { classifier, extension })
  return files.find(({ path }) => path === wanted)
}

/** A file of the pool, or a checksum of it. */
export function fileAnswer(blob: Blob, { checksum, version, extension }: FilePlace): RegistryAnswer {
  if (checksum !== undefined) return text(blob[checksum])
  return {
    status: 200,
    type: typeOf(extension),
    headers: {
      'Cache-Control': isSnapshot(version) ? 'no-cache' : 'max-age=31536000, immutable',
      'X-Checksum-Sha1': blob.sha1,
      'X-Checksum-Sha256': blob.sha256,
    },
    body: { kind: 'blob', sha256: blob.sha256, size: blob.size },
  }
}

/** A file, or a checksum of it, made here. @throws maven_no_version */
export async function readFile(deps: ReadDeps, request: RegistryRequest, place: FilePlace): Promise<RegistryAnswer> {
  const whole = await findVersion(deps, request, place)
  // one that came through a proxy elsewhere has its classifiers as parts of their own
  const isIn = whole !== undefined && (!isServed(whole.state) || fileOf(whole, place) !== undefined)
  const part = isIn || place.classifier === '' ? undefined : await findPart(deps, request, place)
  const version = part ?? whole
  if (version === undefined) return notHere(request)
  // every file of it, also one that it does not have: what is held is asked for nowhere else
  if (!isServed(version.state)) return held(version, request)
  const file = fileOf(version, place)
  if (file === undefined) return notHere(request)
  return fileAnswer(file.blob, place)
}

/** Why nothing of a name can be listed; it has versions, and none is served. */
async function heldName(
  { catalog }: ReadDeps,
  request: RegistryRequest,
  of: { readonly name: string; readonly version: string },
): Promise<RegistryAnswer> {
  const manifest = await catalog.findKnown(refOf(request, of.name, of.version))
  return manifest === undefined || isServed(manifest.state) ? notHere(request) : held(manifest, request)
}

async function builds(
  deps: ReadDeps,
  request: RegistryRequest,
  { name, base }: { readonly name: string; readonly base: string },
): Promise<string | RegistryAnswer> {
  const { codename } = request.registry
  const { viewer } = request.caller
  const begin = base.slice(0, -'SNAPSHOT'.length)
  const all = await listBuildFiles(deps.db, viewer, { codename, name, begin })
  const files = all.filter(({ version }) => baseOf(version) === base)
  if (files.length > 0) return printBuilds(name, base, files)
  const rows = await listVersionRows(deps.db, viewer, { codename, name })
  const last = rows.findLast(({ version }) => baseOf(version) === base)
  return last === undefined ? notHere(request) : heldName(deps, request, { name, version: last.version })
}

async function listing(
  deps: ReadDeps,
  request: RegistryRequest,
  folder: readonly string[],
): Promise<string | RegistryAnswer> {
  const { codename } = request.registry
  const { viewer } = request.caller
  const name = `${folder.slice(0, -1).join('.')}:${folder.at(-1) ?? ''}`
  const [rows, plugins] = await Promise.all([
    folder.length > 1 ? listVersionRows(deps.db, viewer, { codename, name }) : [],
    listPlugins(deps.db, viewer, { codename, group: folder.join('.') }),
  ])
  const versions = rows.filter(({ state }) => isServed(state))
  if (versions.length > 0 || plugins.length > 0)
    return printListing(versions.length > 0 ? { name, versions } : undefined, plugins)
  const last = rows.at(-1)
  return last === undefined ? notHere(request) : heldName(deps, request, { name, version: last.version })
}

/** A list of versions, builds or plugins, made of what is served. @throws maven_no_version */
export async function readMetadata(
  deps: ReadDeps,
  request: RegistryRequest,
  place: MetadataPlace,
): Promise<RegistryAnswer> {
  const { folder, checksum } = place
  const xml = isOfBuilds(place)
    ? await builds(deps, request, { name: nameAt(place), base: folder.at(-1) ?? '' })
    : await listing(deps, request, folder)
  return typeof xml === 'string' ? list(xml, checksum) : xml
}
