import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import type { ByPosition } from './read-at.ts'

/** A gzip file, read by position in what it holds. */
export interface PackedFile extends ByPosition {
  readonly ino: number
  /** Of what it holds, in bytes. */
  readonly size: number
}

/** So much of what is unpacked is kept. Reading further back unpacks the file again, once for each such part. */
const WINDOW = 32 * 1024 * 1024

interface Window {
  readonly start: number
  readonly bytes: Buffer
}

/** The last bytes before `end`, at most a window of them. */
async function unpack(path: string, end: number): Promise<Window> {
  const parts: Buffer[] = []
  let [kept, position] = [0, 0]
  const stop = new AbortController()
  const collect = async (unpacked: AsyncIterable<Buffer>): Promise<void> => {
    for await (const part of unpacked) {
      const wanted = part.subarray(0, Math.max(0, end - position))
      parts.push(wanted)
      kept += wanted.length
      position += wanted.length
      for (let first = parts[0]; first !== undefined && kept - first.length >= WINDOW; first = parts[0]) {
        parts.shift()
        kept -= first.length
      }
      if (position >= end) stop.abort()
    }
  }
  try {
    await pipeline(createReadStream(path), createGunzip(), collect, { signal: stop.signal })
  } catch (error) {
    if (!stop.signal.aborted) throw error
  }
  return { start: position - kept, bytes: Buffer.concat(parts) }
}

/**
 * Unpacks into memory, not to the disk: logs are also read because a disk is full.
 * @throws what reading or unpacking it throws: `ENOENT`, `Z_DATA_ERROR`, `Z_BUF_ERROR` for one that was cut off
 */
export async function openPacked(path: string): Promise<PackedFile> {
  const { ino } = await stat(path)
  let window = await unpack(path, Number.POSITIVE_INFINITY)
  return {
    ino,
    size: window.start + window.bytes.length,
    async read(buffer, offset, length, position) {
      const isKept = position >= window.start && position + length <= window.start + window.bytes.length
      if (!isKept) window = await unpack(path, position + length)
      const from = position - window.start
      return { bytesRead: window.bytes.copy(buffer, offset, from, from + length) }
    },
  }
}
