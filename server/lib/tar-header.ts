import { isUtf8 } from 'node:buffer'
import { malformed, printBytes, quote } from './limited.ts'

/** The length of a header; bodies are padded to it. In bytes. */
export const BLOCK = 512
/** The longest name or link target, as PATH_MAX. */
const MAX_NAME = 4096
/** The most that one pax header may hold. */
const MAX_PAX = 64 * 1024

export type TarType = 'file' | 'hardlink' | 'symlink' | 'char' | 'block' | 'directory' | 'fifo'

const TYPES: Readonly<Record<string, TarType>> = {
  '\0': 'file',
  '0': 'file',
  '1': 'hardlink',
  '2': 'symlink',
  '3': 'char',
  '4': 'block',
  '5': 'directory',
  '6': 'fifo',
}

export interface TarEntry {
  /** As the archive writes it, with long names and pax paths applied. Not yet checked for where it leads. */
  readonly name: string
  readonly type: TarType
  readonly size: number
  /** The target of a link, else empty. */
  readonly link: string
  /** Present when the caller asked for it. */
  readonly body?: Buffer
  /** Its first bytes, where the caller asked for them. */
  readonly head?: Buffer
}

/**
 * `gnu` refuses pax headers, which dpkg does not unpack. `ustar` refuses what readers of ustar, pax and GNU long names
 * skip or take for the end.
 */
export type Dialect = 'any' | 'gnu' | 'ustar'

function octal(field: Buffer, what: () => string): number {
  // Binary sizes begin at 8 GiB, above every limit; below that, only somebody who wants readers to differ writes them.
  // The same holds for blank fields: dpkg reads zero and goes on, ClamAV stops and calls the rest clean.
  const text = field.toString('latin1')
  const digits = /^ *([0-7]+)[ \0]*$/.exec(text)?.[1]
  return digits === undefined
    ? malformed(`${what()} is ${quote(text)}, which is not an octal number`)
    : parseInt(digits, 8)
}

/** Numbers that decide nothing here but must be readable. `from` is their offset. */
const NUMBERS = [
  { name: 'mode', from: 100, bytes: 8, isBinary: false },
  { name: 'owner', from: 108, bytes: 8, isBinary: true },
  { name: 'group', from: 116, bytes: 8, isBinary: true },
  { name: 'time', from: 136, bytes: 12, isBinary: true },
] as const
/** apk also reads these, for every type of entry, and accepts no blanks before digits. */
const USTAR_NUMBERS = [
  ...NUMBERS,
  { name: 'size', from: 124, bytes: 12, isBinary: false },
  { name: 'device', from: 329, bytes: 8, isBinary: false },
  { name: 'device', from: 337, bytes: 8, isBinary: false },
] as const

/** True for a binary number that dpkg and GNU tar can hold: 32 bits for owners, 64 and a sign for times. */
function isInRange(field: Buffer, name: string): boolean {
  const fill = field[0] === 0xff ? 0xff : 0
  const isFilled = field[1] === fill && field[2] === fill && field[3] === fill
  return isFilled && (name !== 'time' || field.readInt8(4) < 0 === (fill === 0xff))
}

/**
 * Refuses numbers that the package's own installer cannot read: such a package would be published and install nowhere.
 * dpkg and GNU tar read octal digits behind blanks, and binary numbers above what octal holds; apk reads neither.
 */
function checkNumbers(header: Buffer, { dialect, what }: { readonly dialect: Dialect; readonly what: string }): void {
  const isUstar = dialect === 'ustar'
  for (const { name, from, bytes, isBinary } of isUstar ? USTAR_NUMBERS : NUMBERS) {
    const first = header[from] ?? 0
    if (
      isBinary &&
      !isUstar &&
      (first === 0x80 || (first === 0xff && name === 'time')) &&
      isInRange(header.subarray(from, from + bytes), name)
    )
      continue
    const text = header.toString('latin1', from, from + bytes)
    if (!(isUstar ? /^[0-7]*[ \0]*$/ : /^(?: *[0-7]+[ \0]*|\0+)$/).test(text))
      malformed(
        `${what}: the ${name} of ${quote(header.toString('latin1', 0, 100).replace(/\0.*$/s, ''))} is ${quote(text)}, which is not an octal number`,
      )
  }
}

function sumIsRight(header: Buffer, what: string): boolean {
  let sum = 256
  for (let i = 0; i < 148; i++) sum += header[i] ?? 0
  for (let i = 156; i < BLOCK; i++) sum += header[i] ?? 0
  return sum === octal(header.subarray(148, 156), () => `${what}: a header checksum`)
}

function text(bytes: Buffer, what: string): string {
  const zero = bytes.indexOf(0)
  const used = zero === -1 ? bytes : bytes.subarray(0, zero)
  if (!isUtf8(used)) malformed(`${what}: the name ${quote(used.toString('latin1'))} is not UTF-8`)
  return used.toString('utf8')
}

/** The records of a pax header. Source: POSIX.1-2017, pax, "pax Header Block". */
function paxRecords(body: Buffer, what: string): Map<string, Buffer> {
  const records = new Map<string, Buffer>()
  for (let at = 0; at < body.length;) {
    const space = body.indexOf(0x20, at)
    const length = space === -1 ? NaN : Number(body.toString('latin1', at, space))
    const record = body.subarray(space + 1, at + length - 1)
    const equals = record.indexOf(0x3d)
    if (
      !Number.isSafeInteger(length) ||
      length < 5 ||
      at + length > body.length ||
      equals < 1 ||
      body[at + length - 1] !== 0x0a
    ) {
      malformed(`${what} holds a damaged pax header`)
    }
    records.set(text(record.subarray(0, equals), what), record.subarray(equals + 1))
    at += length
  }
  return records
}

