import { malformed } from '../../lib/limited.ts'
import type { OpenFile } from '../reader.ts'
import { MOST_SECTIONS, type Image, type Section, type Stretch } from './image.ts'
import { numbersIn, textAt, type Numbers } from './numbers.ts'

const MOST_NAMES = 4 * 2 ** 20
const [PT_LOAD, SHT_NOBITS] = [1, 8]

export const isElf = (head: Buffer): boolean => head.length >= 52 && head.toString('latin1', 0, 4) === '\x7fELF'

interface Table {
  readonly offset: number
  readonly count: number
  readonly rowBytes: number
}

/** The rows of a table of headers. @throws Malformed when it is too long or lies past the end of the file */
async function rowsOf(
  file: OpenFile,
  { offset, count, rowBytes }: Table,
  read: (bytes: Buffer) => Numbers,
): Promise<Numbers[]> {
  if (count === 0 || offset === 0) return []
  if (count > MOST_SECTIONS) malformed(`it has more than ${MOST_SECTIONS} sections`)
  if (offset + count * rowBytes > file.size) malformed('the table of its sections lies past its end')
  const bytes = await file.read(offset, count * rowBytes)
  return Array.from({ length: count }, (_, row) => read(bytes.subarray(row * rowBytes, (row + 1) * rowBytes)))
}

/** Source: System V ABI, "Object Files"; elf(5). @throws Malformed */
export async function openElf(file: OpenFile): Promise<Image> {
  const wordBytes = file.head[4] === 2 ? 8 : 4
  const isBigEndian = file.head[5] === 2
  const read = (bytes: Buffer): Numbers => numbersIn(bytes, { isBigEndian, wordBytes })
  const is64 = wordBytes === 8
  const header = read(file.head)
  const sizes = is64 ? 52 : 40
  const [rowBytes, sectionsAt] = [header.u16(sizes + 6), header.word(is64 ? 40 : 32)]
  let count = header.u16(sizes + 8)
  let namesAt = header.u16(sizes + 10)
  if (sectionsAt > 0 && (count === 0 || namesAt === 0xffff)) {
    // more than 65,279 sections: the first one holds the numbers
    const [first] = await rowsOf(file, { offset: sectionsAt, count: 1, rowBytes }, read)
    if (count === 0) count = first?.word(is64 ? 32 : 20) ?? 0
    if (namesAt === 0xffff) namesAt = first?.u32(is64 ? 40 : 24) ?? 0
  }

  const rows = await rowsOf(file, { offset: sectionsAt, count, rowBytes }, read)
  const placeOf = (row: Numbers) => ({ offset: row.word(is64 ? 24 : 16), size: row.word(is64 ? 32 : 20) })
  const namesRow = rows[namesAt]
  const { offset, size } = namesRow === undefined ? { offset: 0, size: 0 } : placeOf(namesRow)
  const names = offset < file.size ? await file.read(offset, Math.min(size, MOST_NAMES)) : Buffer.alloc(0)
  const sections = rows.map((row): Section => {
    const flags = row.word(8)
    return {
      name: textAt(names, row.u32(0), 100),
      address: row.word(is64 ? 16 : 12),
      ...placeOf(row),
      ...(row.u32(4) === SHT_NOBITS ? { size: 0 } : {}),
      isWritable: flags % 2 === 1,
      isExecutable: flags % 8 >= 4,
    }
  })

  const programs = await rowsOf(
    file,
    { offset: header.word(is64 ? 32 : 28), rowBytes: header.u16(sizes + 2), count: header.u16(sizes + 4) },
    read,
  )
  const segments = programs.flatMap((row): Stretch[] => {
    if (row.u32(0) !== PT_LOAD) return []
    const flags = row.u32(is64 ? 4 : 24)
    return [
      {
        offset: row.word(is64 ? 8 : 4),
        address: row.word(is64 ? 16 : 8),
        size: row.word(is64 ? 32 : 16),
        isWritable: (flags & 2) !== 0,
        isExecutable: (flags & 1) !== 0,
      },
    ]
  })
  return { format: 'elf', file, isBigEndian, wordBytes, sections, segments }
}
