import { listVersionRows } from '../../catalog/queries/maven.ts'
import { fail } from '../../core/errors.ts'
import { isServed, type Manifest } from '../../core/manifest.ts'
import { buildOf, isSnapshot, nameOf } from '../../formats/maven/coordinates.ts'
import { decodeXml, MAX_POM_BYTES, readLeaves } from '../../formats/maven/pom.ts'
import { Malformed, printBytes } from '../../lib/limited.ts'
import { actorOf, needHosted } from '../admit.ts'
import { chunksOf, readSmall } from '../body.ts'
import type { RegistryAnswer, RegistryRequest } from '../protocol.ts'
import { refOf } from '../refs.ts'
import { created, held } from './answers.ts'
import type { Sender } from './deploys.ts'
import type { Algorithm, FilePlace, MetadataPlace } from '../../formats/maven/place.ts'
import { versionOf } from '../../formats/maven/place.ts'
import { fileOf, findVersion } from './read.ts'
import { listDeploys, type Deploy } from './rows.ts'
import { keyOf, type Settle, type SettleDeps } from './settle.ts'

export interface WriteDeps extends SettleDeps {
  readonly settle: Settle
}

const MAX_METADATA_BYTES = 2 * 2 ** 20
const MAX_CHECKSUM_BYTES = 4 * 1024
const LENGTHS: Readonly<Record<Algorithm, number>> = { md5: 32, sha1: 40, sha256: 64, sha512: 128 }

const deployOf = ({ registry: { codename } }: RegistryRequest, place: FilePlace): Deploy => ({
  codename,
  name: nameOf(place),
  version: place.version,
})

const senderOf = ({ caller: { who, ip } }: RegistryRequest): Sender => ({ sender: who?.name ?? '', ip })

/** Names that no build has come for are those of the next one: nothing of them is here already. */
const findKnown = (deps: WriteDeps, request: RegistryRequest, place: FilePlace): Promise<Manifest | undefined> =>
  isSnapshot(place.version) ? Promise.resolve(undefined) : findVersion(deps, request, place)

const released = (place: FilePlace): never =>
  fail('maven_released', { name: nameOf(place), version: place.version, file: place.filename })

const late = (place: FilePlace): never =>
  fail('maven_late', { name: nameOf(place), version: place.version, file: place.filename })

/** Takes a file of a version in. @throws maven_late, maven_released, and as `Deploys.add` */
async function putFile(deps: WriteDeps, request: RegistryRequest, place: FilePlace): Promise<RegistryAnswer> {
  const known = await findKnown(deps, request, place)
  if (known !== undefined && fileOf(known, place) === undefined) return late(place)
  const limits =
    place.extension === 'pom'
      ? { limitBytes: MAX_POM_BYTES, setting: 'none' }
      : { limitBytes: deps.settings.now().validation.max_upload_size_mb * 2 ** 20 }
  const file = await deps.spool.receive(chunksOf(request.body), {
    ...limits,
    filename: place.filename,
    signal: request.signal,
  })
  try {
    const of = deployOf(request, place)
    await deps.lock.run(keyOf(of), async () => {
      // asked again: it may have passed the gate while these bytes came
      const version = await findKnown(deps, request, place)
      if (version === undefined) return deps.deploys.add(of, file, senderOf(request))
      if (fileOf(version, place)?.blob.sha256 !== file.blob.sha256) released(place)
    })
    return created
  } finally {
    await file.discard()
  }
}

/** @throws maven_checksum_form */
async function readDigest({ body }: RegistryRequest, { filename, checksum = 'sha1' }: FilePlace): Promise<string> {
  const length = LENGTHS[checksum]
  const sent = (await readSmall(chunksOf(body), MAX_CHECKSUM_BYTES))?.toString('latin1') ?? ''
  // some tools write the name of the file behind it, or before
  const found = new RegExp(`(?:^|[\\s=(])([0-9a-fA-F]{${length}})(?=[\\s)]|$)`).exec(sent.trim())?.[1]
  return found?.toLowerCase() ?? fail('maven_checksum_form', { file: `${filename}.${checksum}`, length })
}

/** @throws maven_checksum, maven_checksum_form, maven_late, maven_under_way */
async function putChecksum(
  deps: WriteDeps,
  request: RegistryRequest,
  place: FilePlace & { readonly checksum: Algorithm },
): Promise<RegistryAnswer> {
  const digest = await readDigest(request, place)
  const { filename: file, checksum: algorithm } = place
  const of = deployOf(request, place)
  await deps.lock.run(keyOf(of), async () => {
    const known = await findKnown(deps, request, place)
    if (known === undefined) return deps.deploys.claim(of, { path: file, algorithm, digest }, senderOf(request))
    const actual = fileOf(known, place)?.blob[algorithm]
    if (actual === undefined) return late(place)
    if (actual !== digest) fail('maven_checksum', { algorithm, file, said: digest, actual })
  })
  return created
}

