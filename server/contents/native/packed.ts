import { mayBeImage } from '../binary/images.ts'
import type { OpenFile, Reader } from '../reader.ts'

const HEAD_BYTES = 1024
const TAIL_BYTES = 256 * 1024
const END_BYTES = 4096
const UPX = 'UPX!'
/** AppImage specification, type 2: behind the identification of ELF. */
const APPIMAGE = Buffer.from('AI\x02', 'latin1')
/** What stands at the end of a program with an application behind it. */
const TRAILERS: readonly (readonly [text: string, by: string])[] = [
  ['d3n0l4nd', 'Deno'],
  ['\n---- Bun! ----\n', 'Bun'],
  ['<nexe~~sentinel>', 'nexe'],
]

/** Why what is in a program cannot be seen, in one sentence; undefined where it can. */
async function whyPacked(file: OpenFile): Promise<string | undefined> {
  if (file.head.subarray(8, 11).equals(APPIMAGE)) return 'It is an AppImage, whose file system is not opened.'
  if ((await file.read(0, HEAD_BYTES)).includes(UPX)) return 'It is packed with UPX, which is not unpacked.'
  const tail = await file.read(Math.max(0, file.size - TAIL_BYTES), TAIL_BYTES)
  const end = tail.subarray(-END_BYTES)
  // tables and signatures can stand behind it; programs that look for it have it without zeros
  const trailer = TRAILERS.find(([text]) => end.includes(text) || tail.includes(`${text}\0\0\0\0`))
  return trailer === undefined
    ? undefined
    : `It is an application that ${trailer[1]} compiled into one file, which is not opened.`
}

/** Programs that hold others in a form that is not opened. */
export const packedProgram: Reader = {
  id: 'packed-program',
  wants: mayBeImage,
  async read(file) {
    const why = await whyPacked(file)
    return { found: [], ...(why === undefined ? {} : { unopened: [{ path: file.path, size: file.size, why }] }) }
  },
}
