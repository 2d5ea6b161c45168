import { crc32 } from 'node:zlib'

const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3])
const LAST = Buffer.from([1, 0, 0, 0xff, 0xff])
const BLOCK = 65_535
const BLOCK_HEADER = 5
const BLOCKS = 4

/**
 * gzip whose blocks are stored as they are: all of it lies in one buffer, where zlib leaves each to the collector. A
 * piece is used up before the next one is asked for, of `body` and of what this gives.
 * Source: RFC 1951, 3.2.4 (stored blocks); RFC 1952, 2.3 (header and trailer)
 */
export async function* storedGzip(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const out = Buffer.allocUnsafe(BLOCKS * (BLOCK_HEADER + BLOCK))
  let [block, filled, sum, size] = [0, 0, 0, 0]
  const endBlock = (): void => {
    out[block] = 0
    out.writeUInt16LE(filled, block + 1)
    out.writeUInt16LE(0xffff - filled, block + 3)
    block += BLOCK_HEADER + filled
    filled = 0
  }
  yield HEADER
  for await (const piece of body) {
    sum = crc32(piece, sum)
    size += piece.length
    for (let at = 0; at < piece.length;) {
      const copied = piece.copy(out, block + BLOCK_HEADER + filled, at, at + BLOCK - filled)
      at += copied
      filled += copied
      if (filled < BLOCK) continue
      endBlock()
      if (block < out.length) continue
      yield out
      block = 0
    }
  }
  if (filled > 0) endBlock()
  if (block > 0) yield out.subarray(0, block)
  const trailer = Buffer.alloc(8)
  trailer.writeUInt32LE(sum, 0)
  trailer.writeUInt32LE(size % 2 ** 32, 4)
  yield Buffer.concat([LAST, trailer])
}
