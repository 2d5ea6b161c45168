import type { OpenFile } from '../reader.ts'
import { isElf, openElf } from './elf.ts'
import type { Image } from './image.ts'
import { isFat, isMachO, openMachO, slicesIn } from './macho.ts'
import { mayBePe, openPe } from './pe.ts'
import { isWasm, openWasm } from './wasm.ts'

/** Whether a file begins like a program or library: ELF, PE, Mach-O, WebAssembly. */
export const mayBeImage = ({ head }: Pick<OpenFile, 'head'>): boolean =>
  isElf(head) || mayBePe(head) || isMachO(head) || isFat(head) || isWasm(head)

async function openImage(file: OpenFile): Promise<Image | undefined> {
  if (isElf(file.head)) return openElf(file)
  if (mayBePe(file.head)) return openPe(file)
  if (isWasm(file.head)) return openWasm(file)
  return isMachO(file.head) ? openMachO(file) : undefined
}

/** The programs in a file, one for each kind of machine; none where it only looks like one. @throws Malformed */
export async function openImages(file: OpenFile): Promise<Image[]> {
  const files = isFat(file.head) ? await slicesIn(file) : [file]
  const images = await Promise.all(files.map(openImage))
  return images.filter(image => image !== undefined)
}
