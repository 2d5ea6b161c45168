import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip, type Gzip } from 'node:zlib'
import tar from 'tar-stream'
import type { VisibleFile } from '../../record/audit-archive.ts'

/**
 * The files as `audit/<name>` in a gzipped tar, a chunk at a time. What fails in the middle destroys the stream, so
 * that half an archive is never taken for a whole one.
 */
export function archiveOf(files: AsyncIterable<VisibleFile>, mtime: Date): Gzip {
  const pack = tar.pack()
  const zipped = createGzip()
  async function write(): Promise<void> {
    for await (const { name, size, chunks } of files)
      await pipeline(Readable.from(chunks()), pack.entry({ name: `audit/${name}`, size, mtime, mode: 0o640 }))
    pack.finalize()
  }
  // either end may fail or go away; each ends the other
  void pipeline(pack, zipped).catch((error: unknown) => zipped.destroy(error as Error))
  void write().catch((error: unknown) => pack.destroy(error as Error))
  return zipped
}
