import { mayBeImage } from '../binary/images.ts'
import type { OpenFile, Reader } from '../reader.ts'

const HEAD_BYTES = 1024
const UPX = Buffer.from('UPX!', 'latin1')
/** AppImage specification, type 2: behind the identification of ELF. */
const APPIMAGE = Buffer.from('AI\x02', 'latin1')

/** Why what is in a program cannot be seen, in one sentence; undefined where it can. */
async function whyPacked(file: OpenFile): Promise<string | undefined> {
  if (file.head.subarray(8, 11).equals(APPIMAGE)) return 'It is an AppImage, whose file system is not opened.'
  const head = await file.read(0, HEAD_BYTES)
  if (head.includes(UPX)) return 'It is packed with UPX, which is not unpacked.'
  return undefined
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
