import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { createGunzip } from 'node:zlib'
import { readAt } from '../../lib/read-at.ts'

/** A file of an access log, as it lies there at one moment. */
export interface LogFile {
  readonly path: string
  readonly isPacked: boolean
  /** In bytes; of a packed one nobody knows before it is read. */
  readonly size: number
  /** Changes whenever the file does. */
  readonly mark: string
  /** Its first bytes, at most `HEAD_BYTES`. */
  readonly head: Buffer
}

/** By so many bytes a file is recognised. They hold a few lines with times and addresses. */
export const HEAD_BYTES = 1024
const BLOCK = 1024 * 1024
const NEWLINE = 0x0a

/** The SHA-256 of the first `length` bytes. */
export const headDigest = (head: Buffer, length: number): string =>
  createHash('sha256').update(head.subarray(0, length)).digest('hex')

async function firstBytes(path: string, isPacked: boolean): Promise<Buffer> {
  if (!isPacked) {
    await using handle = await open(path)
    return await readAt(handle, 0, HEAD_BYTES)
  }
  const parts: Buffer[] = []
  let length = 0
  for await (const part of createReadStream(path).pipe(createGunzip()) as AsyncIterable<Buffer>) {
    parts.push(part)
    length += part.length
    if (length >= HEAD_BYTES) break
  }
  return Buffer.concat(parts).subarray(0, HEAD_BYTES)
}

/** Undefined for what is gone, is no file, or is being packed. */
export async function lookAt(path: string): Promise<LogFile | undefined> {
  const isPacked = path.endsWith('.gz')
  try {
    const found = await stat(path)
    if (!found.isFile() || found.size === 0) return undefined
    return {
      path,
      isPacked,
      size: isPacked ? Number.POSITIVE_INFINITY : found.size,
      mark: `${found.dev}:${found.ino}:${found.size}:${found.mtimeMs}`,
      head: await firstBytes(path, isPacked),
    }
  } catch {
    return undefined
  }
}

/** Whole lines, and the position behind them. */
export interface Block {
  readonly lines: string
  readonly end: number
}

/** What of the bytes are whole lines. A line longer than a block is none: it is passed over with what it holds. */
function cut(bytes: Buffer, position: number): Block | undefined {
  const length = bytes.lastIndexOf(NEWLINE) + 1
  if (length > 0) return { lines: bytes.toString('latin1', 0, length), end: position + length }
  return bytes.length >= BLOCK ? { lines: '', end: position + bytes.length } : undefined
}

async function* plainBlocks(path: string, from: number): AsyncGenerator<Block> {
  await using handle = await open(path)
  for (let position = from; ;) {
    const block = cut(await readAt(handle, position, BLOCK), position)
    if (block === undefined) return
    position = block.end
    yield block
  }
}

async function* packedBlocks(path: string, from: number): AsyncGenerator<Block> {
  let skip = from
  let position = from
  let waiting: Buffer[] = []
  let length = 0
  for await (const part of createReadStream(path).pipe(createGunzip()) as AsyncIterable<Buffer>) {
    const rest = part.subarray(Math.min(skip, part.length))
    skip -= part.length - rest.length
    waiting.push(rest)
    length += rest.length
    if (length < BLOCK) continue
    const bytes = Buffer.concat(waiting)
    const block = cut(bytes, position)
    const taken = (block?.end ?? position) - position
    waiting = [bytes.subarray(taken)]
    length -= taken
    position += taken
    if (block !== undefined) yield block
  }
  const last = cut(Buffer.concat(waiting), position)
  if (last !== undefined) yield last
}

/** The lines behind `from`, a megabyte at a time. A last line without newline is being written: it waits. */
export const blocksOf = ({ path, isPacked }: LogFile, from: number): AsyncGenerator<Block> =>
  isPacked ? packedBlocks(path, from) : plainBlocks(path, from)
