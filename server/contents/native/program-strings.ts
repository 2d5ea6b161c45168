import { Malformed } from '../../lib/limited.ts'
import { sectionOf, type Image } from '../binary/image.ts'
import { mayBeImage, openImages } from '../binary/images.ts'
import { sonameOf } from '../binary/soname.ts'
import type { Found, OpenFile, Reader } from '../reader.ts'
import { AUDIT_SECTION } from '../rust/audit-section.ts'
import { createCratePaths } from '../rust/crate-paths.ts'
import { fileNameOf, isNamed } from '../text-file.ts'
import { libraryNamed } from './libraries.ts'
import { holdsText, visitNumbers } from './numbers-with-dots.ts'
import { createProductStrings } from './product-strings.ts'

const UNLISTED =
  'It is a program in Rust without the list of its crates: only those that its messages name are known, and there can be more.'

/** In every program that is Node.js; it ends in a 0 where no application was put into it. */
const WITH_APPLICATION = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:1'
const APPLICATION = 'It is Node.js with an application in it (single executable), which is not opened.'

/** Why there can be more in a program than was found, in one sentence. */
const whyUnopened = async (file: OpenFile, found: readonly Found[], other?: string): Promise<string | undefined> =>
  found.some(({ name }) => name === 'node') && (await holdsText(file, WITH_APPLICATION)) ? APPLICATION : other

/** What its headers tell; nothing where they are damaged: then the readers of sections say so. */
async function headersOf(file: OpenFile): Promise<{ readonly images: readonly Image[]; readonly soname?: string }> {
  try {
    const images = await openImages(file)
    const soname = images[0] === undefined ? undefined : await sonameOf(images[0])
    return { images, ...(soname === undefined ? {} : { soname }) }
  } catch (error) {
    if (error instanceof Malformed) return { images: [] }
    throw error
  }
}

function withLibrary(found: readonly Found[], names: readonly string[]): Found[] {
  const library = libraryNamed(names)
  if (library === undefined || found.some(({ name }) => name === library.name)) return [...found]
  const { name, version } = library
  const named = { type: 'generic', name, version, presence: 'shipped', rule: 'library-name' } as const
  return [...found, { ...named, confidence: 'probable' }]
}

/**
 * Native programs and libraries by the versions that stand in them as text, by their names where none does, and crates
 * of Rust by the paths in their messages. Reads the whole file once.
 */
export const programStrings: Reader = {
  id: 'program-strings',
  wants: mayBeImage,
  async read(file) {
    const { images, soname } = await headersOf(file)
    const names = [fileNameOf(file.path), ...(soname === undefined ? [] : [soname])]
    const products = createProductStrings(names)
    const crates = createCratePaths()
    const isListed = images.some(image => sectionOf(image, AUDIT_SECTION) !== undefined)
    await visitNumbers(file, (bytes, from) => {
      products.visit(bytes, from)
      if (!isListed) crates.visit(bytes, from)
    })
    const found = [...withLibrary(await products.found(file), names), ...crates.found()].filter(isNamed)
    const why = await whyUnopened(file, found, isListed || !crates.isRust() ? undefined : UNLISTED)
    return { found, ...(why === undefined ? {} : { unopened: [{ path: file.path, size: file.size, why }] }) }
  },
}
