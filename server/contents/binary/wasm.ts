import { malformed } from '../../lib/limited.ts'
import type { OpenFile } from '../reader.ts'
import { MOST_SECTIONS, type Image, type Section, type Stretch } from './image.ts'

const HEADER_BYTES = 8
const WINDOW = 64 * 1024
const MOST_SEGMENTS = 200_000
const MOST_NAME = 1000
const [CUSTOM, DATA] = [0, 11]
const [I32_CONST, I64_CONST, END] = [0x41, 0x42, 0x0b]

export const isWasm = (head: Buffer): boolean => head.toString('latin1', 0, 4) === '\0asm'

/** Reads on from a place in a file. */
function createCursor(file: OpenFile, from: number) {
  let window: Buffer = Buffer.alloc(0)
  let windowAt = from
  const cursor = {
    at: from,
    async byte(): Promise<number> {
      if (cursor.at < windowAt || cursor.at >= windowAt + window.length) {
        window = await file.read(cursor.at, WINDOW)
        windowAt = cursor.at
      }
      return window[cursor.at++ - windowAt] ?? malformed('the module is cut off')
    },
    /** A number of seven bits a byte, the lowest first. */
    async number(): Promise<number> {
      let value = 0
      for (let n = 0; n < 10; n++) {
        const byte = await cursor.byte()
        value += (byte & 0x7f) * 2 ** (7 * n)
        if (byte < 0x80) return value
      }
      return malformed('the module holds a number that is too long')
    },
  }
  return cursor
}

/** What lies at a place of the memory, or behind it. */
interface Part {
  readonly from: number
  readonly offset: number
  readonly size: number
}

/** The stretches of data with a fixed address. Others are placed while the module runs. */
async function dataIn(file: OpenFile, from: number, end: number): Promise<Part[]> {
  const cursor = createCursor(file, from)
  const parts: Part[] = []
  for (let left = await cursor.number(); left > 0; left--) {
    if (parts.length > MOST_SEGMENTS) malformed(`the module has more than ${MOST_SEGMENTS} stretches of data`)
    const kind = await cursor.number()
    if (kind === 2) await cursor.number()
    let address: number | undefined
    if (kind !== 1) {
      const code = await cursor.byte()
      const value = await cursor.number()
      if (code === I32_CONST || code === I64_CONST) address = value
      if ((await cursor.byte()) !== END) malformed('the module computes an address in a way that is not known')
    }
    const size = await cursor.number()
    if (cursor.at + size > end) malformed('data of the module lie past their section')
    if (address !== undefined && size > 0) parts.push({ from: address, offset: cursor.at, size })
    cursor.at += size
  }
  return parts.sort((a, b) => a.from - b.from)
}

/** The memory as it is when the module begins, and behind it the sections with names, as one file. */
function viewOf(file: OpenFile, parts: readonly Part[]): OpenFile {
  const size = parts.reduce((most, part) => Math.max(most, part.from + part.size), 0)
  const firstAt = (offset: number): number => {
    let [low, high] = [0, parts.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      const part = parts[middle]
      if (part !== undefined && part.from + part.size <= offset) low = middle + 1
      else high = middle
    }
    return low
  }
  const read = async (offset: number, length: number): Promise<Buffer> => {
    const bytes = Buffer.alloc(Math.max(0, Math.min(length, size - offset)))
    for (let n = firstAt(offset); n < parts.length; n++) {
      const { from, offset: at, size: has } = parts[n] as Part
      if (from >= offset + bytes.length) break
      const begin = Math.max(from, offset)
      const end = Math.min(from + has, offset + bytes.length)
      if (end > begin) (await file.read(at + begin - from, end - begin)).copy(bytes, begin - offset)
    }
    return bytes
  }
  return { path: file.path, size, head: file.head, read, whole: most => read(0, Math.min(size, most)) }
}

/**
 * A module of WebAssembly: its memory with the data, and its sections with names.
 * Source: webassembly.github.io/spec/core/binary/modules.html
 * @throws Malformed
 */
export async function openWasm(file: OpenFile): Promise<Image> {
  const data: Part[] = []
  const named: { readonly name: string; readonly offset: number; readonly size: number }[] = []
  const cursor = createCursor(file, HEADER_BYTES)
  for (let count = 0; cursor.at < file.size; count++) {
    if (count > MOST_SECTIONS) malformed(`it has more than ${MOST_SECTIONS} sections`)
    const id = await cursor.byte()
    const size = await cursor.number()
    const [from, end] = [cursor.at, cursor.at + size]
    if (end > file.size) malformed('a section of it lies past its end')
    if (id === DATA) data.push(...(await dataIn(file, from, end)))
    if (id === CUSTOM) {
      const length = await cursor.number()
      if (length > MOST_NAME || cursor.at + length > end) malformed('the name of a section of it is damaged')
      const name = (await file.read(cursor.at, length)).toString('utf8')
      named.push({ name, offset: cursor.at + length, size: end - cursor.at - length })
    }
    cursor.at = end
  }
  const memory = data.reduce((most, part) => Math.max(most, part.from + part.size), 0)
  const rights = { isWritable: true, isExecutable: false }
  const segments = data.map(({ from, size }): Stretch => ({ offset: from, size, address: from, ...rights }))
  let at = memory
  const sections = named.map(({ name, size }): Section => {
    at += size
    return { name, offset: at - size, size, address: at - size, ...rights, isWritable: false }
  })
  const behind = named.map(({ offset, size }, n): Part => ({ from: sections[n]?.offset ?? 0, offset, size }))
  return {
    format: 'wasm',
    file: viewOf(file, [...data, ...behind.filter(({ size }) => size > 0)]),
    isBigEndian: false,
    wordBytes: 4,
    sections,
    segments,
  }
}
