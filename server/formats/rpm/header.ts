import { isUtf8 } from 'node:buffer'
import { malformed, printBytes, quote } from '../../lib/limited.ts'
import type { FileWindow } from '../../lib/file-window.ts'
import { checkTagType } from './tag-types.ts'

/** Bytes before the index: magic, reserved, number of entries, bytes of data. */
const INTRO = 16
const ENTRY = 16
const MAGIC = Buffer.from('8eade80100000000', 'hex')

type ValueType = 'char' | 'int8' | 'int16' | 'int32' | 'int64' | 'string' | 'bin' | 'string array' | 'i18n string'
/** By number, from 1. `size` of one value, which is also how it is aligned; 0 where a NUL ends it. */
const TYPES: readonly (readonly [name: ValueType, size: number])[] = [
  ['char', 1],
  ['int8', 1],
  ['int16', 2],
  ['int32', 4],
  ['int64', 8],
  ['string', 0],
  ['bin', 1],
  ['string array', 0],
  ['i18n string', 0],
]

/** What is refused before anything is allocated. rpm itself takes 256 MiB; the largest header of Fedora has 12 MiB. */
const HEADER_BYTES = 32 * 2 ** 20
/** rpm 4.18 allows 32 entries in the signature and 65,535 in the main header, and a million values in each. */
const MAX_VALUES = 1_000_000

/** The two headers of a package, and their names in messages. */
export interface HeaderKind {
  readonly what: string
  readonly region: 62 | 63
  readonly maxEntries: number
}
export const SIGNATURE: HeaderKind = { what: 'the signature header', region: 62, maxEntries: 32 }
export const MAIN: HeaderKind = { what: 'the header', region: 63, maxEntries: 65_535 }

/** Values by number. Getters throw Malformed when a value is there and is of another type. */
export interface RpmHeader {
  /** First byte in the file, and one past the last, without padding. */
  readonly start: number
  readonly end: number
  /** The whole of it as it lies in the file: what signatures and digests of a header are over. */
  readonly raw: Buffer
  /** False in packages that rpm 3 wrote. */
  readonly hasRegion: boolean
  has(tag: number): boolean
  /** A text, or the first of several: the untranslated one. Empty when it is not there. */
  text(tag: number): string
  texts(tag: number): string[]
  /** Texts that lead somewhere: file names. @throws Malformed when one is not UTF-8 */
  names(tag: number): string[]
  /** Unsigned. Empty when it is not there. @throws Malformed above 2^53 */
  numbers(tag: number): number[]
  number(tag: number): number | undefined
  bytes(tag: number): Buffer | undefined
}

interface Value {
  readonly tag: number
  readonly type: ValueType
  readonly count: number
  readonly from: number
  readonly to: number
}

/** One past the last of `count` texts. */
function endOfTexts(data: Buffer, from: number, count: number, limit: number): number | undefined {
  let at = from
  for (let n = 0; n < count; n++) {
    const zero = data.indexOf(0, at)
    if (zero === -1 || zero >= limit) return undefined
    at = zero + 1
  }
  return at
}

