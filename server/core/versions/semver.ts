import semver from 'semver'
import { compareIdentifiers, compareLists, compareNumerals, numberKey, textKey } from './numerals.ts'

/** Advisories also write `1`, `1.2` and `v1.2.3`; npm accepts them. */
function complete(text: string): string {
  const [, numbers = '', rest = ''] = /^[v=\s]*(\d+(?:\.\d+)?)((?:[-+].*)?)$/.exec(text) ?? []
  return numbers === '' ? text : `${numbers}${'.0'.repeat(3 - numbers.split('.').length)}${rest}`
}

// the versions of a package are compared again and again, with many ranges
const parsed = new Map<string, semver.SemVer | null>()

function parse(text: string): semver.SemVer | null {
  const known = parsed.get(text)
  if (known !== undefined) return known
  const version = semver.parse(complete(text), { loose: true })
  if (parsed.size >= 5_000) parsed.clear()
  parsed.set(text, version)
  return version
}

/** Tags that are no semantic versions but read like some: `v1.2.3.4`, numbers of any length. */
const ALIKE = /^v?(\d+(?:\.\d+)*)(?:-([0-9a-z.-]+))?(?:\+.*)?$/i

function compareAlike(a: string, b: string): number {
  const [, numbers = '', label] = ALIKE.exec(a) ?? []
  const [, otherNumbers = '', otherLabel] = ALIKE.exec(b) ?? []
  const difference = compareLists(numbers.split('.'), otherNumbers.split('.'), compareNumerals, '0')
  if (difference !== 0) return difference
  if (label === undefined || otherLabel === undefined)
    return Number(otherLabel !== undefined) - Number(label !== undefined)
  return compareLists(label.split('.'), otherLabel.split('.'), compareIdentifiers)
}

/** Whether this is a version as semver writes them, or reads like one; nothing else is compared. */
export function isSemver(text: string): boolean {
  return text.length <= 256 && (parse(text) !== null || ALIKE.test(text))
}

/**
 * Precedence of semver.org 2.0.0, 11; build metadata does not count. Hex, SwiftURL and GitHub Actions have it, too.
 * What npm refuses, such as four numbers, is compared number by number.
 * @throws TypeError for what `isSemver` refuses
 */
export function compareSemver(a: string, b: string): number {
  const [x, y] = [parse(a), parse(b)]
  if (x !== null && y !== null) return x.compare(y)
  for (const text of [a, b]) if (!isSemver(text)) throw new TypeError(`${text} is no semantic version`)
  return compareAlike(x?.version ?? a, y?.version ?? b)
}

/** Of a pre-release, the parts between its dots: numbers before words; then the end, before any more. */
const labelKey = (label: string): string =>
  `${label
    .split('.')
    .map(part => (/^\d+$/.test(part) ? `0${numberKey(part)}` : `1${textKey(part)}`))
    .join('')}!`

/**
 * Maps a version to printable ASCII that sorts by code point as `compareSemver` does; equal versions have equal keys:
 * `1.2.0` and `v1.2+build` are one.
 * @throws TypeError for what `isSemver` refuses
 */
export function semverKey(text: string): string {
  const [whole, numbers = '', label] = ALIKE.exec(parse(text)?.version ?? text) ?? []
  if (whole === undefined || text.length > 256) throw new TypeError(`${text} is no semantic version`)
  const counted = numbers.replace(/(?:\.0+)+$/, '').split('.')
  return `${counted.map(part => `1${numberKey(part)}`).join('')}!${label === undefined ? '~' : labelKey(label)}`
}
