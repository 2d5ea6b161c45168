import { crc32, inflateRawSync } from 'node:zlib'
import { openPromise, type Entry, type ZipFile } from 'yauzl'
import { Malformed, malformed, quote } from './limited.ts'

/** Limits of a zip, and its name in messages. */
export interface ZipLimits {
  readonly what: string
  readonly maxEntries: number
  readonly maxEntryBytes: number
  readonly maxTotalBytes: number
}

const STORED = 0
const DEFLATED = 8

async function readPacked(zip: ZipFile, entry: Entry): Promise<Buffer> {
  const chunks: Buffer[] = []
  const packed: AsyncIterable<Buffer> = await zip.openReadStreamPromise(entry, { decodeFileData: false })
  for await (const chunk of packed) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Unpacks one entry in one call. yauzl would do it with a stream: 4.4 s instead of 1.9 s for 20,000 advisories. */
async function unpackEntry(zip: ZipFile, entry: Entry, { what, maxEntryBytes }: ZipLimits): Promise<Buffer> {
  const name = quote(entry.fileName)
  const { compressionMethod: method, uncompressedSize: size } = entry
  if (entry.isEncrypted()) malformed(`${what} holds ${name}, which is encrypted`)
  if (size > maxEntryBytes || entry.compressedSize > maxEntryBytes)
    malformed(`${what} holds ${name}, which is larger than allowed`)
  if (method !== STORED && method !== DEFLATED)
    malformed(`${what} holds ${name} compressed by a method that is not read here`)
  const packed = await readPacked(zip, entry)
  try {
    const bytes = method === STORED ? packed : inflateRawSync(packed, { maxOutputLength: Math.max(1, size) })
    if (bytes.length === size && crc32(bytes) === entry.crc32) return bytes
  } catch (error) {
    return malformed(`${what}: ${name} is damaged`, error)
  }
  return malformed(`${what}: ${name} is damaged`)
}

/**
 * Calls `each` with every file of a zip, one after the other and whole. Holds one file at a time and writes nothing.
 * Blocks while it unpacks a file: run it in a worker thread.
 * @throws Malformed for a damaged zip, for names that lead out of the folder, and beyond the limits
 */
export async function readZip(
  path: string,
  limits: ZipLimits,
  each: (name: string, bytes: Buffer) => void,
): Promise<void> {
  const { what, maxEntries, maxTotalBytes } = limits
  try {
    const zip = await openPromise(path, { lazyEntries: true, strictFileNames: true })
    try {
      if (zip.entryCount > maxEntries) malformed(`${what} holds ${zip.entryCount} files, more than ${maxEntries}`)
      let total = 0
      for await (const entry of zip.eachEntry()) {
        total += entry.uncompressedSize
        if (total > maxTotalBytes) malformed(`${what} unpacks to more than allowed`)
        if (!entry.fileName.endsWith('/')) each(entry.fileName, await unpackEntry(zip, entry, limits))
      }
    } finally {
      zip.close()
    }
  } catch (error) {
    if (error instanceof Malformed) throw error
    throw new Malformed(`${what} is no readable zip (${error instanceof Error ? error.message : String(error)})`, error)
  }
}
