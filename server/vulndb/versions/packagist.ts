import { compareNumerals } from '../../core/versions/numerals.ts'

/** The words of PHP's version_compare in its order; the first that begins a part counts. */
const FORMS: readonly (readonly [word: string, rank: number])[] = [
  ['dev', 0],
  ['alpha', 1],
  ['a', 1],
  ['beta', 2],
  ['b', 2],
  ['RC', 3],
  ['rc', 3],
  ['#', 4],
  ['pl', 5],
  ['p', 5],
]
const UNKNOWN = -1
const NUMBER = 4

const isNumber = (part: string | undefined): boolean => part !== undefined && /^\d/.test(part)

/** Words that have no place stand before `dev`; a place without a word counts as a number. */
const rankOf = (part: string | undefined): number =>
  part === undefined || isNumber(part) ? NUMBER : (FORMS.find(([word]) => part.startsWith(word))?.[1] ?? UNKNOWN)

function compareParts(a: readonly string[], b: readonly string[]): number {
  for (let n = 0; n < Math.max(a.length, b.length); n++) {
    const [one, other] = [a[n], b[n]]
    if (other === undefined && isNumber(one)) return 1
    if (one === undefined && isNumber(other)) return -1
    const difference =
      isNumber(one) && isNumber(other) ? compareNumerals(one ?? '', other ?? '') : rankOf(one) - rankOf(other)
    if (difference !== 0) return difference
  }
  return 0
}

/** Runs of digits, and of what is neither digit nor divider. */
const split = (text: string): readonly string[] => text.match(/\d+|[^\d._+-]+/g) ?? []

const CLASSICAL =
  /^(\d+)(\.\d+)?(\.\d+)?(\.\d+)?[._-]?(?:(stable|beta|b|rc|alpha|a|patch|pl|p)((?:[.-]?\d+)*))?([.-]?dev)?$/
const BRANCH = /^\d+(?:\.\d+){0,2}(?:\.[x*])+[.-]?dev$/
const EXPANDED: Readonly<Record<string, string>> = { stable: '', a: 'alpha', b: 'beta', rc: 'RC', pl: 'p', patch: 'p' }

const DATE = /^\d{4}(?:[.:-]?\d{2}){1,6}(?:[.:-]?\d{1,3})?(?!\d)/

/** Four numbers before the first word, at least. */
function padded(parts: readonly string[]): readonly string[] {
  const word = parts.findIndex(part => !isNumber(part))
  const numbers = word === -1 ? parts.length : word
  return [...parts.slice(0, numbers), ...Array.from({ length: 4 - numbers }, () => '0'), ...parts.slice(numbers)]
}

/**
 * What is compared of a version, as Composer normalises it: four numbers, then its stability. `1.0` is `1.0.0.0`,
 * `1.25.0-b.2.1` is `1.25.0.0-beta2.1`, the branch `1.x-dev` stands behind all of 1. Composer refuses other texts;
 * their words are compared as they are.
 */
function partsOf(version: string): readonly string[] {
  const text = version
    .trim()
    .toLowerCase()
    .replace(/^v/, '')
    .replace(/\+\S*$/, '')
  if (BRANCH.test(text)) {
    const fixed = text.match(/\d+/g) ?? []
    return [...fixed, ...Array.from({ length: 4 - fixed.length }, () => '9999999'), 'dev']
  }
  const [whole, major = '', minor, patch, build, word = 'stable', count = '', dev] = CLASSICAL.exec(text) ?? []
  if (whole === undefined) return DATE.test(text) ? split(text) : padded(split(text))
  const numbers = [major, ...[minor, patch, build].map(part => part?.slice(1) ?? '0')]
  const stability = EXPANDED[word] ?? word
  return [...numbers, ...(stability === '' ? [] : [stability, ...split(count)]), ...(dev === undefined ? [] : ['dev'])]
}

/** Whether Composer can order this: a branch such as `dev-main` has no place among versions. */
export const isPackagist = (text: string): boolean => text.length <= 200 && /^v?\d[^\s<>"']*$/i.test(text.trim())

/**
 * Compares two versions of Composer packages: `1.0-dev < 1.0a1 < 1.0b1 < 1.0RC1 < 1.0 = 1.0.0 < 1.0pl1 < 1.0.1`.
 * Source: normalize of Composer's VersionParser (composer/semver), and version_compare in PHP's manual
 */
export const comparePackagist = (a: string, b: string): number => compareParts(partsOf(a), partsOf(b))
