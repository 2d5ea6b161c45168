import { malformed } from './limited.ts'

/** The bytes of a zip, read by position. */
export interface ZipSource {
  readonly size: number
  /** Its first bytes, four or more where it has them. */
  readonly head: Buffer
  read(offset: number, length: number): Promise<Buffer>
}

/** One member, as the central directory lists it. */
export interface ZipMember {
  readonly name: string
  /** 0 stored, 8 deflated. */
  readonly method: number
  readonly flags: number
  readonly crc: number
  readonly packed: number
  readonly size: number
  /** Of its local header, from the beginning of the file. */
  readonly offset: number
}

export interface ZipDirectory {
  /** In the order of the directory, without folders. */
  readonly members: readonly ZipMember[]
  /** What makes readers see different archives, one sentence each: members that overlap, or that are not listed. */
  readonly faults: readonly string[]
  /** Members with a second name in an extra field, which some readers take instead. */
  readonly renamed: readonly string[]
}

// APPNOTE.TXT 4.3.16: an end record has 22 bytes and a comment of at most 65,535
const END = 22
const MAX_COMMENT = 65_535
const END_MAGIC = Buffer.from('PK\x05\x06', 'latin1')
const CENTRAL_MAGIC = 0x02014b50
const CENTRAL = 46
const LOCAL = 30
const MAX_DIRECTORY = 256 * 2 ** 20
const NONE_32 = 0xffffffff

interface End {
  /** Where the record begins, and the directory's size and offset as it says them. */
  readonly at: number
  readonly size: number
  readonly offset: number
  readonly count: number
  readonly isDoubled: boolean
}

async function findEnd(file: ZipSource): Promise<End | undefined> {
  if (file.size < END) return undefined
  const from = Math.max(0, file.size - END - MAX_COMMENT)
  const tail = await file.read(from, file.size - from)
  const isEnd = (at: number): boolean => at + END + tail.readUInt16LE(at + 20) === tail.length
  let at = tail.lastIndexOf(END_MAGIC, tail.length - END)
  while (at >= 0 && !isEnd(at)) at = at === 0 ? -1 : tail.lastIndexOf(END_MAGIC, at - 1)
  if (at < 0) return undefined
  // behind which comes nothing but a comment, too, or right before this record: another reader may take that one
  const other = at === 0 ? -1 : tail.lastIndexOf(END_MAGIC, at - 1)
  const isOther = other >= 0 && (isEnd(other) || other + END + tail.readUInt16LE(other + 20) === at)
  return {
    at: from + at,
    size: tail.readUInt32LE(at + 12),
    offset: tail.readUInt32LE(at + 16),
    count: tail.readUInt16LE(at + 10),
    isDoubled: isOther || tail.indexOf(END_MAGIC, at + END) >= 0,
  }
}

const toNumber = (value: bigint): number =>
  value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : malformed('the zip says it is larger than any disk')

/** The record for archives beyond 4 GiB or 65,535 members, where there is one. Source: APPNOTE.TXT 4.3.14, 4.3.15 */
async function findEnd64(file: ZipSource, end: End): Promise<End> {
  if (end.at < 20) return end
  const locator = await file.read(end.at - 20, 20)
  if (locator.readUInt32LE(0) !== 0x07064b50) return end
  // its offset is wrong behind a script; the record lies right before its locator unless it has extensions
  for (const at of [toNumber(locator.readBigUInt64LE(8)), end.at - 20 - 56]) {
    if (at < 0 || at + 56 > end.at) continue
    const record = await file.read(at, 56)
    if (record.readUInt32LE(0) !== 0x06064b50) continue
    return {
      ...end,
      at,
      count: toNumber(record.readBigUInt64LE(32)),
      size: toNumber(record.readBigUInt64LE(40)),
      offset: toNumber(record.readBigUInt64LE(48)),
    }
  }
  return malformed('the zip has no end record for 64 bits where its locator says')
}

/** Sizes and offset from the extra field 1, for those that do not fit. Source: APPNOTE.TXT 4.5.3 */
function wide(extra: Buffer, values: readonly number[]): number[] {
  let field: Buffer = Buffer.alloc(0)
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2))
    if (extra.readUInt16LE(at) === 1) field = extra.subarray(at + 4, at + 4 + extra.readUInt16LE(at + 2))
  let at = 0
  return values.map(value => {
    if (value !== NONE_32) return value
    if (at + 8 > field.length) return malformed('the zip lacks a size of 64 bits')
    at += 8
    return toNumber(field.readBigUInt64LE(at - 8))
  })
}

