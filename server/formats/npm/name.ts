import type { PackageIdentity } from '../../core/identity.ts'
import { quote } from '../../lib/limited.ts'
import { complainVersion } from './version.ts'

/** The longest name, with its scope. */
const MAX_NAME = 214
/** What may stand in an address as it is, in lower case. */
const PART = /^[a-z0-9][a-z0-9._-]*$/
/** The same for names that were given before that rule; a name in a scope may begin with `_`. */
const OLD_PART = /^[A-Za-z0-9~!*'()][\w.~!*'()-]*$/
const OLD_SCOPED = /^[A-Za-z0-9_~!*'()][\w.~!*'()-]*$/
/** Names that would be read as something else below `node_modules`, or below the address of a registry. */
const TAKEN = new Set(['node_modules', 'favicon.ico'])
/** The most bytes of the name of a file, the ending of a part that is written included. */
const MAX_FILE = 240

/** `@scope` and `name`; without a scope the first is undefined. */
export function splitName(name: string): readonly [scope: string | undefined, base: string] {
  const [, scope, base] = /^(@[^/]+)\/([^/]+)$/.exec(name) ?? []
  return base === undefined ? [undefined, name] : [scope, base]
}

/** The name of a version's file in its address: `n-1.0.0.tgz` of `@s/n`. */
export const tarballName = ({ name, version }: Pick<PackageIdentity, 'name' | 'version'>): string =>
  `${splitName(name)[1]}-${version}.tgz`

/** The version in the name of a file: `1.0.0` of `n-1.0.0.tgz`; undefined where it is no name of `tarballName`. */
export function versionIn(name: string, file: string): string | undefined {
  const begin = `${splitName(name)[1]}-`
  return file.startsWith(begin) && file.endsWith('.tgz') ? file.slice(begin.length, -4) || undefined : undefined
}

const complainLength = (name: string): string | undefined =>
  name === ''
    ? 'it is empty'
    : name.length > MAX_NAME
      ? `it has ${name.length} characters, at most ${MAX_NAME} are allowed`
      : undefined

const complainTaken = (base: string): string | undefined =>
  TAKEN.has(base.toLowerCase()) ? `${base} cannot be the name of a package` : undefined

/**
 * Why this is no name of a package, or undefined: older ones have capitals and signs that new ones may not have.
 * Source: the package validate-npm-package-name, "validForOldPackages"
 */
export function complainName(name: string): string | undefined {
  const [scope, base] = splitName(name)
  const isRight = scope === undefined ? OLD_PART.test(base) : OLD_PART.test(scope.slice(1)) && OLD_SCOPED.test(base)
  return (
    complainLength(name) ??
    (isRight
      ? complainTaken(base)
      : 'a name has letters, digits and what an address takes as it is, begins with none of `.`, `_`, `-`, and may follow a scope: @scope/name')
  )
}

/**
 * Why a registry refuses this name for a package that is published into it, or undefined. Source: docs.npmjs.com,
 * package.json, "name", and what the package validate-npm-package-name says of new packages.
 */
export function complainNewName(name: string): string | undefined {
  const [scope, base] = splitName(name)
  const parts = scope === undefined ? [base] : [scope.slice(1), base]
  return (
    complainLength(name) ??
    (parts.every(part => PART.test(part))
      ? complainTaken(base)
      : 'a name has lower-case letters, digits, `-`, `.` and `_`, begins with a letter or digit, and may follow a scope: @scope/name')
  )
}

/** Why an identity is refused, or undefined. */
export function complain({ name, version, arch }: PackageIdentity): string | undefined {
  const why = complainName(name)
  if (why !== undefined) return `the package name ${quote(name)} is not allowed: ${why}`
  const wrong = complainVersion(version)
  if (wrong !== undefined) return `the version ${quote(version)} is not allowed: ${wrong}`
  if (arch !== 'any') return `the architecture ${quote(arch)} is not allowed: a package of npm is for any`
  return tarballName({ name, version }).length > MAX_FILE
    ? 'name and version together are too long for a file name'
    : undefined
}

/** Why an identity is refused for a package that is published here, or undefined; others come from their registries. */
export function complainNew({ name }: Pick<PackageIdentity, 'name'>): string | undefined {
  const why = complainNewName(name)
  return why === undefined ? undefined : `the package name ${quote(name)} is not allowed: ${why}`
}
