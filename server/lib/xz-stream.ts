import { lzma2 } from '@napi-rs/lzma'
import { crc32 } from 'node:zlib'
import { crc64 } from './crc64.ts'

/*
 * Written here because @napi-rs/lzma compresses only whole streams: 3.4 s for the index of 10,000 packages (3.2 MB),
 * where one changed block of 64 KiB takes 34 ms. The compression itself is the library's.
 */
/**
 * Compresses block by block and joins the blocks into ONE stream with an index. apt refuses joined streams but reads
 * one stream of many blocks, which `xz -T` also makes. `unpadded` and `uncompressed` are the numbers in the index.
 * Source: The .xz File Format 1.2.0, sections 2 (stream header and footer), 3 (block) and 4 (index).
 */
export interface XzBlock {
  readonly data: Buffer
  readonly unpadded: number
  readonly uncompressed: number
}

const MAGIC = Buffer.from('fd377a585a00', 'hex')
/** The flags in a stream's header and footer: its blocks end in a CRC-64 (section 2.1.1.2). */
export const XZ_FLAGS = Buffer.from([0, 4])

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

/**
 * How the size of a dictionary is written: 4 KiB, 6 KiB, 8 KiB, 12 KiB … Only powers of two are used here (section
 * 5.3.1).
 */
function dictionaryFor(size: number): { readonly bytes: number; readonly code: number } {
  const power = Math.min(23, Math.max(12, Math.ceil(Math.log2(size))))
  return { bytes: 2 ** power, code: (power - 12) * 2 }
}

/** One filter, LZMA2, and no sizes (section 3.1). */
function blockHeader(dictionary: number): Buffer {
  const fields = Buffer.from([2, 0, 0x21, 1, dictionary, 0, 0, 0])
  return Buffer.concat([fields, u32(crc32(fields))])
}

/**
 * Compresses bytes to a block, in a thread of the library. The dictionary is as large as the bytes. With the 8 MiB of
 * xz, each block, however small, took 100 MB and 30 ms for the memory alone, and came out no smaller.
 */
export async function xzBlock(bytes: Uint8Array): Promise<XzBlock> {
  const { bytes: dictSize, code } = dictionaryFor(bytes.length)
  const input = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(bytes)
      controller.close()
    },
  })
  const packed: Buffer[] = []
  for await (const chunk of lzma2.compressStream(input, { preset: 5, dictSize })) packed.push(chunk)
  const header = blockHeader(code)
  const size = packed.reduce((sum, { length }) => sum + length, 0)
  const data = Buffer.concat([header, ...packed, Buffer.alloc((4 - (size % 4)) % 4), crc64(bytes)])
  return { data, unpadded: header.length + size + 8, uncompressed: bytes.length }
}

/** The header of an .xz stream with these flags. Source: The .xz File Format, 2.1.1 */
export function xzHeader(flags: Buffer): Buffer {
  return Buffer.concat([MAGIC, flags, u32(crc32(flags))])
}

/** The index and the footer for blocks of these sizes. */
export function xzTail(flags: Buffer, blocks: readonly Pick<XzBlock, 'unpadded' | 'uncompressed'>[]): Buffer {
  const records = Buffer.concat([
    Buffer.from([0]),
    writeVarint(blocks.length),
    ...blocks.flatMap(block => [writeVarint(block.unpadded), writeVarint(block.uncompressed)]),
  ])
  const padded = Buffer.concat([records, Buffer.alloc((4 - (records.length % 4)) % 4)])
  const index = Buffer.concat([padded, u32(crc32(padded))])
  const end = Buffer.concat([u32(index.length / 4 - 1), flags])
  return Buffer.concat([index, u32(crc32(end)), end, Buffer.from('YZ')])
}
