import { malformed } from '../../lib/limited.ts'
import type { OpenFile } from '../reader.ts'

/** One compressed stream in a file of several. */
export interface Stream {
  readonly offset: number
  readonly size: number
}

const MOST_STREAMS = 100_000
const ZSTD_FRAME = 0xfd2fb528
const isSkippable = (magic: number): boolean => magic >>> 4 === 0x184d2a5

/** Where a frame of zstd ends, by the sizes of its blocks. Source: RFC 8878, 3.1.1 */
async function frameEnd(file: OpenFile, from: number): Promise<number> {
  const head = await file.read(from, 18)
  const flags = head[4] ?? 0
  const isSingle = (flags & 0x20) !== 0
  const idSize = [0, 1, 2, 4][flags & 3] ?? 0
  const contentSize = [isSingle ? 1 : 0, 2, 4, 8][flags >>> 6] ?? 0
  let at = from + 5 + (isSingle ? 0 : 1) + idSize + contentSize
  for (;;) {
    const block = await file.read(at, 3)
    if (block.length < 3) malformed('it is cut off')
    const header = block.readUIntLE(0, 3)
    // a block of one repeated byte
    at += 3 + (((header >>> 1) & 3) === 1 ? 1 : header >>> 3)
    if ((header & 1) === 1) break
  }
  return at + ((flags & 4) === 0 ? 0 : 4)
}

async function* zstdFrames(file: OpenFile): AsyncGenerator<Stream> {
  for (let at = 0; at < file.size;) {
    const head = await file.read(at, 8)
    if (head.length < 8) malformed('it is cut off')
    const magic = head.readUInt32LE(0)
    if (isSkippable(magic)) {
      at += 8 + head.readUInt32LE(4)
      continue
    }
    if (magic !== ZSTD_FRAME) malformed('something that is no zstd frame follows its end')
    const end = await frameEnd(file, at)
    yield { offset: at, size: end - at }
    at = end
  }
}

const XZ_ENDS = 12

/** A number of seven bits a byte, the lowest first. */
function varint(bytes: Buffer, from: number): readonly [value: number, next: number] {
  let value = 0
  for (let n = 0; n < 8; n++) {
    const byte = bytes[from + n] ?? malformed('the index of an xz stream is cut off')
    value += (byte & 0x7f) * 2 ** (7 * n)
    if (byte < 0x80) return [value, from + n + 1]
  }
  return malformed('the index of an xz stream holds a number that is too large')
}

/** The size of the xz stream that ends there, by its index. Source: "The .xz File Format", 2.1.2, 4 */
async function xzSize(file: OpenFile, end: number): Promise<number> {
  const footer = await file.read(end - XZ_ENDS, XZ_ENDS)
  if (footer.toString('latin1', 10, 12) !== 'YZ') malformed('something that is no xz stream follows its end')
  const indexSize = (footer.readUInt32LE(4) + 1) * 4
  if (indexSize > Math.min(end, 64 * 2 ** 20)) malformed('the index of an xz stream is larger than its place')
  const index = await file.read(end - XZ_ENDS - indexSize, indexSize)
  let [count, at] = varint(index, 1)
  let blocks = 0
  for (; count > 0; count--) {
    const [unpadded, next] = varint(index, at)
    blocks += Math.ceil(unpadded / 4) * 4
    at = varint(index, next)[1]
  }
  return 2 * XZ_ENDS + indexSize + blocks
}

async function xzStreams(file: OpenFile): Promise<Stream[]> {
  const streams: Stream[] = []
  for (let end = file.size; end > 0;) {
    if (end < 2 * XZ_ENDS + 8 || streams.length > MOST_STREAMS) malformed('it is no sequence of xz streams')
    // streams may be padded with zeros
    if ((await file.read(end - 4, 4)).readUInt32LE(0) === 0) {
      end -= 4
      continue
    }
    const size = await xzSize(file, end)
    if (size > end) malformed('an xz stream begins before its file')
    streams.unshift({ offset: end - size, size })
    end -= size
  }
  return streams
}

/** The streams in a file of joined ones, as parallel programs write them. @throws Malformed */
export async function* streamsOf(file: OpenFile, compression: 'xz' | 'zstd'): AsyncGenerator<Stream> {
  let count = 0
  for await (const stream of compression === 'xz' ? await xzStreams(file) : zstdFrames(file)) {
    if (++count > MOST_STREAMS) malformed(`it has more than ${MOST_STREAMS} streams`)
    yield stream
  }
}
