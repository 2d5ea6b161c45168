import {
  findByDigest,
  findHead,
  findHeldPart,
  type ManifestHead,
  type Repository,
} from '../../../catalog/queries/oci.ts'
import { saveServed } from '../../../catalog/queries/oci-remote.ts'
import { readTag } from '../../../catalog/queries/tags.ts'
import { AppError, isRefusal } from '../../../core/errors.ts'
import { isServed } from '../../../core/manifest.ts'
import { ALL_SEEING } from '../../../core/viewer.ts'
import type { SpooledFile } from '../../../files/spool.ts'
import { readDocument } from '../../../formats/oci/document.ts'
import { parsing } from '../../../formats/upstream-files.ts'
import { actorOf } from '../../admit.ts'
import { whyHeld } from '../../held.ts'
import type { RegistryAnswer, RegistryRequest } from '../../protocol.ts'
import type { Stale } from '../../remote/freshness.ts'
import { headerText, manifestAnswer, OciRefusal, refuseAs } from '../answers.ts'
import { gather } from '../gather.ts'
import { nameOf } from '../manifests.ts'
import type { Route } from '../routes.ts'
import type { ProxyDeps } from './deps.ts'
import { createFarSignatures } from './signatures.ts'
import { keyOf, noteMissing } from './tags.ts'
import { isMissing, type FarRepository, type Missing } from './upstream.ts'

/** Clients wait long for the head of an answer; a first pull that takes longer is asked for again. */
const PATIENCE_MS = 50_000

/** A manifest that clients get, and what they are told beside it. */
interface Given {
  readonly head: ManifestHead
  readonly warnings: readonly string[]
}

/** Asked for by a client, with the tag where it did not name the digest. */
interface Wanted {
  readonly request: RegistryRequest
  readonly at: FarRepository
  readonly tag?: string
  /** It comes with an image that is old enough, whatever its own age. */
  readonly isBeside?: true
}

/** A refusal of ours, whoever made it. */
const isOurs = (error: unknown): error is AppError | OciRefusal =>
  error instanceof AppError || error instanceof OciRefusal

export const repositoryOf = ({ registry, name }: FarRepository): Repository => ({ codename: registry.codename, name })
/** Source: RFC 7234, 5.5.1 */
export const staleWarning = (stale: Stale | undefined): readonly string[] =>
  stale === undefined ? [] : ['110 - "Response is Stale"']
export const warningOf = (warnings: readonly string[]): Readonly<Record<string, string>> =>
  warnings.length === 0 ? {} : { Warning: warnings.join(', ') }

/** @throws OciRefusal MANIFEST_UNKNOWN, always */
function refuseMissing({ registry }: FarRepository, { host, why }: Missing): never {
  return refuseAs(404, 'MANIFEST_UNKNOWN', `${registry.codename} reads through to ${host}: ${why}.`)
}

