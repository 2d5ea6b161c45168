import { inflateRawSync, constants } from 'node:zlib'
import { Malformed, malformed } from '../../lib/limited.ts'
import type { ZipMember } from '../../lib/zip-directory.ts'
import { checked, dataOffset, inflated } from '../../lib/zip-entry.ts'
import { chunksOf, fileWithin, HEAD_BYTES, mustFit } from '../open-file.ts'
import type { HeldFile, OpenFile, Room } from '../reader.ts'

/** A head needs this many deflated bytes at most where they are text or code; what unpacks better needs fewer. */
const PEEKED = 1024
/** Up to this size a member is inflated in one call. */
const AT_ONCE = 2 ** 20

/** The first bytes of a deflated member. */
function peek(packed: Buffer, isAll: boolean): Buffer {
  try {
    return inflateRawSync(packed, isAll ? {} : { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, HEAD_BYTES)
  } catch (error) {
    return malformed('it is damaged', error)
  }
}

async function* atOnce(packed: OpenFile, size: number): AsyncGenerator<Buffer> {
  try {
    yield inflateRawSync(await packed.read(0, packed.size), { maxOutputLength: size + 1 })
  } catch (error) {
    malformed('it is damaged, or larger than the directory of the zip says', error)
  }
}

/**
 * One member of a zip as a file: a stored one where it lies, a deflated one inflated when somebody reads more than its
 * head. To be closed.
 * @param path  what it is called from now on
 * @throws Malformed where it is damaged; call `whyClosed` before
 */
export async function openMember(
  file: OpenFile,
  member: ZipMember,
  { path, room }: { readonly path: string; readonly room: Room },
): Promise<HeldFile> {
  const { packed: packedSize, size } = member
  const from = await dataOffset(file, member)
  const packed = await fileWithin(file, { path, offset: from, size: packedSize })
  if (member.method === 0) {
    if (packedSize !== size) malformed('it is stored, and the zip gives it two sizes')
    return { ...packed, close: () => Promise.resolve() }
  }
  const head = peek(await packed.read(0, PEEKED), packedSize <= PEEKED)
  let held: Promise<HeldFile> | undefined
  const whole = async (): Promise<HeldFile> => {
    mustFit(size, room.limits.fileBytes)
    const isSmall = packedSize <= AT_ONCE && size <= 16 * AT_ONCE
    const unpack = isSmall ? atOnce : (from: OpenFile) => inflated(chunksOf(from))
    return (held ??= room.hold(path, room.inflate(checked(unpack(packed, size), member), packedSize)))
  }
  return {
    path,
    size,
    head,
    read: async (offset, length) =>
      offset + length <= head.length ? head.subarray(offset, offset + length) : (await whole()).read(offset, length),
    async whole(most) {
      mustFit(size, most)
      return (await whole()).whole(most)
    },
    async close() {
      await held?.then(
        file => file.close(),
        () => undefined,
      )
    },
  }
}

/** What is said of a member whose opening threw. @throws anything but Malformed */
export function whyDamaged(error: unknown): string {
  if (error instanceof Malformed) return `In its zip ${error.why}.`
  throw error
}