/** Where the values may lie: everything before the trailer of the region, when there is one. */
function checkRegion(index: Buffer, data: Buffer, { what, region }: HeaderKind): { hasRegion: boolean; limit: number } {
  const tag = index.readInt32BE(0)
  if (tag !== region) {
    if (tag === 61 || tag === 62 || tag === 63)
      malformed(`${what} begins with the region ${tag}, where ${region} belongs`)
    return { hasRegion: false, limit: data.length }
  }
  const [type, offset, count] = [index.readUInt32BE(4), index.readInt32BE(8), index.readUInt32BE(12)]
  if (type !== 7 || count !== ENTRY)
    malformed(`${what}: the region is of type ${type} with ${count} bytes, it must be of type 7 with 16`)
  if (offset < 0 || offset + ENTRY > data.length)
    malformed(`${what}: the trailer of the region is at byte ${offset} of ${data.length} bytes of data`)
  if (offset + ENTRY !== data.length)
    malformed(
      `${what}: the region ends at byte ${offset + ENTRY} and the data at ${data.length}; in a package they are one`,
    )
  const trailer = data.subarray(offset)
  // packages of 2000 and before have the older number in the trailer of their signature
  const named = trailer.readInt32BE(0) === 61 && region === 62 ? 62 : trailer.readInt32BE(0)
  if (named !== region || trailer.readUInt32BE(4) !== 7 || trailer.readUInt32BE(12) !== ENTRY)
    malformed(`${what}: the trailer of the region is not one of region ${region}`)
  if (trailer.readInt32BE(8) !== -index.length) {
    malformed(
      `${what}: the trailer says the region has ${-trailer.readInt32BE(8) / ENTRY} entries, the header has ${index.length / ENTRY}`,
    )
  }
  return { hasRegion: true, limit: offset }
}

function readEntry(
  entry: Buffer,
  data: Buffer,
  { limit, after, what }: { limit: number; after: number; what: string },
): Value {
  const [tag, number, offset, count] = [
    entry.readInt32BE(0),
    entry.readUInt32BE(4),
    entry.readInt32BE(8),
    entry.readUInt32BE(12),
  ]
  if (tag < 100) malformed(`${what} has the value ${tag}, which no package may have`)
  const [type, size] =
    TYPES[number - 1] ?? malformed(`${what}: the value ${tag} is of type ${number}, 1 to 9 are known`)
  if (offset < 0) malformed(`${what}: the value ${tag} lies at the negative offset ${offset}`)
  if (offset > limit) malformed(`${what}: the value ${tag} lies at byte ${offset}, behind the ${limit} bytes of data`)
  if (count === 0) malformed(`${what}: the value ${tag} has a count of 0`)
  // before anything is counted in bytes: a negative count is a huge one
  if (count > limit || (type !== 'bin' && count > MAX_VALUES))
    malformed(`${what}: the value ${tag} has a count of ${count | 0}, more than its data can hold`)
  if (type === 'string' && count !== 1) malformed(`${what}: the value ${tag} is one text with a count of ${count}`)
  if (size > 1 && offset % size !== 0)
    malformed(`${what}: the value ${tag} is an ${type} at byte ${offset}, which is not a multiple of ${size}`)
  if (offset < after)
    malformed(
      `${what}: the value ${tag} at byte ${offset} overlaps the one before it, which ends at ${after}, or is out of order`,
    )
  // rpm adds up what the values take, and loads no header that has more
  const gap = offset - (size > 1 ? Math.ceil(after / size) * size : after)
  if (gap !== 0)
    malformed(
      `${what}: ${gap} bytes before the value ${tag} belong to no value, or it is out of order; rpm loads neither`,
    )
  const to = size > 0 ? offset + count * size : endOfTexts(data, offset, count, limit)
  if (to === undefined || to > limit)
    return malformed(
      `${what}: the value ${tag} (${count} × ${type} from byte ${offset}) goes on behind the ${limit} bytes of data`,
    )
  return { tag, type, count, from: offset, to }
}

/** Texts of old packages have the encoding of the machine that built them. */
function decode(bytes: Buffer): string {
  return isUtf8(bytes) ? bytes.toString('utf8') : bytes.toString('latin1')
}

