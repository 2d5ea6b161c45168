import { createHash } from 'node:crypto'
import { fail, isRefusal } from '../core/errors.ts'
import { relPath, type RelPath } from '../core/identity.ts'
import { unpack } from '../lib/decompress.ts'
import type { Compression } from '../lib/packed.ts'
import { Malformed, printBytes } from '../lib/limited.ts'
import type { NotSigned } from '../signing/trusted-keys.ts'
import type { FetchPath, PackageNotes } from './upstream.ts'

/** Why an upstream is refused, as a word for programs. */
export type UpstreamFault =
  | 'missing'
  | 'unsigned'
  | 'untrusted'
  | 'expired'
  | 'not_yet_valid'
  | 'other_suite'
  | 'too_large'
  | 'wrong_size'
  | 'wrong_digest'
  | 'malformed'

/** @throws upstream_refused, always */
export function refuseUpstream(path: string, fault: UpstreamFault, why: string, cause?: unknown): never {
  return fail('upstream_refused', { path, fault, why }, cause)
}

/** @throws upstream_refused, always: no trusted key signed it, or one did at a time that is not yet here */
export function refuseUnsigned(path: string, { why, isAhead }: NotSigned): never {
  return refuseUpstream(path, isAhead === true ? 'not_yet_valid' : 'untrusted', why)
}

/** Rethrows a reader's error; Malformed bytes become a refusal of the upstream. */
export function rethrow(path: string, error: unknown): never {
  if (error instanceof Malformed) refuseUpstream(path, 'malformed', error.why, error)
  if (isRefusal(error, 'bad_path')) refuseUpstream(path, 'malformed', error.message, error)
  throw error
}

/** Runs a parser over an upstream's text. @throws upstream_refused where that breaks its rules */
export function parsing<T>(path: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    return rethrow(path, error)
  }
}

/** Passes bytes on up to a limit. @throws upstream_refused beyond it */
export async function* atMost(source: AsyncIterable<Buffer>, path: string, maxBytes: number): AsyncGenerator<Buffer> {
  let seen = 0
  for await (const chunk of source) {
    seen += chunk.length
    if (seen > maxBytes) refuseUpstream(path, 'too_large', `it is longer than ${printBytes(maxBytes)}`)
    yield chunk
  }
}

