import type { SpooledFile } from '../../files/spool.ts'
import type { Unpacked } from '../../files/unpacked.ts'
import { readGzipMember } from '../../lib/gzip-members.ts'
import { limited } from '../../lib/limited.ts'
import { openWindow, type FileWindow } from '../../lib/file-window.ts'
import type { InnerStream } from '../format.ts'
import { refuse } from '../refuse.ts'
import { CONTROL_BYTES, DATA, findMembers, unpackData, type ApkMembers } from './members.ts'
import { MAX_PKGINFO } from './pkginfo.ts'

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

async function find(file: SpooledFile): Promise<ApkMembers> {
  try {
    const window = await openWindow(file)
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
 * Unpacks each member separately. If they were joined, a scanner would stop at the first end mark. No byte that apk
 * would unpack is missing: data after the data member is refused.
 */
export async function* inner(file: SpooledFile, unpacked?: Pick<Unpacked, 'read'>): AsyncGenerator<InnerStream> {
  const { signature, control, dataOffset } = await find(file)
  const cut =
    (offset: number, what: string) =>
    (window: FileWindow): AsyncIterable<Buffer> =>
      limited(readGzipMember(window, offset, what).chunks, CONTROL_BYTES, what)
  if (signature !== undefined)
    yield { name: 'signature.tar', open: () => read(file, cut(signature.offset, 'the signature member')) }
  yield { name: 'control.tar', open: () => read(file, cut(control.offset, 'the control member')) }
  yield { name: 'data.tar', open: () => unpacked?.read(DATA) ?? read(file, window => unpackData(window, dataOffset)) }
}
