import { createReadStream } from 'node:fs'
import { basename, join } from 'node:path'
import { seesAll, type Viewer } from '../core/viewer.ts'
import { auditFiles, parseLine, sizeOf } from './audit-file.ts'
import { isHidden } from './audit-search.ts'

/** The part of one file of the log that somebody may see. */
export interface VisibleFile {
  readonly name: string
  /** Bytes that `chunks` yields. */
  readonly size: number
  /** Whole lines as they are in the file, in its order. */
  chunks(): AsyncGenerator<Buffer>
}

/** The whole lines in the first `end` bytes that the viewer may see. Who sees all also gets what is no entry. */
async function* visibleLines(path: string, end: number, viewer: Viewer): AsyncGenerator<Buffer> {
  if (end === 0) return
  let rest = ''
  // code points 0 to 255 stand for bytes
  for await (const chunk of createReadStream(path, { end: end - 1, encoding: 'latin1' })) {
    const lines = `${rest}${chunk as string}`.split('\n')
    rest = lines.pop() ?? ''
    const mine = seesAll(viewer)
      ? lines
      : lines.filter(line => {
          const entry = parseLine(Buffer.from(line, 'latin1').toString())
          return entry !== undefined && !isHidden(entry, viewer)
        })
    if (mine.length > 0) yield Buffer.from(`${mine.join('\n')}\n`, 'latin1')
  }
}

/**
 * The files of the log, oldest first, with the lines that the viewer may see; files without any are left out. Reads
 * each file once for its size and once for its lines, and holds one chunk. Lines appended meanwhile are not in it.
 */
export async function* listVisible(folder: string, viewer: Viewer): AsyncGenerator<VisibleFile> {
  for (const file of await auditFiles(folder)) {
    const path = join(folder, file)
    const end = await sizeOf(path)
    if (end === undefined) continue
    const chunks = (): AsyncGenerator<Buffer> => visibleLines(path, end, viewer)
    let size = 0
    for await (const chunk of chunks()) size += chunk.length
    if (size > 0) yield { name: basename(path), size, chunks }
  }
}
