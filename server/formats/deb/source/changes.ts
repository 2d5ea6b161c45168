import { malformed, quote } from '../../../lib/limited.ts'
import { parseParagraph, valueOf } from '../paragraph.ts'
import { unwrap } from './clearsigned.ts'
import { complainSource } from './dsc.ts'
import { parseFiles, type NamedFile } from './file-list.ts'

/** The largest .changes: that of a source with hundreds of binaries has some 300 KiB. */
export const MAX_CHANGES = 2 * 1024 * 1024
const REQUIRED = ['Format', 'Date', 'Source', 'Architecture', 'Version', 'Distribution', 'Maintainer', 'Changes']

/** An upload of a developer: its files, and the distribution they are for. */
export interface Changes {
  readonly source: string
  readonly version: string
  /** The version of the source; it differs from that of the binaries when only those were built again. */
  readonly sourceVersion: string
  /** As the field says: a codename, or a suite such as `unstable`. */
  readonly distribution: string
  /** `source`, `amd64`, `all`. */
  readonly architectures: readonly string[]
  /** Binary packages that were built; empty in an upload of the source alone. */
  readonly binaries: readonly string[]
  readonly urgency?: string
  readonly maintainer: string
  readonly changedBy?: string
  /** Numbers of bugs. */
  readonly closes: readonly string[]
  /** The entry of the changelog, as it is read: no leading blanks, no dots for empty lines. */
  readonly changes: string
  readonly files: readonly NamedFile[]
  /** The text that was read, without its signature. */
  readonly text: string
  /** The signed document; absent when it is not signed. */
  readonly document?: string
}

const words = (value: string): readonly string[] => value.split(/[\s,]+/).filter(word => word !== '')

/** `acme (1.0-1)` names the version of the source where a rebuild has one of its own. */
function sourceOf(value: string, version: string): Pick<Changes, 'source' | 'version' | 'sourceVersion'> {
  const [, source = '', own] = /^([^\s()]+)(?:\s+\(([^\s()]+)\))?$/.exec(value) ?? []
  const why = complainSource({ format: 'deb', name: source, version: own ?? version, arch: 'source' })
  return why === undefined
    ? { source, version, sourceVersion: own ?? version }
    : malformed(`the field Source is ${quote(value)}: ${why}`)
}

/** The continuation lines of a field as plain text. */
function unfold(lines: readonly string[]): string {
  return lines.map(line => (line.trim() === '.' ? '' : line.slice(1))).join('\n')
}

/**
 * Reads a .changes, signed or not; the signature is not checked here.
 * @throws Malformed naming what breaks which rule
 * Source: deb-changes(5), policy 5.5.
 */
export function parseChanges(bytes: Buffer): Changes {
  const { text, document } = unwrap(bytes, 'the .changes')
  const paragraph = parseParagraph(text, 'the .changes')
  const said = (field: string): string => valueOf(paragraph, field.toLowerCase())
  for (const field of REQUIRED)
    if (said(field) === '') malformed(`the .changes has no field ${field}, or it is empty; deb-changes(5) requires it`)
  if (!/^1\.\d+$/.test(said('Format'))) malformed(`the .changes has format ${quote(said('Format'))}; 1.8 is known`)
  const distribution = said('Distribution')
  if (!/^[A-Za-z0-9][A-Za-z0-9.-]*$/.test(distribution))
    malformed(`the field Distribution is ${quote(distribution)}; it names one distribution`)
  const [urgency, changedBy] = [said('Urgency'), said('Changed-By')]
  return {
    ...sourceOf(said('Source'), said('Version')),
    distribution,
    architectures: words(said('Architecture')),
    binaries: words(said('Binary')),
    ...(urgency === '' ? {} : { urgency }),
    maintainer: said('Maintainer'),
    ...(changedBy === '' ? {} : { changedBy }),
    closes: words(said('Closes')),
    changes: unfold(paragraph.get('changes')?.more ?? []),
    files: parseFiles(paragraph, { field: 'Files', hasSection: true, isNeeded: true }),
    text: text.toString('utf8'),
    ...(document === undefined ? {} : { document }),
  }
}
