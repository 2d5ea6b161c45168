import { pipeline, Readable } from 'node:stream'
import { crc32, createInflateRaw } from 'node:zlib'
import type { FileWindow } from './file-window.ts'
import { malformed } from './limited.ts'
import type { ZipMember, ZipSource } from './zip-directory.ts'

const LOCAL = 30
const LOCAL_MAGIC = 0x04034b50
const HAS_DESCRIPTOR = 8
const ENCRYPTED = 1

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

/** Where the bytes of a member begin. @throws Malformed where its own header contradicts the directory */
export async function dataOffset(file: Pick<ZipSource, 'size' | 'read'>, member: ZipMember): Promise<number> {
  const { offset, name } = member
  const wanted = LOCAL + Math.min(4096, Buffer.byteLength(name) + 256)
  const local = await file.read(offset, Math.min(wanted, Math.max(0, file.size - offset)))
  return offset + checkLocal(local, member)
}

/** What deflated bytes unpack to. Not limited: `checked` does that. @throws Malformed where they are damaged */
export async function* inflated(source: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const inflate = createInflateRaw()
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

/** Passes a member's bytes on. @throws Malformed as soon as they are more than the directory says, or other ones */
export async function* checked(chunks: AsyncIterable<Buffer>, { size, crc }: ZipMember): AsyncGenerator<Buffer> {
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
 * The bytes of a member, in the order of the file; call `whyClosed` before. @throws Malformed where it is damaged, its
 * own header contradicts the directory, or it unpacks to more than the directory says
 */
export async function* unpackMember(file: FileWindow, member: ZipMember): AsyncGenerator<Buffer> {
  const from = await dataOffset(file, member)
  const { method, packed, size } = member
  if (method === 0 && packed !== size) malformed('it is stored, and the zip gives it two sizes')
  const bytes = file.stream(from, packed)
  yield* checked(method === 0 ? bytes : inflated(bytes), member)
}
