import type { Distribution } from '../../../core/repository.ts'
import { fail } from '../../../core/errors.ts'
import { tooLarge, type SpooledFile } from '../../../files/spool.ts'
import { DIGEST, type Descriptor } from '../../../formats/oci/descriptor.ts'
import { DOCKER_IMAGE, DOCKER_LIST, IMAGE, INDEX, MAX_DOCUMENT, readDocument } from '../../../formats/oci/document.ts'
import { isTag } from '../../../formats/oci/names.ts'
import { parsing, refuseUpstream } from '../../../formats/upstream-files.ts'
import { digestBytes } from '../../../lib/digest.ts'
import { malformed } from '../../../lib/limited.ts'
import type { Answer } from '../../../outbound/exchange/exchange.ts'
import { parseTarget } from '../../../outbound/target.ts'
import type { AskOptions, Headers, Upstream } from '../../remote/upstream.ts'
import { readAnswer } from './answer.ts'
import { placeAt, type Place } from './place.ts'
import type { UpstreamTokens } from './tokens.ts'

/** A repository of a proxy. */
export interface FarRepository {
  readonly registry: Distribution
  readonly name: string
}

/** The upstream gives it to nobody, or not to this registry. */
export interface Missing {
  readonly missing: 'absent' | 'denied'
  readonly host: string
  /** `it has no team/app:v1` */
  readonly why: string
}

/** A manifest as it came. */
export interface FarManifest {
  /** `sha256:…` of the bytes. */
  readonly digest: string
  readonly bytes: Buffer
}

/**
 * Asks a registry of others for images. Every question may throw outbound_failed, outbound_refused, upstream_refused.
 * Source: the OCI distribution specification 1.1.
 */
export interface OciUpstream {
  /**
   * What a tag names.
   * @param known  what it named when it was asked last
   */
  tag(
    at: FarRepository,
    tag: string,
    known: string | undefined,
    signal: AbortSignal,
  ): Promise<Pick<FarManifest, 'digest'> | Missing>
  /** @param reference  a tag or a digest, which is compared */
  manifest(at: FarRepository, reference: string, signal: AbortSignal): Promise<FarManifest | Missing>
  /** One blob, compared with what its manifest says. @throws upload_too_large */
  blob(
    at: FarRepository,
    part: Descriptor,
    options: { readonly limitBytes: number; readonly signal: AbortSignal },
  ): Promise<SpooledFile>
  /** All tags, in the upstream's order. */
  tags(at: FarRepository, signal: AbortSignal): Promise<readonly string[] | Missing>
  /** What is said to be about a manifest; empty where the upstream knows nothing of the kind. */
  referrers(at: FarRepository, digest: string, signal: AbortSignal): Promise<readonly Descriptor[]>
}

const ACCEPT = [IMAGE, INDEX, DOCKER_IMAGE, DOCKER_LIST].join(', ')
/** Of one list: 100,000 tags of the longest kind have 13 MB. */
const MOST_BYTES = 16 * 2 ** 20
const MOST_TAGS = 100_000
const MOST_REFERRERS = 1_000
const MOST_PAGES = 1_000
const PAGE = 1_000

const isDigest = (reference: string): boolean => reference.includes(':')
/** `team/app:v1`, `team/app@sha256:…` */
const printed = (name: string, reference: string): string => `${name}${isDigest(reference) ? '@' : ':'}${reference}`
export const isMissing = (told: object): told is Missing => 'missing' in told

/** The digest of bytes by the algorithm of another one. */
function digestLike(reference: string, bytes: Buffer): string {
  const { sha256, sha512 } = digestBytes(bytes)
  return reference.startsWith('sha512:') ? `sha512:${sha512}` : `sha256:${sha256}`
}

/** Where the next part of a list is, on the same server. Source: RFC 8288. @throws upstream_refused */
function nextPage({ headers, url }: Answer, what: string): string | undefined {
  const { link = '' } = headers
  const [, target] = /<([^<>]*)>\s*;[^,]*\brel="?next"?/i.exec(Array.isArray(link) ? link.join(',') : link) ?? []
  if (target === undefined) return undefined
  if (!URL.canParse(target, url)) return refuseUpstream(what, 'malformed', 'its header Link holds no address')
  const next = new URL(target, url)
  if (next.origin !== url.origin) refuseUpstream(what, 'malformed', 'its next part is on another server')
  return parseTarget(next.href).href
}

/** @throws Malformed */
function readTags(bytes: Buffer): readonly string[] {
  let json: unknown
  try {
    json = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    return malformed('it is no JSON', error)
  }
  const { tags } = (json ?? {}) as Readonly<Record<string, unknown>>
  // null: there are none
  if (tags === null) return []
  if (!Array.isArray(tags)) return malformed('it has no list of tags')
  return tags.filter(tag => typeof tag === 'string' && isTag(tag)) as string[]
}

