import { fail } from './errors.ts'

/** Names a package format: a folder under `formats/` and its entry in `formats/index.ts`. */
export type FormatId = string

/** Lower-case hex, 64 characters. */
export type Sha256 = string & { readonly brand: 'Sha256' }
/** Names a distribution: one of `core/default-distributions.ts`, or an admin's own. */
export type Codename = string & { readonly brand: 'Codename' }
/** A relative path with no `.`/`..` segment, no empty segment, no control character, not absolute. */
export type RelPath = string & { readonly brand: 'RelPath' }
/** ISO 8601 in UTC with milliseconds, as `Date.prototype.toISOString` prints it. */
export type Iso = string

/** What a thing is. Two blobs with one identity and different digests are an error, never an update. */
export interface PackageIdentity {
  readonly format: FormatId
  readonly name: string
  readonly version: string
  readonly arch: string
}

/** One version in one repository: the unit that is decided on, published and deleted. */
export interface PackageRef extends PackageIdentity {
  readonly codename: Codename
}

/** A package as answers name it: its codename is called `distribution`. */
export interface Named {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly distribution: string
  readonly format: string
}
export function named({ name, version, arch, codename, format }: Readonly<Record<keyof PackageRef, string>>): Named {
  return { name, version, arch, distribution: codename, format }
}

/** A package with all its versions in one repository. */
export type PackageName = Pick<PackageRef, 'format' | 'codename' | 'name'>

/** Bytes, named by what they are. Size in bytes; digests lower-case hex. */
export interface Blob {
  readonly sha256: Sha256
  readonly size: number
  readonly md5: string
  readonly sha1: string
  readonly sha512: string
}

const HEX64 = /^[0-9a-f]{64}$/
// eslint-disable-next-line no-control-regex -- control characters are exactly what is refused here
const CONTROL = /[\u0000-\u001f\u007f]/

/** @throws bad_digest when `text` is not 64 lower-case hex characters */
export function sha256(text: string): Sha256 {
  if (!HEX64.test(text)) fail('bad_digest', { digest: text.slice(0, 80) })
  return text as Sha256
}

/** @throws bad_path for anything that could leave the folder it is joined to */
export function relPath(text: string): RelPath {
  const unsafe =
    text === '' ||
    text.startsWith('/') ||
    text.includes('\\') ||
    CONTROL.test(text) ||
    text.split('/').some(segment => segment === '' || segment === '.' || segment === '..')
  if (unsafe) fail('bad_path', { path: text.slice(0, 200) })
  return text as RelPath
}

/** `deb:hello@2.10-3/amd64 in bookworm`: the one-line name of a package, for logs, outbox keys and messages. */
export function printRef(ref: PackageRef): string {
  return `${ref.format}:${ref.name}@${ref.version}/${ref.arch} in ${ref.codename}`
}
