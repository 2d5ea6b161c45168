import type { PackageIdentity } from '../../core/identity.ts'
import type { Description } from '../../core/manifest.ts'
import type { Provided } from '../../core/relation.ts'
import { malformed, quote } from '../../lib/limited.ts'
import type { RpmChange, RpmFacts } from './facts.ts'
import type { HeaderFile } from './files.ts'
import type { RpmHeader } from './header.ts'
import { isSourceHeader, SOURCE } from './kind.ts'
import { conflictsOf, needsOf, providedOf, readDependencies } from './relation.ts'
import { DEPENDENCY_TAGS, TAG } from './tags.ts'
import { complainVersion, parseEvr, printEvr } from './version.ts'
import { isPrimaryFile } from './xml.ts'

const MAX_NAME = 200
/**
 * Version, architecture, two separators and `.rpm` with it make one file name; 255 bytes is the most a file system
 * takes.
 */
const MAX_FILE_NAME = 240
/** The names that rpmbuild allows. Source: rpm-spec(5). */
const NAME = /^[A-Za-z0-9_][A-Za-z0-9._+-]*$/
const CHANGES = 10
const MAX_TEXT = 256 * 1024
/** The longest path that can be looked up: the database index over names allows no more. */
const MAX_OFFER = 1000

/** Why a name, version or architecture is refused, or undefined. */
export function complain({ name, version, arch }: PackageIdentity): string | undefined {
  if (name.length > MAX_NAME) return `the package name has ${name.length} characters, at most ${MAX_NAME} are allowed`
  if (!NAME.test(name))
    return `the package name ${quote(name)} is not allowed: rpm wants letters, digits and . _ + -, and a letter, a digit or _ first`
  const why = complainVersion(version)
  if (why !== undefined) return `the version ${quote(version)} is not allowed: ${why}`
  if (arch === 'nosrc') return 'a source package without its sources has the architecture src here'
  if (arch.length > 32 || !/^[a-z][a-z0-9_]*$/i.test(arch))
    return `the architecture ${quote(arch)} is not allowed: a package is built for one, such as x86_64, or is noarch`
  if (name.length + version.length + arch.length > MAX_FILE_NAME)
    return 'name, version and architecture together are too long for a file name'
  return undefined
}

const versionOf = (header: RpmHeader): string =>
  printEvr({
    epoch: String(header.number(TAG.epoch) ?? 0),
    version: header.text(TAG.version),
    release: header.text(TAG.release),
  })

/** Name, `[epoch:]version-release` and architecture. @throws Malformed when one is missing or refused */
export function identityOf(header: RpmHeader): PackageIdentity {
  for (const key of ['name', 'version', 'release', 'arch'] as const) {
    if (header.text(TAG[key]) === '') malformed(`the header has no ${key}, or it is empty`)
  }
  if (!header.has(TAG.os))
    malformed('the header does not say for which operating system it is, and rpm would not install it')
  const isSource = isSourceHeader(header)
  if (!isSource && header.text(TAG.arch) === SOURCE)
    malformed('its architecture is that of a source package (.src.rpm), and its header does not say that it is one')
  const [version, release] = [header.text(TAG.version), header.text(TAG.release)]
  for (const [what, text] of [
    ['version', version],
    ['release', release],
  ] as const) {
    if (/[-:]/.test(text)) malformed(`the ${what} ${quote(text)} holds a hyphen or a colon, which divide versions`)
  }
  const identity = {
    format: 'rpm',
    name: header.text(TAG.name),
    version: versionOf(header),
    arch: isSource ? SOURCE : header.text(TAG.arch),
  } as const
  const why = complain(identity)
  if (why !== undefined) malformed(why)
  return identity
}

function prose(header: RpmHeader, tag: number): string {
  const text = header.text(tag)
  return text.length > MAX_TEXT ? malformed(`the header: the text ${tag} has more than ${MAX_TEXT / 1024} KiB`) : text
}

function changelogOf(header: RpmHeader): RpmChange[] {
  const [times, authors, texts] = [
    header.numbers(TAG.changelogtime),
    header.texts(TAG.changelogname),
    header.texts(TAG.changelogtext),
  ]
  if (authors.length !== times.length || texts.length !== times.length)
    malformed('the header lists times, authors and texts of its changelog, and not as many of each')
  return times.slice(0, CHANGES).map((at, i) => ({ author: authors[i] ?? '', at, text: texts[i] ?? '' }))
}

