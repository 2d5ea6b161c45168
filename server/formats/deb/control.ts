import type { PackageIdentity } from '../../core/identity.ts'
import type { Description } from '../../core/manifest.ts'
import { malformed, quote } from '../../lib/limited.ts'
import { parseParagraph, valueOf, type Paragraph } from './paragraph.ts'
import { parseConflicts, parseProvides, parseRelations } from './relation.ts'
import { complainVersion } from './version.ts'

/** The largest control file; Debian's own longest has about 100 KiB. */
export const MAX_CONTROL = 512 * 1024

/** Fields that only the index may set: dpkg and apt would read the last of two. */
const INDEX_FIELDS = new Set([
  'filename',
  'msdos-filename',
  'size',
  'md5sum',
  'sha1',
  'sha256',
  'sha512',
  'description-md5',
  'conffiles',
])
/** Fields of dpkg's status file. `Revision` would change the version unnoticed. */
const REFUSED_FIELDS = new Set([
  'status',
  'config-version',
  'triggers-pending',
  'triggers-awaited',
  'revision',
  'package-revision',
  'package_revision',
])

/**
 * The one paragraph of a package's control file.
 * @throws Malformed for what dpkg refuses, and for what could break an index that carries it
 */
export function parseControl(bytes: Buffer): Paragraph {
  const paragraph = parseParagraph(bytes, 'the control file')
  for (const [key, { name }] of paragraph)
    if (REFUSED_FIELDS.has(key)) malformed(`the control file has the field ${name}, which a package may not set`)
  return paragraph
}

/**
 * The paragraph as an index carries it: `Package` first, then the others in their order, without empty fields and
 * without those that belong to the index.
 */
export function printControl(paragraph: Paragraph): string {
  const lines: string[] = [`Package: ${valueOf(paragraph, 'package')}`]
  for (const [key, { name, first, more }] of paragraph) {
    if (key === 'package' || INDEX_FIELDS.has(key) || (first === '' && more.length === 0)) continue
    lines.push(first === '' ? `${name}:` : `${name}: ${first}`, ...more)
  }
  return lines.join('\n')
}

const MAX_NAME = 128
/**
 * Name, version, architecture, two underscores and `.deb` make one file name; 255 bytes is the most a file system
 * takes.
 */
const MAX_FILE_NAME = 240
const NAME = /^[a-z0-9][a-z0-9+.-]+$/

/** Why a name, version or architecture is refused, or undefined. Source: policy 5.6.7, 5.6.8, 5.6.12. */
export function complain({ name, version, arch }: PackageIdentity): string | undefined {
  if (name.length > MAX_NAME) return `the package name has ${name.length} characters, at most ${MAX_NAME} are allowed`
  if (!NAME.test(name)) {
    return `the package name ${quote(name)} is not allowed: policy 5.6.7 wants two or more of a-z 0-9 + - . and a letter or digit first`
  }
  const why = complainVersion(version)
  if (why !== undefined) return `the version ${quote(version)} is not allowed: ${why}`
  if (arch.length > 32 || !/^[a-z0-9][a-z0-9-]*$/.test(arch) || arch === 'source' || /(^|-)any($|-)/.test(arch)) {
    return `the architecture ${quote(arch)} is not allowed: a binary package is built for one, such as amd64, or for all`
  }
  const fileName = name.length + version.length + arch.length
  if (fileName > MAX_FILE_NAME) return 'name, version and architecture together are too long for a file name'
  return undefined
}

const REQUIRED = ['Package', 'Version', 'Architecture']

/** @throws Malformed when a field is missing or `complain` has something to say */
export function identityOf(paragraph: Paragraph): PackageIdentity {
  for (const field of REQUIRED) {
    if (valueOf(paragraph, field.toLowerCase()) !== '') continue
    malformed(`the control file has no field ${field}, or it is empty; deb-control(5) requires it`)
  }
  const [name = '', version = '', arch = ''] = REQUIRED.map(field => valueOf(paragraph, field.toLowerCase()))
  const identity = { format: 'deb', name, version, arch } as const
  const why = complain(identity)
  if (why !== undefined) malformed(why)
  return identity
}

/** `Source: name (version)`; a missing part is that of the binary package. */
function sourceOf(paragraph: Paragraph, identity: PackageIdentity): { source: string; source_version: string } {
  const value = valueOf(paragraph, 'source')
  if (value === '') return { source: identity.name, source_version: identity.version }
  const match = /^([a-z0-9][a-z0-9+.-]+)(?:[ \t\n]*\(([^()\s]+)\))?$/.exec(value)
  const source = match?.[1]
  if (source === undefined || source.length > MAX_NAME) {
    return malformed(
      `the field Source is ${quote(value)}; a source package name is needed, perhaps with a version in parentheses`,
    )
  }
  const version = match?.[2] ?? identity.version
  const why = complainVersion(version)
  if (why !== undefined) malformed(`the field Source names the version ${quote(version)}: ${why}`)
  return { source, source_version: version }
}

