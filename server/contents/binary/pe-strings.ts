import { sectionOf, type Image } from './image.ts'
import { numbersIn, type Numbers } from './numbers.ts'

const RT_VERSION = 16
const SUBDIRECTORY = 0x8000_0000
const MOST_DIRECTORY = 64 * 1024
const MOST_BLOCK = 64 * 1024
const MOST_ENTRIES = 1000

/** Offset of an entry in a resource directory: the one with an id, or the first. */
function entryIn({ bytes, u16, u32 }: Numbers, at: number, id?: number): number | undefined {
  if (at + 16 > bytes.length) return undefined
  const count = Math.min(u16(at + 12) + u16(at + 14), MOST_ENTRIES)
  for (let row = at + 16; row < at + 16 + count * 8 && row + 8 <= bytes.length; row += 8)
    if (id === undefined || u32(row) === id) return u32(row + 4)
  return undefined
}

/** The bytes of the version resource; undefined where there is none. Source: learn.microsoft.com, "PE Format", .rsrc */
async function versionBlock(image: Image): Promise<Buffer | undefined> {
  const section = sectionOf(image, '.rsrc')
  if (section === undefined || section.offset >= image.file.size) return undefined
  const numbers = numbersIn(await image.file.read(section.offset, Math.min(section.size, MOST_DIRECTORY)), image)
  let at = entryIn(numbers, 0, RT_VERSION)
  // types, names, languages
  for (let depth = 0; depth < 2 && at !== undefined; depth++)
    at = at < SUBDIRECTORY ? undefined : entryIn(numbers, at - SUBDIRECTORY)
  if (at === undefined || at + 8 > numbers.bytes.length) return undefined
  const base = image.baseAddress ?? 0
  const [address, size] = [base + numbers.u32(at), numbers.u32(at + 4)]
  const holder = image.sections.find(one => address >= one.address && address < one.address + one.size)
  const offset = holder === undefined ? image.file.size : holder.offset + address - holder.address
  return offset < image.file.size ? image.file.read(offset, Math.min(size, MOST_BLOCK)) : undefined
}

const KEYS = ['ProductVersion', 'FileVersion', 'ProductName', 'OriginalFilename', 'InternalName'] as const

/** What a Windows program says of itself: its texts of the first language, absent ones left out. */
export type PeStrings = Readonly<Partial<Record<(typeof KEYS)[number], string>>>

/**
 * The texts of the version resource; none where there is none.
 * Source: learn.microsoft.com, "VS_VERSIONINFO structure", "String structure"
 * @throws Malformed
 */
export async function peStrings(image: Image): Promise<PeStrings> {
  const block = await versionBlock(image)
  const text = block === undefined ? '' : block.toString('utf16le')
  const strings: Partial<Record<(typeof KEYS)[number], string>> = {}
  for (const key of KEYS) {
    const at = text.indexOf(`${key}\0`)
    // a NUL ends the key, and another fills it up to four bytes
    const value =
      at === -1 ? '' : (/^\0{1,2}([^\0]{1,200})\0/.exec(text.slice(at + key.length, at + key.length + 203))?.[1] ?? '')
    if (value.trim() !== '') strings[key] = value.trim()
  }
  return strings
}
