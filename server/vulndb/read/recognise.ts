import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { unpack } from '../../lib/decompress.ts'
import type { Compression } from '../../lib/packed.ts'
import { malformed } from '../../lib/limited.ts'
import { isJarIndex } from '../java/jar-index.ts'

/** The kind of a file, by its content. */
export type FeedKind =
  | 'osv'
  | 'osv-record'
  | 'debian-tracker'
  | 'alpine-secdb'
  | 'updateinfo'
  | 'kev'
  | 'epss'
  | 'nvd'
  | 'csaf'
  | 'csaf-archive'
  | 'jar-index'
  | 'bundle'
export interface Recognised {
  readonly kind: FeedKind
  readonly compression: Compression
}

const MAGIC: readonly (readonly [compression: Compression, bytes: readonly number[]])[] = [
  ['gzip', [0x1f, 0x8b]],
  ['xz', [0xfd, 0x37, 0x7a, 0x58, 0x5a]],
  ['zstd', [0x28, 0xb5, 0x2f, 0xfd]],
  ['bzip2', [0x42, 0x5a, 0x68]],
]

const startsWith = (head: Uint8Array, bytes: readonly number[]): boolean => bytes.every((byte, at) => head[at] === byte)

/** The most that one feed may unpack to; Debian's tracker, the largest, has about 80 MB. */
const MOST_UNPACKED = 4 * 2 ** 30

/**
 * The content of the file, unpacked while reading. @throws Malformed for a damaged file and for one larger than any
 * feed
 */
export async function* readUnpacked(path: string, compression: Compression): AsyncGenerator<Buffer> {
  const { size } = await stat(path)
  let seen = 0
  async function* chunks(): AsyncGenerator<Buffer> {
    for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) yield chunk as Buffer
  }
  for await (const chunk of unpack({ what: 'the file', compression, size, chunks })) {
    seen += chunk.length
    if (seen > MOST_UNPACKED) malformed('the file unpacks to more than any feed has')
    yield chunk
  }
}

/** The first bytes of a file, unpacked. */
async function peek(path: string, compression: Compression, bytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let seen = 0
  for await (const chunk of readUnpacked(path, compression)) {
    chunks.push(chunk)
    seen += chunk.length
    if (seen >= bytes) break
  }
  return Buffer.concat(chunks).subarray(0, bytes)
}

function kindOf(head: Buffer): FeedKind | undefined {
  if (head.length > 262 && head.toString('latin1', 257, 262) === 'ustar')
    // `2024/cve-2024-1234.json`: Red Hat's and SUSE's archives; `vex/cve/2024/CVE-2024-1234.json`: Ubuntu's
    return /^(?:\.\/)?(?:vex\/|(?:[\w.-]+\/)*\d{4}\/|(?:cve|rhsa|suse)-[\w.-]+\.json)/i.test(
      head.toString('latin1', 0, 100),
    )
      ? 'csaf-archive'
      : 'bundle'
  if (isJarIndex(head)) return 'jar-index'
  const text = head
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trimStart()
  if (text.startsWith('<')) return /<updates[\s>/]/.test(text) ? 'updateinfo' : undefined
  if (/^(#model_version|cve,epss)/.test(text)) return 'epss'
  if (!text.startsWith('{')) return undefined
  // the catalogue's schema has the same keys
  if (/"catalogVersion"\s*:\s*"/.test(text) && /"vulnerabilities"\s*:\s*\[/.test(text)) return 'kev'
  if (/"distroversion"\s*:/.test(text) || /"secfixes"\s*:/.test(text)) return 'alpine-secdb'
  if (/"csaf_version"\s*:\s*"/.test(text)) return 'csaf'
  if (/"format"\s*:\s*"NVD_CVE"/.test(text)) return 'nvd'
  // `{"0ad": {"CVE-2024-1": {… "releases":`
  if (/^\{\s*"[^"]{1,200}"\s*:\s*\{\s*"(?:CVE|TEMP)-[^"]*"\s*:\s*\{/.test(text)) return 'debian-tracker'
  return /"id"\s*:\s*"/.test(text) && /"(?:affected|modified)"\s*:/.test(text) ? 'osv-record' : undefined
}

/** Recognises a file by its content, whatever its name; undefined for everything that is no feed. */
export async function recogniseFeed(path: string): Promise<Recognised | undefined> {
  const handle = await open(path, 'r')
  const head = Buffer.alloc(8)
  try {
    await handle.read(head, 0, head.length, 0)
  } finally {
    await handle.close()
  }
  if (startsWith(head, [0x50, 0x4b, 0x03, 0x04])) return { kind: 'osv', compression: 'none' }
  const compression = MAGIC.find(([, bytes]) => startsWith(head, bytes))?.[0] ?? 'none'
  const kind = kindOf(await peek(path, compression, 64 * 1024))
  return kind === undefined ? undefined : { kind, compression }
}
