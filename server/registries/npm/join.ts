import { createHash } from 'node:crypto'
import { setImmediate as others } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Clock } from '../../lib/clock.ts'
import type { Held } from '../held.ts'

const zip = promisify(gzip)

/** Joined documents are kept up to so many bytes together; the least recently asked for go first. */
const MOST_KEPT = 64 * 2 ** 20
/** Smaller documents are sent as they are. */
const WORTH_PACKING = 1_024
/** So many characters are joined before others get their turn. */
const AT_ONCE = 512 * 1024
/** So many versions that are withheld say why in one document: the newest. */
const MOST_REASONS = 20

/** Which fields of versions a document has. */
export type Form = 'full' | 'short'

/** A version as documents show it. */
export interface Piece {
  readonly version: string
  /** The JSON text of an object without `dist`: it is joined as it is. */
  readonly document: string
  readonly dist: Readonly<Record<string, unknown>>
  readonly deprecated: string | undefined
  /** When it was published; undefined where nobody says it. */
  readonly at: Date | undefined
}

/** A version that clients do not get. */
export interface Withheld {
  readonly version: string
  readonly at: Date
  readonly why: () => Held | undefined
}

/** What a document about a name is made of. */
export interface Parts {
  readonly name: string
  readonly revision: string
  /** Oldest first by the order of the format. */
  readonly pieces: readonly Piece[]
  readonly tags: ReadonlyMap<string, string>
  readonly created: Date
  readonly modified: Date
  readonly withheld: readonly Withheld[]
}

/** One version with what depends on the address and on people. */
export function printPiece({ document, dist, deprecated }: Piece): string {
  const notes = deprecated === undefined ? '' : `,"deprecated":${JSON.stringify(deprecated)}`
  return `${document.slice(0, -1)},"dist":${JSON.stringify(dist)}${notes}}`
}

/** What npm is told of versions that it must not get: it prints the message when one of them is asked for. */
function restrictionsOf({ name, withheld }: Parts): unknown {
  if (withheld.length === 0) return undefined
  const newest = withheld.toSorted((a, b) => b.at.getTime() - a.at.getTime()).slice(0, MOST_REASONS)
  const reasons = newest.flatMap(({ version, why }) => {
    const held = why()
    return held === undefined ? [] : [`${version}: ${held.sentence}`]
  })
  const more = withheld.length - newest.length
  return {
    message: `${reasons.join('\n')}${more > 0 ? `\nand ${more} more` : ''}`,
    versions: Object.fromEntries(withheld.map(({ version }) => [version, { name, version }])),
  }
}

/** What a packument says of its package, taken from its latest version. */
function describe(latest: Piece | undefined): Record<string, unknown> {
  if (latest === undefined) return {}
  const { description, license, homepage, keywords, repository, bugs, author } = JSON.parse(latest.document) as Record<
    string,
    unknown
  >
  return { description, license, homepage, keywords, repository, bugs, author }
}

/** The whole document as JSON text, piece by piece; those of its versions are joined, not parsed. */
export function* printDocument(form: Form, parts: Parts): Generator<string> {
  const { name, revision, pieces, tags, created, modified } = parts
  const latest = pieces.find(({ version }) => version === tags.get('latest'))
  const times = pieces.flatMap(({ version, at }): [string, Date][] => (at === undefined ? [] : [[version, at]]))
  const time = { created, modified, ...Object.fromEntries(times) }
  const head = form === 'full' ? { _id: name, _rev: revision, name, ...describe(latest) } : { name, modified }
  const tail = { 'dist-tags': Object.fromEntries(tags), time, 'policyRestrictions': restrictionsOf(parts) }
  yield `${JSON.stringify(head).slice(0, -1)},${JSON.stringify(tail).slice(1, -1)},"versions":{`
  for (const [at, piece] of pieces.entries())
    yield `${at === 0 ? '' : ','}${JSON.stringify(piece.version)}:${printPiece(piece)}`
  yield '}}'
}

/** A document about a name, in one of its forms. */
export interface Joined {
  readonly bytes: Buffer
  /** Whether the bytes are packed with gzip. */
  readonly isPacked: boolean
  readonly etag: string
}

/** A document that is to be joined. */
export interface ToJoin {
  readonly texts: Iterable<string>
  /** It is another one from then on; absent: only under another key. */
  readonly until?: Date | undefined
}

/** Documents that were joined, kept for those who ask next. */
export interface KeptDocuments {
  /** @param key  another one whenever the document may differ */
  get(key: string, isPacked: boolean, make: () => Promise<ToJoin>): Promise<Joined>
}

/** The bytes of a document. A large one takes many short turns: everything else waits meanwhile. */
async function bytesOf(texts: Iterable<string>): Promise<Buffer> {
  const chunks: Buffer[] = []
  let some = ''
  for (const text of texts) {
    some += text
    if (some.length < AT_ONCE) continue
    chunks.push(Buffer.from(some))
    some = ''
    await others()
  }
  return Buffer.concat([...chunks, Buffer.from(some)])
}

/** Makes the memory of one process. */
export function createKeptDocuments({ clock }: { readonly clock: Clock }): KeptDocuments {
  const kept = new Map<string, Joined & { readonly until: Date | undefined }>()
  const running = new Map<string, Promise<Joined>>()
  let keptBytes = 0

  const drop = (key: string): void => {
    keptBytes -= kept.get(key)?.bytes.length ?? 0
    kept.delete(key)
  }
  async function join(key: string, isPacked: boolean, make: () => Promise<ToJoin>): Promise<Joined> {
    const { texts, until } = await make()
    const plain = await bytesOf(texts)
    const isWorthIt = isPacked && plain.length >= WORTH_PACKING
    const bytes = isWorthIt ? await zip(plain) : plain
    // when it becomes another one says which one it is
    const etag = `"${createHash('md5')
      .update(`${key} ${until?.toISOString() ?? ''}`)
      .digest('hex')}"`
    const joined = { bytes, isPacked: isWorthIt, etag, until }
    drop(key)
    kept.set(key, joined)
    keptBytes += bytes.length
    for (const oldest of kept.keys()) {
      if (keptBytes <= MOST_KEPT) break
      drop(oldest)
    }
    return joined
  }

  return {
    async get(name, isPacked, make) {
      const key = `${name} ${isPacked}`
      const known = kept.get(key)
      if (known !== undefined && (known.until === undefined || clock.now() < known.until)) {
        // asked for last: it goes last
        kept.delete(key)
        kept.set(key, known)
        return known
      }
      const joining = running.get(key) ?? join(key, isPacked, make).finally(() => running.delete(key))
      running.set(key, joining)
      return joining
    },
  }
}
