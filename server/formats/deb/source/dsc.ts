import type { PackageIdentity } from '../../../core/identity.ts'
import type { Description } from '../../../core/manifest.ts'
import { malformed, quote } from '../../../lib/limited.ts'
import { parseParagraph, valueOf, type Paragraph } from '../paragraph.ts'
import { complainVersion } from '../version.ts'
import { parseBuildRelations } from './build-relation.ts'
import { unwrap } from './clearsigned.ts'
import { parseFiles, type NamedFile } from './file-list.ts'

/** The largest .dsc; the kernel's has about 200 KiB. */
export const MAX_DSC = 1024 * 1024
const FORMATS = ['1.0', '3.0 (quilt)', '3.0 (native)']
const REQUIRED = ['Format', 'Source', 'Version', 'Maintainer']
const NAME = /^[a-z0-9][a-z0-9+.-]+$/
const TAR = String.raw`\.tar\.(?:gz|bz2|xz)`

/** A source package as its .dsc describes it. */
export interface SourcePackage {
  readonly identity: PackageIdentity
  readonly format: string
  readonly about: Description
  /** Tarballs, diffs and their signatures; without the .dsc itself. */
  readonly files: readonly NamedFile[]
  /** The paragraph for `Sources`, without the fields that the index adds; no trailing newline. */
  readonly control: string
  /** The text that was read, without its signature. */
  readonly text: string
  /** The signed document, where the .dsc is signed. */
  readonly document?: string
}

/** Fields that only the index may set. */
const INDEX_FIELDS = new Set([
  'package',
  'source',
  'directory',
  'priority',
  'section',
  'files',
  'checksums-sha1',
  'checksums-sha256',
  'checksums-sha512',
  'status',
])

const escape = (text: string): string => text.replace(/[.+]/g, String.raw`\$&`)

/** `acme_1.0-1.dsc`, and the names of the files beside it: without the epoch. Source: policy 5.6.12, dpkg-source(1). */
export function fileVersion(version: string): string {
  return version.replace(/^\d+:/, '')
}

/** The file names that a source package may have, by its format. Source: dpkg-source(1), "Source package formats". */
function namesOf(format: string, source: string, version: string): readonly RegExp[] {
  const full = `${escape(source)}_${escape(fileVersion(version))}`
  const upstream = `${escape(source)}_${escape(fileVersion(version).replace(/-[^-]*$/, ''))}`
  const named = (...patterns: readonly string[]): readonly RegExp[] => patterns.map(one => new RegExp(`^${one}$`))
  if (format === '3.0 (native)') return named(full + TAR)
  if (format === '1.0')
    return named(
      String.raw`${full}\.tar\.gz`,
      String.raw`${upstream}\.orig\.tar\.gz(?:\.asc)?`,
      String.raw`${full}\.diff\.gz`,
    )
  return named(`${upstream}\\.orig(?:-[A-Za-z0-9][A-Za-z0-9-]*)?${TAR}(?:\\.asc)?`, String.raw`${full}\.debian${TAR}`)
}

/** @throws Malformed naming what is missing, or is there and does not belong there */
function checkParts(
  files: readonly NamedFile[],
  { format, source, version }: { readonly format: string; readonly source: string; readonly version: string },
): void {
  const names = namesOf(format, source, version)
  const stray = files.find(({ name }) => !names.some(pattern => pattern.test(name)))
  if (stray !== undefined)
    malformed(
      `the .dsc names the file ${quote(stray.name)}, which is none of format ${format} for ${source} ${version}`,
    )
  const count = (pattern: RegExp): number => files.filter(({ name }) => pattern.test(name)).length
  const [orig, own, diff] = [count(/\.orig\.tar\.[a-z0-9]+$/), count(/\.debian\.tar\./), count(/\.diff\.gz$/)]
  const plainTars = files.length - files.filter(({ name }) => /\.orig|\.debian\.tar\.|\.diff\.gz$/.test(name)).length
  const isWhole =
    format === '3.0 (quilt)'
      ? orig === 1 && own === 1
      : format === '3.0 (native)'
        ? plainTars === 1
        : (orig === 1 && diff === 1 && plainTars === 0) || (plainTars === 1 && orig + diff === 0)
  const wanted =
    format === '3.0 (quilt)'
      ? 'one .orig.tar and one .debian.tar'
      : format === '3.0 (native)'
        ? 'one tar'
        : 'one .tar.gz, or one .orig.tar.gz with one .diff.gz'
  if (!isWhole)
    malformed(
      `the .dsc has format ${format}, which is made of ${wanted}; it names ${files.map(({ name }) => name).join(', ')}`,
    )
}

