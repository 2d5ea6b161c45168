import { readTag } from '../../catalog/queries/tags.ts'
import type { Blob, PackageName } from '../../core/identity.ts'
import { isServed, type Manifest } from '../../core/manifest.ts'
import { heldPartSentence } from '../../core/signature-words.ts'
import { lacksSignature, owedForVersion } from '../../core/signed-debt.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import { MAX_DOCUMENT, readDocument, type OciDocument } from '../../formats/oci/document.ts'
import type { OciFacts } from '../../formats/oci/facts.ts'
import { digestsAbout } from '../../formats/oci/signing.ts'
import { oci } from '../../formats/oci/index.ts'
import { digestBytes } from '../../lib/digest.ts'
import { Malformed } from '../../lib/limited.ts'
import { actorOf, admitVersion, needHosted } from '../admit.ts'
import { chunksOf, readSmall } from '../body.ts'
import { whyHeld } from '../held.ts'
import type { RegistryAnswer, RegistryRequest } from '../protocol.ts'
import { mayWrite } from './blobs.ts'
import { headerText, manifestAnswer, placeOf, plain, refuseAs, refuseName } from './answers.ts'
import type { OciDeps } from './deps.ts'
import { gather } from './gather.ts'
import {
  findBlobs,
  findByDigest,
  findHead,
  hasVersions,
  readStates,
  type ManifestHead,
  type Repository,
} from '../../catalog/queries/oci.ts'
import { removeWaitingTag } from '../../catalog/queries/oci-lists.ts'
import type { Route } from './routes.ts'
import type { WaitingTags } from './waiting-tags.ts'

export const factsOf = ({ facts }: Pick<Manifest, 'facts'>): OciFacts => facts as OciFacts
export const nameOf = ({ codename, name }: Repository): PackageName => ({ format: 'oci', codename, name })
/** So long a push waits for what its signature changes; that goes on afterwards. */
const SIGNED_MS = 10_000
const isDigest = (reference: string): boolean => reference.includes(':')

/** Why clients do not get it, with the page where it is decided. */
const sentenceOf = (manifest: Manifest, { console }: Pick<RegistryRequest, 'console'>): string =>
  whyHeld(manifest, console).sentence

/** The same beside an answer that clients take for success; some print it. */
const warningOf = (manifest: Manifest, request: Pick<RegistryRequest, 'console'>) => ({
  Warning: `299 - "${headerText(sentenceOf(manifest, request))}"`,
})

/** The whole body. @throws OciRefusal SIZE_INVALID */
async function bytesOf({ body }: RegistryRequest): Promise<Buffer> {
  const bytes = await readSmall(chunksOf(body), MAX_DOCUMENT)
  return bytes ?? refuseAs(413, 'SIZE_INVALID', 'The manifest is larger than 4 MiB, the most that is taken.')
}

/** What the bytes are; the header must not say otherwise: clients go by it. @throws OciRefusal MANIFEST_INVALID */
function documentOf(bytes: Buffer, type: string | undefined): OciDocument {
  let document: OciDocument
  try {
    document = readDocument(bytes)
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    return refuseAs(400, 'MANIFEST_INVALID', `The manifest is refused: ${error.why}.`)
  }
  const said = type?.split(';')[0]?.trim().toLowerCase()
  if (said !== undefined && said !== document.mediaType)
    refuseAs(
      400,
      'MANIFEST_INVALID',
      `The manifest is refused: it is ${document.mediaType}, and Content-Type says ${said.slice(0, 200)}.`,
    )
  return document
}