/** What headers before an entry set for it. */
export interface Ahead {
  name?: string
  link?: string
  size?: number
  /** The attribute `security.capability` of the file, as Linux keeps it. */
  capability?: Buffer
}

/** How tar names that attribute. Source: GNU tar, bsdtar, abuild(1) */
const CAPABILITY = 'SCHILY.xattr.security.capability'

function readPax(body: Buffer, type: string, what: string): Ahead {
  const records = paxRecords(body, what)
  for (const key of records.keys()) {
    if (key.startsWith('GNU.sparse.')) malformed(`${what} holds a sparse file, which dpkg refuses`)
    if (type === 'g' && ['path', 'linkpath', 'size'].includes(key))
      malformed(`${what} holds a global pax header that sets ${key} for every file`)
  }
  const [name, link, size] = ['path', 'linkpath', 'size'].map(key => {
    const value = records.get(key)
    return value === undefined ? undefined : text(value, what)
  })
  const capability = records.get(CAPABILITY)
  return {
    ...(name === undefined ? {} : { name }),
    ...(link === undefined ? {} : { link }),
    ...(size === undefined ? {} : { size: Number(size) }),
    ...(capability === undefined ? {} : { capability }),
  }
}

/** The entry of one header block, with what the headers before it set. */
export function readEntry(header: Buffer, ahead: Ahead, what: string): TarEntry {
  const flag = String.fromCharCode(header[156] ?? 0)
  const magic = header.toString('latin1', 257, 265)
  const posix = magic === 'ustar\x0000'
  if (!posix && magic !== 'ustar  \0' && magic.startsWith('ustar'))
    malformed(`${what} holds a header of an unknown kind, ${quote(magic)}`)
  const prefix = posix && header[345] !== 0 ? `${text(header.subarray(345, 500), what)}/` : ''
  const name = ahead.name ?? prefix + text(header.subarray(0, 100), what)
  if (name === '') malformed(`${what} holds an entry without a name`)
  if (name.length > MAX_NAME) malformed(`${what} holds a name of more than ${MAX_NAME} characters`)
  const size = octal(header.subarray(124, 136), () => `${what}: the size of ${quote(name)}`)
  if (ahead.size !== undefined && ahead.size !== size) {
    malformed(`${what} gives ${quote(name)} two different sizes, in its header and in a pax header`)
  }
  // before POSIX a directory was a file whose name ends in a slash
  const type = flag === '\0' && name.endsWith('/') ? 'directory' : TYPES[flag]
  if (type === undefined)
    return malformed(
      `${what}: ${quote(name)} is of the type ${quote(flag)}, which no package needs and not every reader knows`,
    )
  if (type !== 'file' && size !== 0) malformed(`${what}: ${quote(name)} is a ${type} and says it has ${size} bytes`)
  const linked = type === 'hardlink' || type === 'symlink'
  return { name, type, size, link: linked ? (ahead.link ?? text(header.subarray(157, 257), what)) : '' }
}

/**
 * Refuses what the strict dialect does not allow. apk-tools takes an empty name for the end, and skips a type flag of
 * NUL.
 */
function mustBeUstar(header: Buffer, what: string): void {
  const magic = header.toString('latin1', 257, 265)
  if (!magic.startsWith('ustar')) malformed(`${what} holds a header that is not ustar, which its reader refuses`)
  if (header[0] === 0) malformed(`${what} holds a header with an empty name, which its reader takes for the end`)
  if (header[156] === 0) malformed(`${what} holds an entry of no type, which its reader passes over`)
  if (header[156] === 0x4b) malformed(`${what} holds a GNU long link target, which its reader cuts off; pax is read`)
  if (magic !== 'ustar\x0000' && header[345] !== 0)
    malformed(`${what} holds a GNU header with a prefix, which readers join differently`)
}

/** @throws Malformed for a header that is damaged, or that the package's own installer reads differently, or not */
export function checkHeader(
  header: Buffer,
  { dialect, what }: { readonly dialect: Dialect; readonly what: string },
): void {
  if (!sumIsRight(header, what))
    malformed(`${what} holds a header whose checksum is wrong: it is damaged, or the size before it is wrong`)
  if (dialect === 'ustar') mustBeUstar(header, what)
  checkNumbers(header, { dialect, what })
}

/** True for a header that describes the entry behind it: a GNU long name or a pax header. */
export const isExtension = (flag: string): boolean => 'LKxg'.includes(flag)

/** The size of a header that describes the next entry. */
export function extensionSize(block: Buffer, flag: string, what: string): number {
  const size = octal(block.subarray(124, 136), () => `${what}: the size of a header`)
  const [kind, most] =
    flag === 'L' || flag === 'K' ? (['GNU long name', MAX_NAME + 1] as const) : (['pax header', MAX_PAX] as const)
  if (size > most) malformed(`${what} holds a ${kind} of ${size} bytes, at most ${printBytes(most)} are allowed`)
  return size
}

/** What a GNU long name or a pax header says of the entry behind it. @throws Malformed */
export function readExtension(body: Buffer, flag: string, what: string): Ahead {
  if (flag === 'L') return { name: text(body, what) }
  if (flag === 'K') return { link: text(body, what) }
  return readPax(body, flag, what)
}
