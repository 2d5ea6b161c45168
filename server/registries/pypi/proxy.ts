import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { isServed, type Manifest } from '../../core/manifest.ts'
import { fail } from '../../core/errors.ts'
import { listRemoteNames, saveDocument, type RemoteRow } from '../../catalog/queries/remote-versions.ts'
import { normalVersion, readFileName } from '../../formats/pypi/names.ts'
import { Malformed, printBytes } from '../../lib/limited.ts'
import { actorOf } from '../admit.ts'
import { readSmall } from '../body.ts'
import { whyHeld, whyHidden } from '../held.ts'
import { takesGzip, type Joined } from '../kept-documents.ts'
import type { ProtocolDeps } from '../protocol-deps.ts'
import { plain } from '../plain.ts'
import type { RegistryAnswer, RegistryRequest } from '../protocol.ts'
import { nextRipe, staleHeaders, visibleOf, type Visible } from '../remote/remote.ts'
import { PROVENANCE } from './attestations.ts'
import { readContentRange, readFarMetadata, type AskRange } from './far-wheel.ts'
import type { RemotePypiFacts } from './remote.ts'
import { projectPage, type SimpleFile } from './simple.ts'

/** pip and poetry give up after 15 s without a byte, uv after 30 s; after a 503 uv asks three more times. */
const patienceOf = ({ 'user-agent': agent = '' }: IncomingHttpHeaders): number =>
  agent.startsWith('uv/') ? 25_000 : 10_000
/** The largest METADATA that is fetched beside a wheel. */
const MOST_METADATA = 4 * 2 ** 20
const METADATA = '.metadata'
/** More than is ever asked for at once. */
const MOST_RANGE = 32 * 2 ** 20

/** A file of a project of the upstream, as clients get it now. */
interface Shown {
  readonly row: RemoteRow & { readonly file: NonNullable<RemoteRow['file']> }
  readonly visible: Visible
}

const hasFile = (row: RemoteRow): row is Shown['row'] => row.file !== null

/**
 * What clients get of each file. Of a version whose file is held here the others are not given out either: pip would
 * build the held wheel from its source release.
 */
function shownOf(rows: readonly RemoteRow[], now: Date): Shown[] {
  const held = new Map(rows.flatMap(row => (row.held === null ? [] : [[row.version, row.held]])))
  return rows.filter(hasFile).map(row => {
    const visible = visibleOf(row, now)
    const other = held.get(row.version)
    return { row, visible: visible.is === 'served' && other !== undefined ? { is: 'held', manifest: other } : visible }
  })
}

const isSource = ({ arch }: Pick<RemoteRow, 'arch'>): boolean => arch === 'sdist'

const refuseMetadata = ({ filename }: Shown['row']['file'], why: string): never =>
  fail('upstream_refused', { path: `${filename}${METADATA}`, why })

/** Why clients do not get a file, for people; undefined where they do. */
function whyNot({ row, visible }: Shown, request: RegistryRequest, name: string) {
  if (visible.is === 'served') return undefined
  if (visible.is === 'held') return whyHeld(visible.manifest, request.console)
  const { codename } = request.registry
  return whyHidden(visible.said, request.console, { format: 'pypi', codename, name, version: row.version })
}

function simpleFileOf(shown: Shown, request: RegistryRequest, name: string): SimpleFile {
  const { file, version, published_at: published, seen_at: seen } = shown.row
  const facts = shown.row.facts as RemotePypiFacts
  return {
    filename: file.filename,
    version,
    sha256: file.digests.sha256,
    size: file.size,
    publishedAt: (published ?? seen).toISOString(),
    yanked: whyNot(shown, request, name)?.sentence ?? facts.yanked?.reason,
    requiresPython: facts.requires_python,
    // of a wheel alone its METADATA is read from within
    metadata: facts.metadata ?? (isSource(shown.row) ? undefined : {}),
    hasProvenance: false,
  }
}

/** The page of a project, and what else its answer says. */
export interface KeptPage extends Joined {
  readonly headers?: Readonly<Record<string, string>>
}