/** Manifests by tag and digest. Source: distribution specification 1.1, "Pull", "Push", "Content Management". */
export function createManifestRoutes(deps: OciDeps, waiting: WaitingTags) {
  const { db, catalog, outbox, pool } = deps

  /** Of a tag the version that it names, else the one that it waits for. */
  async function digestOf(repository: Repository, reference: string): Promise<string | undefined> {
    if (isDigest(reference)) return reference
    const waits = await waiting.settle(repository)
    const tag = await readTag(db, ALL_SEEING, nameOf(repository), reference)
    return tag?.version ?? waits.find(one => one.tag === reference)?.version
  }

  async function unknown(repository: Repository, reference: string): Promise<never> {
    return (await hasVersions(db, repository))
      ? refuseAs(404, 'MANIFEST_UNKNOWN', `${repository.name} has no manifest ${reference}.`)
      : refuseName(repository)
  }

  /** @throws OciRefusal, always */
  async function refuseHeld(request: RegistryRequest, repository: Repository, version: string): Promise<never> {
    // a client that looks before it pushes must not take it for there
    if (request.method === 'HEAD') refuseAs(404, 'MANIFEST_UNKNOWN', 'It is not served.')
    const held = (await findByDigest(db, repository, version)) ?? (await unknown(repository, version))
    return refuseAs(403, 'DENIED', sentenceOf(held, request))
  }

  /**
   * The manifest of what waits where signatures are asked for, to those who may publish: cosign reads what it signs.
   * Its blobs are refused to them as to all, so nobody runs it. Undefined: it is refused.
   */
  async function manifestToSign(
    request: RegistryRequest,
    repository: Repository,
    { version, state, sha256 }: ManifestHead,
  ): Promise<Pick<RegistryAnswer, 'body' | 'headers'> | undefined> {
    const asks = request.registry.registry?.requireSignature !== undefined
    if (!asks || state === 'rejected' || !mayWrite(request.caller)) return undefined
    const held = (await findByDigest(db, repository, version)) ?? (await unknown(repository, version))
    // malware, or a person, put it there: no signature takes it out
    if (held.state === 'quarantined' && !lacksSignature(held)) return undefined
    return {
      headers: { 'Cache-Control': 'no-store', ...warningOf(held, request) },
      // it may lie in quarantine
      body: { kind: 'file', path: await pool.locate(sha256) },
    }
  }

  async function read(request: RegistryRequest, repository: Repository, reference: string): Promise<RegistryAnswer> {
    const digest = (await digestOf(repository, reference)) ?? (await unknown(repository, reference))
    const found = (await findHead(db, repository, digest)) ?? (await unknown(repository, reference))
    const answer = manifestAnswer(found, isDigest(reference) ? reference : undefined)
    if (isServed(found.state)) return answer
    const waits = isDigest(reference) ? await manifestToSign(request, repository, found) : undefined
    if (waits === undefined) return refuseHeld(request, repository, found.version)
    return { ...answer, ...waits, headers: { ...answer.headers, ...waits.headers } }
  }

  /** The blobs that a manifest needs here, each once. @throws OciRefusal MANIFEST_BLOB_UNKNOWN, SIZE_INVALID */
  async function blobsOf(repository: Repository, { config, layers }: OciDocument): Promise<ReadonlyMap<string, Blob>> {
    const parts = [...(config === undefined ? [] : [config]), ...layers]
    const here = await findBlobs(
      db,
      repository,
      parts.map(({ digest }) => digest),
    )
    const blobs = new Map<string, Blob>()
    for (const { digest, size, urls } of parts) {
      const known = here.get(digest)
      if (known === undefined) {
        // what is fetched from elsewhere need not be here
        if (urls !== undefined) continue
        return refuseAs(
          404,
          'MANIFEST_BLOB_UNKNOWN',
          `The manifest names the blob ${digest}, which ${repository.name} does not have. Push it first.`,
        )
      }
      if (known.size !== size)
        refuseAs(400, 'SIZE_INVALID', `The manifest says that ${digest} has ${size} bytes, and it has ${known.size}.`)
      blobs.set(digest, known)
    }
    return blobs
  }

  /** Why an index must wait: a manifest of it is not served. @throws OciRefusal MANIFEST_BLOB_UNKNOWN */
  async function heldFor(repository: Repository, { manifests }: OciDocument): Promise<string | undefined> {
    if (manifests.length === 0) return undefined
    const states = await readStates(
      db,
      repository,
      manifests.map(({ digest }) => digest),
    )
    const missing = manifests.find(({ digest, urls }) => !states.has(digest) && urls === undefined)
    if (missing !== undefined)
      refuseAs(
        404,
        'MANIFEST_BLOB_UNKNOWN',
        `The index names the manifest ${missing.digest}, which ${repository.name} does not have. Push it first.`,
      )
    const held = manifests.find(({ digest }) => states.get(digest) !== undefined && states.get(digest) !== 'published')
    if (held === undefined) return undefined
    const { platform, digest } = held
    return heldPartSentence(digest, platform && `${platform.os}/${platform.architecture}`)
  }

  /**
   * Looks at what a pushed manifest changes: what it is about may have its signature now, and so may the parts of an
   * index. Where a rule asks for one, it may itself have come beside its signature.
   */
  async function lookForSigned(
    { registry: { registry } }: RegistryRequest,
    repository: Repository,
    { manifest, tag }: { readonly manifest: Manifest; readonly tag: string | undefined },
  ): Promise<Manifest> {
    const { subject, kind } = factsOf(manifest)
    const { version } = manifest.ref
    const mayWait = registry?.requireSignature !== undefined && (kind === 'index' || !isServed(manifest.state))
    const wanted = [...new Set([...digestsAbout(subject, tag), ...(mayWait ? [version] : [])])]
    if (wanted.length === 0) return manifest
    const owed = await Promise.all(
      wanted.map(async version => {
        const key = owedForVersion(repository, version)
        return { key, ask: await outbox.owe(db, key) }
      }),
    )
    outbox.nudge()
    await Promise.all(owed.map(({ key, ask }) => outbox.settled(key, ask, SIGNED_MS)))
    await waiting.settle(repository)
    return (await findByDigest(db, repository, version)) ?? manifest
  }

  async function admit(request: RegistryRequest, repository: Repository, bytes: Buffer): Promise<Manifest> {
    const { registry, caller, headers, signal } = request
    const document = documentOf(bytes, headers['content-type'])
    const blobs = await blobsOf(repository, document)
    const held = await heldFor(repository, document)
    const file = await gather(deps, { bytes, name: repository.name, signal }, blobs)
    const publication = {
      file,
      format: oci,
      registry,
      actor: actorOf(caller),
      ...(held === undefined ? {} : { heldFor: held }),
    }
    const { manifest } = await admitVersion(deps, publication)
    return manifest
  }

  async function write(request: RegistryRequest, repository: Repository, reference: string): Promise<RegistryAnswer> {
    request.caller.need('write')
    needHosted(request.registry)
    const bytes = await bytesOf(request)
    const { sha256, sha512 } = digestBytes(bytes)
    const digest = reference.startsWith('sha512:') ? `sha512:${sha512}` : `sha256:${sha256}`
    if (isDigest(reference) && reference !== digest)
      refuseAs(400, 'DIGEST_INVALID', `The manifest has the digest ${digest}, the address says ${reference}.`)
    const manifest =
      (await findByDigest(db, repository, `sha256:${sha256}`)) ?? (await admit(request, repository, bytes))
    const tag = isDigest(reference) ? undefined : reference
    if (tag !== undefined) await waiting.name(repository, { tag, manifest }, actorOf(request.caller))
    const now = await lookForSigned(request, repository, { manifest, tag })
    const { subject } = factsOf(manifest)
    return plain(201, {
      'Location': placeOf(request, repository.name, 'manifests', digest),
      'Docker-Content-Digest': digest,
      ...(subject === undefined ? {} : { 'OCI-Subject': subject }),
      ...(isServed(now.state) ? {} : warningOf(now, request)),
    })
  }

  async function remove(request: RegistryRequest, repository: Repository, reference: string): Promise<RegistryAnswer> {
    request.caller.need('manage')
    const actor = actorOf(request.caller)
    if (!isDigest(reference)) {
      const of = nameOf(repository)
      const waits = await waiting.settle(repository)
      const isSet = (await readTag(db, ALL_SEEING, of, reference)) !== undefined
      if (!isSet && !waits.some(one => one.tag === reference)) return unknown(repository, reference)
      // with a tag goes what waits for it
      if (isSet) await catalog.change({ kind: 'tag', of, tag: reference }, actor)
      else await removeWaitingTag(db, repository, { tag: reference })
      return plain(202)
    }
    const found = (await findByDigest(db, repository, reference)) ?? (await unknown(repository, reference))
    await catalog.change(
      { kind: 'delete', ref: found.ref, why: 'Its manifest was deleted by a client of the registry.' },
      actor,
    )
    return plain(202)
  }

  return (
    request: RegistryRequest,
    { name, reference }: Extract<Route, { kind: 'manifest' }>,
  ): Promise<RegistryAnswer> => {
    const repository = { codename: request.registry.codename, name }
    switch (request.method) {
      case 'GET':
      case 'HEAD':
        return read(request, repository, reference)
      case 'PUT':
        return write(request, repository, reference)
      case 'DELETE':
        return remove(request, repository, reference)
      default:
        return refuseAs(405, 'UNSUPPORTED', `A manifest takes no ${request.method}.`, {
          Allow: 'GET, HEAD, PUT, DELETE',
        })
    }
  }
}