interface Said {
  readonly group?: string
  readonly artifact?: string
  readonly versions: readonly string[]
}

/** What a client's own list says. @throws maven_metadata */
async function readSaid({ body, segments }: RegistryRequest): Promise<Said> {
  const file = segments.join('/').slice(-200)
  const bytes = await readSmall(chunksOf(body), MAX_METADATA_BYTES)
  if (bytes === undefined)
    return fail('maven_metadata', { file, why: `it is larger than ${printBytes(MAX_METADATA_BYTES)}` })
  const said: { group?: string; artifact?: string; versions: string[] } = { versions: [] }
  try {
    readLeaves(decodeXml(bytes), {
      each: (path, text) => {
        if (path === 'metadata/groupId') said.group = text
        else if (path === 'metadata/artifactId') said.artifact = text
        else if (path === 'metadata/versioning/versions/version') said.versions.push(text)
      },
    })
  } catch (error) {
    if (error instanceof Malformed) return fail('maven_metadata', { file, why: error.why }, error)
    throw error
  }
  return said
}

/** The version that a deploy ended with, where nothing of it was on its way: it was here before. */
async function deployedAgain(
  deps: WriteDeps,
  { registry, caller }: RegistryRequest,
  name: string,
  said: Said,
): Promise<Manifest | undefined> {
  const last = said.versions.at(-1)
  if (last === undefined) return undefined
  const { codename } = registry
  const rows = await listVersionRows(deps.db, caller.viewer, { codename, name })
  const row = rows.find(({ version }) => version === last)
  if (row === undefined || isServed(row.state)) return undefined
  return deps.catalog.findKnown(refOf({ registry }, name, last))
}

/**
 * The list of versions comes last, so what its sender has deployed is whole. It waits for the verdict, which is the
 * answer; its text is made here and not taken.
 * @throws maven_metadata, and what the gate throws
 */
async function putMetadata(
  deps: WriteDeps,
  request: RegistryRequest,
  { folder }: MetadataPlace,
): Promise<RegistryAnswer> {
  const said = await readSaid(request)
  // the list of builds comes before the list of versions, that of plugins has no artifact
  const isOfBuilds = folder.length > 2 && isSnapshot(folder.at(-1) ?? '')
  const parts = isOfBuilds ? folder.slice(0, -1) : folder
  const [group, artifact] = [parts.slice(0, -1).join('.'), parts.at(-1) ?? '']
  if (said.artifact === undefined) return created
  if (said.artifact !== artifact || said.group !== group)
    fail('maven_metadata', {
      file: request.segments.join('/').slice(-200),
      why: `it is the list of ${said.group ?? ''}:${said.artifact}`.slice(0, 300),
    })
  if (isOfBuilds) return created
  const name = nameOf({ group, artifact })
  const { codename } = request.registry
  const manifests: Manifest[] = []
  for (const of of await listDeploys(deps.db, { codename, name, sender: senderOf(request).sender })) {
    const manifest = await deps.settle.now(of, request.registry)
    if (manifest !== undefined) manifests.push(manifest)
  }
  const last = manifests.length === 0 ? await deployedAgain(deps, request, name, said) : undefined
  const stopped = [...manifests, ...(last === undefined ? [] : [last])].find(({ state }) => !isServed(state))
  return stopped === undefined ? created : held(stopped, request)
}

/** A file, a checksum or a list that a client sends. */
export async function put(
  deps: WriteDeps,
  request: RegistryRequest,
  place: FilePlace | MetadataPlace,
): Promise<RegistryAnswer> {
  request.caller.need('write')
  needHosted(request.registry)
  if (place.kind === 'metadata') return place.checksum === undefined ? putMetadata(deps, request, place) : created
  const { checksum } = place
  return checksum === undefined ? putFile(deps, request, place) : putChecksum(deps, request, { ...place, checksum })
}

/**
 * Deletes a version by the address of its folder; that of a snapshot is all of its builds.
 * @throws maven_no_version, maven_deletes_whole
 */
export async function remove(deps: WriteDeps, request: RegistryRequest): Promise<RegistryAnswer> {
  const { caller, registry, segments } = request
  caller.need('manage')
  const path = segments.join('/').slice(0, 300)
  const asked = versionOf(segments)
  const { codename } = registry
  const name = asked === undefined ? '' : nameOf(asked)
  const rows = (await listVersionRows(deps.db, caller.viewer, { codename, name })).filter(
    ({ version }) => version === asked?.version || (buildOf(version)?.base ?? '') === asked?.version,
  )
  if (rows.length === 0) {
    const [file = '', , artifact = ''] = segments.toReversed()
    if (segments.length > 3 && file.startsWith(`${artifact}-`)) fail('maven_deletes_whole', { path })
    fail('maven_no_version', { path, registry: codename })
  }
  for (const { version } of rows)
    await deps.catalog.change({ kind: 'delete', ref: refOf(request, name, version), why: '' }, actorOf(caller))
  return { status: 204 }
}
