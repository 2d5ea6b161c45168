import { fail } from '../../core/errors.ts'
import { buildOf, complainOf, isSnapshot, nameOf, readKind, type Coordinates, type FileKind } from './coordinates.ts'

/** The checksums that stand beside every file, as Maven names them. */
export const ALGORITHMS = ['md5', 'sha1', 'sha256', 'sha512'] as const
export type Algorithm = (typeof ALGORITHMS)[number]

/** A file of a version. */
export interface FilePlace extends FileKind, Pick<Coordinates, 'group' | 'artifact'> {
  readonly kind: 'file'
  /** What its name says: of a file of a snapshot the build, or `1.0-SNAPSHOT` where it names none. */
  readonly version: string
  readonly filename: string
  readonly checksum?: Algorithm
}

/** A list of versions, of builds, or of plugins: which of them the folder says. */
export interface MetadataPlace {
  readonly kind: 'metadata'
  /** The folder that it stands in. */
  readonly folder: readonly string[]
  readonly checksum?: Algorithm
}

export type Place = FilePlace | MetadataPlace

const METADATA = 'maven-metadata.xml'

/** A name with the checksum that it asks for. */
function split(name: string): { readonly filename: string; readonly checksum?: Algorithm } {
  const ending = ALGORITHMS.find(one => name.endsWith(`.${one}`))
  return ending === undefined ? { filename: name } : { filename: name.slice(0, -ending.length - 1), checksum: ending }
}

// segments come without `.` and `..`; the rest is checked by `complainOf`
const refuse = (segments: readonly string[], why: string): never =>
  fail('maven_address', { path: segments.join('/').slice(0, 300), why })

/**
 * The version that a file's name says, and what follows. The folder of a snapshot holds builds: their names have the
 * time in place of `SNAPSHOT`.
 */
function readName(filename: string, artifact: string, folder: string): { version: string; rest: string } | undefined {
  if (!filename.startsWith(`${artifact}-`)) return undefined
  const end = filename.slice(artifact.length + 1)
  if (end.startsWith(folder)) return { version: folder, rest: end.slice(folder.length) }
  if (!isSnapshot(folder)) return undefined
  const base = folder.slice(0, -'SNAPSHOT'.length)
  const [stamp] = /^\d{8}\.\d{6}-\d{1,9}(?=[-.])/.exec(end.slice(base.length)) ?? []
  if (!end.startsWith(base) || stamp === undefined) return undefined
  return { version: `${base}${stamp}`, rest: end.slice(base.length + stamp.length) }
}

/** What an address below a registry names. @throws maven_address */
export function placeOf(segments: readonly string[]): Place {
  const { filename, ...checksum } = split(segments.at(-1) ?? '')
  const folder = segments.slice(0, -1)
  if (filename === METADATA)
    return folder.length === 0
      ? refuse(segments, 'no group stands before it')
      : { kind: 'metadata', folder, ...checksum }
  const [version = '', artifact = '', ...groups] = folder.toReversed()
  if (groups.length === 0) return refuse(segments, 'it has fewer than four parts')
  const group = groups.toReversed().join('.')
  const why =
    (groups.some(one => one.includes('.')) ? 'a part of a group has no dot' : undefined) ??
    complainOf({ group, artifact, version })
  if (why !== undefined) return refuse(segments, why)
  if (buildOf(version) !== undefined) return refuse(segments, 'builds lie in the folder of their snapshot')
  const named = readName(filename, artifact, version)
  if (named === undefined) return refuse(segments, `the name of the file does not begin with ${artifact}-${version}`)
  const odd = complainOf({ group, artifact, version: named.version })
  if (odd !== undefined) return refuse(segments, odd)
  const kind = readKind(named.rest)
  if (kind === undefined || filename.length > 250)
    return refuse(segments, 'the name of the file has no extension, or odd characters')
  return { kind: 'file', group, artifact, version: named.version, filename, ...kind, ...checksum }
}

/** The folder of a version in an address: `org/example/lib/1.0`; undefined where it is too short. */
export function versionOf(segments: readonly string[]): Coordinates | undefined {
  const [version, artifact, ...groups] = segments.toReversed()
  if (version === undefined || artifact === undefined || groups.length === 0) return undefined
  return { group: groups.toReversed().join('.'), artifact, version }
}

/** Whether a list is one of builds: it stands in the folder of a snapshot. */
export const isOfBuilds = ({ folder }: MetadataPlace): boolean => folder.length > 2 && isSnapshot(folder.at(-1) ?? '')

/** Every name of the group whose folder it may be: `com.ours:*`. A pattern that holds the whole group holds it. */
export const groupName = ({ folder }: MetadataPlace): string => nameOf({ group: folder.join('.'), artifact: '*' })

/**
 * The name that an address is about: `group:artifact`. A list in the folder of a group reads as the one of an artifact,
 * which only its content tells.
 */
export function nameAt(place: Place): string {
  if (place.kind === 'file') return nameOf(place)
  const parts = isOfBuilds(place) ? place.folder.slice(0, -1) : place.folder
  return `${parts.slice(0, -1).join('.')}:${parts.at(-1) ?? ''}`
}
