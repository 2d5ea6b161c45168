import { Readable, pipeline } from 'node:stream'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { constants, createGunzip, createZstdDecompress, gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { Gunzip, ZstdDecompress } from 'node:zlib'
import { unbzip2 } from './bzip2.ts'
import { Malformed, malformed } from './limited.ts'
import { unlzma } from './lzma.ts'
import type { Packed } from './packed.ts'
import { unpackInThread } from './unpack-thread.ts'
import { createXzWatch, type XzWatch } from './xz.ts'

/**
 * Up to this size a member is unpacked in one call on this thread: cheaper than a hop to a worker, and a few
 * milliseconds at most.
 */
const AT_ONCE: ReadonlySet<Packed['compression']> = new Set(['gzip', 'xz', 'zstd'])
const AT_ONCE_PACKED = 128 * 1024
const AT_ONCE_UNPACKED = 2 * 2 ** 20
/** From this size on a hop to another thread costs less than the garbage of the decoder in this one. */
const THREAD_PACKED = 1024 * 1024
const OUT = 64 * 1024
const LEAST_ROOM = 1024
/**
 * How many unpacked bytes of an xz stream may wait for the reader, and in which steps its input is looked at. A decoder
 * begins a chunk, of 2 MiB at most, when it has the whole of it: with less room than that it would wait for ever.
 */
const AHEAD = 8 * 2 ** 20
const WATCH_STEP = 4096
const NOTHING = Buffer.alloc(0)
// libzstd's own default, which dpkg uses: `zstd --ultra -22` needs it
const ZSTD = { params: { [constants.ZSTD_d_windowLogMax]: 27 } }

/** What zlib says of bytes that begin no gzip stream: where another one ended, they follow it. */
const NO_HEADER = 'incorrect header check'

function damaged(what: string, error: unknown): never {
  const why = error instanceof Error ? error.message : String(error)
  return why === NO_HEADER
    ? malformed(
        `${what} is no gzip stream, or something that is none follows its end, where not every reader looks`,
        error,
      )
    : malformed(`${what} is damaged or cut off (${why})`, error)
}

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '')

/**
 * Readers differ about what follows the first stream: gzread reads joined members and stops at zeros, dpkg takes one xz
 * stream or one zstd frame. So every byte must belong to that stream, or the package is refused.
 */
function mustBeWhole(what: string, taken: number, size: number): void {
  if (taken !== size)
    malformed(
      `${what} goes on for ${size - taken} bytes behind the end of its compressed stream, where not every reader looks`,
    )
}

/**
 * How much room to begin with: what gzip says at its end that it unpacks to, modulo 4 GiB (RFC 1952, 2.3.1), or a usual
 * ratio. More is made as it is needed; 64 KiB for each of many tiny members is garbage.
 */
function firstRoom(compression: Packed['compression'], bytes: Buffer): number {
  const guess =
    compression === 'gzip' && bytes.length >= 18 ? bytes.readUInt32LE(bytes.length - 4) + 1 : 8 * bytes.length
  return Math.min(OUT, Math.max(LEAST_ROOM, guess))
}

/** Unpacks a small member in one call; undefined when the result would be larger than allowed. */
async function unpackAtOnce(packed: Packed, bytes: Buffer): Promise<Buffer | undefined> {
  const { what } = packed
  // loaded at the first xz and outside the try: a missing binary is a fault of the installation, not of the package
  const xz = packed.compression === 'xz' ? await import('@napi-rs/lzma/xz') : undefined
  const options = { maxOutputLength: AT_ONCE_UNPACKED, chunkSize: firstRoom(packed.compression, bytes), info: true }
  let taken: number
  let unpacked: Buffer
  try {
    if (xz !== undefined) {
      const watch = createXzWatch()
      watch.push(bytes)
      watch.end()
      if (watch.unpackedBytes > AT_ONCE_UNPACKED) return undefined
      return xz.decompressSync(bytes)
    }
    // with `info` zlib answers {buffer, engine}, which its types do not say
    const answer =
      packed.compression === 'gzip' ? gunzipSync(bytes, options) : zstdDecompressSync(bytes, { ...options, ...ZSTD })
    const { buffer, engine } = answer as unknown as { buffer: Buffer; engine: { bytesWritten: number } }
    taken = engine.bytesWritten
    unpacked = buffer
  } catch (error) {
    if (error instanceof Malformed) return malformed(`${what}: ${error.why}`, error)
    if (codeOf(error) === 'ERR_BUFFER_TOO_LARGE') return undefined
    return damaged(what, error)
  }
  mustBeWhole(what, taken, bytes.length)
  return unpacked
}