/**
 * `Built-Using: gcc-12 (= 12.2.0-14), glibc (= 2.36-9)`: sources whose fixes reach the package only when it is built
 * again. Malformed entries are ignored: dpkg does not read the field. Source: policy 7.8; Static-Built-Using of dpkg
 * 1.21.3; X-Cargo-Built-Using of dh-cargo, which names the crates of a program.
 */
function builtUsing(paragraph: Paragraph): readonly { readonly name: string; readonly version: string }[] {
  const listed = ['built-using', 'static-built-using', 'x-cargo-built-using']
    .map(field => valueOf(paragraph, field))
    .join(',')
  return [...listed.matchAll(/([a-z0-9][a-z0-9+.-]{1,127})\s*\(\s*=\s*([A-Za-z0-9.+:~-]{1,128})\s*\)/g)]
    .slice(0, 1_000)
    .map(([, name = '', version = '']) => ({ name, version }))
}

/** Continuation lines as a person reads them: without the leading blank, and `.` for an empty line. */
function unfold(lines: readonly string[]): string {
  return lines
    .map(line => line.slice(1))
    .map(line => (line === '.' ? '' : line))
    .join('\n')
}

/**
 * Debug symbols, as debhelper marks them. They are published in a component of their own. Source: dh_strip(1);
 * deb-control(5), "Auto-Built-Package".
 */
export function isDebugSymbols(paragraph: Paragraph): boolean {
  return valueOf(paragraph, 'auto-built-package') === 'debug-symbols'
}

const MULTI_ARCH = ['no', 'same', 'foreign', 'allowed']

/** Checks the fields whose values dpkg restricts. */
function checkWords(paragraph: Paragraph): void {
  for (const name of ['Essential', 'Protected']) {
    const value = valueOf(paragraph, name.toLowerCase())
    if (!/^(yes|no|)$/i.test(value)) malformed(`the field ${name} is ${quote(value)}; it may be yes or no`)
  }
  const priority = valueOf(paragraph, 'priority')
  if (/^(required|important|standard|optional|extra)./is.test(priority))
    malformed(`the field Priority is ${quote(priority)}; it is one word, such as optional`)
}

/** What the rest of the server knows of a package. @throws Malformed for relations that dpkg would not read */
export function describe(paragraph: Paragraph, identity: PackageIdentity): Description {
  const multiArch = valueOf(paragraph, 'multi-arch')
  if (multiArch !== '' && !MULTI_ARCH.includes(multiArch)) {
    malformed(`the field Multi-Arch is ${quote(multiArch)}; it may be ${MULTI_ARCH.join(', ')}`)
  }
  checkWords(paragraph)
  parseConflicts(valueOf(paragraph, 'replaces'), 'Replaces')
  for (const name of ['Recommends', 'Suggests', 'Enhances'])
    parseRelations(valueOf(paragraph, name.toLowerCase()), name)
  const description = paragraph.get('description')
  const kib = /^\d{1,12}$/.exec(valueOf(paragraph, 'installed-size'))
  const built = builtUsing(paragraph)
  const optional = ['homepage', 'maintainer', 'section', 'license'].map(key => [key, valueOf(paragraph, key)] as const)
  return {
    summary: description?.first ?? '',
    description: unfold(description?.more ?? []),
    ...sourceOf(paragraph, identity),
    ...(built.length === 0 ? {} : { built_using: built }),
    ...Object.fromEntries(optional.filter(([, value]) => value !== '')),
    ...(kib === null ? {} : { installed_size: Number(kib[0]) * 1024 }),
    depends: [
      ...parseRelations(valueOf(paragraph, 'pre-depends'), 'Pre-Depends'),
      ...parseRelations(valueOf(paragraph, 'depends'), 'Depends'),
    ],
    // its own name comes first, since dependencies are looked up in this list alone
    provides: [{ name: identity.name, version: identity.version }, ...parseProvides(valueOf(paragraph, 'provides'))],
    conflicts: [
      ...parseConflicts(valueOf(paragraph, 'conflicts'), 'Conflicts'),
      ...parseConflicts(valueOf(paragraph, 'breaks'), 'Breaks'),
    ],
  }
}
