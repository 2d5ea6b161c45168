import { malformed } from '../../lib/limited.ts'
import type { OpenFile } from '../reader.ts'

/** A stretch of a program: where it lies in the file, and where in memory. */
export interface Stretch {
  readonly offset: number
  /** Bytes in the file; 0 for one that exists in memory only. */
  readonly size: number
  readonly address: number
  readonly isWritable: boolean
  readonly isExecutable: boolean
}

/** One with a name; Mach-O's without the segment before it. */
export interface Section extends Stretch {
  readonly name: string
}

/** A program or library for one kind of machine. */
export interface Image {
  readonly format: 'elf' | 'pe' | 'macho' | 'wasm'
  /** Its bytes: a slice of the file where that holds several. */
  readonly file: OpenFile
  readonly isBigEndian: boolean
  readonly wordBytes: 4 | 8
  readonly sections: readonly Section[]
  /** What is loaded into memory. */
  readonly segments: readonly Stretch[]
  /** PE: what the addresses in its own tables are counted from. */
  readonly baseAddress?: number
  /** PE: it is a .NET assembly. */
  readonly isManaged?: boolean
}

/** More than any linker writes. */
export const MOST_SECTIONS = 20_000

export const sectionOf = ({ sections }: Image, name: string): Section | undefined =>
  sections.find(section => section.name === name && section.size > 0)

/** The bytes of a stretch. @throws Malformed when it has more than `most`, or lies outside the file */
export async function bytesOf({ file }: Image, { offset, size }: Stretch, most: number): Promise<Buffer> {
  if (size > most) malformed(`a section of it has ${size} bytes, and at most ${most} are read`)
  if (offset + size > file.size) malformed('a section of it lies past its end')
  return file.read(offset, size)
}

/**
 * The bytes that are loaded at an address.
 * @throws Malformed where nothing is loaded
 */
export async function bytesAtAddress({ file, segments }: Image, address: number, length: number): Promise<Buffer> {
  const segment = segments.find(one => address >= one.address && address + length <= one.address + one.size)
  if (segment === undefined) return malformed('an address in it points outside what is loaded')
  const bytes = await file.read(segment.offset + address - segment.address, length)
  return bytes.length === length ? bytes : malformed('it is cut off')
}
