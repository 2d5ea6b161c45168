import { malformed } from '../../lib/limited.ts'
import { bytesAtAddress, bytesOf, sectionOf, type Image } from '../binary/image.ts'
import { isElf, openElf } from '../binary/elf.ts'
import { numbersIn } from '../binary/numbers.ts'
import { memoryFile } from '../open-file.ts'
import type { Unpacker } from '../reader.ts'

const MOST_SYMBOLS = 64 * 2 ** 20
const MOST_SBOM = 64 * 2 ** 20
const WITHOUT = 'It is a Java program that GraalVM compiled, and has no list of its parts in it.'

/** The addresses of exported names. Source: System V ABI, "Symbol Table" */
async function addressesOf(image: Image, names: readonly string[]): Promise<(number | undefined)[]> {
  const [symbols, strings] = [sectionOf(image, '.dynsym'), sectionOf(image, '.dynstr')]
  if (symbols === undefined || strings === undefined) return []
  const text = await bytesOf(image, strings, MOST_SYMBOLS)
  const wanted = names.map(name => Buffer.from(`\0${name}\0`, 'latin1'))
  if (!wanted.some(name => text.includes(name))) return []
  const { bytes, u32, word } = numbersIn(await bytesOf(image, symbols, MOST_SYMBOLS), image)
  const [rowBytes, valueAt] = image.wordBytes === 8 ? [24, 8] : [16, 4]
  const found = new Map<string, number>()
  for (let row = 0; row + rowBytes <= bytes.length; row += rowBytes) {
    const at = u32(row)
    const name = names.find(one => text.toString('latin1', at, at + one.length + 1) === `${one}\0`)
    if (name !== undefined) found.set(name, word(row + valueAt))
  }
  return names.map(name => found.get(name))
}

/** The compressed list of parts that the program exports as `sbom`; undefined where there is none. @throws Malformed */
async function sbomIn(image: Image): Promise<Buffer | undefined> {
  const [at, lengthAt] = await addressesOf(image, ['sbom', 'sbom_length'])
  if (at === undefined || lengthAt === undefined) return undefined
  const length = numbersIn(await bytesAtAddress(image, lengthAt, image.wordBytes), image).word(0)
  if (length > MOST_SBOM) malformed(`the list of its parts has ${length} bytes`)
  const bytes = await bytesAtAddress(image, at, length)
  return bytes.toString('hex', 0, 2) === '1f8b' ? bytes : undefined
}

/**
 * Programs that GraalVM compiled from Java: the bill of materials in them.
 * Source: www.graalvm.org, Native Image, "Software Bill of Materials"
 */
export const nativeImage: Unpacker = {
  id: 'native-image',
  wants: ({ head }) => isElf(head),
  async *files(file) {
    const image = await openElf(file).catch(() => undefined)
    if (image === undefined) return
    const sbom = await sbomIn(image)
    if (sbom !== undefined) yield memoryFile(`${file.path}!/sbom.cdx.json.gz`, sbom)
    else if (sectionOf(image, '.svm_heap') !== undefined) yield { path: file.path, size: file.size, why: WITHOUT }
  },
}