function getters(
  values: ReadonlyMap<number, Value>,
  data: Buffer,
  what: string,
): Pick<RpmHeader, 'has' | 'text' | 'texts' | 'names' | 'numbers' | 'number' | 'bytes'> {
  const find = (tag: number, types: readonly ValueType[]): Value | undefined => {
    const value = values.get(tag)
    if (value !== undefined && !types.includes(value.type))
      malformed(`${what}: the value ${tag} is of type ${value.type}, ${types.join(' or ')} belongs there`)
    return value
  }
  const strings = (tag: number): Buffer[] => {
    const value = find(tag, ['string', 'string array', 'i18n string'])
    if (value === undefined) return []
    const list: Buffer[] = []
    for (let at = value.from; at < value.to;) {
      const zero = data.indexOf(0, at)
      list.push(data.subarray(at, zero))
      at = zero + 1
    }
    return list
  }
  const texts = (tag: number): string[] => strings(tag).map(decode)
  const numbers = (tag: number): number[] => {
    const value = find(tag, ['char', 'int8', 'int16', 'int32', 'int64'])
    if (value === undefined) return []
    const size = (value.to - value.from) / value.count
    return Array.from({ length: value.count }, (_, i) => {
      const at = value.from + i * size
      const number = size === 8 ? Number(data.readBigUInt64BE(at)) : data.readUIntBE(at, size)
      return Number.isSafeInteger(number)
        ? number
        : malformed(`${what}: the value ${tag} holds a number of more than 53 bits`)
    })
  }
  return {
    has: tag => values.has(tag),
    texts,
    names: tag =>
      strings(tag).map(bytes =>
        isUtf8(bytes)
          ? bytes.toString('utf8')
          : malformed(`${what}: the name ${quote(bytes.toString('latin1'))} is not UTF-8`),
      ),
    text: tag => texts(tag)[0] ?? '',
    numbers,
    number: tag => numbers(tag)[0],
    bytes(tag) {
      const value = find(tag, ['bin', 'char', 'int8'])
      return value === undefined ? undefined : data.subarray(value.from, value.to)
    },
  }
}

/**
 * Reads one header structure and checks every entry of its index: type, count and place must fit.
 * @throws Malformed naming the value and the rule
 * Source: https://rpm-software-management.github.io/rpm/manual/format_header.html
 */
export async function readHeader(file: FileWindow, start: number, kind: HeaderKind): Promise<RpmHeader> {
  const { what, maxEntries } = kind
  const intro = await file.read(start, INTRO)
  if (!intro.subarray(0, 3).equals(MAGIC.subarray(0, 3)))
    malformed(`${what} does not begin with its magic number at byte ${start}`)
  if (!intro.subarray(0, 8).equals(MAGIC))
    malformed(`${what} is of version ${intro[3] ?? 0}, or its reserved bytes are not zero; version 1 is known`)
  const [entries, dataBytes] = [intro.readUInt32BE(8), intro.readUInt32BE(12)]
  if (entries === 0) malformed(`${what} has no entries`)
  if (entries > maxEntries) malformed(`${what} says it has ${entries} entries, at most ${maxEntries} are allowed`)
  if (dataBytes > HEADER_BYTES)
    malformed(`${what} says it has ${dataBytes} bytes of data, at most ${printBytes(HEADER_BYTES)} are allowed`)
  const raw = await file.read(start, INTRO + entries * ENTRY + dataBytes)
  const index = raw.subarray(INTRO, INTRO + entries * ENTRY)
  const data = raw.subarray(INTRO + index.length)
  const { hasRegion, limit } = checkRegion(index, data, kind)
  const values = new Map<number, Value>()
  let after = 0
  for (let at = hasRegion ? ENTRY : 0; at < index.length; at += ENTRY) {
    const value = readEntry(index.subarray(at, at + ENTRY), data, { limit, after, what })
    if (values.has(value.tag)) malformed(`${what} has the value ${value.tag} twice`)
    // rpm asks no types of packages that rpm 3 wrote
    if (hasRegion || kind.region === SIGNATURE.region) checkTagType(value, kind)
    values.set(value.tag, value)
    after = value.to
  }
  if (hasRegion && after !== limit)
    malformed(`${what}: ${limit - after} bytes behind the last value belong to none, and rpm does not load that`)
  return { start, end: start + raw.length, raw, hasRegion, ...getters(values, data, what) }
}
