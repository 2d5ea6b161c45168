import { malformed, quote } from '../../lib/limited.ts'
import type { Compression, Packed } from '../../lib/packed.ts'
import { listAr } from '../../lib/ar.ts'
import type { ArMember } from '../../lib/ar.ts'
import { openWindow, type FileSource } from '../../lib/file-window.ts'

/** The three members, and a few that begin with an underscore, such as signatures. */
const MAX_MEMBERS = 32
/** The most bytes of a member that dpkg skips. A larger one hides something. */
const MAX_SKIPPED = 1024 * 1024

const COMPRESSIONS: ReadonlyMap<string, Compression> = new Map([
  ['', 'none'],
  ['.gz', 'gzip'],
  ['.xz', 'xz'],
  ['.zst', 'zstd'],
])

/** An open .deb, and where its members are. The caller must `close` it. */
export interface DebMembers {
  readonly control: Packed
  readonly data: Packed
  /** Members that dpkg skips (`_gpgorigin`), in order. */
  readonly skipped: readonly Packed[]
  /** `debian-binary`, control and data as they lie in the file: what a debsigs signature is over. */
  readonly signed: readonly Packed[]
  close(): Promise<void>
}

function compressionOf(member: ArMember, base: 'control.tar' | 'data.tar'): Compression {
  const compression = member.name.startsWith(base) ? COMPRESSIONS.get(member.name.slice(base.length)) : undefined
  if (compression !== undefined) return compression
  if (!member.name.startsWith(base))
    return malformed(`the ar member ${quote(member.name)} stands where deb(5) wants ${base}`)
  return malformed(
    `the ar member ${quote(member.name)} is compressed in a way that is not taken here: gz, xz, zst and none are`,
  )
}

/** debian-binary, control.tar, data.tar in this order; what dpkg skips may stand behind the first. */
function arrange(members: readonly ArMember[]): {
  version: ArMember
  control: ArMember
  data: ArMember
  skipped: ArMember[]
} {
  const [version, ...rest] = members
  if (version?.name !== 'debian-binary')
    return malformed(`its first ar member is ${quote(version?.name ?? '')}; deb(5) wants debian-binary`)
  const skipped = rest.filter(member => member.name.startsWith('_'))
  const [control, data, extra] = rest.filter(member => !member.name.startsWith('_'))
  if (control === undefined) return malformed('it has no ar member control.tar')
  compressionOf(control, 'control.tar')
  if (data === undefined) return malformed('it has no ar member data.tar')
  compressionOf(data, 'data.tar')
  if (extra !== undefined) malformed(`the ar member ${quote(extra.name)} follows data.tar, where dpkg does not look`)
  for (const member of skipped) {
    if (member.size <= MAX_SKIPPED) continue
    malformed(
      `the ar member ${quote(member.name)}, which dpkg skips, has ${member.size} bytes; at most 1 MiB is allowed`,
    )
  }
  return { version, control, data, skipped }
}

/** @throws Malformed when it is no .deb by its outer structure. Source: deb(5). */
export async function openDeb(source: FileSource): Promise<DebMembers> {
  const file = await openWindow(source)
  try {
    const { version, control, data, skipped } = arrange(await listAr(file, MAX_MEMBERS))
    if (version.size < 4 || version.size > 1024)
      malformed(`debian-binary has ${version.size} bytes; it holds a version such as 2.0`)
    const text = (await file.read(version.offset, version.size)).toString('latin1')
    if (!/^2\.\d+\n/.test(text))
      malformed(`debian-binary says ${quote(text)}; the format version must be 2.0, or 2.x, and a newline`)
    const packed = ({ name, offset, size }: ArMember, compression: Compression): Packed => ({
      what: name,
      compression,
      size,
      place: { path: source.path, offset },
      chunks: () => file.stream(offset, size),
    })
    return {
      control: packed(control, compressionOf(control, 'control.tar')),
      data: packed(data, compressionOf(data, 'data.tar')),
      skipped: skipped.map(member => packed(member, 'none')),
      signed: [version, control, data].map(member => packed(member, 'none')),
      close: () => file.close(),
    }
  } catch (error) {
    await file.close()
    throw error
  }
}
