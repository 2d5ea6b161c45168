import { Malformed, malformed } from '../../lib/limited.ts'
import { bytesAtAddress, sectionOf, type Image, type Stretch } from '../binary/image.ts'
import { numbersIn } from '../binary/numbers.ts'

/** What the linker of Go writes into a program. */
export interface BuildInfo {
  /** `go1.22.3 X:boringcrypto`. */
  readonly goVersion: string
  /** Lines `path`, `mod`, `dep`, `=>`, `build`, separated by tabs; empty where the program names no module. */
  readonly modules: string
}

const MAGIC = Buffer.from('\xff Go buildinf:', 'latin1')
const [HEADER_BYTES, ALIGNMENT] = [32, 16]
const [BIG_ENDIAN, INLINE] = [1, 2]
const MOST_VERSION = 1000
const MOST_MODULES = 16 * 2 ** 20
const WINDOW = 2 ** 20
/** Real programs have one or two; what is made of nothing else must not take hours. */
const MOST_MAGICS = 1000

const SECTIONS = ['.go.buildinfo', '__go_buildinfo']

/** Where it can be: its section, or what is loaded for writing, or, without a table of sections, all that is loaded. */
function placesOf(image: Image): Stretch[] {
  for (const name of SECTIONS) {
    const section = sectionOf(image, name)
    if (section !== undefined) return [section]
  }
  if (image.format === 'elf' && image.sections.length > 0) return []
  const isData = ({ isWritable, isExecutable }: Stretch): boolean => isWritable && !isExecutable
  const data = image.segments.filter(isData)
  return image.format === 'elf' ? [...data, ...image.segments.filter(one => !isData(one))] : data
}

/** Offsets in the file at which the magic stands as the linker aligns it. */
async function* magicsIn({ file }: Image, { offset, size, address }: Stretch): AsyncGenerator<number> {
  const end = Math.min(offset + size, file.size)
  for (let from = offset; from < end; from += WINDOW) {
    const bytes = await file.read(from, Math.min(WINDOW + MAGIC.length, end - from))
    for (let at = bytes.indexOf(MAGIC); at !== -1 && at < WINDOW; at = bytes.indexOf(MAGIC, at + 1))
      if ((address + from - offset + at) % ALIGNMENT === 0) yield from + at
  }
}

/** A number of Go's encoding/binary, and the place behind it. @throws Malformed */
function varintAt(bytes: Buffer, at: number): { readonly value: number; readonly next: number } {
  let value = 0
  for (let i = 0; i < 5; i++) {
    const byte = bytes[at + i] ?? malformed('the build information of Go in it is cut off')
    value += (byte & 0x7f) * 2 ** (7 * i)
    if (byte < 0x80) return { value, next: at + i + 1 }
  }
  return malformed('the build information of Go in it is damaged')
}

/** A text with its length before it, and the place behind it. @throws Malformed */
async function inlineText({ file }: Image, at: number, most: number) {
  const { value: length, next } = varintAt(await file.read(at, 8), 0)
  if (length > most) malformed('the build information of Go in it is too long')
  const bytes = await file.read(at + next, length)
  if (bytes.length < length) malformed('the build information of Go in it is cut off')
  return { text: bytes, next: at + next + length }
}

/** The text that a string header at an address points to; empty for a pointer to nothing. @throws Malformed */
async function pointedText(image: Image, address: number, word: number, most: number): Promise<Buffer> {
  if (address === 0) return Buffer.alloc(0)
  const header = numbersIn(await bytesAtAddress(image, address, 2 * word), {
    isBigEndian: image.isBigEndian,
    wordBytes: word === 4 ? 4 : 8,
  })
  const [at, length] = [header.word(0), header.word(word)]
  if (length > most) malformed('the build information of Go in it is too long')
  return length === 0 ? Buffer.alloc(0) : bytesAtAddress(image, at, length)
}

const isVersion = (text: Buffer): boolean => /^(?:go\d|devel\b|unknown$)/.test(text.toString('latin1'))

/** Sixteen bytes before and behind mark the text; without them there is none. */
const unmarked = (text: Buffer): string =>
  text.length >= 33 && text[text.length - 17] === 0x0a ? text.toString('utf8', 16, text.length - 16) : ''

/**
 * The build information at an offset; undefined where the magic there is only a text.
 * Source: go.dev/src/debug/buildinfo/buildinfo.go, the comment on its layout
 * @throws Malformed when it is cut off or damaged
 */
async function buildInfoAt(image: Image, at: number): Promise<BuildInfo | undefined> {
  const header = await image.file.read(at, HEADER_BYTES)
  const [word = 0, flags = 0xff] = header.subarray(14)
  if (header.length < 16 || flags > 3) return undefined
  if ((flags & INLINE) !== 0) {
    const version = await inlineText(image, at + HEADER_BYTES, MOST_VERSION)
    if (!isVersion(version.text)) return undefined
    const { text } = await inlineText(image, version.next, MOST_MODULES)
    return { goVersion: version.text.toString('utf8'), modules: unmarked(text) }
  }
  if (word !== 4 && word !== 8) return undefined
  const pointers = numbersIn(header, { isBigEndian: (flags & BIG_ENDIAN) !== 0, wordBytes: word })
  const version = await pointedText(image, pointers.word(16), word, MOST_VERSION)
  if (!isVersion(version)) return undefined
  const modules = await pointedText(image, pointers.word(16 + word), word, MOST_MODULES)
  return { goVersion: version.toString('utf8'), modules: unmarked(modules) }
}

/**
 * The build information of a program, whether it is written inline (Go 1.18 and later) or pointed to (1.13 to 1.17).
 * @returns undefined where it has none
 * @throws Malformed when it is cut off or damaged
 */
export async function findBuildInfo(image: Image): Promise<BuildInfo | undefined> {
  let damage: Malformed | undefined
  let magics = 0
  // segments that lie over each other would be read again and again
  let left = 2 * image.file.size
  for (const place of placesOf(image)) {
    left -= place.size
    if (left < 0) malformed('its segments overlap')
    if (place.offset + place.size > image.file.size) damage ??= new Malformed('a section of it lies past its end')
    if (place.offset >= image.file.size) continue
    for await (const at of magicsIn(image, place)) {
      if (++magics > MOST_MAGICS) malformed('it begins build information of Go again and again')
      try {
        const info = await buildInfoAt(image, at)
        if (info !== undefined) return info
      } catch (error) {
        if (!(error instanceof Malformed)) throw error
        damage ??= error
      }
    }
  }
  if (damage !== undefined) throw damage
  return undefined
}
