/** Archives by their first bytes; `lead` is the beginning of every .rpm. */
export type Kind = 'zstd' | 'lzma' | 'ar' | 'lead' | 'gzip' | 'xz' | 'bzip2' | 'zip'

/** Those that clamd does not open. */
export const HIDDEN: ReadonlySet<Kind> = new Set(['zstd', 'lzma', 'ar', 'lead'])
/** Names of files that clamd does not open. */
const HIDDEN_NAME = /\.(?:zst|zstd|tzst|lzma|tlz|u?deb|ipk|rpm)$/i
/** Names of files that may be archives or contain some. */
export const ARCHIVE_NAME =
  /\.(?:zst|zstd|tzst|lzma|tlz|u?deb|ipk|rpm|ar|a|tar|t?gz|t?xz|t?bz2|zip|jar|war|ear|whl|apk|gem|bin)$/i

const MAGICS: readonly (readonly [Kind, string])[] = [
  ['zstd', '28b52ffd'],
  ['ar', '213c617263683e0a'],
  ['lead', 'edabeedb'],
  ['gzip', '1f8b08'],
  ['xz', 'fd377a585a00'],
  ['bzip2', '425a68'],
  ['zip', '504b0304'],
]

/**
 * Whether clamd opens nothing of a file that is too large to be taken apart here, by its name and first bytes. A large
 * ar that is no package is a library of objects, which clamd scans as it is.
 */
export function isHidden(name: string, head: Buffer): boolean {
  const kind = kindOf(head)
  return (
    HIDDEN_NAME.test(name) ||
    (kind === 'ar' ? head.toString('latin1', 8, 21) === 'debian-binary' : kind !== undefined && HIDDEN.has(kind))
  )
}

/** What a file is, by its first bytes; undefined when it is no archive. */
export function kindOf(bytes: Buffer): Kind | undefined {
  const found = MAGICS.find(
    ([, magic]) => bytes.toString('latin1', 0, magic.length / 2) === Buffer.from(magic, 'hex').toString('latin1'),
  )
  if (found !== undefined || bytes.length < 14 || bytes[0] !== 0x5d) return found?.[0]
  // lzma has no magic: its properties as every writer sets them, a window of whole 4 KiB, and a size that is unknown or
  // below 1 TiB
  const size = bytes.readBigUInt64LE(5)
  return bytes.readUInt32LE(1) % 4096 === 0 && (size === 0xffffffffffffffffn || size < 1n << 40n) ? 'lzma' : undefined
}
