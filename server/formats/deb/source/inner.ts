import type { SpooledFile } from '../../../files/spool.ts'
import { unpack } from '../../../lib/decompress.ts'
import type { Compression } from '../../../lib/packed.ts'
import { limited } from '../../../lib/limited.ts'
import { openWindow } from '../../../lib/file-window.ts'
import type { InnerStream } from '../../format.ts'
import { refuse } from '../../refuse.ts'
import { DATA_BYTES } from '../limits.ts'

const COMPRESSIONS: ReadonlyMap<string, Compression> = new Map([
  ['.gz', 'gzip'],
  ['.xz', 'xz'],
  ['.bz2', 'bzip2'],
])

async function* read(file: SpooledFile, ending: string): AsyncGenerator<Buffer> {
  try {
    const window = await openWindow(file)
    try {
      const packed = {
        what: file.filename,
        compression: COMPRESSIONS.get(ending) ?? ('none' as const),
        size: window.size,
        place: { path: file.path, offset: 0 },
        chunks: () => window.stream(0, window.size),
      }
      yield* limited(unpack(packed), DATA_BYTES, file.filename)
    } finally {
      await window.close()
    }
  } catch (error) {
    refuse(file.filename, error)
  }
}

/** Every file of a source package, decompressed: tarballs as plain tars, diffs as text. */
export async function* innerSource(file: SpooledFile): AsyncGenerator<InnerStream> {
  for (const one of [file, ...(file.beside ?? [])]) {
    const [ending = ''] = /\.(?:gz|xz|bz2)$/.exec(one.filename) ?? []
    yield {
      name: ending === '' ? one.filename : one.filename.slice(0, -ending.length),
      open: () => read(one, ending),
    }
  }
}
