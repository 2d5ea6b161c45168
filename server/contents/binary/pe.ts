import type { OpenFile } from '../reader.ts'
import type { Image, Section } from './image.ts'
import { numbersIn, textAt } from './numbers.ts'

const HEADER_BYTES = 24
const SECTION_BYTES = 40
const CLR_HEADER = 14
const [WRITABLE, EXECUTABLE] = [0x8000_0000, 0x2000_0000]

/** A DOS program begins like it: whether it is more stands in the file. */
export const mayBePe = (head: Buffer): boolean => head.length >= 64 && head.toString('latin1', 0, 2) === 'MZ'

/**
 * Undefined for a DOS program.
 * Source: learn.microsoft.com, "PE Format"
 * @throws Malformed
 */
export async function openPe(file: OpenFile): Promise<Image | undefined> {
  const at = file.head.readUInt32LE(60)
  if (at + HEADER_BYTES > file.size) return undefined
  const header = await file.read(at, HEADER_BYTES)
  if (header.toString('latin1', 0, 4) !== 'PE\0\0') return undefined
  const [count, optionalBytes] = [header.readUInt16LE(6), header.readUInt16LE(20)]
  const bytes = await file.read(at + HEADER_BYTES, optionalBytes + count * SECTION_BYTES)
  const is64 = bytes.length >= 2 && bytes.readUInt16LE(0) === 0x20b
  const wordBytes = is64 ? 8 : 4
  const numbers = numbersIn(bytes, { isBigEndian: false, wordBytes })
  const base = optionalBytes < 32 ? 0 : is64 ? numbers.word(24) : numbers.u32(28)
  const directory = (is64 ? 112 : 96) + CLR_HEADER * 8

  const sections = Array.from({ length: count }, (_, index): Section => {
    const row = optionalBytes + index * SECTION_BYTES
    const flags = numbers.u32(row + 36)
    return {
      name: textAt(bytes, row, 8),
      address: base + numbers.u32(row + 12),
      size: numbers.u32(row + 16),
      offset: numbers.u32(row + 20),
      isWritable: flags >= WRITABLE,
      isExecutable: (flags & EXECUTABLE) !== 0,
    }
  })
  return {
    format: 'pe',
    file,
    isBigEndian: false,
    wordBytes,
    sections,
    segments: sections,
    baseAddress: base,
    isManaged: directory + 8 <= optionalBytes && numbers.u32(directory) !== 0,
  }
}