async function* throughZlib(packed: Packed, engine: Gunzip | ZstdDecompress): AsyncGenerator<Buffer> {
  const source = packed.chunks()
  // an error of the source destroys the engine with it, so that the loop below throws it
  pipeline(Readable.from(source), engine, () => {})
  try {
    for await (const chunk of engine) yield chunk as Buffer
  } catch (error) {
    if (/^Z(STD)?_/.test(codeOf(error))) damaged(packed.what, error)
    throw error
  } finally {
    engine.destroy()
    // the pipeline releases its source later; the file must not be closed before
    await source.return(undefined)
  }
  mustBeWhole(packed.what, engine.bytesWritten, packed.size)
}

/**
 * Decodes xz a piece at a time. The decoder works in a thread of its own without limits, so it is never given more than
 * unpacks to AHEAD bytes. Its output comes by asking: streams of it take a third more time, for 64 KiB each.
 */
async function* throughXz(packed: Packed): AsyncGenerator<Buffer> {
  const { Decompressor } = await import('@napi-rs/lzma/xz')
  const decoder = new Decompressor()
  const watch = createXzWatch()
  let given = 0
  let isFinished = false
  const decode = (piece: Buffer): Buffer => {
    const out = decoder.update(piece)
    given += out.length
    return Buffer.from(out.buffer, out.byteOffset, out.byteLength)
  }
  try {
    for await (const chunk of packed.chunks()) {
      for (let at = 0; at < chunk.length;) {
        const end = watchPiece(watch, chunk, { at, room: given + AHEAD })
        let out = decode(chunk.subarray(at, end))
        at = end
        if (out.length > 0) yield out
        while (watch.unpackedBytes > given + AHEAD) {
          out = decode(NOTHING)
          if (out.length > 0) yield out
          // also lets go of what the decoder gave before
          if (out.length < OUT) await setTimeout(1)
          else await setImmediate()
        }
      }
    }
    watch.end()
    isFinished = true
    const rest = await decoder.finish()
    if (rest.length > 0) yield Buffer.from(rest.buffer, rest.byteOffset, rest.byteLength)
  } catch (error) {
    if (error instanceof Malformed) malformed(`${packed.what}: ${error.why}`, error)
    if (codeOf(error) === 'InvalidArg') damaged(packed.what, error)
    throw error
  } finally {
    // ends the thread of a stream that nobody reads to its end
    if (!isFinished) await decoder.finish().catch(() => undefined)
  }
}

/** Shows the watch the next bytes, until a piece is large enough or unpacks to more than there is room for. */
function watchPiece(watch: XzWatch, chunk: Buffer, { at, room }: { at: number; room: number }): number {
  let end = at
  do {
    const next = Math.min(end + WATCH_STEP, chunk.length)
    watch.push(chunk.subarray(end, next))
    end = next
  } while (end < chunk.length && end - at < OUT && watch.unpackedBytes < room)
  return end
}

async function* throughBzip2(packed: Packed): AsyncGenerator<Buffer> {
  try {
    yield* unbzip2(packed.chunks())
  } catch (error) {
    if (error instanceof Malformed) malformed(`${packed.what}: ${error.why}`, error)
    throw error
  }
}

/** Unpacks in this thread, chunk by chunk. @throws Malformed */
export function unpackStream(packed: Packed): AsyncGenerator<Buffer> {
  switch (packed.compression) {
    case 'none':
      return packed.chunks()
    case 'gzip':
      return throughZlib(packed, createGunzip({ chunkSize: OUT }))
    case 'zstd':
      return throughZlib(packed, createZstdDecompress({ chunkSize: OUT, ...ZSTD }))
    case 'xz':
      return throughXz(packed)
    case 'bzip2':
      return throughBzip2(packed)
    case 'lzma':
      return unlzma(packed)
  }
}

/**
 * Unpacks while reading and never ahead. Memory is a few chunks and the window of the format (at most 64 MiB for xz,
 * 128 MiB for zstd), whatever the ratio. The caller limits the bytes with `limited`.
 * @throws Malformed for a damaged, cut-off or continued stream
 */
export async function* unpack(packed: Packed): AsyncGenerator<Buffer> {
  if (AT_ONCE.has(packed.compression) && packed.size <= AT_ONCE_PACKED) {
    const chunks: Buffer[] = []
    for await (const chunk of packed.chunks()) chunks.push(chunk)
    const bytes = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
    const whole = await unpackAtOnce(packed, bytes)
    if (whole !== undefined) {
      yield whole
      return
    }
  }
  // lzma is read more than once, which the thread cannot ask for
  const isLarge = !['none', 'lzma'].includes(packed.compression) && packed.size >= THREAD_PACKED
  yield* isLarge ? unpackInThread(packed) : unpackStream(packed)
}
