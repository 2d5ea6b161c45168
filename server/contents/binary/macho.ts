import { malformed } from '../../lib/limited.ts'
import { fileWithin } from '../open-file.ts'
import type { OpenFile } from '../reader.ts'
import { MOST_SECTIONS, type Image, type Section, type Stretch } from './image.ts'
import { numbersIn, textAt, type Numbers } from './numbers.ts'

const MOST_COMMAND_BYTES = 4 * 2 ** 20
const [LC_SEGMENT, LC_SEGMENT_64] = [1, 0x19]
const [WRITE, EXECUTE] = [2, 4]

/** Byte order and width by the first four bytes. */
const MAGIC: Readonly<Record<string, Pick<Image, 'isBigEndian' | 'wordBytes'>>> = {
  feedface: { isBigEndian: true, wordBytes: 4 },
  feedfacf: { isBigEndian: true, wordBytes: 8 },
  cefaedfe: { isBigEndian: false, wordBytes: 4 },
  cffaedfe: { isBigEndian: false, wordBytes: 8 },
}
// a Java class begins like a fat file: there a version stands where the slices are counted, from 45 on
const FAT: Readonly<Record<string, number>> = { cafebabe: 20, cafebabf: 32 }
const MOST_SLICES = 30

const magicOf = (head: Buffer): string => head.toString('hex', 0, 4)
const slicesOf = (head: Buffer): number =>
  FAT[magicOf(head)] === undefined || head.length < 8 ? 0 : head.readUInt32BE(4)

export const isMachO = (head: Buffer): boolean => MAGIC[magicOf(head)] !== undefined && head.length >= 32
export const isFat = (head: Buffer): boolean => slicesOf(head) > 0 && slicesOf(head) < MOST_SLICES

/** The programs in a file for several kinds of machines. @throws Malformed when one lies past its end */
export async function slicesIn(file: OpenFile): Promise<OpenFile[]> {
  const rowBytes = FAT[magicOf(file.head)] ?? 0
  const bytes = await file.read(8, slicesOf(file.head) * rowBytes)
  const { u32, word } = numbersIn(bytes, { isBigEndian: true, wordBytes: rowBytes === 32 ? 8 : 4 })
  const slices: OpenFile[] = []
  let total = 0
  for (let at = 0; at < slicesOf(file.head) * rowBytes; at += rowBytes) {
    u32(at)
    const [offset, size] = [word(at + 8), word(at + (rowBytes === 32 ? 16 : 12))]
    total += size
    if (total > file.size) malformed('the programs in it overlap, or lie past its end')
    slices.push(await fileWithin(file, { path: file.path, offset, size }))
  }
  return slices
}

interface Segment extends Stretch {
  readonly sections: readonly Section[]
}

function segmentIn({ bytes, u32, word }: Numbers, at: number, wordBytes: 4 | 8): Segment {
  const is64 = wordBytes === 8
  const flags = u32(at + (is64 ? 60 : 44))
  const count = u32(at + (is64 ? 64 : 48))
  if (count > MOST_SECTIONS) malformed(`it has more than ${MOST_SECTIONS} sections`)
  const rights = { isWritable: (flags & WRITE) !== 0, isExecutable: (flags & EXECUTE) !== 0 }
  const sections = Array.from({ length: count }, (_, index): Section => {
    const row = at + (is64 ? 72 + 80 * index : 56 + 68 * index)
    return {
      name: textAt(bytes, row, 16),
      address: word(row + 32),
      size: word(row + 32 + wordBytes),
      offset: u32(row + 32 + 2 * wordBytes),
      ...rights,
    }
  })
  return {
    address: word(at + 24),
    offset: word(at + 24 + 2 * wordBytes),
    size: word(at + 24 + 3 * wordBytes),
    ...rights,
    sections,
  }
}

/** Source: the header mach-o/loader.h. @throws Malformed */
export async function openMachO(file: OpenFile): Promise<Image> {
  const shape = MAGIC[magicOf(file.head)] ?? malformed('it is not Mach-O')
  const header = numbersIn(file.head, shape)
  const [count, length] = [header.u32(16), header.u32(20)]
  if (length > MOST_COMMAND_BYTES) malformed('its headers are too long')
  const commands = numbersIn(await file.read(shape.wordBytes === 8 ? 32 : 28, length), shape)
  const segments: Segment[] = []
  for (let at = 0, left = count; left > 0; left--) {
    const [command, size] = [commands.u32(at), commands.u32(at + 4)]
    if (size < 8) malformed('its headers are damaged')
    if (command === LC_SEGMENT || command === LC_SEGMENT_64) segments.push(segmentIn(commands, at, shape.wordBytes))
    if (segments.length > MOST_SECTIONS) malformed(`it has more than ${MOST_SECTIONS} segments`)
    at += size
  }
  return { format: 'macho', file, ...shape, sections: segments.flatMap(({ sections }) => sections), segments }
}
