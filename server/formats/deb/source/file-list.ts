import { malformed, quote } from '../../../lib/limited.ts'
import { valueOf, type Paragraph } from '../paragraph.ts'

/** The most files that one source package or one upload may name. */
const MAX_FILES = 500
/** A valid file name: no folder, no blank, no dot or dash first. Source: policy 5.6.21. */
const PLAIN = /^[A-Za-z0-9][A-Za-z0-9+.,_~=:@-]*$/

/** A file that a .dsc, .changes or .buildinfo names. Digests lower-case hex; size in bytes. */
export interface NamedFile {
  readonly name: string
  readonly size: number
  readonly md5?: string
  readonly sha1?: string
  readonly sha256: string
  /** Of a .changes. */
  readonly section?: string
  readonly priority?: string
}

interface Line {
  readonly name: string
  readonly size: number
  readonly digest: string
  readonly section?: string
  readonly priority?: string
}

interface Kind {
  readonly field: string
  readonly digest: 'md5' | 'sha1' | 'sha256'
  readonly hexLength: number
}

const KINDS: readonly Kind[] = [
  { field: 'Checksums-Sha256', digest: 'sha256', hexLength: 64 },
  { field: 'Checksums-Sha1', digest: 'sha1', hexLength: 40 },
]
const MD5 = { digest: 'md5', hexLength: 32 } as const

/** Whether a file name is valid in a source package or an upload. */
export function isPlainName(name: string): boolean {
  return PLAIN.test(name) && name.length <= 200
}

/** One line: digest, size, in `Files` of a .changes also section and priority, name. */
function parseLine(line: string, { field, hexLength }: Kind, hasSection: boolean): Line {
  const words = line.trim().split(/[ \t]+/)
  if (words.length !== (hasSection ? 5 : 3))
    return malformed(
      `the field ${field} holds the line ${quote(line)}; it names ${hasSection ? 'digest, size, section, priority and file' : 'digest, size and file'}`,
    )
  const [digest = '', size = ''] = words
  const name = words.at(-1) ?? ''
  if (!new RegExp(`^[0-9a-f]{${hexLength}}$`).test(digest))
    malformed(
      `the field ${field} gives ${quote(name)} the digest ${quote(digest)}; ${hexLength} lower-case hexadecimal digits are needed`,
    )
  if (!/^\d{1,15}$/.test(size)) malformed(`the field ${field} gives ${quote(name)} the size ${quote(size)}`)
  if (!isPlainName(name))
    malformed(`the field ${field} names the file ${quote(name)}; a plain name without a folder is needed`)
  const [section, priority] = hasSection ? words.slice(2, 4) : []
  return {
    name,
    size: Number(size),
    digest,
    ...(section === undefined ? {} : { section }),
    ...(priority === undefined ? {} : { priority }),
  }
}

function readField(paragraph: Paragraph, kind: Kind, hasSection: boolean): ReadonlyMap<string, Line> | undefined {
  const value = valueOf(paragraph, kind.field.toLowerCase())
  if (value === '') return undefined
  const lines = value.split('\n')
  if (lines.length > MAX_FILES) malformed(`the field ${kind.field} names more than ${MAX_FILES} files`)
  const found = new Map<string, Line>()
  for (const line of lines) {
    const one = parseLine(line, kind, hasSection)
    if (found.has(one.name)) malformed(`the field ${kind.field} names the file ${one.name} twice`)
    found.set(one.name, one)
  }
  return found
}

/** @throws Malformed when two fields name other files, or one file with other sizes */
function mustAgree(
  first: ReadonlyMap<string, Line>,
  second: ReadonlyMap<string, Line>,
  fields: readonly string[],
): void {
  const [a = '', b = ''] = fields
  for (const { name, size } of first.values()) {
    const other = second.get(name)
    if (other === undefined) malformed(`the field ${a} names the file ${name}, and ${b} does not`)
    if (other.size !== size)
      malformed(`the file ${name} has ${size} bytes by the field ${a}, and ${other.size} bytes by ${b}`)
  }
  for (const name of second.keys())
    if (!first.has(name)) malformed(`the field ${b} names the file ${name}, and ${a} does not`)
}

/**
 * The files that a .dsc, .changes or .buildinfo names, in the order of Checksums-Sha256. SHA-256 is required, since MD5
 * and SHA-1 are no longer safe; the other lists must agree with it.
 * @param md5 where the MD5 stands: `Files` of a .dsc and a .changes, there with section and priority
 * @throws Malformed
 * Source: deb-src-control(5), dsc(5), deb-changes(5), deb-buildinfo(5).
 */
export function parseFiles(
  paragraph: Paragraph,
  md5: { readonly field: 'Files' | 'Checksums-Md5'; readonly hasSection: boolean; readonly isNeeded: boolean },
): readonly NamedFile[] {
  const read = new Map(KINDS.map(kind => [kind.digest, readField(paragraph, kind, false)]))
  const sha256 = read.get('sha256') ?? malformed('it has no field Checksums-Sha256; MD5 and SHA-1 alone prove nothing')
  const sha1 = read.get('sha1')
  if (sha1 !== undefined) mustAgree(sha256, sha1, ['Checksums-Sha256', 'Checksums-Sha1'])
  const old = readField(paragraph, { ...MD5, field: md5.field }, md5.hasSection)
  if (old === undefined && md5.isNeeded) malformed(`it has no field ${md5.field}`)
  if (old !== undefined) mustAgree(sha256, old, ['Checksums-Sha256', md5.field])
  return [...sha256.values()].map(({ name, size, digest }) => {
    const [named, sha1Line] = [old?.get(name), sha1?.get(name)]
    return {
      name,
      size,
      sha256: digest,
      ...(sha1Line === undefined ? {} : { sha1: sha1Line.digest }),
      ...(named === undefined ? {} : { md5: named.digest }),
      ...(named?.section === undefined ? {} : { section: named.section }),
      ...(named?.priority === undefined ? {} : { priority: named.priority }),
    }
  })
}

/** The digests and size of a file that was received. */
export interface FileDigests {
  readonly size: number
  readonly md5: string
  readonly sha1: string
  readonly sha256: string
}

/**
 * Compares a file with its entry in the list.
 * @throws Malformed naming the file and the first digest that differs
 */
export function mustMatch(named: NamedFile, { size, md5, sha1, sha256 }: FileDigests): void {
  if (size !== named.size) malformed(`the file ${named.name} has ${size} bytes; ${named.size} were announced`)
  for (const [label, is, said] of [
    ['SHA-256', sha256, named.sha256],
    ['SHA-1', sha1, named.sha1],
    ['MD5', md5, named.md5],
  ] as const)
    if (said !== undefined && is !== said)
      malformed(`the file ${named.name} has the ${label} ${is}; ${said} was announced`)
}