/** What it needs, offers and forbids, as the header has it. @throws Malformed */
function dependenciesOf(header: RpmHeader): Pick<RpmFacts, keyof typeof DEPENDENCY_TAGS> {
  const read = (what: keyof typeof DEPENDENCY_TAGS): RpmFacts['provides'] =>
    readDependencies(header, what, DEPENDENCY_TAGS[what])
  const provides = read('provides')
  // packages of rpm 3 do not provide their own name; rpm adds it when it reads them, and clients look it up in the
  // index
  const own = { name: header.text(TAG.name), op: '=', evr: parseEvr(versionOf(header)) } as const
  return {
    provides: header.hasRegion || provides.some(({ name }) => name === own.name) ? provides : [...provides, own],
    requires: read('requires'),
    conflicts: read('conflicts'),
    obsoletes: read('obsoletes'),
    suggests: read('suggests'),
    enhances: read('enhances'),
    recommends: read('recommends'),
    supplements: read('supplements'),
  }
}

/**
 * The facts about the package for the repository's index.
 * @param archive bytes of the unpacked payload
 * @throws Malformed
 */
export function factsOf(header: RpmHeader, files: readonly HeaderFile[], archive: number): RpmFacts {
  const modularity = header.text(TAG.modularity)
  return {
    epoch: String(header.number(TAG.epoch) ?? 0),
    version: header.text(TAG.version),
    release: header.text(TAG.release),
    summary: prose(header, TAG.summary),
    description: prose(header, TAG.description),
    packager: prose(header, TAG.packager),
    url: prose(header, TAG.url),
    built: header.number(TAG.buildtime) ?? 0,
    installed: header.number(TAG.longsize) ?? header.number(TAG.size) ?? 0,
    archive,
    license: prose(header, TAG.license),
    vendor: prose(header, TAG.vendor),
    group: prose(header, TAG.group),
    buildhost: header.text(TAG.buildhost),
    sourcerpm: header.text(TAG.sourcerpm),
    header: [header.start, header.end],
    ...dependenciesOf(header),
    files: files.map(({ name, isFolder, isGhost }) => ({
      path: isSourceHeader(header) ? name : `/${name}`,
      ...(isFolder ? { type: 'dir' } : isGhost ? { type: 'ghost' } : {}),
    })),
    changelog: changelogOf(header),
    ...(modularity === '' ? {} : { modularity }),
  }
}

/** `hello-1.0-1.src.rpm` parsed; a missing part is that of the binary package. */
export function sourceOf(
  { sourcerpm, version, release }: Pick<RpmFacts, 'sourcerpm' | 'version' | 'release'>,
  name: string,
): { source: string; source_version: string } {
  const [, source, sourceVersion] = /^(.+)-([^-]+-[^-]+)\.(?:no)?src\.rpm$/.exec(sourcerpm) ?? []
  if (
    source === undefined ||
    sourceVersion === undefined ||
    source.length > MAX_NAME ||
    !NAME.test(source) ||
    complainVersion(sourceVersion) !== undefined
  ) {
    return { source: name, source_version: `${version}-${release}` }
  }
  return { source, source_version: sourceVersion }
}

/**
 * The names that others may require: its own, those it provides, and its files that clients find without the file lists
 * or that it requires itself.
 */
function providesOf({ name, version }: PackageIdentity, facts: RpmFacts): Provided[] {
  const needed = new Set(facts.requires.map(one => one.name))
  const paths = facts.files
    .map(({ path }) => path)
    .filter(path => path.length <= MAX_OFFER && (isPrimaryFile(path) || needed.has(path)))
  const list: readonly Provided[] = [
    { name, version },
    ...providedOf(facts.provides),
    ...paths.map(path => ({ name: path })),
  ]
  return [...new Map(list.map(one => [`${one.name} ${one.version ?? ''}`, one])).values()]
}

/** What the rest of the server knows of a package. @throws Malformed for dependencies that rpm would not read */
export function describe(identity: PackageIdentity, facts: RpmFacts): Description {
  const optional = [
    ['homepage', facts.url],
    ['maintainer', facts.packager === '' ? facts.vendor : facts.packager],
    ['section', facts.group],
    ['license', facts.license],
  ] as const
  for (const list of [facts.recommends, facts.suggests, facts.supplements, facts.enhances, facts.conflicts])
    needsOf(list)
  return {
    summary: facts.summary,
    description: facts.description,
    ...sourceOf(facts, identity.name),
    ...Object.fromEntries(optional.filter(([, value]) => value !== '')),
    installed_size: facts.installed,
    depends: needsOf(facts.requires),
    // nothing that is installed can ask for a source
    provides: identity.arch === SOURCE ? [] : providesOf(identity, facts),
    conflicts: conflictsOf(facts.conflicts),
  }
}
