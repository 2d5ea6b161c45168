import { pipeline, Readable } from 'node:stream'
import { createInflateRaw } from 'node:zlib'
import { malformed } from '../../lib/limited.ts'
import { mayBeImage, openImages } from '../binary/images.ts'
import type { Image } from '../binary/image.ts'
import { chunksOf, fileWithin } from '../open-file.ts'
import type { OpenFile, Unpacker } from '../reader.ts'

/** Behind the place of the header, in data that are written once all is built: SHA-256 of `.net core bundle\n` */
const SIGNATURE = Buffer.from('8b1202b96a612038727b930214d7a03213f5b9e6efae3318ee3b2dce24b36aae', 'hex')
const PLACE_BYTES = 8
const MOST_DATA = 64 * 2 ** 20
const MOST_HEADER = 64 * 2 ** 20
const MOST_FILES = 100_000

/** Where the header of the bundle is; undefined for every other program, and for one that is not bundled. */
async function headerAt(image: Image, file: OpenFile): Promise<number | undefined> {
  for (const { offset, size, isWritable } of image.sections) {
    if (!isWritable || size > MOST_DATA || offset >= file.size) continue
    const bytes = await image.file.read(offset, size)
    const at = bytes.indexOf(SIGNATURE)
    if (at < PLACE_BYTES) continue
    const place = Number(bytes.readBigInt64LE(at - PLACE_BYTES))
    return place > 0 && place < file.size ? place : undefined
  }
  return undefined
}

interface Entry {
  readonly name: string
  readonly offset: number
  readonly size: number
  /** 0 where it is not compressed. */
  readonly packed: number
}

/** Source: "Bundler" among the designs of single-file apps in dotnet/designs; versions 1, 2 and 6 */
function* entriesIn(header: Buffer): Generator<Entry> {
  let at = 0
  const take = (bytes: number): number => {
    at += bytes
    if (at > header.length) malformed('the list of files in its bundle is cut off')
    return at - bytes
  }
  const u32 = (): number => header.readUInt32LE(take(4))
  const u64 = (): number => Number(header.readBigUInt64LE(take(8)))
  const text = (): string => {
    let length = 0
    for (let shift = 0, byte = 0x80; byte >= 0x80 && shift < 28; shift += 7) {
      byte = header[take(1)] ?? 0
      length += (byte & 0x7f) * 2 ** shift
    }
    return header.toString('utf8', take(length), at)
  }
  const major = u32()
  u32()
  const count = u32()
  if (major > 20 || count > MOST_FILES) malformed('the list of files in its bundle is damaged')
  text()
  if (major >= 2) take(40)
  for (let n = 0; n < count; n++) {
    const [offset, size] = [u64(), u64()]
    const packed = major >= 6 ? u64() : 0
    take(1)
    yield { name: text().replaceAll('\\', '/').replace(/^\/+/, ''), offset, size, packed }
  }
}

async function* inflated(file: OpenFile): AsyncGenerator<Buffer> {
  const [engine, source] = [createInflateRaw(), chunksOf(file)]
  pipeline(Readable.from(source), engine, () => {})
  try {
    for await (const chunk of engine) yield chunk as Buffer
  } catch (error) {
    if (/^Z_/.test(String((error as { code?: unknown }).code))) malformed('it is damaged', error)
    throw error
  } finally {
    engine.destroy()
    await source.return(undefined)
  }
}

/** Programs of .NET that were published as one file: the assemblies and lists in them. */
export const singleFile: Unpacker = {
  id: 'dotnet-single-file',
  wants: mayBeImage,
  async *files(file, room) {
    const [image] = await openImages(file).catch(() => [])
    const start = image === undefined || image.format === 'wasm' ? undefined : await headerAt(image, file)
    if (start === undefined) return
    for (const { name, offset, size, packed } of entriesIn(await file.read(start, MOST_HEADER))) {
      const path = `${file.path}!/${name}`
      const stored = packed === 0 ? size : packed
      if (offset + stored > file.size) {
        yield { path, size, why: 'The list of its bundle puts it outside.' }
        continue
      }
      const part = await fileWithin(file, { path, offset, size: stored })
      if (packed === 0) {
        yield part
        continue
      }
      const held = await room.hold(path, room.inflate(inflated(part), packed))
      try {
        yield held
      } finally {
        await held.close()
      }
    }
  },
}
