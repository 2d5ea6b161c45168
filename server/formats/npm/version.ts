import semver from 'semver'

/** The longest version that npm reads. */
const MAX_VERSION = 256
/** semver reads no larger number exactly. */
const MAX_NUMBER = Number.MAX_SAFE_INTEGER

/**
 * The version as registries keep it: `v1.0.0` and `1.0.0+build` are `1.0.0`. Undefined for what is no version. Source:
 * semver, `clean`, as npm runs it over a package.json before it publishes.
 */
export function cleanVersion(text: string): string | undefined {
  return text.length > MAX_VERSION ? undefined : (semver.clean(text, { loose: true }) ?? undefined)
}

/** Why this is no version as registries keep it, or undefined. */
export function complainVersion(version: string): string | undefined {
  if (version.length > MAX_VERSION) return `it has ${version.length} characters, at most ${MAX_VERSION} are allowed`
  if (semver.valid(version) !== version)
    return 'semver.org wants three numbers such as 1.0.0, perhaps with a prerelease such as -beta.1, and nothing more'
  const isTooLarge = version.split(/[.-]/).some(part => /^\d+$/.test(part) && Number(part) >= MAX_NUMBER)
  return isTooLarge ? `npm reads no number of ${MAX_NUMBER} or more` : undefined
}

/** True when a version is in a range as npm writes it: `^1.2.0 || ~2.1`. A prerelease is only where one is named. */
export function isInRange(version: string, range: string): boolean {
  return semver.satisfies(version, range, { loose: true })
}

/** A range as it is compared, undefined for a tag, an address or anything else that is none. */
export function cleanRange(text: string): string | undefined {
  return text.length > 4096 ? undefined : (semver.validRange(text, { loose: true }) ?? undefined)
}
