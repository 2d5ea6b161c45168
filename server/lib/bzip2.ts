import { malformed } from './limited.ts'

/*
 * Written here because no library unpacks a hostile file as it is read. 722 bytes that unpack to 1 GB took 1,984 MB in
 * @foxglove/wasm-bz2 0.3.0 and 2,714 MB in unbzip2-stream 1.4.3. seek-bzip 2.0.0 is twice as fast, but unpacks a file
 * in one call during which nothing else runs (1.8 s for 50 MB). This takes 3.2 s for 50 MB, and 87 MB for the 1 GB.
 * Source: the bzip2 format specification, https://github.com/dsnet/compress/blob/master/doc/bzip2-format.pdf
 */
const OUT = 64 * 1024
const GROUP = 50
const MAX_BITS = 20
/**
 * Writers fill each block but the last; the tables of an empty one take 50 µs. The smallest size of a block is 100,000
 * bytes, so 8 GiB have 85,900 of them.
 */
const MAX_BLOCKS = 100_000
const BLOCK_MAGIC = 0x314159265359
const END_MAGIC = 0x177245385090

/** bzip2 counts bits from the highest, so this is not the CRC-32 of zlib. */
const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 24
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x80000000 ? (crc << 1) ^ 0x04c11db7 : crc << 1
  return crc >>> 0
})

/** Reads a stream bit by bit, the highest bit of each byte first. */
interface Bits {
  /** Takes at most 24 bits. @throws Malformed at the end of the bytes */
  take(count: number): number
  push(chunk: Buffer): void
  /** Whole bytes of which no bit was taken yet. */
  left(): number
  /** Drops what is left of a byte of which bits were taken. */
  align(): void
}

function createBits(): Bits {
  let bytes: Buffer = Buffer.alloc(0)
  let at = 0
  let held = 0
  let count = 0
  return {
    take(wanted) {
      while (count < wanted) {
        const byte = bytes[at++]
        if (byte === undefined) return malformed('it is cut off in the middle of a block')
        held = ((held << 8) | byte) >>> 0
        count += 8
      }
      count -= wanted
      const value = (held >>> count) & (2 ** wanted - 1)
      held &= 2 ** count - 1
      return value
    },
    push(chunk) {
      bytes = Buffer.concat([bytes.subarray(at), chunk])
      at = 0
    },
    left: () => bytes.length - at,
    align() {
      held = 0
      count = 0
    },
  }
}

const take48 = (bits: Bits): number => bits.take(24) * 2 ** 24 + bits.take(24)
const take32 = (bits: Bits): number => bits.take(16) * 2 ** 16 + bits.take(16)

/** A canonical prefix code: for each length its last code, and where its symbols begin. */
interface Code {
  readonly limit: Int32Array
  readonly base: Int32Array
  readonly symbols: Uint16Array
  readonly min: number
}

function readCode(bits: Bits, symbols: number): Code {
  const lengths = new Uint8Array(symbols)
  let length = bits.take(5)
  for (let symbol = 0; symbol < symbols; symbol++) {
    while (bits.take(1) === 1) length += bits.take(1) === 0 ? 1 : -1
    if (length < 1 || length > MAX_BITS) malformed(`a code of ${length} bits is not allowed, 1 to ${MAX_BITS} are`)
    lengths[symbol] = length
  }
  const limit = new Int32Array(MAX_BITS + 1)
  const base = new Int32Array(MAX_BITS + 1)
  const sorted: number[] = []
  let code = 0
  for (let bitsOf = 1; bitsOf <= MAX_BITS; bitsOf++) {
    const first = sorted.length
    for (let symbol = 0; symbol < symbols; symbol++) if (lengths[symbol] === bitsOf) sorted.push(symbol)
    base[bitsOf] = first - code
    code += sorted.length - first
    limit[bitsOf] = code - 1
    code *= 2
  }
  return { limit, base, symbols: Uint16Array.from(sorted), min: Math.min(...lengths) }
}

