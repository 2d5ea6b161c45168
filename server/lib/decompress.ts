import { Readable, pipeline } from 'node:stream'
import { constants, createGunzip, createZstdDecompress, gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { Gunzip, ZstdDecompress } from 'node:zlib'
import { unbzip2 } from './bzip2.ts'
import { Malformed, malformed } from './limited.ts'
import { createXzWatch } from './xz.ts'

export type Compression = 'none' | 'gzip' | 'xz' | 'zstd' | 'bzip2'

/** A compressed part of a file. `chunks` may be called more than once and reads only on demand. */
export interface Packed {
  /** The name of the part in messages: `data.tar.xz`. */
  readonly what: string
  readonly compression: Compression
  readonly size: number
  chunks(): AsyncGenerator<Buffer>
}

/**
 * Up to this size a member is unpacked in one call on this thread: cheaper than a hop to a worker, and a few
 * milliseconds at most.
 */
const AT_ONCE_PACKED = 128 * 1024
const AT_ONCE_UNPACKED = 2 * 2 ** 20
const OUT = 64 * 1024
// libzstd's own default, which dpkg uses: `zstd --ultra -22` needs it
const ZSTD = { params: { [constants.ZSTD_d_windowLogMax]: 27 } }

const damaged = (what: string, error: unknown): never =>
  malformed(`${what} is damaged or cut off (${error instanceof Error ? error.message : String(error)})`, error)

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

/** Unpacks a small member in one call; undefined when the result would be larger than allowed. */
async function unpackAtOnce(packed: Packed, bytes: Buffer): Promise<Buffer | undefined> {
  const { what } = packed
  // loaded at the first xz and outside the try: a missing binary is a fault of the installation, not of the package
  const xz = packed.compression === 'xz' ? await import('@napi-rs/lzma/xz') : undefined
  const options = { maxOutputLength: AT_ONCE_UNPACKED, chunkSize: OUT, info: true }
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
    mustBeWhole(what, engine.bytesWritten, bytes.length)
    return buffer
  } catch (error) {
    if (error instanceof Malformed) return malformed(`${what}: ${error.why}`, error)
    if (codeOf(error) === 'ERR_BUFFER_TOO_LARGE') return undefined
    return damaged(what, error)
  }
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

async function* throughXz(packed: Packed): AsyncGenerator<Buffer> {
  const { decompressStream } = await import('@napi-rs/lzma/xz')
  const watch = createXzWatch()
  const source = packed.chunks()
  // the decoder replaces an error of its input by its own, so the first one is kept here
  const failed: { by?: unknown } = {}
  const input = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await source.next()
          if (done === true) {
            watch.end()
            controller.close()
          } else {
            watch.push(value)
            controller.enqueue(value)
          }
        } catch (error) {
          failed.by ??= error instanceof Malformed ? new Malformed(`${packed.what}: ${error.why}`, error) : error
          controller.error(error)
        }
      },
      async cancel() {
        await source.return(undefined)
      },
    },
    { highWaterMark: 0 },
  )
  const reader = decompressStream(input).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      // typed as Buffer, but it is a plain Uint8Array
      yield Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    }
  } catch (error) {
    if (failed.by !== undefined) throw failed.by
    damaged(packed.what, error)
  } finally {
    await reader.cancel().catch(() => {})
    await source.return(undefined)
  }
}

async function* throughBzip2(packed: Packed): AsyncGenerator<Buffer> {
  try {
    yield* unbzip2(packed.chunks())
  } catch (error) {
    if (error instanceof Malformed) malformed(`${packed.what}: ${error.why}`, error)
    throw error
  }
}

function throughStream(packed: Packed): AsyncGenerator<Buffer> {
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
  }
}

/**
 * Unpacks while reading and never ahead. Memory is a few chunks and the window of the format (at most 64 MiB for xz,
 * 128 MiB for zstd), whatever the ratio. The caller limits the bytes with `limited`.
 * @throws Malformed for a damaged, cut-off or continued stream
 */
export async function* unpack(packed: Packed): AsyncGenerator<Buffer> {
  if (packed.compression !== 'none' && packed.compression !== 'bzip2' && packed.size <= AT_ONCE_PACKED) {
    const chunks: Buffer[] = []
    for await (const chunk of packed.chunks()) chunks.push(chunk)
    const bytes = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
    const whole = await unpackAtOnce(packed, bytes)
    if (whole !== undefined) {
      yield whole
      return
    }
  }
  yield* throughStream(packed)
}