/** What a registry that reads through answers about projects and files. */
export function createPypiProxy({
  db,
  remote,
  catalog,
  clock,
  kept,
}: Pick<ProtocolDeps, 'db' | 'remote' | 'catalog' | 'clock' | 'kept'>) {
  /** A file with what clients get of it; undefined where the upstream has no such project or no such file. */
  async function look({ registry }: RegistryRequest, name: string, filename: string): Promise<Shown | undefined> {
    const named = readFileName(filename)
    const rowOf = async (anyAge: boolean): Promise<Shown | undefined> => {
      if (named === undefined || (await remote.find(registry, name, { anyAge })) === undefined) return undefined
      const rows = await remote.rows(registry, name, { version: normalVersion(named.version) })
      return shownOf(rows, clock.now()).find(({ row }) => row.file.filename === filename)
    }
    // what it is does not change, so the upstream is asked only for a file that is not known
    return (await rowOf(true)) ?? rowOf(false)
  }

  /** The bytes of a file: from here, or brought in now. */
  async function bring(request: RegistryRequest, name: string, { row }: Shown): Promise<Manifest> {
    const { registry, caller, headers } = request
    const { version, arch, file } = row
    const ref = { format: registry.format, codename: registry.codename, name, version, arch }
    const here = await catalog.findKnown(ref)
    if (here !== undefined) return here
    return remote.bring(registry, { ref, files: [file] }, { actor: actorOf(caller), patienceMs: patienceOf(headers) })
  }

  /** METADATA of a wheel whose bytes are not here: clients resolve from it and fetch only what they install. */
  async function metadataOf(
    request: RegistryRequest,
    name: string,
    { row }: Shown,
  ): Promise<RegistryAnswer | undefined> {
    const { registry } = request
    const [kept] = (await remote.rows(registry, name, { form: 'full', version: row.version })).filter(
      ({ arch }) => arch === row.arch,
    )
    const text = kept?.document ?? (await fetchMetadata(request, name, row))
    if (text === undefined) return undefined
    return {
      status: 200,
      type: 'text/plain; charset=utf-8',
      headers: { 'Cache-Control': 'private, max-age=31536000, immutable' },
      body: { kind: 'bytes', bytes: text },
      conditional: true,
    }
  }

  /** As the upstream has it beside the wheel. */
  async function besideWheel(request: RegistryRequest, { file, facts }: Shown['row']): Promise<Buffer> {
    const { registry, signal } = request
    const { sha256: said } = (facts as RemotePypiFacts).metadata ?? {}
    const answer = await remote.upstream.ask(registry, `${file.url}${METADATA}`, { signal })
    if (answer.status !== 200) {
      answer.discard()
      return refuseMetadata(file, `it answered ${answer.status}`)
    }
    const bytes =
      (await readSmall(answer.body, MOST_METADATA)) ??
      refuseMetadata(file, `it has more than ${printBytes(MOST_METADATA)}`)
    const is = createHash('sha256').update(bytes).digest('hex')
    if (said !== undefined && said !== is) refuseMetadata(file, `its SHA-256 is ${is}, its index says ${said}`)
    return bytes
  }

  const askRange = (request: RegistryRequest, { url }: Shown['row']['file']): AskRange => {
    const { registry, signal } = request
    return async range => {
      const answer = await remote.upstream.ask(registry, url, { headers: { range }, signal })
      const place = answer.status === 206 ? readContentRange(answer.headers['content-range']) : undefined
      const isPacked = (answer.headers['content-encoding'] ?? 'identity') !== 'identity'
      if (place === undefined || isPacked) {
        answer.discard()
        return undefined
      }
      const bytes = await readSmall(answer.body, MOST_RANGE)
      return bytes === undefined ? undefined : { ...place, bytes }
    }
  }

  /** Out of the wheel, where nothing lies beside it. Undefined: it can be read only as a whole. */
  async function insideWheel(request: RegistryRequest, { file }: Shown['row']): Promise<Buffer | undefined> {
    const named = readFileName(file.filename)
    try {
      return named && (await readFarMetadata(named, askRange(request, file)))
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      return refuseMetadata(file, error.why)
    }
  }

  async function fetchMetadata(request: RegistryRequest, name: string, row: Shown['row']): Promise<string | undefined> {
    const { version, arch, file } = row
    const isBeside = (row.facts as RemotePypiFacts).metadata !== undefined
    const bytes = isBeside ? await besideWheel(request, row) : await insideWheel(request, row)
    if (bytes === undefined) return undefined
    const document = bytes.toString('utf8')
    const isText = Buffer.from(document).equals(bytes) && !document.includes('\u0000')
    if (!isText) refuseMetadata(file, 'it is no text in UTF-8')
    await saveDocument(db, { codename: request.registry.codename, name }, { version, arch, document })
    return document
  }

  return {
    /**
     * The page of a project as the upstream has it; what is hidden stands there as yanked. Undefined: there is none.
     */
    async page(request: RegistryRequest, name: string, form: string): Promise<KeptPage | undefined> {
      const { registry, console } = request
      const known = await remote.find(registry, name)
      if (known === undefined) return undefined
      const key = JSON.stringify([registry.codename, name, form, console, known.mark])
      const joined = await kept.get(key, takesGzip(request.headers), async () => {
        const [rows, now] = [await remote.rows(registry, name), clock.now()]
        const files = shownOf(rows, now).map(one => simpleFileOf(one, request, name))
        return { texts: projectPage({ name, files }, form), until: nextRipe(rows, now) }
      })
      return { ...joined, headers: staleHeaders(known) }
    },

    /** The projects that somebody asked for here. */
    names: (request: RegistryRequest, after: string, most: number): Promise<string[]> =>
      listRemoteNames(db, { codename: request.registry.codename, after, most }),

    /**
     * A file, or a document beside it. @param segment  with `.metadata` or `.provenance` at its end, or without
     * @returns undefined where METADATA is to be read from the wheel that is here, and where there is no such file
     */
    async file(
      request: RegistryRequest,
      name: string,
      { filename, segment }: { readonly filename: string; readonly segment: string },
    ): Promise<RegistryAnswer | Manifest> {
      const one = await look(request, name, filename)
      if (one === undefined)
        return plain(
          404,
          `There is no file ${filename.slice(0, 120)} of ${name.slice(0, 80)} at the upstream of this registry.`,
        )
      const why = whyNot(one, request, name)
      const mayAsk = one.visible.is === 'hidden' && one.visible.mayAsk
      const refused = (held: { readonly sentence: string; readonly short: string }): RegistryAnswer =>
        plain(403, held.sentence, held.short)
      if (why !== undefined && !(mayAsk && segment === filename)) return refused(why)
      if (segment.endsWith(PROVENANCE))
        return plain(404, `Attestations of ${filename} are not passed on by this registry.`)
      if (segment.endsWith(METADATA) && one.row.state === null) {
        if (isSource(one.row)) return plain(404, `${filename} is a source release: no METADATA is beside it.`)
        const answer = await metadataOf(request, name, one)
        if (answer !== undefined) return answer
      }
      const manifest = await bring(request, name, one)
      return isServed(manifest.state) ? manifest : refused(whyHeld(manifest, request.console))
    },
  }
}

/** Whether an answer is the version itself, whose file is to be sent. */
export const isManifest = (found: RegistryAnswer | Manifest): found is Manifest => 'ref' in found