function readSymbol(bits: Bits, { limit, base, symbols, min }: Code): number {
  let code = bits.take(min)
  for (let length = min; length <= MAX_BITS; length++) {
    if (code <= (limit[length] ?? -1))
      return symbols[code + (base[length] ?? 0)] ?? malformed('a code stands for no symbol')
    code = (code << 1) | bits.take(1)
  }
  return malformed('a code stands for no symbol')
}

/** Reads which bytes occur in a block, in order. */
function readAlphabet(bits: Bits): number[] {
  const rows = bits.take(16)
  const alphabet: number[] = []
  for (let row = 0; row < 16; row++) {
    if ((rows & (0x8000 >> row)) === 0) continue
    const columns = bits.take(16)
    for (let column = 0; column < 16; column++) if (columns & (0x8000 >> column)) alphabet.push(row * 16 + column)
  }
  return alphabet.length > 0 ? alphabet : malformed('a block names no bytes')
}

/** Moves the entry at `index` to the front and returns it. */
function toFront(list: Uint8Array, index: number): number {
  const value = list[index] ?? 0
  list.copyWithin(1, 0, index)
  list[0] = value
  return value
}

/** Reads which code is used for each group of fifty symbols. */
function readSelectors(bits: Bits, codes: number): Uint8Array {
  const order = Uint8Array.from({ length: codes }, (_, i) => i)
  const count = bits.take(15)
  if (count === 0) malformed('a block has no selectors')
  return Uint8Array.from({ length: count }, () => {
    let index = 0
    while (bits.take(1) === 1)
      if (++index >= codes) malformed(`a selector is larger than the ${codes} codes of its block`)
    return toFront(order, index)
  })
}

/** Fills `block` with the bytes before the sort is undone. Returns how many there are. */
function readSymbols(bits: Bits, block: Uint32Array): number {
  const alphabet = Uint8Array.from(readAlphabet(bits))
  const count = bits.take(3)
  if (count < 2 || count > 6) malformed(`a block has ${count} codes, 2 to 6 are allowed`)
  const selectors = readSelectors(bits, count)
  const codes = Array.from({ length: count }, () => readCode(bits, alphabet.length + 2))
  const last = alphabet.length + 1
  let filled = 0
  let run = 0
  let weight = 1
  for (let n = 0; ; n++) {
    const code =
      codes[selectors[Math.floor(n / GROUP)] ?? 7] ?? malformed('a block has more symbols than its selectors allow')
    const symbol = readSymbol(bits, code)
    if (symbol < 2) {
      run += weight << symbol
      weight *= 2
      if (filled + run > block.length) malformed('a block unpacks to more than its header says')
      continue
    }
    block.fill(alphabet[0] ?? 0, filled, filled + run)
    filled += run
    run = 0
    weight = 1
    if (symbol === last) return filled
    if (filled >= block.length) malformed('a block unpacks to more than its header says')
    block[filled++] = toFront(alphabet, symbol - 1)
  }
}

/** Undoes the Burrows-Wheeler transform in place: the upper 24 bits of each entry then point to the next one. */
function link(block: Uint32Array, filled: number): void {
  const starts = new Uint32Array(257)
  for (let i = 0; i < filled; i++) starts[(block[i] ?? 0) + 1] = (starts[(block[i] ?? 0) + 1] ?? 0) + 1
  for (let byte = 0; byte < 256; byte++) starts[byte + 1] = (starts[byte + 1] ?? 0) + (starts[byte] ?? 0)
  for (let i = 0; i < filled; i++) {
    const byte = (block[i] ?? 0) & 0xff
    const place = starts[byte] ?? 0
    starts[byte] = place + 1
    block[place] = ((block[place] ?? 0) | (i << 8)) >>> 0
  }
}

