import type { Unpacked } from '../../files/unpacked.ts'
import type { FileWindow } from '../../lib/file-window.ts'
import { readGzipMember } from '../../lib/gzip-members.ts'
import { limited, malformed, quote } from '../../lib/limited.ts'
import type { TarEntry } from '../../lib/tar-header.ts'
import { createTarReader } from '../../lib/tar.ts'
import { createPayload } from '../deb/payload.ts'
import { MAX_METADATA } from './metadata.ts'
import { normalName, normalVersion, type FileName } from './names.ts'
import { MAX_ENTRIES, MAX_UNPACKED } from './wheel.ts'

/** The one inner archive of a source release. */
export const SDIST_PART = { what: 'sdist.tar', compression: 'gzip' } as const

/** The tar of a source release. @throws Malformed where it is damaged, too large, or goes on behind its end */
export async function* unpackSdist(file: FileWindow): AsyncGenerator<Buffer> {
  const member = readGzipMember(file, 0, 'the archive')
  yield* limited(member.chunks, MAX_UNPACKED, 'the archive')
  const behind = file.size - member.end()
  if (behind > 0) malformed(`${behind} bytes follow the end of its archive, where a scanner does not look`)
}

/** Whether the one folder of a source release is named as PEP 625 wants it, or as it was before. */
function isNamedAfter(folder: string, { name, version }: FileName): boolean {
  const at = folder.lastIndexOf('-')
  return (
    at > 0 &&
    normalName(folder.slice(0, at)) === normalName(name) &&
    normalVersion(folder.slice(at + 1)) === normalVersion(version)
  )
}

/** @throws Malformed */
function mustBeInside({ name, type }: TarEntry, named: FileName): string {
  const path = name.replace(/^(?:\.\/)+/, '')
  if (path === '' || path === '.') return ''
  const folder = path.split('/')[0] ?? ''
  if (!isNamedAfter(folder, named))
    malformed(
      `it holds ${quote(name)}, which is not in a folder ${quote(`${named.name}-${named.version}`)}: a source release has that one folder`,
    )
  if (type !== 'file' && type !== 'directory' && type !== 'symlink' && type !== 'hardlink')
    malformed(`it holds ${quote(name)}, a ${type}, which no source release needs`)
  return path.replace(/\/+$/, '')
}

/** What a source release holds. Paths are those below its one folder. */
export interface Sdist {
  readonly info: Buffer
  readonly paths: readonly string[]
  /** Bytes once unpacked. */
  readonly size: number
}

/**
 * Reads a source release in one pass. @throws Malformed
 * Source: packaging.python.org, source distribution format; PEP 643, PEP 721
 */
export async function readSdist(
  file: FileWindow,
  named: FileName,
  { signal, unpacked }: { readonly signal: AbortSignal; readonly unpacked: Pick<Unpacked, 'keep'> | undefined },
): Promise<Sdist> {
  const payload = createPayload('the archive')
  const isInfo = ({ name, type }: TarEntry): boolean => type === 'file' && /^(?:\.\/)*[^/]+\/PKG-INFO$/.test(name)
  const tar = createTarReader({
    what: 'the archive',
    maxEntries: MAX_ENTRIES,
    keep: entry => (isInfo(entry) ? MAX_METADATA : undefined),
  })
  let info: Buffer | undefined
  let size = 0
  const chunks = unpackSdist(file)
  for await (const chunk of unpacked?.keep(SDIST_PART, chunks) ?? chunks) {
    for (const entry of tar.push(chunk)) {
      if (mustBeInside(entry, named) === '') continue
      payload.add(entry)
      size += entry.size
      if (!isInfo(entry)) continue
      if (info !== undefined) malformed('it holds PKG-INFO twice, and readers take different ones')
      info = entry.body ?? Buffer.alloc(0)
    }
    signal.throwIfAborted()
  }
  tar.end()
  if (info === undefined) return malformed('it has no PKG-INFO in its folder, which every source release has (PEP 643)')
  return { info, size, paths: payload.files().map(path => path.replace(/^[^/]+\//, '')) }
}