/** A small file as a whole; undefined where there is none. @throws upstream_refused when it is longer */
export async function fetchWhole(fetch: FetchPath, path: RelPath, maxBytes: number): Promise<Buffer | undefined> {
  const stream = await fetch(path, { maxBytes })
  if (stream === undefined) return undefined
  const chunks: Buffer[] = []
  for await (const chunk of atMost(stream, path, maxBytes)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

export const hexOf = (algorithm: string, bytes: Buffer | string): string =>
  createHash(algorithm).update(bytes).digest('hex')

/** Notes from texts of an index, of which empty ones say nothing. @param unit  of the installed size, in bytes */
export function notesOf(
  texts: Readonly<Record<'homepage' | 'license' | 'maintainer' | 'installed_size', string | undefined>>,
  unit = 1,
): PackageNotes {
  const { installed_size: size = '', ...words } = texts
  return {
    ...Object.fromEntries(Object.entries(words).filter(([, text]) => text !== undefined && text !== '')),
    ...(/^\d{1,12}$/.test(size) ? { installed_size: Number(size) * unit } : {}),
  }
}

/** The digest of an entry: the same whether it stands last in its index or not. */
export function digestOfEntry(text: Buffer): string {
  let end = text.length
  while (text[end - 1] === 0x0a) end -= 1
  return hexOf('sha1', text.subarray(0, end))
}

/** The digests that are believed, by the length of their hexadecimal text. MD5 and SHA-1 are no longer safe. */
const HEX_LENGTH = { sha256: 64, sha512: 128 } as const
type Algorithm = keyof typeof HEX_LENGTH

export const isAlgorithm = (name: string): name is Algorithm => Object.hasOwn(HEX_LENGTH, name)

/** True for a text as long as a digest of this algorithm. */
export const isDigest = (algorithm: Algorithm, text: string): boolean => text.length === HEX_LENGTH[algorithm]

/** What a root says of a file. */
export interface Promised {
  readonly size: number
  readonly algorithm: Algorithm
  readonly digest: string
}

/** An index as its root names it. */
export interface IndexPromise extends Promised {
  readonly path: RelPath
  /** Its address by digest, tried first. */
  readonly byHash?: RelPath
  readonly compression: Compression
  /** Its unpacked size and digest, where the root gives them. */
  readonly plain?: Partial<Promised> & Pick<Promised, 'size'>
}

/** The most that an index may have, packed or not: the largest known, of Oracle's, unpacks to 1.3 GiB. */
const MAX_INDEX = 4 * 2 ** 30
/** Packed files up to this size are read whole, so that the digest is checked before unpacking. */
const HELD = 128 * 1024

/** Passes bytes on and ends with an error unless they were what the root promised. */
async function* kept(source: AsyncIterable<Buffer>, path: string, promised: Partial<Promised>): AsyncGenerator<Buffer> {
  const { size, algorithm, digest } = promised
  const hash = createHash(algorithm ?? 'sha256')
  let seen = 0
  for await (const chunk of source) {
    seen += chunk.length
    if (size !== undefined && seen > size)
      refuseUpstream(path, 'wrong_size', `it is longer than the ${size} bytes that its root names`)
    hash.update(chunk)
    yield chunk
  }
  if (size !== undefined && seen !== size)
    refuseUpstream(path, 'wrong_size', `it has ${seen} bytes, its root says ${size}`)
  const actual = hash.digest('hex')
  if (digest !== undefined && actual !== digest)
    refuseUpstream(
      path,
      'wrong_digest',
      `its ${(algorithm ?? 'sha256').toUpperCase()} is ${actual}, its root says ${digest}`,
    )
}

async function* again(held: readonly Buffer[]): AsyncGenerator<Buffer> {
  for (const chunk of held) yield await Promise.resolve(chunk)
}

/** The unpacked bytes of an index, checked against its root on both sides of the unpacking. @throws upstream_refused */
export async function* readIndex(fetch: FetchPath, index: IndexPromise): AsyncGenerator<Buffer> {
  const { path, byHash, size, compression, plain } = index
  if (size > MAX_INDEX || (plain?.size ?? 0) > MAX_INDEX)
    refuseUpstream(path, 'too_large', `its root says that it has more than ${printBytes(MAX_INDEX)}`)
  const limits = { maxBytes: size }
  const found =
    (byHash === undefined ? undefined : await fetch(byHash, limits)) ??
    (await fetch(path, limits)) ??
    refuseUpstream(path, 'missing', 'its root names it, and it is not there')
  const bytes = kept(found, path, index)
  const held: Buffer[] = []
  if (size <= HELD) for await (const chunk of bytes) held.push(chunk)
  // the unpacker may read the bytes of a small file twice
  const chunks = size <= HELD ? () => again(held) : () => bytes
  try {
    const out = unpack({ what: path, compression, size, chunks })
    yield* plain === undefined ? atMost(out, path, MAX_INDEX) : kept(out, path, plain)
  } catch (error) {
    rethrow(path, error)
  }
}

const ENDINGS: Readonly<Record<string, Compression>> = { '.xz': 'xz', '.gz': 'gzip', '.zst': 'zstd', '.bz2': 'bzip2' }

/** How a file is packed, by its name. */
export function compressionOf(path: string): Compression {
  return ENDINGS[/\.[a-z0-9]+$/.exec(path)?.[0] ?? ''] ?? 'none'
}

/** A path that a repository names. @throws upstream_refused for one that leads out of it */
export function pathIn(owner: string, path: string): RelPath {
  return parsing(owner, () => relPath(path.replace(/^(\.\/)+/, '')))
}

/** The longest entry of an index; the element of a kernel in Oracle's primary.xml has 395 KB. */
const MAX_ENTRY = 16 * 2 ** 20

/** Far more than any distribution has. Blank entries count too: a small file unpacks to billions of them. */
const MAX_ENTRIES = 1_000_000

/** @throws upstream_refused for more entries than any index has */
export function mustBeCountable(entries: number, path: string): void {
  if (entries > MAX_ENTRIES) refuseUpstream(path, 'malformed', `it has more than ${MAX_ENTRIES} entries`)
}

/**
 * Splits a stream after every end mark, into the entries of an index. The rest after the last mark comes last.
 * @throws upstream_refused for an entry of more than 16 MiB, and for more than a million
 */
export async function* cutEntries(source: AsyncIterable<Buffer>, path: string, end: string): AsyncGenerator<Buffer> {
  const mark = Buffer.from(end)
  let rest: Buffer = Buffer.alloc(0)
  let entries = 0
  for await (const chunk of source) {
    // a mark may span two chunks; searched text is not searched again
    let from = Math.max(0, rest.length - mark.length + 1)
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let start = 0
    for (let at = rest.indexOf(mark, from); at !== -1; at = rest.indexOf(mark, from)) {
      from = at + mark.length
      mustBeCountable(++entries, path)
      yield rest.subarray(start, from)
      start = from
    }
    rest = rest.subarray(start)
    if (rest.length > MAX_ENTRY)
      refuseUpstream(path, 'malformed', `one of its entries has more than ${printBytes(MAX_ENTRY)}`)
  }
  if (rest.length > 0) yield rest
}
