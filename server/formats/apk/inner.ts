import type { SpooledFile } from '../../files/spool.ts'
import { readGzipMember } from '../../lib/gzip-members.ts'
import { limited } from '../../lib/limited.ts'
import { openWindow, type FileWindow } from '../../lib/file-window.ts'
import type { InnerStream } from '../format.ts'
import { refuse } from '../refuse.ts'
import { CONTROL_BYTES, findMembers, unpackData, type ApkMembers } from './members.ts'
import { MAX_PKGINFO } from './pkginfo.ts'

/** Opens the file anew for each stream, so that one may be read late, twice or never. */
async function* read(file: SpooledFile, unpack: (window: FileWindow) => AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    const window = await openWindow(file.path)
    try {
      yield* unpack(window)
    } finally {
      await window.close()
    }
  } catch (error) {
    refuse(file.filename, error)
  }
}

async function find(file: SpooledFile): Promise<ApkMembers> {
  try {
    const window = await openWindow(file.path)
    try {
      return await findMembers(window, { maxPkginfo: MAX_PKGINFO })
    } finally {
      await window.close()
    }
  } catch (error) {
    return refuse(file.filename, error)
  }
}

/**
 * Each member by itself, unpacked: joined, they would be one tar to a scanner, which stops at the first end mark in it.
 * Every byte that apk would unpack is there, since what follows the data member is refused while it is read.
 */
export async function* inner(file: SpooledFile): AsyncGenerator<InnerStream> {
  const { signature, control, dataOffset } = await find(file)
  const cut =
    (offset: number, what: string) =>
    (window: FileWindow): AsyncIterable<Buffer> =>
      limited(readGzipMember(window, offset, what).chunks, CONTROL_BYTES, what)
  if (signature !== undefined)
    yield { name: 'signature.tar', open: () => read(file, cut(signature.offset, 'the signature member')) }
  yield { name: 'control.tar', open: () => read(file, cut(control.offset, 'the control member')) }
  yield { name: 'data.tar', open: () => read(file, window => unpackData(window, dataOffset)) }
}
