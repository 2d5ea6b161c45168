import type { SpooledFile } from '../../files/spool.ts'
import type { Unpacked } from '../../files/unpacked.ts'
import { openWindow, type FileWindow } from '../../lib/file-window.ts'
import type { InnerStream } from '../format.ts'
import { refuse } from '../refuse.ts'
import { WHEEL_PART } from './inspect.ts'
import { SDIST_PART, unpackSdist } from './sdist.ts'
import { openWheel, wheelTar } from './wheel.ts'

/** Opens the file again for each stream, so a stream may be read late, twice or never. */
async function* read(file: SpooledFile, unpack: (window: FileWindow) => AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    const window = await openWindow(file)
    try {
      yield* unpack(window)
    } finally {
      await window.close()
    }
  } catch (error) {
    refuse(file.filename, error)
  }
}

async function* unpackWheel(window: FileWindow): AsyncGenerator<Buffer> {
  yield* wheelTar(window, await openWheel(window, undefined))
}

/** A wheel is a zip, which begins with a member; everything else here is a gzip. */
async function isWheel(file: SpooledFile): Promise<boolean> {
  for await (const head of read(file, window => window.stream(0, Math.min(2, window.size))))
    return head.toString('latin1') === 'PK'
  return false
}

/**
 * The files of a wheel as a plain tar: engines open no zip here. They are named `data.tar`, as what is installed is
 * everywhere; a source release is built before that, and its tar is `sdist.tar`.
 */
export async function* inner(file: SpooledFile, unpacked?: Pick<Unpacked, 'read'>): AsyncGenerator<InnerStream> {
  if (await isWheel(file))
    yield { name: WHEEL_PART.what, open: () => unpacked?.read(WHEEL_PART) ?? read(file, unpackWheel) }
  else yield { name: SDIST_PART.what, open: () => unpacked?.read(SDIST_PART) ?? read(file, unpackSdist) }
}
