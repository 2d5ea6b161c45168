import type { PackageIdentity } from '../../core/identity.ts'

/** What Maven calls one version of a thing. */
export interface Coordinates {
  readonly group: string
  readonly artifact: string
  readonly version: string
}

/** What a file of a version is beside its coordinates: `sources` and `jar`; no classifier is ''. */
export interface FileKind {
  readonly classifier: string
  /** `jar`, `pom`, `tar.gz`, `jar.asc` */
  readonly extension: string
}

const LONGEST_GROUP = 200
const LONGEST = 120
// Source: maven-model-builder, DefaultModelValidator.isValidId: [A-Za-z0-9_.-]+
const ID = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/
const VERSION = /^[A-Za-z0-9_][A-Za-z0-9_.+~-]*$/
/** Words that Maven resolves to another version. */
const META_VERSIONS = new Set(['LATEST', 'RELEASE'])

const hasOddDots = (text: string): boolean => text.includes('..') || text.endsWith('.')

/** Why a group and an artifact cannot be served under an address, or undefined. */
function complainOfName(group: string, artifact: string): string | undefined {
  if (!ID.test(group) || hasOddDots(group) || group.length > LONGEST_GROUP)
    return `the group is letters, digits, dots, hyphens and underscores, with something between two dots, and at most ${LONGEST_GROUP} characters`
  if (!ID.test(artifact) || hasOddDots(artifact) || artifact.length > LONGEST)
    return `the artifact is letters, digits, dots, hyphens and underscores, and at most ${LONGEST} characters`
  return artifact.startsWith('maven-metadata.xml') ? 'maven-metadata.xml is the name of a list of versions' : undefined
}

/** The next number has to be one, too. */
const MOST_BUILDS = 99_999_999

/** Whether a build has a moment of the calendar and a number; versions that name no build have nothing to be odd. */
function isOddBuild(version: string): boolean {
  const build = buildOf(version)
  if (build === undefined) return false
  const { timestamp, number } = build
  const iso = timestamp.replace(/^(....)(..)(..)\.(..)(..)(..)$/, '$1-$2-$3T$4:$5:$6Z')
  return Number.isNaN(Date.parse(iso)) || number < 1 || number > MOST_BUILDS
}

/** Why a version cannot be served under an address, or undefined. */
function complainOfVersion(version: string): string | undefined {
  if (!VERSION.test(version) || version.includes('..') || version.length > LONGEST)
    return `the version is letters, digits, dots, hyphens, underscores, + and ~, begins with a letter or digit, and has at most ${LONGEST} characters`
  if (version.endsWith('.')) return 'the version ends with a dot'
  if (isOddBuild(version))
    return `the build of a snapshot has a moment of the calendar, and a number from 1 to ${MOST_BUILDS}`
  if (META_VERSIONS.has(version.toUpperCase())) return `${version} is a word for another version`
  return version.startsWith('maven-metadata.xml') ? 'maven-metadata.xml is the name of a list of versions' : undefined
}

/** Why coordinates are refused, or undefined. */
export const complainOf = ({ group, artifact, version }: Coordinates): string | undefined =>
  complainOfName(group, artifact) ?? complainOfVersion(version)

/** A file with a classifier that came without its main file, as the architecture of an identity: `sources.jar`. */
export const partArch = ({ classifier, extension }: FileKind): string => `${classifier}.${extension}`
const PART = /^[A-Za-z0-9_+~-][A-Za-z0-9_.+~-]{0,150}\.[A-Za-z0-9]+$/

/** Why an identity is refused, or undefined: its name is `group:artifact`, its architecture `any` or that of a part. */
export function complain({ name, version, arch }: PackageIdentity): string | undefined {
  const [group = '', artifact = '', ...more] = name.split(':')
  if (more.length > 0) return 'the name is group:artifact'
  return (
    complainOf({ group, artifact, version }) ??
    (arch === 'any' || PART.test(arch) ? undefined : 'the architecture is any')
  )
}

/** `org.example:lib` */
export const nameOf = ({ group, artifact }: Pick<Coordinates, 'group' | 'artifact'>): string => `${group}:${artifact}`

/** The parts of a name that `complain` takes. */
export function partsOf(name: string): Pick<Coordinates, 'group' | 'artifact'> {
  const at = name.indexOf(':')
  return { group: name.slice(0, at), artifact: name.slice(at + 1) }
}

/** A snapshot that was built once: `1.0-20261122.094857-2` is the second build of `1.0-SNAPSHOT`. */
export interface Build {
  /** `1.0-SNAPSHOT` */
  readonly base: string
  /** `20261122.094857`, UTC */
  readonly timestamp: string
  readonly number: number
}

const SNAPSHOT = '-SNAPSHOT'
// Source: maven-resolver, AbstractArtifact.SNAPSHOT_TIMESTAMP
const STAMPED = /^(.*-)?([0-9]{8}\.[0-9]{6})-([0-9]{1,9})$/

/** The build that a version names; undefined for releases, and for `1.0-SNAPSHOT`, which names none. */
export function buildOf(version: string): Build | undefined {
  const [, begin, timestamp = '', number = ''] = STAMPED.exec(version) ?? []
  return begin === undefined
    ? undefined
    : { base: `${begin.slice(0, -1)}${SNAPSHOT}`, timestamp, number: Number(number) }
}

/** `1.0-20261122.094857-2` */
export const printBuild = ({ base, timestamp, number }: Build): string =>
  `${base.slice(0, -SNAPSHOT.length)}-${timestamp}-${number}`

/** Whether a folder of this version holds builds. */
export const isSnapshot = (version: string): boolean => version.endsWith(SNAPSHOT)

/** The folder that the files of a version are in: that of a build is its snapshot's. */
export const baseOf = (version: string): string => buildOf(version)?.base ?? version

/** The path of a version's folder: `org/example/lib/1.0`. */
export const folderOf = ({ group, artifact, version }: Coordinates): string =>
  `${group.replaceAll('.', '/')}/${artifact}/${baseOf(version)}`

// what belongs together at the end of a name; else an extension is what follows the last dot
const EXTENSION = /\.((?:tar\.[a-z0-9]+|[A-Za-z0-9]+)(?:\.asc|\.sig|\.sigstore(?:\.json)?)?)$/
const CLASSIFIER = /^[A-Za-z0-9_.+~-]+$/

/** What follows artifact and version in the name of a file, `-sources.jar`; undefined where that is no kind of file. */
export function readKind(rest: string): FileKind | undefined {
  const found = EXTENSION.exec(rest)
  if (found === null) return undefined
  const before = rest.slice(0, found.index)
  const extension = found[1] ?? ''
  if (before === '') return { classifier: '', extension }
  const classifier = before.slice(1)
  return before.startsWith('-') && CLASSIFIER.test(classifier) && classifier.length <= LONGEST
    ? { classifier, extension }
    : undefined
}

/** `lib-1.0-sources.jar` */
export const fileName = (artifact: string, version: string, { classifier, extension }: FileKind): string =>
  `${artifact}-${version}${classifier === '' ? '' : `-${classifier}`}.${extension}`
