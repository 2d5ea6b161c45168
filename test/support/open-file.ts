import type { OpenFile } from '../../server/contents/reader.ts'
import { malformed, printBytes } from '../../server/lib/limited.ts'

/** A file of a package, in memory. */
export function openFile(path: string, content: Buffer | string): OpenFile {
  const bytes = Buffer.from(content)
  return {
    path,
    size: bytes.length,
    head: bytes.subarray(0, 512),
    read: async (offset, length) =>
      offset > bytes.length
        ? malformed(`the file ends before byte ${offset}`)
        : bytes.subarray(offset, offset + length),
    whole: async most =>
      bytes.length > most ? malformed(`it has ${bytes.length} bytes, at most ${printBytes(most)} are read`) : bytes,
  }
}
