import { compareIdentifiers, compareLists, compareNumerals } from '../../core/versions/numerals.ts'

const PATTERN = /^v?(\d+(?:\.\d+)*)(?:-([0-9a-z-]+(?:\.[0-9a-z-]+)*))?(?:\+([0-9a-z-]+(?:\.[0-9a-z-]+)*))?$/i

/** Whether this is a version as Dart's pub writes them. */
export const isPub = (text: string): boolean => text.length <= 200 && PATTERN.test(text.trim())

/** `none` decides where only one has the part: a pre-release comes before none, a build after. */
function compareParts(a: string | undefined, b: string | undefined, none: number): number {
  if (a === undefined || b === undefined) return (Number(b === undefined) - Number(a === undefined)) * none
  return compareLists(a.split('.'), b.split('.'), compareIdentifiers)
}

/**
 * Compares two versions of Dart packages: as semver.org, but builds count: `1.0.0-rc < 1.0.0 < 1.0.0+1 < 1.0.0+a`.
 * Source: Version.compareTo of pub_semver, https://pub.dev/packages/pub_semver
 */
export function comparePub(a: string, b: string): number {
  const [, numbers = '', label, build] = PATTERN.exec(a.trim()) ?? []
  const [, otherNumbers = '', otherLabel, otherBuild] = PATTERN.exec(b.trim()) ?? []
  return (
    compareLists(numbers.split('.'), otherNumbers.split('.'), compareNumerals, '0') ||
    compareParts(label, otherLabel, -1) ||
    compareParts(build, otherBuild, 1)
  )
}
