import { isPep440, normalPep440 } from '../../core/versions/pep440.ts'

/** The name that all spellings of a project share. Source: PEP 503, "Normalized Names" */
export const normalName = (name: string): string => name.toLowerCase().replace(/[-_.]+/g, '-')

/** Source: packaging.python.org, names and normalization: `^([A-Z0-9]|[A-Z0-9][A-Z0-9._-]*[A-Z0-9])$`, any case */
const NAME = /^(?:[a-z0-9]|[a-z0-9][a-z0-9._-]*[a-z0-9])$/i
const LONGEST_NAME = 128
const LONGEST_VERSION = 100

/** Why this is no name of a project; undefined where it is one. */
export function complainName(name: string): string | undefined {
  if (name.length > LONGEST_NAME) return `its name has ${name.length} characters, and at most ${LONGEST_NAME} are taken`
  if (NAME.test(name)) return undefined
  return `its name ${JSON.stringify(name)} is no name of a Python project: letters, digits, and . _ - between them`
}

/** Why this is no version; undefined where it is one. Source: PEP 440, appendix B */
export function complainVersion(version: string): string | undefined {
  if (version.length > LONGEST_VERSION)
    return `its version has ${version.length} characters, and at most ${LONGEST_VERSION} are taken`
  if (isPep440(version)) return undefined
  return `its version ${JSON.stringify(version)} is none by PEP 440: such as 1.2.3, 1.0rc1 or 2.0.post1`
}

/** What the name of a file says. `version` as it is written there, with `_` for what a name may not have. */
export interface FileName {
  readonly name: string
  readonly version: string
  /** The tag of a wheel, with the build number before it where it has one; `sdist`. */
  readonly arch: string
}

/** Name, version, perhaps a build number, and the tag. Source: PEP 427, "File name convention" */
const WHEEL =
  /^([A-Za-z0-9](?:[A-Za-z0-9._]*[A-Za-z0-9])?)-([^-\s/]+)-((?:\d[^-\s/]*-)?[A-Za-z0-9_.]+-[A-Za-z0-9_.]+-[A-Za-z0-9_.]+)\.whl$/
/** Source: PEP 625; the name had hyphens before, so the version is what comes after the last one. */
const SDIST = /^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)-([^-\s/]+)\.tar\.gz$/
const LONGEST_FILE = 255

/** Takes the name of a wheel or a source release apart; undefined for other files. */
export function readFileName(file: string): FileName | undefined {
  if (file.length > LONGEST_FILE) return undefined
  const wheel = WHEEL.exec(file)
  if (wheel !== null)
    return { name: wheel[1] ?? '', version: (wheel[2] ?? '').replaceAll('_', '-'), arch: wheel[3] ?? '' }
  const [whole, name = '', version = ''] = SDIST.exec(file) ?? []
  return whole === undefined ? undefined : { name, version, arch: 'sdist' }
}

/** The name of the file of an identity, as build tools of today write it. Source: PEP 427, PEP 625 */
export function fileNameOf({
  name,
  version,
  arch,
}: {
  readonly name: string
  readonly version: string
  readonly arch: string
}): string {
  const start = `${name.replaceAll('-', '_')}-${version}`
  return arch === 'sdist' ? `${start}.tar.gz` : `${start}-${arch}.whl`
}

/** The version as PEP 440 writes it; the text itself where it is none. */
export const normalVersion = (version: string): string => normalPep440(version) ?? version
