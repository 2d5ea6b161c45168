import { fromBufferPromise } from 'yauzl'
import { createCpioWriter } from '../lib/cpio-writer.ts'
import { unpack } from '../lib/decompress.ts'
import type { Compression } from '../lib/packed.ts'
import { Malformed, printBytes } from '../lib/limited.ts'
import { createFiles, HELD_BYTES, type File } from './archive-files.ts'
import { ARCHIVE_NAME, HIDDEN, isHidden, kindOf } from './archive-kinds.ts'

/**
 * clamd answers OK to what it does not open: zstd, lzma, ar (so .deb) and .rpm. This looks for them in the files of a
 * package, and in archives inside it, and hands out their unpacked content. clamd opens everything else by itself.
 */
export interface Unopened {
  /** Passes an inner archive on unchanged, and hands out on the way what it finds in it. */
  follow(where: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer>
}

export interface UnopenedDeps {
  /** Gets each hidden archive, unpacked, while the one around it is read. May throw to end the scan. */
  readonly scan: (where: string, chunks: AsyncIterable<Buffer>) => Promise<void>
  /** Called for what could not be unpacked, with the reason. */
  readonly cannot: (where: string, why: string) => void
}

const LEVELS = 8
// the limit for archives that clamd opens by itself and that are only searched for others
const LOOKED_THROUGH_BYTES = 512 * 1024 * 1024
const SPENT = `the archives in this package unpack to more than ${printBytes(LOOKED_THROUGH_BYTES)}, and the rest of them was not looked through`
const TOO_LARGE = `it is larger than ${printBytes(HELD_BYTES)}, and clamd does not open it`

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}

const unpacked = (where: string, body: Buffer, compression: Compression): AsyncGenerator<Buffer> =>
  unpack({ what: where, compression, size: body.length, chunks: () => once(body) })

/**
 * The members of an ar as a cpio, which clamd opens. A damaged ar ends where it is damaged: no one else unpacks the
 * rest either. Source: ar(5)
 */
async function* arAsCpio(body: Buffer): AsyncGenerator<Buffer> {
  const writer = createCpioWriter()
  for (let at = 8; at + 60 <= body.length;) {
    const [name, size] = [
      body
        .toString('latin1', at, at + 16)
        .trim()
        .replace(/\/$/, ''),
      Number(body.toString('latin1', at + 48, at + 58).trim() || 'x'),
    ]
    if (!Number.isInteger(size) || size < 0) break
    const bytes = body.subarray(at + 60, at + 60 + size)
    yield* writer.write({ name: name === '' ? 'member' : name, mode: 0o100644, size: bytes.length, type: 'file' })
    yield* writer.write({ bytes })
    at += 60 + size + (size % 2)
  }
  yield writer.end()
}

/**
 * Where the payload of an .rpm begins: behind its lead and two headers, the first of them padded to eight bytes.
 * Source: rpm's format.md
 */
function rpmPayload(body: Buffer): number | undefined {
  let at = 96
  for (const pad of [8, 1]) {
    if (at + 16 > body.length || body.readUInt32BE(at) !== 0x8eade801) return undefined
    at += 16 + 16 * body.readUInt32BE(at + 8) + body.readUInt32BE(at + 12)
    at = Math.ceil(at / pad) * pad
  }
  return at < body.length ? at : undefined
}

/**
 * Files of a zip whose names say that they may be archives, unpacked one by one. A file that is too large, and that
 * clamd does not open either, comes without its body. Encrypted or damaged files are left to clamd.
 */
async function* zipFiles(body: Buffer): AsyncGenerator<{ readonly path: string; readonly body: Buffer | undefined }> {
  try {
    const zip = await fromBufferPromise(body, { lazyEntries: true, validateEntrySizes: true })
    for await (const entry of zip.eachEntry()) {
      const { fileName: path } = entry
      const isLarge = entry.uncompressedSize > HELD_BYTES
      if (entry.isEncrypted() || !(isLarge || ARCHIVE_NAME.test(path))) continue
      const chunks: Buffer[] = []
      for await (const chunk of await zip.openReadStreamPromise(entry)) {
        chunks.push(chunk as Buffer)
        if (isLarge) break
      }
      const body = Buffer.concat(chunks)
      if (!isLarge || isHidden(path, body)) yield { path, body: isLarge ? undefined : body }
    }
  } catch {
    /* clamd gets the zip as it is and judges it */
  }
}

/** Makes the search through one package. */
export function createUnopened({ scan, cannot }: UnopenedDeps): Unopened {
  let left = LOOKED_THROUGH_BYTES

  /** Ends at damage and reports it: the rest was not scanned. */
  async function* told(where: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    try {
      yield* chunks
    } catch (error) {
      cannot(where, error instanceof Malformed ? error.why : 'it is damaged')
    }
  }

  async function lookThrough(where: string, chunks: AsyncIterable<Buffer>, level: number): Promise<void> {
    try {
      for await (const chunk of follow(where, chunks, level)) {
        left -= chunk.length
        if (left < 0) return cannot(where, SPENT)
      }
    } catch (error) {
      if (!(error instanceof Malformed)) throw error // clamd judges damage in what it opens
    }
  }

  /** Looks for what clamd does not open in one file: hands it out, or searches it. */
  async function look(where: string, body: Buffer, level: number): Promise<void> {
    const kind = kindOf(body)
    if (kind === undefined) return
    if (level > LEVELS) return HIDDEN.has(kind) ? cannot(where, `it lies more than ${LEVELS} archives deep`) : undefined
    const handOut = (chunks: AsyncIterable<Buffer>): Promise<void> => scan(where, follow(where, chunks, level))
    switch (kind) {
      case 'zstd':
      case 'lzma':
        return handOut(told(where, unpacked(where, body, kind)))
      case 'ar':
        return handOut(arAsCpio(body))
      case 'lead': {
        // the beginning of every .rpm
        const at = rpmPayload(body) ?? body.length
        await scan(`${where}!/header`, once(body.subarray(0, at)))
        const payload = body.subarray(at)
        if (payload.length === 0) return cannot(where, 'its headers are damaged')
        return scan(`${where}!/payload`, follow(`${where}!/payload`, once(payload), level))
      }
      case 'zip':
        for await (const { path, body: inside } of zipFiles(body)) {
          left -= inside?.length ?? 0
          if (left < 0) return cannot(where, SPENT)
          if (inside === undefined) cannot(`${where}!/${path}`, TOO_LARGE)
          else await look(`${where}!/${path}`, inside, level + 1)
        }
        return undefined
      default:
        return lookThrough(where, unpacked(where, body, kind), level)
    }
  }

  async function* follow(where: string, chunks: AsyncIterable<Buffer>, level: number): AsyncGenerator<Buffer> {
    const files = createFiles(where, path => cannot(path === '' ? where : `${where}!/${path}`, TOO_LARGE))
    const lookAt = async (found: readonly File[]): Promise<void> => {
      for (const { path, body } of found)
        await look(path === '' ? where : `${where}!/${path.replace(/^(?:\.?\/)+/, '')}`, body, level + 1)
    }
    for await (const chunk of chunks) {
      yield chunk
      await lookAt(files.push(chunk))
    }
    await lookAt(files.end())
  }

  return { follow: (where, chunks) => follow(where, chunks, 0) }
}
