import { createHash, randomUUID } from 'node:crypto'
import { addUnlisted, saveDates, saveDocument, type RemoteRow } from '../../catalog/queries/remote-versions.ts'
import { AppError, fail, isRefusal } from '../../core/errors.ts'
import type { PackageRef } from '../../core/identity.ts'
import { isServed, type Manifest } from '../../core/manifest.ts'
import { isDigest, type RemoteFile } from '../../core/remote-file.ts'
import type { Distribution } from '../../core/repository.ts'
import { complainOf, fileName, isSnapshot, nameOf, partArch, partsOf } from '../../formats/maven/coordinates.ts'
import { mainExtension } from '../../formats/maven/inspect.ts'
import { MAX_POM_BYTES, readPom } from '../../formats/maven/pom.ts'
import { versionKey } from '../../formats/maven/version.ts'
import { MOST_PARENTS } from '../../pipeline/inherited-licence.ts'
import { inLanes } from '../../lib/in-lanes.ts'
import { Malformed, printBytes } from '../../lib/limited.ts'
import { NetFault, refuseAll } from '../../outbound/exchange/fault.ts'
import { actorOf } from '../admit.ts'
import { readSmall } from '../body.ts'
import { asciiLine, whyHidden } from '../held.ts'
import type { ProtocolDeps } from '../protocol-deps.ts'
import type { RegistryAnswer, RegistryRequest } from '../protocol.ts'
import { staleHeaders, visibleOf, type RemoteName } from '../remote/remote.ts'
import { held, list, refuse, text, typeOf } from './answers.ts'
import { printListing } from './metadata.ts'
import { groupName, nameAt, type FilePlace, type MetadataPlace } from '../../formats/maven/place.ts'
import { fileAnswer } from './read.ts'
import { remotePath, type RemoteMavenAbout } from './remote.ts'

/** Maven waits half an hour for an answer, and asks for one file after the other. */
const PATIENCE_MS = 120_000
const MOST_CHECKSUM = 4 * 1024
/** Poms whose dates are asked for at once. */
const LANES = 8
const DAY_MS = 86_400_000

/** A pom as its upstream has it. */
interface Fetched {
  readonly bytes: Buffer
  readonly at: Date | undefined
}

const sha1Of = (bytes: Buffer): string => createHash('sha1').update(bytes).digest('hex')
// a pom may be written in any encoding, and its bytes must stay what they are
const asText = (bytes: Buffer): string => bytes.toString('latin1')
const asBytes = (document: string): Buffer => Buffer.from(document, 'latin1')

const noSnapshots: RegistryAnswer = refuse({
  status: 404,
  code: 'maven_no_version',
  detail: 'Snapshots are not read through from other repositories.',
})

