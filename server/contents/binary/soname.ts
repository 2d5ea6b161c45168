import { bytesOf, sectionOf, type Image } from './image.ts'
import { numbersIn, textAt } from './numbers.ts'

const DT_SONAME = 14
const MOST_BYTES = 2 ** 20

/**
 * What an ELF library calls itself; undefined for a program. Source: System V ABI, "Dynamic Section"
 * @throws Malformed
 */
export async function sonameOf(image: Image): Promise<string | undefined> {
  const [entries, names] = [sectionOf(image, '.dynamic'), sectionOf(image, '.dynstr')]
  if (image.format !== 'elf' || entries === undefined || names === undefined) return undefined
  const { bytes, word } = numbersIn(await bytesOf(image, entries, MOST_BYTES), image)
  for (let at = 0; at + 2 * image.wordBytes <= bytes.length; at += 2 * image.wordBytes) {
    if (word(at) !== DT_SONAME) continue
    const offset = names.offset + word(at + image.wordBytes)
    return offset < image.file.size ? textAt(await image.file.read(offset, 200), 0, 200) : undefined
  }
  return undefined
}