/** Manifests of a registry that reads through: what is not here comes in through the gate when it is asked for. */
export function createProxiedManifests(deps: ProxyDeps) {
  const { db, catalog, remote, far, tags, lacking, parts, ages } = deps
  const signatures = createFarSignatures(deps)

  /** @throws OciRefusal DENIED, always */
  async function refuseHeld(repository: Repository, version: string, console: string, before = ''): Promise<never> {
    const held = await findByDigest(db, repository, version)
    const why = held === undefined ? 'It was removed meanwhile. Ask again.' : whyHeld(held, console).sentence
    return refuseAs(403, 'DENIED', `${before}${why}`)
  }

  /** What is here, as clients get it; undefined where it is not here. @throws OciRefusal DENIED */
  async function findServed(at: FarRepository, digest: string, console: string): Promise<ManifestHead | undefined> {
    const repository = repositoryOf(at)
    const head = await findHead(db, repository, digest)
    if (head === undefined) return undefined
    if (!isServed(head.state)) return refuseHeld(repository, head.version, console)
    const part = await findHeldPart(db, repository, head.version)
    if (part === undefined) return head
    const where = part.platform === null ? '' : ` (${part.platform})`
    return refuseHeld(repository, part.version, console, `It names the manifest ${part.digest}${where}. `)
  }

  /**
   * Brings in the signatures of an image, each through the gate; what that does not let in is none.
   * @throws what the upstream is refused for where it gives no answer: then nothing is known, and nothing is said
   */
  async function bringSignatures(
    request: RegistryRequest,
    at: FarRepository,
    { digest, signal }: { readonly digest: string; readonly signal: AbortSignal },
  ): Promise<void> {
    for (const { digest: signature, tag } of await signatures.find(at, digest, signal)) {
      try {
        const head = await need({ request, at, isBeside: true, ...(tag === undefined ? {} : { tag }) }, signature)
        if (tag !== undefined) await move(request, at, tag, head.version)
      } catch (error) {
        const isLate = isRefusal(error, 'outbound_failed') || (error instanceof OciRefusal && error.status === 429)
        if (isLate || !isOurs(error)) throw error
      }
    }
  }

  /** As `findServed`; what waits for its signature is looked at again, when it was not a moment ago. */
  async function findOrAskAgain(request: RegistryRequest, at: FarRepository, digest: string) {
    try {
      return await findServed(at, digest, request.console)
    } catch (error) {
      const head = error instanceof OciRefusal ? await findHead(db, repositoryOf(at), digest) : undefined
      if (head === undefined || isServed(head.state) || !signatures.mayAskAgain(at, head.version)) throw error
      try {
        await bringSignatures(request, at, { digest: head.version, signal: request.signal })
      } catch (failure) {
        if (!isOurs(failure)) throw failure
        throw error
      }
      await signatures.judge(at, head.version)
      return findServed(at, digest, request.console)
    }
  }

  /** All bytes of a manifest that is not here. @throws OciRefusal, and what the upstream is refused for */
  async function fetch(
    { request, at, tag, isBeside }: Wanted,
    digest: string,
    signal: AbortSignal,
  ): Promise<SpooledFile> {
    const told = await far.manifest(at, digest, signal)
    if (isMissing(told)) {
      lacking.add(keyOf(at, digest), told)
      await noteMissing(deps.db, repositoryOf(at), { told, now: deps.clock.now() })
      return refuseMissing(at, told)
    }
    const { bytes } = told
    const document = parsing(`${at.name}@${digest}`, () => readDocument(bytes))
    await ages.note(at, { digest: told.digest, document, tag }, signal)
    if (isBeside !== true) await ages.check(at, told.digest, request.console)
    if (signatures.mustLook(at, document)) await bringSignatures(request, at, { digest: told.digest, signal })
    const blobs = await parts.bringAll(at, document, signal)
    return gather(deps, { bytes, name: at.name, signal }, blobs)
  }

  /** The SHA-256 that names a manifest here. */
  async function versionOf(at: FarRepository, digest: string, signal: AbortSignal): Promise<string> {
    if (digest.startsWith('sha256:')) return digest
    const told = await far.manifest(at, digest, signal)
    return isMissing(told) ? refuseMissing(at, told) : told.digest
  }

  /**
   * A manifest by its digest, brought in where it is not here.
   * @throws OciRefusal DENIED with the reason, MANIFEST_UNKNOWN, TOOMANYREQUESTS while it is on its way; what the
   * upstream is refused for
   */
  async function need(wanted: Wanted, digest: string): Promise<ManifestHead> {
    const { request, at, isBeside } = wanted
    const { registry, console, signal } = request
    const here = await findOrAskAgain(request, at, digest)
    if (here !== undefined) return here
    const missing = lacking.find(keyOf(at, digest))
    if (missing !== undefined) return refuseMissing(at, missing)
    const version = await versionOf(at, digest, signal)
    if (isBeside !== true) await ages.check(at, version, console)
    const ref = { format: registry.format, codename: registry.codename, name: at.name, version }
    const by = { actor: actorOf(request.caller), patienceMs: PATIENCE_MS }
    try {
      await remote.bring(registry, { ref, fetch: ended => fetch(wanted, digest, ended) }, by)
    } catch (error) {
      if (!isRefusal(error, 'remote_not_here_yet')) throw error
      // clients ask again after a 429, and after no other
      return refuseAs(429, 'TOOMANYREQUESTS', error.message, { 'Retry-After': String(error.facts.retry_after) })
    }
    return (await findServed(at, version, console)) ?? refuseAs(404, 'MANIFEST_UNKNOWN', 'It was removed meanwhile.')
  }

  /** Notes that clients get this by the tag. */
  async function move(request: RegistryRequest, at: FarRepository, tag: string, version: string): Promise<void> {
    const repository = repositoryOf(at)
    await saveServed(db, { ...repository, tag }, version)
    const before = await readTag(db, ALL_SEEING, nameOf(repository), tag)
    if (before?.version === version) return
    try {
      await catalog.change({ kind: 'tag', of: nameOf(repository), tag, version }, actorOf(request.caller))
    } catch (error) {
      // deleted meanwhile: the next one brings it in again
      if (!isRefusal(error, 'version_not_found')) throw error
    }
  }

  /** The last of these that is here and served. */
  async function findLastGood(at: FarRepository, digests: readonly string[], console: string) {
    for (const digest of digests) {
      try {
        const head = await findServed(at, digest, console)
        if (head !== undefined) return head
      } catch (error) {
        if (!(error instanceof OciRefusal)) throw error
      }
    }
    return undefined
  }

  /** What a tag names, else the last that it named and that clients may have. @throws as `need` */
  async function byTag(request: RegistryRequest, at: FarRepository, tag: string): Promise<Given> {
    const known = await tags.current(at, tag)
    if (isMissing(known)) return refuseMissing(at, known)
    const { digest, served, stale } = known
    let why = new OciRefusal(404, 'MANIFEST_UNKNOWN', `The upstream has no ${at.name}:${tag} any more.`) as Error
    if (digest !== null) {
      try {
        const head = await need({ request, at, tag }, digest)
        await move(request, at, tag, head.version)
        return { head, warnings: staleWarning(stale) }
      } catch (error) {
        if (!isOurs(error)) throw error
        why = error
      }
    }
    const head = await findLastGood(
      at,
      served.filter(one => one !== digest),
      request.console,
    )
    if (head === undefined) throw why
    const said = `299 - "${headerText(`This is what ${tag} named before. ${why.message}`)}"`
    return { head, warnings: [...staleWarning(stale), said] }
  }

  return {
    need,
    async read(
      request: RegistryRequest,
      { name, reference }: Extract<Route, { kind: 'manifest' }>,
    ): Promise<RegistryAnswer> {
      const at = { registry: request.registry, name }
      const isDigest = reference.includes(':')
      const { head, warnings } = isDigest
        ? { head: await need({ request, at }, reference), warnings: [] }
        : await byTag(request, at, reference)
      const { headers, ...answer } = manifestAnswer(head, isDigest ? reference : undefined)
      return { ...answer, headers: { ...headers, ...warningOf(warnings) } }
    },
  }
}