/** What a registry that reads through to another repository answers. */
export function createMavenProxy({
  db,
  remote,
  catalog,
  clock,
}: Pick<ProtocolDeps, 'db' | 'remote' | 'catalog' | 'clock'>) {
  const notHere = ({ registry, segments }: RegistryRequest): never =>
    fail('maven_no_version', { path: segments.join('/').slice(0, 300), registry: registry.codename })

  /** A small file whole; undefined where the upstream has none. @throws upstream_refused, outbound_failed */
  async function fetchSmall(registry: Distribution, path: string, most: number, signal: AbortSignal) {
    const answer = await remote.upstream.ask(registry, path, { signal })
    const refuseIt = (why: string): never => fail('upstream_refused', { path: path.slice(1), why })
    if (answer.status !== 200) {
      answer.discard()
      return answer.status === 404 || answer.status === 410 ? undefined : refuseIt(`it answered ${answer.status}`)
    }
    let read: Buffer | undefined
    try {
      read = await readSmall(answer.body, most)
    } catch (error) {
      answer.discard()
      if (error instanceof NetFault) return refuseAll([error])
      throw error
    }
    const bytes = read ?? refuseIt(`it has more than ${printBytes(most)}`)
    const at = new Date(answer.headers['last-modified'] ?? Number.NaN)
    return { bytes, at: Number.isNaN(at.getTime()) ? undefined : at }
  }

  /** The digest that the upstream names of a file, where it does. */
  async function sha1Beside(registry: Distribution, path: string, signal: AbortSignal): Promise<string | undefined> {
    const found = await fetchSmall(registry, `${path}.sha1`, MOST_CHECKSUM, signal)
    const [said = ''] = (found?.bytes.toString('latin1') ?? '').trim().toLowerCase().split(/\s+/)
    return isDigest('sha1', said) ? said : undefined
  }

  const pomName = (name: string, version: string): string =>
    fileName(partsOf(name).artifact, version, { classifier: '', extension: 'pom' })

  /** The pom of a version, compared with its checksum and with its address. @throws upstream_refused */
  async function fetchPom(
    registry: Distribution,
    { name, version }: { readonly name: string; readonly version: string },
    signal: AbortSignal,
  ): Promise<Fetched | undefined> {
    const path = remotePath(name, version, pomName(name, version))
    const found = await fetchSmall(registry, path, MAX_POM_BYTES, signal)
    if (found === undefined) return undefined
    const refuseIt = (why: string): never => fail('upstream_refused', { path: path.slice(1), why })
    const [said, is] = [await sha1Beside(registry, path, signal), sha1Of(found.bytes)]
    if (said !== undefined && said !== is) refuseIt(`its SHA-1 is ${is}, and its checksum says ${said}`)
    try {
      const { self } = readPom(found.bytes)
      if (nameOf(self) !== name || self.version !== version)
        refuseIt(`it says that it is ${nameOf(self)} ${self.version}`)
    } catch (error) {
      if (error instanceof Malformed) refuseIt(error.why)
      throw error
    }
    return found
  }

  /** A version as it is known now; one that no list names is looked for by its pom. */
  async function rowOf(request: RegistryRequest, name: string, version: string): Promise<RemoteRow | undefined> {
    const { registry, signal } = request
    const [row] = (await remote.rows(registry, name, { form: 'full', version })).filter(({ arch }) => arch === 'any')
    if (row !== undefined) return row
    const pom = await fetchPom(registry, { name, version }, signal)
    if (pom === undefined) return undefined
    const key = { codename: registry.codename, name }
    const entry = { version, arch: 'any', sort_key: versionKey(version), published_at: pom.at }
    await addUnlisted(db, key, { ...entry, now: clock.now(), revision: randomUUID() })
    await saveDocument(db, key, { version, arch: 'any', document: asText(pom.bytes) })
    await remote.find(registry, name)
    return (await remote.rows(registry, name, { form: 'full', version })).find(({ arch }) => arch === 'any')
  }

  /** The pom of a version: kept from before, or fetched now and kept. */
  async function pomOf(
    { registry, signal }: RegistryRequest,
    name: string,
    row: RemoteRow,
  ): Promise<Buffer | undefined> {
    if (row.document !== null) return asBytes(row.document)
    const { version } = row
    const pom = await fetchPom(registry, { name, version }, signal)
    if (pom === undefined) return undefined
    const key = { codename: registry.codename, name }
    await saveDocument(db, key, { version, arch: 'any', document: asText(pom.bytes) })
    if (pom.at !== undefined) await saveDates(db, key, { dates: new Map([[version, pom.at]]), revision: randomUUID() })
    return pom.bytes
  }

  /**
   * Lists of Maven have no dates. Where age counts, they are those of the poms; a list whose last change is old enough
   * tells it of all.
   */
  async function withDates(request: RegistryRequest, known: RemoteName, rows: readonly RemoteRow[]): Promise<boolean> {
    const { registry, signal } = request
    const { minAgeDays = 0, ageFrom = 'upstream' } = registry.registry ?? {}
    const undated = rows.filter(one => one.published_at === null && one.state === null)
    if (minAgeDays === 0 || ageFrom !== 'upstream' || undated.length === 0) return false
    const { updated_at: updated } = known.about as RemoteMavenAbout
    const key = { codename: registry.codename, name: known.name }
    const isOld = updated !== undefined && clock.now().getTime() - Date.parse(updated) >= minAgeDays * DAY_MS
    const dates = new Map<string, Date>()
    if (isOld) for (const { version } of undated) dates.set(version, new Date(updated))
    else
      await inLanes(LANES, undated, async ({ version }) => {
        const pom = await fetchPom(registry, { name: known.name, version }, signal)
        if (pom === undefined) return
        // clients ask for many of them next
        await saveDocument(db, key, { version, arch: 'any', document: asText(pom.bytes) })
        if (pom.at !== undefined) dates.set(version, pom.at)
      })
    if (dates.size === 0) return false
    await saveDates(db, key, { dates, revision: randomUUID() })
    return true
  }

  /**
   * Fetches poms that may say the licence of one that does not, so that the gate finds them. What cannot be had is not
   * known there.
   */
  async function fetchParents(request: RegistryRequest, pom: Buffer): Promise<void> {
    let { licences, parent } = readPom(pom)
    for (let n = 0; licences.length === 0 && parent !== undefined && n < MOST_PARENTS; n++) {
      // an address is made of it, and snapshots are not read through
      if (complainOf(parent) !== undefined || isSnapshot(parent.version)) return
      const [name, { version }] = [nameOf(parent), parent]
      try {
        await remote.find(request.registry, name)
        const row = await rowOf(request, name, version)
        const above = row === undefined ? undefined : await pomOf(request, name, row)
        if (above === undefined) return
        ;({ licences, parent } = readPom(above))
      } catch (error) {
        request.signal.throwIfAborted()
        // a name of the house, an upstream that is gone, a pom that is none
        if (!(error instanceof AppError || error instanceof Malformed)) throw error
        return
      }
    }
  }

  /** Brings the file in with its pom, and its main file where it is that. */
  async function bring(
    request: RegistryRequest,
    place: FilePlace,
    { name, row, pom }: { readonly name: string; readonly row: RemoteRow; readonly pom: Buffer },
  ): Promise<Manifest> {
    const { registry, caller, signal } = request
    const { version } = row
    const { artifact } = partsOf(name)
    const { packaging } = readPom(pom)
    const main = packaging === 'pom' ? 'pom' : mainExtension(packaging)
    const isPart = place.classifier !== ''
    const ref: PackageRef = {
      ...{ format: registry.format, codename: registry.codename, name, version },
      arch: isPart ? partArch(place) : 'any',
    }
    const here = await catalog.findKnown(ref)
    if (here !== undefined) return here
    await fetchParents(request, pom)
    // a version that a bundle brought has all of its files in one
    const whole = isPart ? await catalog.findKnown({ ...ref, arch: 'any' }) : undefined
    if (whole?.files.some(({ path }) => path === place.filename) === true) return whole
    const base = registry.registry?.upstream?.url ?? ''
    const fileAt = async (filename: string): Promise<RemoteFile> => {
      const path = remotePath(name, version, filename)
      const sha1 = await sha1Beside(registry, path, signal)
      return { url: `${base}${path}`, filename, digests: sha1 === undefined ? {} : { sha1 } }
    }
    const filename = pomName(name, version)
    const beside: RemoteFile = {
      url: `${base}${remotePath(name, version, filename)}`,
      filename,
      digests: { sha1: sha1Of(pom) },
    }
    const wanted = isPart ? place.filename : fileName(artifact, version, { classifier: '', extension: main })
    const files: [RemoteFile, ...RemoteFile[]] = !isPart && main === 'pom' ? [beside] : [await fileAt(wanted), beside]
    return remote.bring(registry, { ref, files }, { actor: actorOf(caller), patienceMs: PATIENCE_MS })
  }

  const documentAnswer = (bytes: Buffer, { extension, checksum }: FilePlace): RegistryAnswer =>
    checksum === undefined
      ? {
          status: 200,
          type: typeOf(extension),
          headers: { 'Cache-Control': 'max-age=31536000, immutable', 'X-Checksum-Sha1': sha1Of(bytes) },
          body: { kind: 'bytes', bytes },
          conditional: true,
        }
      : text(createHash(checksum).update(bytes).digest('hex'))

  return {
    /** A file of a version, or a checksum of it. @throws maven_no_version and what the upstream is refused for */
    async file(request: RegistryRequest, place: FilePlace): Promise<RegistryAnswer> {
      const { registry, console } = request
      const name = nameOf(place)
      if (isSnapshot(request.segments.at(-2) ?? '')) return noSnapshots
      const known = await remote.find(registry, name)
      let row = await rowOf(request, name, place.version)
      if (row === undefined) return notHere(request)
      if (known !== undefined && (await withDates(request, known, [row]))) {
        await remote.find(registry, name)
        row = (await rowOf(request, name, place.version)) ?? notHere(request)
      }
      const visible = visibleOf(row, clock.now())
      if (visible.is === 'held') return held(visible.manifest, request)
      if (visible.is === 'hidden' && (!visible.mayAsk || place.extension === 'pom')) {
        const why = whyHidden(visible.said, console, {
          format: 'maven',
          codename: registry.codename,
          name,
          version: row.version,
        })
        return { ...refuse({ status: 403, code: 'hidden', detail: why.sentence }), reason: asciiLine(why.short) }
      }
      const pom = await pomOf(request, name, row)
      if (pom === undefined) return notHere(request)
      const isPom = place.extension === 'pom' && place.classifier === ''
      // the pom of a library is read by those who never install it: it is part of the index
      if (isPom && readPom(pom).packaging !== 'pom') return documentAnswer(pom, place)
      if (/(^|\.)(asc|sig|sigstore|module)$/.test(place.extension)) return notHere(request)
      const manifest = await bring(request, place, { name, row, pom }).catch((error: unknown) => {
        // an upstream says by the answer alone which files a version has
        if (isRefusal(error, 'upstream_refused') && error.facts.fault === 'missing') return notHere(request)
        throw error
      })
      if (!isServed(manifest.state)) return held(manifest, request)
      const found = manifest.files.find(({ path }) => path === place.filename)
      return found === undefined ? notHere(request) : fileAnswer(found.blob, place)
    },

    /** The versions of a name that clients get, or the plugins of a group. @throws maven_no_version */
    async metadata(request: RegistryRequest, place: MetadataPlace): Promise<RegistryAnswer> {
      const { registry } = request
      const name = nameAt(place)
      const folder = place.folder.at(-1) ?? ''
      if (isSnapshot(folder)) return noSnapshots
      // it may be the list of a group: one that is reserved as a whole is not named outside either
      await remote.needForeign(registry, groupName(place))
      let known = await remote.find(registry, name)
      if (known === undefined) return notHere(request)
      let rows = await remote.rows(registry, name)
      if (await withDates(request, known, rows)) {
        known = (await remote.find(registry, name)) ?? notHere(request)
        rows = await remote.rows(registry, name)
      }
      const now = clock.now()
      const versions = rows
        .filter(row => row.arch === 'any' && visibleOf(row, now).is === 'served')
        .map(({ version, published_at: published, seen_at: seen }) => ({
          version,
          state: 'published' as const,
          changed_at: published ?? seen,
        }))
      const { plugins = [] } = known.about as RemoteMavenAbout
      if (versions.length === 0 && plugins.length === 0) return notHere(request)
      const group = place.folder.join('.')
      const listed = versions.length === 0 ? undefined : { name, versions }
      const xml = printListing(
        listed,
        plugins.map(({ name: summary, prefix, artifact }) => ({ name: `${group}:${artifact}`, summary, prefix })),
      )
      return list(xml, place.checksum, staleHeaders(known))
    },

    /** Whether the upstream has a name. @throws what `Remote.find` throws */
    hasName: async (registry: Distribution, name: string): Promise<boolean> =>
      (await remote.find(registry, name)) !== undefined,
  }
}