export function createOciUpstream({
  upstream,
  tokens,
}: {
  readonly upstream: Pick<Upstream, 'ask' | 'receive'>
  readonly tokens: UpstreamTokens
}): OciUpstream {
  /** One request with what the server wants for it. */
  async function ask(
    { registry, name }: FarRepository,
    target: (place: Place) => string,
    { headers = {}, ...options }: Omit<AskOptions, 'isBare'>,
  ): Promise<Answer> {
    const place = placeAt(registry, name)
    const send = (authorization: string | undefined): Promise<Answer> => {
      const all: Headers = authorization === undefined ? headers : { ...headers, authorization }
      return upstream.ask(registry, target(place), { ...options, isBare: true, headers: all })
    }
    const answer = await send(await tokens.kept(registry, place))
    // whom a redirect led to has nothing to ask for
    if (answer.status !== 401 || answer.url.origin !== place.origin) return answer
    const authorization = await tokens.get(registry, place, { headers: answer.headers, signal: options.signal })
    if (authorization === undefined) return answer
    answer.discard()
    return send(authorization)
  }

  const below =
    (path: string) =>
    ({ origin, name }: Place): string =>
      `${origin}/v2/${name}/${path}`

  /** What an answer without bytes means. @throws outbound_failed */
  function missing(answer: Answer, what: string): Missing {
    answer.discard()
    const { status, url } = answer
    const { host } = url
    if (status === 404 || status === 410) return { missing: 'absent', host, why: `it has no ${what}` }
    if (status === 401 || status === 403)
      return {
        ...{ missing: 'denied', host },
        why: `it answered ${status} for ${what}: it has none, or does not show it to this registry`,
      }
    return fail('outbound_failed', { host, why: `it answered ${status}` })
  }

  async function manifest(at: FarRepository, reference: string, signal: AbortSignal): Promise<FarManifest | Missing> {
    const what = printed(at.name, reference)
    const answer = await ask(at, below(`manifests/${reference}`), { headers: { accept: ACCEPT }, signal })
    if (answer.status !== 200) return missing(answer, what)
    const bytes = await readAnswer(answer, what, MAX_DOCUMENT)
    const is = digestLike(reference, bytes)
    if (isDigest(reference) && is !== reference)
      refuseUpstream(what, 'wrong_digest', `the digest of what came is ${is}`)
    return { bytes, digest: `sha256:${digestBytes(bytes).sha256}` }
  }

  /** The parts of a list one after another. @param read  takes a part; false: nothing of it is wanted any more */
  async function pages(
    at: FarRepository,
    first: string,
    {
      what,
      signal,
      read,
    }: { readonly what: string; readonly signal: AbortSignal; readonly read: (bytes: Buffer) => boolean },
  ): Promise<Missing | undefined> {
    let room = MOST_BYTES
    let next: string | undefined
    for (let n = 0; n < MOST_PAGES; n++) {
      const target = next
      const answer = await ask(at, target === undefined ? below(first) : () => target, { signal })
      if (answer.status !== 200) return missing(answer, what)
      next = nextPage(answer, what)
      const bytes = await readAnswer(answer, what, room)
      room -= bytes.length
      if (!parsing(what, () => read(bytes)) || next === undefined) return undefined
    }
    return refuseUpstream(what, 'too_large', `it comes in more than ${MOST_PAGES} parts`)
  }

  return {
    manifest,
    async tag(at, tag, known, signal) {
      const answer = await ask(at, below(`manifests/${tag}`), {
        method: 'HEAD',
        headers: { accept: ACCEPT, ...(known === undefined ? {} : { 'if-none-match': `"${known}"` }) },
        signal,
      })
      answer.discard()
      const { status, headers } = answer
      if (status === 304 && known !== undefined) return { digest: known }
      const digest = headers['docker-content-digest']
      if (status === 200 && typeof digest === 'string' && /^sha256:/.test(digest) && DIGEST.test(digest))
        return { digest }
      // some do not answer HEAD, some do not say the digest: then the bytes say it
      if (status === 200 || status === 405) return manifest(at, tag, signal)
      return missing(answer, printed(at.name, tag))
    },
    async blob(at, { digest, size }, { limitBytes, signal }) {
      if (size > limitBytes) throw tooLarge({ limitBytes })
      const answer = await ask(at, below(`blobs/${digest}`), { signal })
      if (answer.status !== 200) {
        const { host, why } = missing(answer, `${at.name}@${digest}`)
        return refuseUpstream(digest, 'missing', `its manifest names it, and ${host} does not give it: ${why}`)
      }
      const [algorithm = '', hex = ''] = digest.split(':')
      return upstream.receive(answer, { filename: digest, size, digests: { [algorithm]: hex } }, { limitBytes, signal })
    },
    async tags(at, signal) {
      const what = `the list of tags of ${at.name}`
      const all = new Set<string>()
      const lacking = await pages(at, `tags/list?n=${PAGE}`, {
        ...{ what, signal },
        read: bytes => {
          const before = all.size
          for (const tag of readTags(bytes)) all.add(tag)
          if (all.size > MOST_TAGS) malformed(`it names more than ${MOST_TAGS} tags`)
          return all.size > before
        },
      })
      return lacking ?? [...all]
    },
    async referrers(at, digest, signal) {
      const what = `the list of what is about ${at.name}@${digest}`
      const all = new Map<string, Descriptor>()
      const add = (bytes: Buffer): boolean => {
        const before = all.size
        for (const one of readDocument(bytes).manifests) all.set(one.digest, one)
        if (all.size > MOST_REFERRERS) malformed(`it names more than ${MOST_REFERRERS} manifests`)
        return all.size > before
      }
      const lacking = await pages(at, `referrers/${digest}`, { what, signal, read: add })
      if (lacking !== undefined) {
        // Source: distribution specification 1.1, "Referrers Tag Schema"
        const told = await manifest(at, digest.replace(':', '-'), signal)
        if (!isMissing(told)) parsing(what, () => add(told.bytes))
      }
      return [...all.values()]
    },
  }
}
