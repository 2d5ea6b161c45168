import { pipeline, Readable } from 'node:stream'
import { crc32, createInflateRaw } from 'node:zlib'
import { malformed } from './limited.ts'
import type { FileWindow } from './file-window.ts'

/*
 * Written here because createGunzip of Node joins members: of the three in a signed .apk it makes one stream, and does
 * not say where each ends, which is what a signature is over. The unpacking itself is zlib's.
 */
/** The longest header: room for a name and a comment, not for a hiding place. */
const MAX_HEADER = 4096
const TRAILER = 8
const OUT = 64 * 1024

/** One gzip member of a file that holds several. Source: RFC 1952. */
export interface GzipMember {
  /** Its unpacked bytes, read on demand and only once. @throws Malformed for a damaged or cut-off member */
  readonly chunks: AsyncGenerator<Buffer>
  /** Where the next member begins. Known when `chunks` has ended. */
  end(): number
}

/** The length of the header at `offset`. Source: RFC 1952, 2.3. */
async function headerLength(file: FileWindow, offset: number, what: string): Promise<number> {
  const head = await file.read(offset, Math.min(MAX_HEADER, file.size - offset))
  if (head.length < 10 || head[0] !== 0x1f || head[1] !== 0x8b)
    return malformed(`${what} does not begin as a gzip member`)
  const flags = head[3] ?? 0
  if (head[2] !== 8 || (flags & 0xe0) !== 0) malformed(`${what} is a gzip member of an unknown kind`)
  let at = 10
  if ((flags & 4) !== 0) at += 2 + (head.length > at + 1 ? head.readUInt16LE(at) : MAX_HEADER)
  for (const flag of [8, 16]) {
    if ((flags & flag) === 0) continue
    const zero = head.indexOf(0, at)
    at = zero === -1 ? MAX_HEADER + 1 : zero + 1
  }
  if ((flags & 2) !== 0) at += 2
  if (at > head.length) malformed(`${what} has a gzip header that is cut off, or longer than ${MAX_HEADER} bytes`)
  return at
}

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '')

/**
 * Unpacks the gzip member that begins at `offset`, and nothing behind it. zlib's own readers join the next member to
 * it, so that the caller cannot know its end. Memory is a few chunks, whatever the ratio. The caller limits the bytes
 * with `limited`.
 * @param what  its name in messages
 */
export function readGzipMember(file: FileWindow, offset: number, what: string): GzipMember {
  let end: number | undefined
  async function* chunks(): AsyncGenerator<Buffer> {
    const from = offset + (await headerLength(file, offset, what))
    const source = file.stream(from, file.size - from)
    const engine = createInflateRaw({ chunkSize: OUT })
    // an error of the source destroys the engine with it, so that the loop below throws it
    pipeline(Readable.from(source), engine, () => {})
    let sum = 0
    let size = 0
    try {
      for await (const chunk of engine as AsyncIterable<Buffer>) {
        sum = crc32(chunk, sum)
        size += chunk.length
        yield chunk
      }
    } catch (error) {
      if (codeOf(error).startsWith('Z_'))
        malformed(`${what} is damaged or cut off (${error instanceof Error ? error.message : codeOf(error)})`, error)
      throw error
    } finally {
      engine.destroy()
      // the pipeline releases its source later; the file must not be closed before
      await source.return(undefined)
    }
    const behind = from + engine.bytesWritten
    if (behind + TRAILER > file.size) malformed(`${what} is damaged or cut off (its checksum is missing)`)
    const trailer = await file.read(behind, TRAILER)
    if (trailer.readUInt32LE(0) !== sum || trailer.readUInt32LE(4) !== size % 2 ** 32)
      malformed(`${what} is damaged (its checksum is wrong)`)
    end = behind + TRAILER
  }
  return {
    chunks: chunks(),
    end: () => end ?? malformed(`${what} was not read to its end`),
  }
}
