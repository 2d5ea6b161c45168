import { closeSync, openSync, readSync } from 'node:fs'
import { crc32, inflateRawSync } from 'node:zlib'
import yauzl from 'yauzl'
import { Malformed, malformed, quote } from './limited.ts'

/** What a zip may hold at most, and what messages call it. */
export interface ZipLimits {
  readonly what: string
  readonly maxEntries: number
  readonly maxEntryBytes: number
  readonly maxTotalBytes: number
}

const LOCAL_HEADER = 30
const STORED = 0
const DEFLATED = 8

interface Source {
  readonly fd: number
  readonly what: string
  readonly maxEntryBytes: number
}

function readExactly({ fd, what }: Source, length: number, position: number): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  if (readSync(fd, bytes, 0, length, position) !== length) malformed(`${what} is cut off`)
  return bytes
}

/** One entry unpacked in one call: they are small, and a stream each would cost ten times as much. */
function unpackEntry(source: Source, entry: yauzl.Entry): Buffer {
  const { what, maxEntryBytes } = source
  const name = quote(entry.fileName)
  if (entry.isEncrypted()) malformed(`${what} holds ${name}, which is encrypted`)
  if (entry.uncompressedSize > maxEntryBytes || entry.compressedSize > maxEntryBytes)
    malformed(`${what} holds ${name}, which is larger than allowed`)
  // the local header may have other extra fields than the directory at the end, so it says itself where the data begin
  const header = readExactly(source, LOCAL_HEADER, entry.relativeOffsetOfLocalHeader)
  if (header.readUInt32LE(0) !== 0x04034b50) malformed(`${what}: where ${name} should be is no file`)
  const at = entry.relativeOffsetOfLocalHeader + LOCAL_HEADER + header.readUInt16LE(26) + header.readUInt16LE(28)
  const packed = readExactly(source, entry.compressedSize, at)
  if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED)
    malformed(`${what} holds ${name} compressed by a method that is not read here`)
  try {
    const bytes =
      entry.compressionMethod === STORED
        ? packed
        : inflateRawSync(packed, { maxOutputLength: Math.max(1, entry.uncompressedSize) })
    if (bytes.length !== entry.uncompressedSize || crc32(bytes) !== entry.crc32)
      malformed(`${what}: ${name} is damaged`)
    return bytes
  } catch (error) {
    if (error instanceof Malformed) throw error
    return malformed(`${what}: ${name} is damaged`, error)
  }
}

/**
 * Shows each file of a zip, one after the other, whole; nothing else of it is held, and nothing is written anywhere.
 * Names that lead out of a folder refuse the zip. Reads and unpacks without giving way, so it belongs into a thread of
 * its own.
 * @throws Malformed for a damaged zip and for one beyond its limits
 */
export function readZip(path: string, limits: ZipLimits, each: (name: string, bytes: Buffer) => void): Promise<void> {
  const { what, maxEntries, maxEntryBytes, maxTotalBytes } = limits
  const fd = openSync(path, 'r')
  const source = { fd, what, maxEntryBytes }
  return new Promise<void>((resolve, reject) => {
    const refuse = (error: unknown): void =>
      reject(
        error instanceof Malformed
          ? error
          : new Malformed(
              `${what} is no readable zip (${error instanceof Error ? error.message : String(error)})`,
              error,
            ),
      )
    yauzl.fromFd(fd, { lazyEntries: true, autoClose: false, strictFileNames: true }, (failed, zip) => {
      // its type says that a zip is there in any case
      if (failed !== null) return refuse(failed)
      if (zip.entryCount > maxEntries)
        return refuse(new Malformed(`${what} holds ${zip.entryCount} files, more than ${maxEntries}`))
      let total = 0
      zip.on('error', refuse)
      zip.on('end', () => resolve())
      zip.on('entry', (entry: yauzl.Entry) => {
        try {
          total += entry.uncompressedSize
          if (total > maxTotalBytes) malformed(`${what} unpacks to more than allowed`)
          if (!entry.fileName.endsWith('/')) each(entry.fileName, unpackEntry(source, entry))
          zip.readEntry()
        } catch (error) {
          refuse(error)
        }
      })
      zip.readEntry()
    })
  }).finally(() => closeSync(fd))
}
