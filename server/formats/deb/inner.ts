import type { InnerStream } from '../format.ts'
import type { SpooledFile } from '../../files/spool.ts'
import type { Unpacked } from '../../files/unpacked.ts'
import { limited } from '../../lib/limited.ts'
import { unpack } from '../../lib/decompress.ts'
import type { Packed } from '../../lib/packed.ts'
import { refuse } from '../refuse.ts'
import type { DebMembers } from './members.ts'
import { openDeb } from './members.ts'
import { CONTROL_BYTES, DATA_BYTES } from './limits.ts'
import { innerSource } from './source/inner.ts'

/** Opens the file again for each stream, so a stream may be read late, twice or never. */
async function* read(
  { file, unpacked }: { readonly file: SpooledFile; readonly unpacked: Pick<Unpacked, 'read'> | undefined },
  pick: (deb: DebMembers) => Packed | undefined,
  limitBytes: number,
): AsyncGenerator<Buffer> {
  try {
    const deb = await openDeb(file)
    try {
      const packed = pick(deb)
      if (packed !== undefined) yield* unpacked?.read(packed) ?? limited(unpack(packed), limitBytes, packed.what)
    } finally {
      await deb.close()
    }
  } catch (error) {
    refuse(file.filename, error)
  }
}

/**
 * control.tar and data.tar as plain tar, then the members that dpkg skips, unchanged: the engine sees the whole file.
 * No byte that dpkg would unpack is missing: data after the end of a stream is refused.
 */
export async function* inner(file: SpooledFile, unpacked?: Pick<Unpacked, 'read'>): AsyncGenerator<InnerStream> {
  if (file.beside !== undefined) return yield* innerSource(file)
  const from = { file, unpacked }
  let skipped: readonly string[] = []
  try {
    const deb = await openDeb(file)
    skipped = deb.skipped.map(({ what }) => what)
    await deb.close()
  } catch (error) {
    refuse(file.filename, error)
  }
  yield { name: 'control.tar', open: () => read(from, deb => deb.control, CONTROL_BYTES) }
  yield { name: 'data.tar', open: () => read(from, deb => deb.data, DATA_BYTES) }
  for (const [index, name] of skipped.entries())
    yield { name, open: () => read(from, deb => deb.skipped[index], CONTROL_BYTES) }
}