/** The field Section of the first binary in Package-List: a .dsc has none of its own. */
function sectionOf(paragraph: Paragraph): string | undefined {
  const [first = ''] = paragraph.get('package-list')?.more ?? []
  return /^\s+\S+\s+\S+\s+(\S+)/.exec(first)?.[1]
}

/** The paragraph for an index: `Package` in place of `Source`, first; without the fields that the index adds. */
function printControl(paragraph: Paragraph, name: string): string {
  const lines = [`Package: ${name}`]
  for (const [key, field] of paragraph) {
    if (INDEX_FIELDS.has(key) || (field.first === '' && field.more.length === 0)) continue
    lines.push(field.first === '' ? `${field.name}:` : `${field.name}: ${field.first}`, ...field.more)
  }
  return lines.join('\n')
}

function identityOf(paragraph: Paragraph): PackageIdentity {
  for (const field of REQUIRED)
    if (valueOf(paragraph, field.toLowerCase()) === '')
      malformed(`the .dsc has no field ${field}, or it is empty; dsc(5) requires it`)
  const [name, version] = [valueOf(paragraph, 'source'), valueOf(paragraph, 'version')]
  const why = complainSource({ format: 'deb', name, version, arch: 'source' })
  return why === undefined ? { format: 'deb', name, version, arch: 'source' } : malformed(why)
}

/** Why a name or version of a source package is refused, or undefined. Source: policy 5.6.1, 5.6.12. */
export function complainSource({ name, version }: PackageIdentity): string | undefined {
  if (!NAME.test(name) || name.length > 128)
    return `the source package name ${quote(name)} is not allowed: policy 5.6.1 wants two or more of a-z 0-9 + - . and a letter or digit first`
  const why = complainVersion(version)
  if (why !== undefined) return `the version ${quote(version)} is not allowed: ${why}`
  return name.length + version.length > 180 ? 'name and version together are too long for a file name' : undefined
}

/** The source package as the rest of the server reads it. Its needs are its build dependencies. */
function describe(paragraph: Paragraph, { name, version }: PackageIdentity): Description {
  const needs = (key: string, field: string) => parseBuildRelations(valueOf(paragraph, key), field)
  const [homepage, maintainer, section] = [
    valueOf(paragraph, 'homepage'),
    valueOf(paragraph, 'maintainer'),
    sectionOf(paragraph),
  ]
  const binaries = valueOf(paragraph, 'binary').replaceAll(/\s*\n\s*/g, ' ')
  return {
    summary: binaries === '' ? 'Source package' : `Source of ${binaries}`.slice(0, 500),
    description: '',
    source: name,
    source_version: version,
    ...(homepage === '' ? {} : { homepage }),
    ...(maintainer === '' ? {} : { maintainer }),
    ...(section === undefined ? {} : { section }),
    depends: [
      ...needs('build-depends', 'Build-Depends'),
      ...needs('build-depends-arch', 'Build-Depends-Arch'),
      ...needs('build-depends-indep', 'Build-Depends-Indep'),
    ],
    // a source package installs nothing, so it provides nothing and conflicts with nothing
    provides: [],
    conflicts: [],
  }
}

/**
 * Reads a .dsc, signed or not; the signature is not checked here.
 * @throws Malformed naming what breaks which rule
 * Source: dsc(5), policy 5.4; formats 1.0, 3.0 (quilt) and 3.0 (native).
 */
export function parseDsc(bytes: Buffer): SourcePackage {
  const { text, document } = unwrap(bytes, 'the .dsc')
  const paragraph = parseParagraph(text, 'the .dsc')
  const identity = identityOf(paragraph)
  const format = valueOf(paragraph, 'format')
  if (!FORMATS.includes(format)) malformed(`the .dsc has format ${quote(format)}; taken are ${FORMATS.join(', ')}`)
  const files = parseFiles(paragraph, { field: 'Files', hasSection: false, isNeeded: true })
  checkParts(files, { format, source: identity.name, version: identity.version })
  return {
    identity,
    format,
    about: describe(paragraph, identity),
    files,
    control: printControl(paragraph, identity.name),
    text: text.toString('utf8'),
    ...(document === undefined ? {} : { document }),
  }
}