/** Yields the bytes of one block. Four equal bytes are followed by a count of further ones. */
function* readBlock(bits: Bits, block: Uint32Array): Generator<Buffer, number> {
  const wanted = take32(bits)
  if (bits.take(1) === 1) malformed('it is of the randomised kind, which nothing has written since 1997')
  const origin = bits.take(24)
  const filled = readSymbols(bits, block)
  if (origin >= filled) malformed('a block begins behind its own end')
  link(block, filled)
  let out = Buffer.allocUnsafe(OUT)
  let length = 0
  let crc = 0xffffffff
  let place = (block[origin] ?? 0) >>> 8
  let previous = -1
  let equal = 0
  for (let n = 0; n < filled; n++) {
    const entry = block[place] ?? 0
    const byte = entry & 0xff
    place = entry >>> 8
    let copies = 1
    let value = byte
    if (equal === 4) {
      copies = byte
      value = previous
      equal = 0
    } else {
      equal = byte === previous ? equal + 1 : 1
      previous = byte
    }
    for (; copies > 0; copies--) {
      crc = ((crc << 8) ^ (CRC[((crc >>> 24) ^ value) & 0xff] ?? 0)) >>> 0
      out[length++] = value
      if (length < OUT) continue
      yield out
      out = Buffer.allocUnsafe(OUT)
      length = 0
    }
  }
  if (length > 0) yield out.subarray(0, length)
  const found = ~crc >>> 0
  return found === wanted ? found : malformed('the checksum of a block is wrong')
}

/** The largest size of one compressed block: incompressible data grow only by the tables. */
const packedBlock = (level: number): number => Math.ceil(level * 100_000 * 1.25) + 64 * 1024

/** Takes chunks until a whole block is there or the stream ends. */
async function fill(bits: Bits, source: AsyncIterator<Buffer>, bytes: number): Promise<void> {
  const chunks: Buffer[] = []
  for (let have = bits.left(); have < bytes;) {
    const { done, value } = await source.next()
    if (done === true) break
    chunks.push(value)
    have += value.length
  }
  if (chunks.length > 0) bits.push(Buffer.concat(chunks))
}

/** The blocks of one stream, whose beginning is there. */
async function* readStream(bits: Bits, source: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  if (bits.left() < 4 || bits.take(24) !== 0x425a68) malformed('it does not begin as a bzip2 stream')
  const level = bits.take(8) - 0x30
  if (level < 1 || level > 9) malformed('its header names a block size that does not exist')
  const block = new Uint32Array(level * 100_000)
  let sum = 0
  for (let blocks = 0; ; blocks++) {
    if (blocks > MAX_BLOCKS) malformed(`it has more than ${MAX_BLOCKS} blocks, the most it may have`)
    await fill(bits, source, packedBlock(level))
    const magic = take48(bits)
    if (magic === END_MAGIC) break
    if (magic !== BLOCK_MAGIC) malformed('what stands after a block is neither another block nor the end')
    const crc = yield* readBlock(bits, block)
    sum = (((sum << 1) | (sum >>> 31)) ^ crc) >>> 0
  }
  if (take32(bits) !== sum) malformed('the checksum of the whole stream is wrong')
  bits.align()
}

/**
 * Unpacks a bzip2 stream as it is read, a block (900 kB) at a time.
 * @param isJoined  several streams may follow one another, as parallel programs write them
 * @throws Malformed for a damaged, cut-off or continued stream
 */
export async function* unbzip2(source: AsyncGenerator<Buffer>, isJoined = false): AsyncGenerator<Buffer> {
  const bits = createBits()
  try {
    for (let streams = 0; ; streams++) {
      await fill(bits, source, 4)
      if (streams > 0 && bits.left() === 0) return
      if (streams > 0 && !isJoined)
        malformed('something follows the end of its compressed stream, where not every reader looks')
      yield* readStream(bits, source)
    }
  } finally {
    await source.return(undefined)
  }
}
