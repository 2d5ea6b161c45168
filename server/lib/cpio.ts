import { isUtf8 } from 'node:buffer'
import { createCollector, isZero } from './collector.ts'
import { malformed, quote } from './limited.ts'

/*
 * Written here because cpio-stream 1.4.3 does not read the stripped form that rpm writes, and takes all of 13 archives
 * that are refused here: cut off, going on behind the last entry, with signs, blanks or letters in numbers, with names
 * that do not end where the header says.
 */
/** The longest name, as PATH_MAX. */
const MAX_NAME = 4096
const HEADER = 110
const STRIPPED = 14
/** The name of the last entry, which is no file. */
export const TRAILER = 'TRAILER!!!'

export type CpioType = 'file' | 'directory' | 'symlink' | 'char' | 'block' | 'fifo' | 'socket'

const TYPES: ReadonlyMap<number, CpioType> = new Map([
  [0o100000, 'file'],
  [0o040000, 'directory'],
  [0o120000, 'symlink'],
  [0o020000, 'char'],
  [0o060000, 'block'],
  [0o010000, 'fifo'],
  [0o140000, 'socket'],
])

/** Returns the type that a file mode names; undefined when it names none. */
export function typeOfMode(mode: number): CpioType | undefined {
  return TYPES.get(mode & 0o170000)
}

/** A file that the archive names by a number only, as its package describes it. */
export interface CpioFile {
  readonly name: string
  readonly mode: number
  readonly size: number
}

export interface CpioEntry extends CpioFile {
  readonly type: CpioType
  /** The number of the file, where the archive gives a number instead of a name. */
  readonly index?: number
}

/** A part of an archive: the start of an entry, or bytes of the current one. */
export type CpioPart = CpioEntry | { readonly bytes: Buffer }

/** Takes a cpio apart chunk by chunk. Holds no more than an unfinished header. */
export interface CpioReader {
  /** Returns what this chunk holds, in order. @throws Malformed */
  push(chunk: Buffer): CpioPart[]
  /** @throws Malformed unless the archive ended with its last entry */
  end(): void
}

interface CpioOptions {
  /** The name of the archive in messages: `payload.cpio`. */
  readonly what: string
  readonly maxEntries: number
  /** The file with this number, for archives of the stripped form; undefined when there is none. */
  fileAt?(index: number): CpioFile | undefined
}

/** A length with the padding to the next multiple of four. */
export const padded = (length: number): number => Math.ceil(length / 4) * 4

function hex(field: Buffer, what: string): number {
  // strtoul accepts a sign, a prefix and blanks. Readers differ there, and no writer needs them.
  const text = field.toString('latin1')
  return /^[0-9a-fA-F]{8}$/.test(text)
    ? parseInt(text, 16)
    : malformed(`${what} is ${quote(text)}, which is not a number of eight hexadecimal digits`)
}

interface Wanted {
  readonly bytes: number
  done(block: Buffer): CpioEntry | undefined
}

/**
 * Reads newc (`070701`, `070702`) and the stripped form (`07070X` and a number) that rpm uses for files above 4 GiB.
 * Refuses what readers are known to read differently: signs in numbers, names without an end, anything behind the last
 * entry.
 */
