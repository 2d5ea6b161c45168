import { pipeline, Readable } from 'node:stream'
import { createBrotliDecompress } from 'node:zlib'
import { unbzip2 } from '../../lib/bzip2.ts'
import { unpack } from '../../lib/decompress.ts'
import { malformed } from '../../lib/limited.ts'
import type { Compression } from '../../lib/packed.ts'
import { chunksOf, fileWithin, HEAD_BYTES } from '../open-file.ts'
import { peek } from '../peek.ts'
import type { OpenFile, Unpacker } from '../reader.ts'
import { sourceOfStream } from '../source.ts'
import { cpioFiles, isCpio } from './cpio.ts'
import { streamsOf } from './streams.ts'
import { isTar, tarFiles } from './tar.ts'

const MAGICS: readonly (readonly [Compression, Buffer])[] = [
  ['gzip', Buffer.from('1f8b08', 'hex')],
  ['xz', Buffer.from('fd377a585a00', 'hex')],
  ['zstd', Buffer.from('28b52ffd', 'hex')],
  ['bzip2', Buffer.from('BZh')],
]
// lzma has no magic of its own
const LZMA = /\.(?:lzma|tlz)$/i
const ENDING = /\.(?:gz|xz|zst|zstd|bz2|lzma|br)$/i

function compressionOf({ path, head }: Pick<OpenFile, 'path' | 'head'>): Compression | undefined {
  const found = MAGICS.find(([, magic]) => head.subarray(0, magic.length).equals(magic))
  // its level, and the mark of a block or of the end
  if (found?.[0] === 'bzip2' && !/^3[1-9](?:314159265359|177245385090)/.test(head.toString('hex', 3, 10)))
    return undefined
  // pzstd begins with a frame that is passed over
  const isSkippable = /^5[0-9a-f]2a4d18$/.test(head.toString('hex', 0, 4))
  return found?.[0] ?? (isSkippable ? 'zstd' : LZMA.test(path) && head[0] === 0x5d ? 'lzma' : undefined)
}

/** Whether it begins as a compressed stream. */
export const isCompressed = (file: Pick<OpenFile, 'path' | 'head'>): boolean => compressionOf(file) !== undefined

// brotli has no magic either, and no reader in lib: what the web is served is all that is written with it
const BROTLI = /\.br$/i

async function* unbrotli(file: OpenFile): AsyncGenerator<Buffer> {
  const [engine, source] = [createBrotliDecompress(), chunksOf(file)]
  pipeline(Readable.from(source), engine, () => {})
  try {
    for await (const chunk of engine) yield chunk as Buffer
  } catch (error) {
    if (/^ERR_|^Z_/.test(String((error as { code?: unknown }).code))) malformed('it is damaged', error)
    throw error
  } finally {
    engine.destroy()
    await source.return(undefined)
  }
}

/** Joined streams are one, as for `zstd -dc` and `xz -dc`. */
async function* unjoined(file: OpenFile, compression: 'xz' | 'zstd'): AsyncGenerator<Buffer> {
  for await (const { offset, size } of streamsOf(file, compression)) {
    const part = await fileWithin(file, { path: file.path, offset, size })
    yield* unpack({ what: 'it', compression, size, chunks: () => chunksOf(part) })
  }
}

/** What a file unpacks to, for as long as anybody asks. */
function unpacked(file: OpenFile): AsyncGenerator<Buffer> {
  const compression = compressionOf(file)
  if (compression === undefined) return unbrotli(file)
  if (compression === 'bzip2') return unbzip2(chunksOf(file), true)
  if (compression === 'xz' || compression === 'zstd') return unjoined(file, compression)
  return unpack({ what: 'it', compression, size: file.size, chunks: () => chunksOf(file) })
}

/** Text holds no zero byte; every archive and program that is read has one in its first bytes. */
const isText = (head: Buffer): boolean => !head.subarray(0, HEAD_BYTES).includes(0) && !isCpio(head)

/** Names of text in which readers look: lists of what is installed or wanted, bills of materials. */
const READ =
  /\.(?:json|jsonc|lock|lockb|lockfile|xml|pom|toml|ya?ml|txt|spdx|tag|gemspec|mod|freeze|js|config|properties)$|\/(?:METADATA|PKG-INFO|DESCRIPTION|release)$/i
/** Manuals and change logs are what is mostly compressed. */
const MANUALS = /(?:^|\/)usr\/share\/(?:man|doc|info|help)\//

/** The name of what was compressed: `app.tar.gz!/app.tar`. */
function innerPath(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return `${path}!/${ENDING.test(name) ? name.replace(ENDING, '') : name}`
}

/**
 * Files, tars and cpios that are compressed by gzip, xz, zstd, bzip2, lzma or brotli. A tar or cpio is read while it is
 * unpacked; text, as manual pages are, is left after its first bytes unless its name is one in which readers look.
 */
export const compressed: Unpacker = {
  id: 'compressed',
  wants: file => compressionOf(file) !== undefined || BROTLI.test(file.path),
  async *files(file, room) {
    const { path, size } = file
    const inner = innerPath(path)
    const peeked = await peek(room.inflate(unpacked(file), size))
    if (peeked === undefined) return
    const { head, chunks } = peeked
    try {
      const isArchive = isTar(head) || isCpio(head)
      if (isArchive) {
        const source = sourceOfStream(chunks, room)
        const limits = { place: `${path}!/`, entries: room.limits.entries }
        try {
          yield* isTar(head) ? tarFiles(source, limits) : cpioFiles(source, limits)
        } finally {
          await source.close()
        }
      } else if (!isText(head) || (READ.test(inner) && !MANUALS.test(path))) {
        const held = await room.hold(inner, chunks)
        try {
          yield held
        } finally {
          await held.close()
        }
      }
    } finally {
      await chunks.return(undefined)
    }
  },
}
