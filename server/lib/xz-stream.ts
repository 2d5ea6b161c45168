import { crc32 } from 'node:zlib'

/**
 * Takes the block out of one-block xz streams and joins blocks into ONE stream with a new index. apt refuses several
 * streams joined, but reads one of many blocks, as `xz -T` itself makes it.
 * Source: The .xz File Format 1.2.0, sections 2 (stream header and footer) and 4 (index).
 */
export interface XzBlock { readonly data: Buffer; readonly unpadded: number; readonly uncompressed: number }

const MAGIC = Buffer.from('fd377a585a00', 'hex')
const FOOTER = 12

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value >>> 0)
  return bytes
}

function writeVarint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  do {
    const low = rest % 128
    rest = Math.floor(rest / 128)
    bytes.push(rest > 0 ? low | 128 : low)
  } while (rest > 0)
  return Buffer.from(bytes)
}

function readVarint(bytes: Buffer, at: number): [value: number, next: number] {
  let value = 0
  let factor = 1
  for (let n = at; ; n++) {
    const byte = bytes[n] ?? 0
    value += (byte & 127) * factor
    factor *= 128
    if (byte < 128) return [value, n + 1]
  }
}

/** @throws Error when the bytes are not exactly one xz stream */
export function readBlocks(stream: Buffer): { readonly flags: Buffer; readonly blocks: readonly XzBlock[] } {
  if (!stream.subarray(0, 6).equals(MAGIC) || stream.toString('latin1', stream.length - 2) !== 'YZ') throw new Error('it is not one xz stream')
  const flags = stream.subarray(6, 8)
  const indexSize = (stream.readUInt32LE(stream.length - FOOTER + 4) + 1) * 4
  let at = stream.length - FOOTER - indexSize + 1
  let count: number
  [count, at] = readVarint(stream, at)
  const blocks: XzBlock[] = []
  let offset = FOOTER
  for (; count > 0; count--) {
    let unpadded: number
    let uncompressed: number
    [unpadded, at] = readVarint(stream, at);
    [uncompressed, at] = readVarint(stream, at)
    const length = Math.ceil(unpadded / 4) * 4
    blocks.push({ data: stream.subarray(offset, offset + length), unpadded, uncompressed })
    offset += length
  }
  return { flags, blocks }
}

export function xzHeader(flags: Buffer): Buffer {
  return Buffer.concat([MAGIC, flags, u32(crc32(flags))])
}

/** The index and the footer behind blocks of these sizes. */
export function xzTail(flags: Buffer, blocks: readonly Pick<XzBlock, 'unpadded' | 'uncompressed'>[]): Buffer {
  const records = Buffer.concat([Buffer.from([0]), writeVarint(blocks.length), ...blocks.flatMap(block => [writeVarint(block.unpadded), writeVarint(block.uncompressed)])])
  const padded = Buffer.concat([records, Buffer.alloc((4 - records.length % 4) % 4)])
  const index = Buffer.concat([padded, u32(crc32(padded))])
  const end = Buffer.concat([u32(index.length / 4 - 1), flags])
  return Buffer.concat([index, u32(crc32(end)), end, Buffer.from('YZ')])
}
