import { memoryFile } from '../../server/contents/open-file.ts'
import type { OpenFile } from '../../server/contents/reader.ts'

/** A file of a package, in memory. */
export const openFile = (path: string, content: Buffer | string): OpenFile => memoryFile(path, Buffer.from(content))
