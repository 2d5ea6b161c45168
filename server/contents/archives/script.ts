import { fileWithin, HEAD_BYTES } from '../open-file.ts'
import type { OpenFile, Unpacker } from '../reader.ts'
import { isCompressed } from './compressed.ts'

/** Installers put their archive behind a script of some 20 kB. */
const MOST_SCRIPT = 2 ** 20
const NEWLINE = 0x0a

/** Where a compressed archive begins behind the lines of a script; undefined for other scripts. */
async function archiveIn(file: OpenFile): Promise<number | undefined> {
  const text = await file.read(0, MOST_SCRIPT)
  const { path } = file
  // a script that is text alone has no zero byte, and an archive has one soon
  const zero = text.indexOf(0)
  if (zero === -1) return undefined
  for (let at = text.indexOf(NEWLINE); at !== -1 && at < zero; at = text.indexOf(NEWLINE, at + 1)) {
    if (isCompressed({ path, head: text.subarray(at + 1, at + 1 + HEAD_BYTES) })) return at + 1
  }
  return undefined
}

/**
 * Scripts with an archive behind them that they unpack when they are run, as Makeself makes them. A zip there is found
 * by its end.
 */
export const script: Unpacker = {
  id: 'script',
  wants: ({ head, size }) => head.toString('latin1', 0, 2) === '#!' && size > HEAD_BYTES,
  async *files(file) {
    const offset = await archiveIn(file)
    if (offset === undefined) return
    yield await fileWithin(file, { path: `${file.path}!/archive`, offset, size: file.size - offset })
  },
}
