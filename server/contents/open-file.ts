import { malformed, printBytes } from '../lib/limited.ts'
import type { OpenFile } from './reader.ts'

/** The length of `OpenFile.head`. */
export const HEAD_BYTES = 512

/** @throws Malformed */
export function mustHave(size: number, offset: number): void {
  if (offset > size) malformed(`it ends at byte ${size}, and something in it points to byte ${offset}`)
}

/** @throws Malformed */
export function mustFit(size: number, most: number): void {
  if (size > most) malformed(`it has ${size} bytes, and at most ${printBytes(most)} are read of such a file`)
}

/** A file whose bytes are in memory. */
export function memoryFile(path: string, bytes: Buffer): OpenFile {
  return {
    path,
    size: bytes.length,
    head: bytes.subarray(0, HEAD_BYTES),
    async read(offset, length) {
      mustHave(bytes.length, offset)
      return bytes.subarray(offset, offset + length)
    },
    async whole(most) {
      mustFit(bytes.length, most)
      return bytes
    },
  }
}

/** A stretch of another file as a file of its own: nothing is copied. @throws Malformed when it lies outside */
export async function fileWithin(
  file: OpenFile,
  { path, offset, size }: { readonly path: string; readonly offset: number; readonly size: number },
): Promise<OpenFile> {
  mustHave(file.size, offset + size)
  const read = async (from: number, length: number): Promise<Buffer> => {
    mustHave(size, from)
    return file.read(offset + from, Math.min(length, size - from))
  }
  return {
    path,
    size,
    head: await read(0, HEAD_BYTES),
    read,
    async whole(most) {
      mustFit(size, most)
      return read(0, size)
    },
  }
}

const CHUNK = 256 * 1024

/** The bytes of a file from its beginning, in chunks of at most 256 KiB. */
export async function* chunksOf(file: Pick<OpenFile, 'size' | 'read'>): AsyncGenerator<Buffer> {
  for (let at = 0; at < file.size; at += CHUNK) yield await file.read(at, Math.min(CHUNK, file.size - at))
}
