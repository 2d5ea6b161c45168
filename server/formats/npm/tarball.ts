import type { SpooledFile } from '../../files/spool.ts'
import type { Unpacked } from '../../files/unpacked.ts'
import { unpack } from '../../lib/decompress.ts'
import type { FileSource } from '../../lib/file-window.ts'
import { openWindow } from '../../lib/file-window.ts'
import { limited, malformed, quote } from '../../lib/limited.ts'
import type { Packed } from '../../lib/packed.ts'
import { createTarReader, type TarReader } from '../../lib/tar.ts'
import type { TarEntry } from '../../lib/tar-header.ts'
import { createPayload, type Payload } from '../deb/payload.ts'
import { MAX_PACKAGE_JSON } from './package-json.ts'

/** The archive in messages, and the name of its inner stream. */
export const TAR = 'package.tar'
const MAX_ENTRIES = 300_000
const MAX_BYTES = 8 * 2 ** 30

/** The parts of a tarball under a name for `Unpacked`. */
export const PART = { what: TAR, compression: 'gzip' } as const

/** gzip by its first bytes. */
export const isGzip = (head: Uint8Array): boolean => head[0] === 0x1f && head[1] === 0x8b && head[2] === 8

/** Unpacks the tar of a tarball, at most 8 GiB of it. @throws Malformed */
export async function* unpackTar(source: FileSource): AsyncGenerator<Buffer> {
  const window = await openWindow(source)
  try {
    const packed: Packed = {
      what: TAR,
      compression: 'gzip',
      size: window.size,
      place: { path: source.path, offset: 0 },
      chunks: () => window.stream(0, window.size),
    }
    yield* limited(unpack(packed), MAX_BYTES, TAR)
  } finally {
    await window.close()
  }
}

/** What is read of a tarball. */
export interface Tarball {
  /** The bytes of the package.json at its root. */
  readonly packageJson: Buffer
  /** Its files from the root of the package, in the order of the archive. */
  readonly paths: readonly string[]
  readonly fileCount: number
  readonly unpackedSize: number
}

const KINDS: Readonly<Partial<Record<TarEntry['type'], string>>> = {
  symlink: 'a symlink',
  hardlink: 'a hard link',
  char: 'a device',
  block: 'a device',
  fifo: 'a pipe',
}

/** Takes the entries of one tarball and refuses what clients unpack differently, or not at all. */
function createListing(payload: Payload) {
  let root: string | undefined
  let packageJson: Buffer | undefined
  const listing = { fileCount: 0, unpackedSize: 0 }
  const folded = new Set<string>()

  const below = (name: string): string => {
    if (name.includes('\\') || /(?:^|\/)[A-Za-z]:/.test(name))
      malformed(`${TAR}: the name ${quote(name)} leads elsewhere on Windows; names have / between folders`)
    const [first = '', ...rest] = name.split('/').filter(segment => segment !== '' && segment !== '.')
    if (root !== undefined && first !== '' && first !== root)
      malformed(`${TAR} has two folders at its top, ${quote(root)} and ${quote(first)}; npm pack writes one, package`)
    if (first !== '') root = first
    return rest.join('/')
  }

  return {
    add(entry: TarEntry): void {
      const kind = KINDS[entry.type]
      if (kind !== undefined)
        malformed(`${TAR}: ${quote(entry.name)} is ${kind}, which npm does not unpack; npm pack writes plain files`)
      payload.add(entry)
      const path = below(entry.name)
      if (entry.type !== 'file') return
      if (path === '')
        malformed(`${TAR}: the file ${quote(entry.name)} lies in no folder; npm pack writes package/ before it`)
      listing.fileCount += 1
      listing.unpackedSize += entry.size
      if (path.toLowerCase() !== 'package.json') return
      if (folded.size > 0) malformed(`${TAR} has two files package.json, of which clients read different ones`)
      folded.add(path)
      if (path === 'package.json') packageJson = entry.body
    },
    result(): Tarball {
      if (packageJson === undefined)
        malformed(`${TAR} has no package.json in its folder; npm pack writes package/package.json`)
      const cut = (root ?? '').length + 1
      return { packageJson, paths: payload.files().map(path => path.slice(cut)), ...listing }
    },
  }
}

const isPackageJson = ({ name, type }: TarEntry): boolean =>
  type === 'file' && /^(?:\.\/+)*[^/]+\/+(?:\.\/+)*package\.json$/.test(name)

/**
 * Reads a tarball in one pass; nothing of it is kept but the package.json, and what `unpacked` keeps.
 * @throws Malformed; the signal's reason
 */
export async function readTarball(
  file: SpooledFile,
  signal: AbortSignal,
  unpacked?: Pick<Unpacked, 'keep'>,
): Promise<Tarball> {
  signal.throwIfAborted()
  const tar: TarReader = createTarReader({
    what: TAR,
    maxEntries: MAX_ENTRIES,
    keep: entry => (isPackageJson(entry) ? MAX_PACKAGE_JSON : undefined),
  })
  const listing = createListing(createPayload(TAR))
  const chunks = unpackTar(file)
  for await (const chunk of unpacked?.keep(PART, chunks) ?? chunks) {
    for (const entry of tar.push(chunk)) listing.add(entry)
    signal.throwIfAborted()
  }
  tar.end()
  return listing.result()
}