/** A member with the length of its name as it is written, which decoding may change. */
interface Listed extends ZipMember {
  readonly nameSize: number
  readonly isRenamed: boolean
}

/** Whether the extra field 0x7075 gives it a second name, which some readers take. Source: APPNOTE.TXT 4.6.9 */
function isRenamed(extra: Buffer): boolean {
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2))
    if (extra.readUInt16LE(at) === 0x7075) return true
  return false
}

function readMembers(directory: Buffer, { count, base }: { count: number; base: number }): Listed[] {
  const members: Listed[] = []
  let at = 0
  for (let n = 0; n < count; n++) {
    if (at + CENTRAL > directory.length || directory.readUInt32LE(at) !== CENTRAL_MAGIC)
      malformed(`the directory of the zip is damaged at its entry ${n + 1} of ${count}`)
    const [nameSize, extraSize, commentSize] = [28, 30, 32].map(from => directory.readUInt16LE(at + from)) as [
      number,
      number,
      number,
    ]
    const end = at + CENTRAL + nameSize + extraSize
    if (end + commentSize > directory.length) malformed(`the directory of the zip ends within its entry ${n + 1}`)
    const name = directory.toString('utf8', at + CENTRAL, at + CENTRAL + nameSize)
    const extra = directory.subarray(at + CENTRAL + nameSize, end)
    const [size = 0, packed = 0, offset = 0] = wide(extra, [
      directory.readUInt32LE(at + 24),
      directory.readUInt32LE(at + 20),
      directory.readUInt32LE(at + 42),
    ])
    members.push({
      name,
      nameSize,
      isRenamed: isRenamed(extra),
      method: directory.readUInt16LE(at + 10),
      flags: directory.readUInt16LE(at + 8),
      crc: directory.readUInt32LE(at + 16),
      packed,
      size,
      offset: base + offset,
    })
    at = end + commentSize
  }
  if (at !== directory.length) malformed('the directory of the zip goes on behind its last entry')
  return members
}

function overlaps(members: readonly Listed[]): string[] {
  let end = 0
  let last = ''
  for (const { name, nameSize, offset, packed } of members.toSorted((a, b) => a.offset - b.offset)) {
    if (offset < end) return [`${last.slice(0, 200)} and ${name.slice(0, 200)} in it overlap.`]
    end = offset + LOCAL + nameSize + packed
    last = name
  }
  return []
}

/**
 * The directory of a zip, which may stand behind a script or a program. Reads nothing of the members.
 * @returns undefined for a file that is no zip
 * @throws Malformed for a damaged directory, for two of them, or for one of more than `most` entries
 * Source: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
 */
export async function readZipDirectory(file: ZipSource, most: number): Promise<ZipDirectory | undefined> {
  const found = await findEnd(file)
  if (found === undefined) return undefined
  const end = await findEnd64(file, found)
  if (end.count > most) malformed(`the zip holds ${end.count} entries, and at most ${most} are read`)
  if (end.size > Math.min(MAX_DIRECTORY, end.at)) malformed('the directory of the zip is larger than its place')
  const start = end.at - end.size
  const base = start - end.offset
  if (end.isDoubled) malformed('it has two end records, so that readers see different archives')
  if (base < 0) malformed('the directory of the zip lies outside')
  const members = readMembers(await file.read(start, end.size), { count: end.count, base })
  const outside = members.find(({ offset, packed }) => offset + LOCAL + packed > start)
  if (outside !== undefined) malformed(`${outside.name.slice(0, 200)} in it lies outside the zip`)
  const first = members.reduce((least, { offset }) => Math.min(least, offset), start)
  const isSecond = first > 0 && file.head.toString('latin1', 0, 4) === 'PK\x03\x04'
  return {
    renamed: members.filter(one => one.isRenamed).map(({ name }) => name),
    members: members.filter(({ name }) => !name.endsWith('/')),
    faults: [...overlaps(members), ...(isSecond ? ['It begins with members that its directory does not name.'] : [])],
  }
}
