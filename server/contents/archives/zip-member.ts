import { crc32, createInflateRaw, inflateRawSync, constants } from 'node:zlib'
import { pipeline, Readable } from 'node:stream'
import { Malformed, malformed } from '../../lib/limited.ts'
import { chunksOf, fileWithin, HEAD_BYTES, mustFit } from '../open-file.ts'
import type { HeldFile, OpenFile, Room } from '../reader.ts'
import type { ZipMember } from '../../lib/zip-directory.ts'

const LOCAL = 30
const LOCAL_MAGIC = 0x04034b50
const HAS_DESCRIPTOR = 8
const ENCRYPTED = 1
/** A head needs this many deflated bytes at most where they are text or code; what unpacks better needs fewer. */
const PEEKED = 1024
/** Up to this size a member is inflated in one call. */
const AT_ONCE = 2 ** 20

/** Why a member cannot be read, in one sentence; undefined where it can. */
export function whyClosed({ flags, method }: Pick<ZipMember, 'flags' | 'method'>): string | undefined {
  if ((flags & ENCRYPTED) !== 0) return 'It is encrypted.'
  return method === 0 || method === 8 ? undefined : `It is compressed by method ${method}, which is not read.`
}

/** @throws Malformed where the header before a member says something else than the directory */
function checkLocal(local: Buffer, member: ZipMember): number {
  if (local.length < LOCAL || local.readUInt32LE(0) !== LOCAL_MAGIC) malformed('it has no header of its own in the zip')
  const [flags, method, nameSize] = [local.readUInt16LE(6), local.readUInt16LE(8), local.readUInt16LE(26)]
  const [crc, packed, size] = [local.readUInt32LE(14), local.readUInt32LE(18), local.readUInt32LE(22)]
  const isSaid = (flags & HAS_DESCRIPTOR) === 0
  const differs =
    method !== member.method ||
    local.toString('utf8', LOCAL, Math.min(local.length, LOCAL + nameSize)) !==
      member.name.slice(0, Math.max(0, local.length - LOCAL)) ||
    (isSaid &&
      (crc !== member.crc ||
        (packed !== member.packed && packed !== 0xffffffff) ||
        (size !== member.size && size !== 0xffffffff)))
  if (differs) malformed('its own header in the zip says something else than the directory')
  return LOCAL + nameSize + local.readUInt16LE(28)
}

/** The first bytes of a deflated member. */
function peek(packed: Buffer, isAll: boolean): Buffer {
  try {
    return inflateRawSync(packed, isAll ? {} : { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, HEAD_BYTES)
  } catch (error) {
    return malformed('it is damaged', error)
  }
}

async function* inflated(packed: OpenFile): AsyncGenerator<Buffer> {
  const inflate = createInflateRaw()
  const source = chunksOf(packed)
  pipeline(Readable.from(source), inflate, () => {})
  try {
    for await (const chunk of inflate) yield chunk as Buffer
  } catch (error) {
    if (/^Z_/.test(String((error as { code?: unknown }).code))) malformed('it is damaged', error)
    throw error
  } finally {
    inflate.destroy()
    await source.return(undefined)
  }
}

async function* atOnce(packed: OpenFile, size: number): AsyncGenerator<Buffer> {
  try {
    yield inflateRawSync(await packed.read(0, packed.size), { maxOutputLength: size + 1 })
  } catch (error) {
    malformed('it is damaged, or larger than the directory of the zip says', error)
  }
}

async function* checked(chunks: AsyncIterable<Buffer>, { size, crc }: ZipMember): AsyncGenerator<Buffer> {
  let [bytes, sum] = [0, 0]
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > size) malformed('it is larger than the directory of the zip says')
    sum = crc32(chunk, sum)
    yield chunk
  }
  if (bytes !== size || sum !== crc) malformed('it has another size or checksum than the directory of the zip says')
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
  const { offset, packed: packedSize, size } = member
  const local = await file.read(offset, LOCAL + Math.min(4096, Buffer.byteLength(member.name) + PEEKED + 256))
  const from = offset + checkLocal(local, member)
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
    const unpack = isSmall ? atOnce : inflated
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
