import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { setImmediate as others } from 'node:timers/promises'
import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { Clock } from '../lib/clock.ts'
import type { RegistryAnswer } from './protocol.ts'

/** Joined documents are kept up to so many bytes together; the least recently asked for go first. */
const MOST_KEPT = 64 * 2 ** 20
/** What a document takes beside its bytes: its key, its tag, its place. */
const BESIDE = 1_024
/** Smaller documents are sent as they are. */
const WORTH_PACKING = 1_024
/** So many characters are joined before others get their turn. */
const AT_ONCE = 512 * 1024

/** A document about a name, in one of its forms. */
export interface Joined {
  readonly bytes: Buffer
  /** Whether the bytes are packed with gzip. */
  readonly isPacked: boolean
  readonly etag: string
}

/** A document that is to be joined. */
export interface ToJoin {
  readonly texts: Iterable<string> | AsyncIterable<string>
  /** It is another one from then on; absent: only under another key. */
  readonly until?: Date | undefined
}

/** Documents that were joined, kept for those who ask next. */
export interface KeptDocuments {
  /** @param key  another one whenever the document may differ */
  get(key: string, isPacked: boolean, make: () => Promise<ToJoin>): Promise<Joined>
}

/** The bytes of a document in pieces. A large one takes many short turns: everything else waits meanwhile. */
async function* bytesOf(texts: ToJoin['texts']): AsyncGenerator<Buffer> {
  let some = ''
  for await (const text of texts) {
    some += text
    if (some.length < AT_ONCE) continue
    yield Buffer.from(some)
    some = ''
    await others()
  }
  yield Buffer.from(some)
}

/** In memory of its own: a small buffer that is kept otherwise keeps the 64 KB that Node took it from. */
function owned(parts: readonly Buffer[]): Buffer {
  const bytes = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) at += part.copy(bytes, at)
  return bytes
}

async function whole(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = []
  for await (const chunk of chunks) all.push(chunk)
  return owned(all)
}

/** The first piece is looked at before it is decided whether the document is packed. */
async function pack(texts: ToJoin['texts'], wanted: boolean): Promise<Pick<Joined, 'bytes' | 'isPacked'>> {
  const chunks = bytesOf(texts)
  if (!wanted) return { bytes: await whole(chunks), isPacked: false }
  const first = (await chunks.next()).value ?? Buffer.alloc(0)
  if (first.length < WORTH_PACKING) return { bytes: owned([first]), isPacked: false }
  async function* all(): AsyncGenerator<Buffer> {
    yield first
    yield* chunks
  }
  const packed = Readable.from(all(), { objectMode: false }).compose(createGzip()) as AsyncIterable<Buffer>
  return { bytes: await whole(packed), isPacked: true }
}

/** Makes the memory of one process. */
export function createKeptDocuments({ clock }: { readonly clock: Clock }): KeptDocuments {
  const kept = new Map<string, Joined & { readonly until: Date | undefined }>()
  const running = new Map<string, Promise<Joined>>()
  let keptBytes = 0

  const drop = (key: string): void => {
    const known = kept.get(key)
    if (known !== undefined) keptBytes -= known.bytes.length + BESIDE
    kept.delete(key)
  }
  async function join(key: string, isPacked: boolean, make: () => Promise<ToJoin>): Promise<Joined> {
    const { texts, until } = await make()
    const packed = await pack(texts, isPacked)
    // when it becomes another one says which one it is
    const etag = `"${createHash('md5')
      .update(`${key} ${until?.toISOString() ?? ''}`)
      .digest('hex')}"`
    const joined = { ...packed, etag, until }
    drop(key)
    kept.set(key, joined)
    keptBytes += packed.bytes.length + BESIDE
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

/** Whether a client takes gzip. Source: RFC 9110, 12.5.3 */
export const takesGzip = ({ 'accept-encoding': said = '' }: IncomingHttpHeaders): boolean =>
  /(?:^|[\s,])gzip(?!\s*;\s*q=0(?:\.0*)?(?:\s|,|$))/.test(String(said))

/** A joined document as an answer, which clients keep and ask about by its ETag. */
export const answerOf = (
  { bytes, isPacked, etag }: Joined,
  type: string,
  headers: Readonly<Record<string, string>>,
): RegistryAnswer => ({
  status: 200,
  type,
  headers: { ETag: etag, ...(isPacked ? { 'Content-Encoding': 'gzip' } : {}), ...headers },
  body: { kind: 'bytes', bytes },
  conditional: true,
})
