import { malformed, printBytes } from './limited.ts'

/*
 * Written here because @napi-rs/lzma 1.5.1 says only after decoding how much that was: 78 KB that unpack to 512 MiB
 * took 1,591 MB in it. This reads along in 72 MB and less than 0.1 s. The decoding itself is the library's.
 */
/**
 * The largest dictionary that is decoded: that of `xz -9`. A header may ask for 4 GiB, and a decoder would allocate
 * them.
 */
const MAX_DICTIONARY = 64 * 2 ** 20
/**
 * Writers fill blocks and chunks; those that hold next to nothing cost a decoder more than they unpack to. The smallest
 * blocks that are in use have 64 KiB, so 8 GiB have 131,072 of them.
 */
const MAX_BLOCKS = 200_000
const SPARE_CHUNKS = 1_000
const MEAN_CHUNK = 4_096
const LZMA2 = 0x21
const MAGIC = Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00])
/** Length of the check behind each block, by the id of the check; other ids are not in use. */
const CHECK_SIZE: Readonly<Record<number, number>> = { 0: 0, 1: 4, 4: 8, 10: 32 }

/**
 * Reads along an xz stream without decoding it. LZMA2 says before each chunk how much it unpacks to, so this knows of a
 * bomb, and of the memory a decoder would take, before a byte is decoded.
 */
export interface XzWatch {
  /** @throws Malformed */
  push(chunk: Uint8Array): void
  /** @throws Malformed unless the stream ended */
  end(): void
  /** The unpacked size of what has been pushed. */
  readonly unpackedBytes: number
}

function vli(bytes: Uint8Array, from: number): { value: number; next: number } {
  let value = 0
  for (let i = 0; i < 9; i++) {
    const byte = bytes[from + i] ?? malformed('an xz block header ends in the middle of a number')
    value += (byte & 0x7f) * 2 ** (7 * i)
    if ((byte & 0x80) === 0) return { value, next: from + i + 1 }
  }
  return malformed('an xz stream has a number of more than 63 bits')
}

/** Checks the filters of one block. Source: the .xz file format 1.2.1, 3.1 and 5.3.1. */
function checkBlockHeader(header: Uint8Array): void {
  const flags = header[1] ?? 0
  let at = 2
  if (flags & 0x40) at = vli(header, at).next
  if (flags & 0x80) at = vli(header, at).next
  const filters = (flags & 3) + 1
  for (let i = 1; i <= filters; i++) {
    const id = vli(header, at)
    const size = vli(header, id.next)
    if (i === filters) {
      if (id.value !== LZMA2 || size.value !== 1) malformed('an xz block does not end in the LZMA2 filter')
      const bits = (header[size.next] ?? 0) & 0x3f
      const dictionary = (2 | (bits & 1)) * 2 ** ((bits >> 1) + 11)
      if (dictionary > MAX_DICTIONARY) {
        malformed(
          `an xz block needs a dictionary of ${printBytes(dictionary)}; at most ${printBytes(MAX_DICTIONARY)} (xz -9) are allowed`,
        )
      }
    }
    at = size.next + size.value
  }
}

/** What the grammar reports besides its requests: bytes to skip unseen, and the unpacked size so far. */
interface Progress {
  skip: number
  unpackedBytes: number
  chunks: number
  blocks: number
}
/** Yields how many bytes it needs to see, and is given them. */
type Reading<Result> = Generator<number, Result, Uint8Array>

function* readByte(): Reading<number> {
  return (yield 1)[0] ?? 0
}

/** Reads the LZMA2 chunks of a block. @returns how many bytes they take in the stream */
function* readChunks(progress: Progress): Reading<number> {
  let packed = 0
  for (;;) {
    const control = yield* readByte()
    packed += 1
    if (control === 0) return packed
    if (control > 2 && control < 0x80) malformed('an xz block holds a damaged LZMA2 chunk')
    const lzma = control >= 0x80
    const head = yield !lzma ? 2 : control < 0xc0 ? 4 : 5
    const low = ((head[0] ?? 0) << 8) | (head[1] ?? 0)
    progress.chunks += 1
    progress.unpackedBytes += (lzma ? (control & 0x1f) << 16 : 0) + low + 1
    progress.skip = lzma ? (((head[2] ?? 0) << 8) | (head[3] ?? 0)) + 1 : low + 1
    packed += head.length + progress.skip
    if (progress.chunks > SPARE_CHUNKS + progress.blocks + progress.unpackedBytes / MEAN_CHUNK)
      malformed(
        `an xz stream has ${progress.chunks} chunks that unpack to ${progress.unpackedBytes} bytes: fewer than ${MEAN_CHUNK} bytes each, which no writer makes`,
      )
  }
}

/** Reads the index behind the blocks; its first byte has been read. @returns its length without padding */
function* readIndex(): Reading<number> {
  let size = 1
  const readNumber = function* (): Reading<number> {
    let value = 0
    for (let i = 0; i < 9; i++) {
      const byte = yield* readByte()
      size += 1
      value += (byte & 0x7f) * 2 ** (7 * i)
      if ((byte & 0x80) === 0) return value
    }
    return malformed('an xz stream has a number of more than 63 bits')
  }
  for (let records = yield* readNumber(); records > 0; records--) {
    yield* readNumber()
    yield* readNumber()
  }
  return size
}

/** One stream, from its magic to its footer. Source: the .xz file format 1.2.1, 2. to 4., and LZMA2's chunk headers. */
function* readStream(progress: Progress): Reading<void> {
  const start = yield 12
  if (!MAGIC.equals(start.subarray(0, 6))) malformed('it does not begin as an xz stream does')
  const check = CHECK_SIZE[start[7] ?? 255] ?? malformed('an xz stream uses an unknown integrity check')
  for (;;) {
    const size = yield* readByte()
    if (size === 0) break
    progress.blocks += 1
    if (progress.blocks > MAX_BLOCKS) malformed(`an xz stream has more than ${MAX_BLOCKS} blocks, the most it may have`)
    const rest = yield (size + 1) * 4 - 1
    checkBlockHeader(Buffer.concat([Buffer.from([size]), rest]))
    const packed = yield* readChunks(progress)
    progress.skip = ((4 - (packed % 4)) % 4) + check
  }
  const index = yield* readIndex()
  // its padding, its checksum, the footer
  progress.skip = ((4 - (index % 4)) % 4) + 4 + 12
}

/**
 * Accepts one stream only, without padding or anything else behind it: dpkg decodes the first and never looks at the
 * rest.
 */
export function createXzWatch(): XzWatch {
  const progress: Progress = { skip: 0, unpackedBytes: 0, chunks: 0, blocks: 0 }
  const reading = readStream(progress)
  let held = Buffer.alloc(0)
  let step = reading.next(held)
  return {
    get unpackedBytes() {
      return progress.unpackedBytes
    },
    push(chunk) {
      for (let at = 0; at < chunk.length;) {
        if (progress.skip > 0) {
          const passed = Math.min(progress.skip, chunk.length - at)
          progress.skip -= passed
          at += passed
          continue
        }
        if (step.done === true) return malformed('something follows the end of the xz stream, where dpkg never looks')
        const piece = chunk.subarray(at, at + step.value - held.length)
        at += piece.length
        held = Buffer.concat([held, piece])
        if (held.length < step.value) return
        step = reading.next(held)
        held = Buffer.alloc(0)
      }
    },
    end() {
      if (step.done !== true || progress.skip > 0) malformed('the xz stream ends too early')
    },
  }
}