export function createCpioReader({ what, maxEntries, fileAt }: CpioOptions): CpioReader {
  const collector = createCollector()
  /** Bytes of the current file still to come, and of the padding behind them. */
  let body = 0
  let pad = 0
  let entries = 0
  let ended = false

  /** Set by the first entry. A reader that knows only one form must not see half of the archive. */
  let isStripped: boolean | undefined

  const enter = (file: CpioFile, index?: number): CpioEntry => {
    isStripped ??= index !== undefined
    if (isStripped !== (index !== undefined))
      malformed(`${what} has ${quote(file.name)} in one form and files before it in another`)
    const type =
      typeOfMode(file.mode) ?? malformed(`${what}: the mode of ${quote(file.name)} says nothing of what it is`)
    if (type !== 'file' && type !== 'symlink' && file.size !== 0)
      malformed(`${what}: ${quote(file.name)} is a ${type} and says it has ${file.size} bytes`)
    if (++entries > maxEntries) malformed(`${what} holds more than ${maxEntries} entries, the most a package may have`)
    body = file.size
    pad = padded(file.size) - file.size
    return { ...file, type, ...(index === undefined ? {} : { index }) }
  }

  const magic: Wanted = {
    bytes: 6,
    done(block) {
      const text = block.toString('latin1')
      if (text === '070701' || text === '070702') wanted = newc
      else if (text === '07070X' && fileAt !== undefined && isStripped !== false) wanted = stripped
      else
        malformed(
          `${what} has ${quote(text)} where the header of an entry must begin with 070701: it is damaged, or the size before it is wrong`,
        )
      return undefined
    },
  }
  const stripped: Wanted = {
    bytes: padded(STRIPPED) - 6,
    done(block) {
      const index = hex(block.subarray(0, 8), `${what}: the number of a file`)
      if (!isZero(block.subarray(8))) malformed(`${what}: the padding behind the number ${index} is not zero`)
      wanted = magic
      return enter(
        fileAt?.(index) ?? malformed(`${what} names the file number ${index}, which the header does not have`),
        index,
      )
    },
  }
  const newc: Wanted = {
    bytes: HEADER - 6,
    done(block) {
      const field = (n: number, name: string): number =>
        hex(block.subarray(n * 8, n * 8 + 8), `${what}: the ${name} of an entry`)
      const [mode, size, length] = [field(1, 'mode'), field(6, 'size'), field(11, 'length of the name')]
      for (const [n, name] of [
        [0, 'inode'],
        [2, 'owner'],
        [3, 'group'],
        [4, 'link count'],
        [5, 'time'],
        [7, 'device'],
        [8, 'device'],
        [9, 'device'],
        [10, 'device'],
        [12, 'checksum'],
      ] as const)
        field(n, name)
      if (length < 1 || length > MAX_NAME + 1)
        malformed(`${what} holds a name of ${length} bytes, 1 to ${MAX_NAME + 1} are allowed`)
      wanted = nameOf(mode, size, length)
      return undefined
    },
  }
  const nameOf = (mode: number, size: number, length: number): Wanted => ({
    bytes: padded(HEADER + length) - HEADER,
    done(block) {
      const bytes = block.subarray(0, length - 1)
      if (block[length - 1] !== 0 || bytes.includes(0))
        malformed(`${what}: the name ${quote(bytes.toString('latin1'))} does not end where its header says`)
      if (!isUtf8(bytes)) malformed(`${what}: the name ${quote(bytes.toString('latin1'))} is not UTF-8`)
      if (!isZero(block.subarray(length)))
        malformed(`${what}: the padding behind the name ${quote(bytes.toString('latin1'))} is not zero`)
      wanted = magic
      const name = bytes.toString('utf8')
      if (name !== TRAILER) return enter({ name, mode, size })
      if (size !== 0) malformed(`${what}: its last entry says it has ${size} bytes`)
      ended = true
      return undefined
    },
  })
  let wanted: Wanted = magic

  /** Skips the body and the padding of the current file. @returns the offset behind them */
  const pass = (chunk: Buffer, from: number, parts: CpioPart[]): number => {
    const end = Math.min(chunk.length, from + body)
    if (end > from) parts.push({ bytes: chunk.subarray(from, end) })
    body -= end - from
    const next = Math.min(chunk.length, end + pad)
    if (!isZero(chunk.subarray(end, next)))
      malformed(`${what}: the padding behind a file is not zero, or its size is wrong`)
    pad -= next - end
    return next
  }

  return {
    push(chunk) {
      const parts: CpioPart[] = []
      for (let at = 0; at < chunk.length;) {
        if (ended) {
          if (!isZero(chunk.subarray(at)))
            malformed(`${what} goes on behind its last entry, where a scanner does not look`)
          break
        }
        if (body > 0 || pad > 0) {
          at = pass(chunk, at, parts)
          continue
        }
        const { whole, next } = collector.take(chunk, at, wanted.bytes)
        at = next
        const entry = whole === undefined ? undefined : wanted.done(whole)
        if (entry !== undefined) parts.push(entry)
      }
      return parts
    },
    end() {
      if (!ended) malformed(`${what} stops without its last entry, ${TRAILER}: it is cut off`)
    },
  }
}
