import { malformed, quote } from '../../../lib/limited.ts'
import { parseParagraph, valueOf } from '../paragraph.ts'
import { unwrap } from './clearsigned.ts'
import { complainSource } from './dsc.ts'
import { parseFiles, type NamedFile } from './file-list.ts'

/** The largest .buildinfo: it names every package that was installed where it was built. */
export const MAX_BUILDINFO = 4 * 1024 * 1024
const REQUIRED = ['Format', 'Source', 'Binary', 'Architecture', 'Version', 'Installed-Build-Depends']

/** The record of a build: what was built, where, and from what. */
export interface BuildInfo {
  readonly source: string
  readonly version: string
  readonly architectures: readonly string[]
  /** The files that the build made. */
  readonly files: readonly NamedFile[]
  readonly origin?: string
  readonly date?: string
}

/**
 * Reads a .buildinfo, signed or not; the signature is not checked here: the .changes that names it has one.
 * @throws Malformed
 * Source: deb-buildinfo(5).
 */
export function parseBuildInfo(bytes: Buffer): BuildInfo {
  const { text } = unwrap(bytes, 'the .buildinfo')
  const paragraph = parseParagraph(text, 'the .buildinfo')
  const said = (field: string): string => valueOf(paragraph, field.toLowerCase())
  for (const field of REQUIRED)
    // an upload of the source alone lists no binaries
    if (!paragraph.has(field.toLowerCase()) && field !== 'Binary')
      malformed(`the .buildinfo has no field ${field}; deb-buildinfo(5) requires it`)
  const [source = ''] = said('Source').split(/\s/)
  const version = said('Version')
  const why = complainSource({ format: 'deb', name: source, version, arch: 'source' })
  if (why !== undefined) malformed(`the .buildinfo is of ${quote(said('Source'))}: ${why}`)
  const [origin, date] = [said('Build-Origin'), said('Build-Date')]
  return {
    source,
    version,
    architectures: said('Architecture').split(/\s+/),
    files: parseFiles(paragraph, { field: 'Checksums-Md5', hasSection: false, isNeeded: false }),
    ...(origin === '' ? {} : { origin }),
    ...(date === '' ? {} : { date }),
  }
}
