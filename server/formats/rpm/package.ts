import type { Compression, Packed } from '../../lib/packed.ts'
import { malformed, quote } from '../../lib/limited.ts'
import { openWindow, type FileSource, type FileWindow } from '../../lib/file-window.ts'
import type { PayloadDigests } from './digests.ts'
import { checkHeaderDigests, createPayloadDigests } from './digests.ts'
import type { RpmHeader } from './header.ts'
import { MAIN, SIGNATURE, readHeader } from './header.ts'
import { SIGTAG, TAG } from './tags.ts'
import { isSourceHeader } from './kind.ts'

const LEAD = 96
/** What every .rpm begins with. */
export const LEAD_MAGIC = Buffer.from('edabeedb', 'hex')
/** The only kind of signature since 1998: a header structure. */
const HEADER_STYLE = 5

const COMPRESSIONS: ReadonlyMap<string, Compression> = new Map([
  ['gzip', 'gzip'],
  ['xz', 'xz'],
  ['zstd', 'zstd'],
  ['bzip2', 'bzip2'],
  ['lzma', 'lzma'],
  ['none', 'none'],
])

/** An open .rpm: its two headers, and where its payload is. The caller must `close` it. */
export interface RpmPackage {
  readonly signature: RpmHeader
  readonly header: RpmHeader
  /** Read to its end, it has passed through `digests`. */
  readonly payload: Packed
  readonly digests: PayloadDigests
  /** Bytes from one place to another, as they lie in the file. */
  bytes(from: number, to: number): AsyncGenerator<Buffer>
  readonly size: number
  close(): Promise<void>
}

/** @returns whether it says that the package is a source */
function readLead(lead: Buffer): boolean {
  if (!LEAD_MAGIC.equals(lead.subarray(0, 4))) malformed('it does not begin with the magic number of an .rpm')
  const major = lead[4] ?? 0
  if (major !== 3 && major !== 4) malformed(`its lead is of version ${major}; 3 and 4 are known`)
  const type = lead.readUInt16BE(6)
  if (type !== 0 && type !== 1)
    malformed(`its lead says it is a package of the type ${type}; binary packages have 0, source packages 1`)
  const style = lead.readUInt16BE(78)
  if (style !== HEADER_STYLE)
    malformed(`its lead says that its signature is of the type ${style}; ${HEADER_STYLE} is known`)
  return type === 1
}

/** Between the two headers stand zeros, so that the second begins at a multiple of eight bytes. */
async function readPadding(file: FileWindow, end: number): Promise<number> {
  const pad = (8 - (end % 8)) % 8
  const bytes = await file.read(end, pad)
  if (bytes.some(byte => byte !== 0)) malformed('the padding behind the signature header is not zero')
  return end + pad
}

async function compressionOf(file: FileWindow, header: RpmHeader): Promise<Compression> {
  const format = header.text(TAG.payloadformat)
  if (header.has(TAG.payloadformat) && format !== 'cpio')
    malformed(`its payload is of the format ${quote(format)}; cpio is the one that installs`)
  if (!header.has(TAG.payloadcompressor)) {
    // rpm writes none of these two: gzip in old packages, nothing at all in new ones that are not compressed
    const head = await file.read(header.end, Math.min(2, file.size - header.end))
    return head.equals(Buffer.from('1f8b', 'hex')) ? 'gzip' : 'none'
  }
  const name = header.text(TAG.payloadcompressor)
  return (
    COMPRESSIONS.get(name) ??
    malformed(
      `its payload is compressed with ${quote(name)}, which is not taken here: gzip, xz, lzma, zstd, bzip2 and none are`,
    )
  )
}

/** What the package says of its own size, where it says so. */
function checkSize(signature: RpmHeader, header: RpmHeader, size: number): void {
  const both = signature.number(SIGTAG.longsize) ?? signature.number(SIGTAG.size)
  const there = size - header.start
  if (both !== undefined && both !== there)
    malformed(
      `its signature header says that header and payload have ${both} bytes, and there are ${there}: it is cut off, or something follows it`,
    )
  const payload = header.number(TAG.payloadsize)
  if (payload !== undefined && payload !== size - header.end)
    malformed(`its header says that the payload has ${payload} bytes, and there are ${size - header.end}`)
}

/** Values that are not used here, but that make rpm refuse the package or crash when they are wrong. */
function checkRest(signature: RpmHeader, header: RpmHeader): void {
  if (header.has(TAG.archivesize) && signature.has(SIGTAG.payloadsize))
    malformed('both headers say how large the payload is unpacked, and rpm takes that for a forgery')
  for (const prefix of header.texts(TAG.prefixes))
    if (!prefix.startsWith('/'))
      malformed(`the header: the folder ${quote(prefix)}, which may be moved elsewhere, does not begin with a slash`)
}

async function read(file: FileWindow): Promise<Omit<RpmPackage, 'close'>> {
  const isSource = readLead(await file.read(0, LEAD))
  const signature = await readHeader(file, LEAD, SIGNATURE)
  const header = await readHeader(file, await readPadding(file, signature.end), MAIN)
  if (isSource !== isSourceHeader(header))
    malformed('of its lead and its header one says that it is a source package (.src.rpm), and the other does not')
  checkSize(signature, header, file.size)
  checkRest(signature, header)
  const compression = await compressionOf(file, header)
  const digests = createPayloadDigests(signature, header, compression === 'none')
  if (checkHeaderDigests(signature, header) === 0 && !signature.has(SIGTAG.md5))
    malformed('it carries no digest of its header, and rpm would not install it')
  const size = file.size - header.end
  return {
    signature,
    header,
    digests,
    size: file.size,
    payload: { what: 'the payload', compression, size, chunks: () => digests.watch(file.stream(header.end, size)) },
    bytes: (from, to) => file.stream(from, to - from),
  }
}

/**
 * Opens a package and checks everything outside its payload.
 * @throws Malformed when it is no .rpm that rpm would install
 * Source: https://rpm-software-management.github.io/rpm/manual/format_v4.html, format_v6.html
 */
export async function openRpm(source: FileSource): Promise<RpmPackage> {
  const file = await openWindow(source)
  try {
    return { ...(await read(file)), close: () => file.close() }
  } catch (error) {
    await file.close()
    throw error
  }
}
