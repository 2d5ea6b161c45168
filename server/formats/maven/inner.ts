import type { SpooledFile } from '../../files/spool.ts'
import { openWindow } from '../../lib/file-window.ts'
import type { InnerStream } from '../format.ts'
import { refuse } from '../refuse.ts'

async function* read(file: SpooledFile): AsyncGenerator<Buffer> {
  try {
    const window = await openWindow(file)
    try {
      yield* window.stream(0, file.blob.size)
    } finally {
      await window.close()
    }
  } catch (error) {
    refuse(file.filename, error)
  }
}

/**
 * Every file of a version as it is: an archive is read as one, by engines and by what looks for components, since a
 * library is known by the whole of its jar. Reading it has made sure that they can unpack it.
 */
export async function* inner(file: SpooledFile): AsyncGenerator<InnerStream> {
  for (const one of [file, ...(file.beside ?? [])]) yield { name: one.filename, open: () => read(one) }
}
