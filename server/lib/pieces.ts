import { open } from 'node:fs/promises'

const PIECE = 256 * 1024

/**
 * The bytes of a file, in pieces that all lie in one buffer: each is used up before the next one is asked for. A stream
 * would leave 256 KiB to the collector for each of them.
 */
export async function* piecesOf(path: string): AsyncGenerator<Buffer> {
  const handle = await open(path)
  try {
    const { size } = await handle.stat()
    const buffer = Buffer.allocUnsafe(Math.min(PIECE, size + 1))
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, buffer.length)
      if (bytesRead === 0) return
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await handle.close()
  }
}

/** Pieces that last, for streams: those hold one while they ask for the next. */
export async function* lasting(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) yield Buffer.from(piece)
}
