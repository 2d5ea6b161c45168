import { open } from 'node:fs/promises'
import { malformed } from './limited.ts'
import { readAt } from './read-at.ts'

/** Bytes per read; a smaller file is one read. */
const CHUNK = 256 * 1024

/** A file read by position, never as a whole. The first 256 KiB are kept, so headers and small files cost one read. */
export interface FileWindow {
  readonly size: number
  /** Exactly `length` bytes. @throws Malformed when the file ends before them */
  read(offset: number, length: number): Promise<Buffer>
  /** `length` bytes from `offset`, in chunks of at most 256 KiB, each read on demand. */
  stream(offset: number, length: number): AsyncGenerator<Buffer>
  close(): Promise<void>
}

/** A file on disk; with its bytes where they are in memory, too. */
export interface FileSource {
  readonly path: string
  readonly bytes?: Buffer
}

/** @throws Malformed */
function mustHold(size: number, offset: number, length: number): void {
  if (offset + length > size)
    malformed(`it ends at byte ${size}, in the middle of something that goes on to byte ${offset + length}`)
}

function windowOnBytes(bytes: Buffer): FileWindow {
  const { length: size } = bytes
  return {
    size,
    async read(offset, length) {
      mustHold(size, offset, length)
      return bytes.subarray(offset, offset + length)
    },
    async *stream(offset, length) {
      mustHold(size, offset, length)
      if (length > 0) yield bytes.subarray(offset, offset + length)
    },
    close: () => Promise.resolve(),
  }
}

/** Opens a file for reading at any position. The caller closes it. */
export async function openWindow({ path, bytes }: FileSource): Promise<FileWindow> {
  if (bytes !== undefined) return windowOnBytes(bytes)
  const handle = await open(path, 'r')
  try {
    const { size } = await handle.stat()
    const fromDisk = async (offset: number, length: number): Promise<Buffer> => {
      const bytes = await readAt(handle, offset, length)
      return bytes.length === length ? bytes : malformed(`the file ends at byte ${offset + bytes.length}`)
    }
    const head = await fromDisk(0, Math.min(size, CHUNK))
    const read = async (offset: number, length: number): Promise<Buffer> => {
      mustHold(size, offset, length)
      return offset + length <= head.length ? head.subarray(offset, offset + length) : fromDisk(offset, length)
    }
    return {
      size,
      read,
      async *stream(offset, length) {
        for (let at = offset; at < offset + length; at += CHUNK)
          yield await read(at, Math.min(CHUNK, offset + length - at))
      },
      close: () => handle.close(),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}
