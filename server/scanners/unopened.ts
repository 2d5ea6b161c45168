import { fromBufferPromise } from 'yauzl'
import { createCpioReader, createCpioWriter } from '../lib/cpio.ts'
import { unpack, type Compression } from '../lib/decompress.ts'
import { Malformed, printBytes } from '../lib/limited.ts'
import { createTarReader } from '../lib/tar.ts'

/**
 * clamd answers OK to what it does not open: zstd, lzma, ar (so .deb) and .rpm. They are looked for in the files of a package, and in
 * archives inside it, and what they hold is handed out unpacked. Everything else clamd opens by itself.
 */
export interface Unopened {
  /** Passes an inner archive on as it is, and hands out on the way what is found in it. */
  follow(where: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer>
}

export interface UnopenedDeps {
  /** Is given each hidden archive, unpacked, while the one around it is read. May throw to end it all. */
  readonly scan: (where: string, chunks: AsyncIterable<Buffer>) => Promise<void>
  /** What could not be unpacked, and why. */
  readonly cannot: (where: string, why: string) => void
}

interface File { readonly path: string; readonly body: Buffer }
interface FileReader { push(chunk: Buffer): readonly File[]; end(): readonly File[] }
type Kind = 'zstd' | 'lzma' | 'ar' | 'lead' | 'gzip' | 'xz' | 'bzip2' | 'zip'

// one file at a time is held while it is looked at; larger ones are told where their name says that they are such archives
const HELD_BYTES = 16 * 1024 * 1024
const LEAST_BYTES = 16
const HEAD_BYTES = 512
const MAX_ENTRIES = 300_000
const LEVELS = 8
// of archives that clamd opens by itself, and that are only looked through for others
const LOOKED_THROUGH_BYTES = 512 * 1024 * 1024
const HIDDEN: ReadonlySet<Kind> = new Set(['zstd', 'lzma', 'ar', 'lead'])
const HIDDEN_NAME = /\.(?:zst|zstd|tzst|lzma|tlz|u?deb|ipk|rpm)$/i
const ARCHIVE_NAME = /\.(?:zst|zstd|tzst|lzma|tlz|u?deb|ipk|rpm|ar|a|tar|t?gz|t?xz|t?bz2|zip|jar|war|ear|whl|apk|gem|bin)$/i

const MAGICS: readonly (readonly [Kind, string])[] = [
  ['zstd', '28b52ffd'], ['ar', '213c617263683e0a'], ['lead', 'edabeedb'], ['gzip', '1f8b08'], ['xz', 'fd377a585a00'], ['bzip2', '425a68'], ['zip', '504b0304'],
]

function kindOf(bytes: Buffer): Kind | undefined {
  const found = MAGICS.find(([, magic]) => bytes.toString('latin1', 0, magic.length / 2) === Buffer.from(magic, 'hex').toString('latin1'))
  if (found !== undefined || bytes.length < 14 || bytes[0] !== 0x5d) return found?.[0]
  // lzma has no magic: its properties as every writer sets them, a window of whole 4 KiB, and a size that is unknown or below 1 TiB
  const size = bytes.readBigUInt64LE(5)
  return bytes.readUInt32LE(1) % 4096 === 0 && (size === 0xffffffffffffffffn || size < 1n << 40n) ? 'lzma' : undefined
}

function tarFiles(where: string, tooLarge: (path: string) => void): FileReader {
  const reader = createTarReader({
    what: where, maxEntries: MAX_ENTRIES,
    keep: ({ type, name, size }) => {
      if (type !== 'file' || size < LEAST_BYTES) return undefined
      if (size > HELD_BYTES && HIDDEN_NAME.test(name)) tooLarge(name)
      return size > HELD_BYTES ? undefined : size
    },
  })
  return { push: chunk => reader.push(chunk).flatMap(({ name, body }) => body === undefined ? [] : [{ path: name, body }]), end: () => [] }
}

function cpioFiles(where: string, tooLarge: (path: string) => void): FileReader {
  const reader = createCpioReader({ what: where, maxEntries: MAX_ENTRIES })
  let current: { readonly path: string; readonly size: number; readonly held: Buffer[] } | undefined
  const done = (): File[] => {
    const file = current
    current = undefined
    return file === undefined || file.held.length === 0 ? [] : [{ path: file.path, body: Buffer.concat(file.held) }]
  }
  return {
    push: chunk => reader.push(chunk).flatMap(part => {
      if ('bytes' in part) {
        current?.held.push(Buffer.from(part.bytes))
        return []
      }
      const files = done()
      const { name, type, size } = part
      if (type === 'file' && size > HELD_BYTES && HIDDEN_NAME.test(name)) tooLarge(name)
      current = type === 'file' && size >= LEAST_BYTES && size <= HELD_BYTES ? { path: name, size, held: [] } : undefined
      return files
    }),
    end: done,
  }
}

/** A stream that is no archive of files: the whole, where it begins like another archive. */
function wholeFile(): FileReader {
  let held: Buffer[] | undefined = []
  let size = 0
  return {
    push: chunk => {
      size += chunk.length
      if (size > HELD_BYTES) held = undefined
      held?.push(chunk)
      return []
    },
    end: () => held === undefined ? [] : [{ path: '', body: Buffer.concat(held) }],
  }
}

/** The files of a stream, by what it begins with. A damaged one ends silently: clamd was given its bytes as they are. */
function createFiles(where: string, tooLarge: (path: string) => void): FileReader {
  const none: FileReader = { push: () => [], end: () => [] }
  let head = Buffer.alloc(0)
  let reader: FileReader | undefined
  const safely = (work: (own: FileReader) => readonly File[]): readonly File[] => {
    try {
      return work(reader ?? none)
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      reader = none
      return []
    }
  }
  const choose = (): FileReader => {
    if (head.toString('latin1', 257, 262) === 'ustar') return tarFiles(where, tooLarge)
    if (head.toString('latin1', 0, 5) === '07070') return cpioFiles(where, tooLarge)
    return kindOf(head) === undefined ? none : wholeFile()
  }
  const begin = (): readonly File[] => {
    reader = choose()
    return safely(own => own.push(head))
  }
  return {
    push: chunk => {
      if (reader !== undefined) return safely(own => own.push(chunk))
      head = Buffer.concat([head, chunk])
      return head.length < HEAD_BYTES ? [] : begin()
    },
    end: () => [...reader === undefined && head.length > 0 ? begin() : [], ...safely(own => own.end())],
  }
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}

async function* unlzma(bytes: Buffer): AsyncGenerator<Buffer> {
  const { decompressStream } = await import('@napi-rs/lzma/lzma')
  const input = new ReadableStream<Uint8Array>({ start(controller) { controller.enqueue(bytes); controller.close() } })
  for await (const chunk of decompressStream(input)) yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
}

const unpacked = (where: string, body: Buffer, compression: Compression): AsyncGenerator<Buffer> =>
  unpack({ what: where, compression, size: body.length, chunks: () => once(body) })

/** The members of an ar as a cpio, which clamd opens. A damaged ar, which nobody unpacks either, ends where it is damaged. Source: ar(5) */
async function* arAsCpio(body: Buffer): AsyncGenerator<Buffer> {
  const writer = createCpioWriter()
  for (let at = 8; at + 60 <= body.length;) {
    const [name, size] = [body.toString('latin1', at, at + 16).trim().replace(/\/$/, ''), Number(body.toString('latin1', at + 48, at + 58).trim() || 'x')]
    if (!Number.isInteger(size) || size < 0) break
    const bytes = body.subarray(at + 60, at + 60 + size)
    yield* writer.write({ name: name === '' ? 'member' : name, mode: 0o100644, size: bytes.length, type: 'file' })
    yield* writer.write({ bytes })
    at += 60 + size + size % 2
  }
  yield writer.end()
}

/** Where the payload of an .rpm begins: behind its lead and two headers, the first of them padded to eight bytes. Source: rpm's format.md */
function rpmPayload(body: Buffer): number | undefined {
  let at = 96
  for (const pad of [8, 1]) {
    if (at + 16 > body.length || body.readUInt32BE(at) !== 0x8eade801) return undefined
    at += 16 + 16 * body.readUInt32BE(at + 8) + body.readUInt32BE(at + 12)
    at = Math.ceil(at / pad) * pad
  }
  return at < body.length ? at : undefined
}

/** Files of a zip whose names say that they may be archives, unpacked one by one; what is encrypted or damaged is clamd's to tell. */
async function* zipFiles(body: Buffer, most: () => number): AsyncGenerator<File> {
  try {
    const zip = await fromBufferPromise(body, { lazyEntries: true, validateEntrySizes: true })
    for await (const entry of zip.eachEntry()) {
      if (!ARCHIVE_NAME.test(entry.fileName) || entry.isEncrypted() || entry.uncompressedSize > Math.min(HELD_BYTES, most())) continue
      const chunks: Buffer[] = []
      for await (const chunk of await zip.openReadStreamPromise(entry)) chunks.push(chunk as Buffer)
      yield { path: entry.fileName, body: Buffer.concat(chunks) }
    }
  } catch { /* clamd was given the zip as it is, and says what it thinks of it */ }
}

/** Makes the look into one package. */
export function createUnopened({ scan, cannot }: UnopenedDeps): Unopened {
  let left = LOOKED_THROUGH_BYTES

  /** Ends what is damaged, and tells of it: its end was not looked at by anybody. */
  async function* told(where: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    try {
      yield* chunks
    } catch (error) {
      cannot(where, error instanceof Malformed ? error.why : 'it is damaged')
    }
  }

  async function lookThrough(where: string, chunks: AsyncIterable<Buffer>, level: number): Promise<void> {
    try {
      for await (const chunk of follow(where, chunks, level)) {
        left -= chunk.length
        if (left < 0) return
      }
    } catch (error) {
      if (!(error instanceof Malformed)) throw error // clamd says what it thinks of damage in what it opens
    }
  }

  /** What a file holds that clamd does not open: handed out, or looked through for it. */
  async function look(where: string, body: Buffer, level: number): Promise<void> {
    const kind = kindOf(body)
    if (kind === undefined) return
    if (level > LEVELS) return HIDDEN.has(kind) ? cannot(where, `it lies more than ${LEVELS} archives deep`) : undefined
    const handOut = (chunks: AsyncIterable<Buffer>): Promise<void> => scan(where, follow(where, chunks, level))
    switch (kind) {
      case 'zstd': return handOut(told(where, unpacked(where, body, 'zstd')))
      case 'lzma': return handOut(told(where, unlzma(body)))
      case 'ar': return handOut(arAsCpio(body))
      case 'lead': { // what every .rpm begins with
        const at = rpmPayload(body) ?? body.length
        await scan(`${where}!/header`, once(body.subarray(0, at)))
        const payload = body.subarray(at)
        if (payload.length === 0) return cannot(where, 'its headers are damaged')
        return scan(`${where}!/payload`, follow(`${where}!/payload`, once(payload), level))
      }
      case 'zip':
        for await (const { path, body: inside } of zipFiles(body, () => left)) {
          left -= inside.length
          await look(`${where}!/${path}`, inside, level + 1)
        }
        return undefined
      default: return lookThrough(where, unpacked(where, body, kind), level)
    }
  }

  async function* follow(where: string, chunks: AsyncIterable<Buffer>, level: number): AsyncGenerator<Buffer> {
    const files = createFiles(where, path => cannot(`${where}!/${path}`, `it is larger than ${printBytes(HELD_BYTES)}, and clamd does not open it`))
    const lookAt = async (found: readonly File[]): Promise<void> => {
      for (const { path, body } of found) await look(path === '' ? where : `${where}!/${path.replace(/^(?:\.?\/)+/, '')}`, body, level + 1)
    }
    for await (const chunk of chunks) {
      yield chunk
      await lookAt(files.push(chunk))
    }
    await lookAt(files.end())
  }

  return { follow: (where, chunks) => follow(where, chunks, 0) }
}
