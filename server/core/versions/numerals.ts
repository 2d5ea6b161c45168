const order = (a: string | number, b: string | number): number => (a < b ? -1 : a > b ? 1 : 0)

/** Compares two decimal numbers by value, however long they are; leading zeros do not count. */
export function compareNumerals(a: string, b: string): number {
  const [x, y] = [a.replace(/^0+(?=.)/, ''), b.replace(/^0+(?=.)/, '')]
  return order(x.length, y.length) || order(x, y)
}

/** Compares two texts by their characters' numbers, as `strcmp` does. */
export const compareTexts: (a: string, b: string) => number = order

/**
 * Compares place by place; where one list ends, `missing` stands in its place, and without one the shorter is less.
 * @returns <0, 0, >0
 */
export function compareLists(
  a: readonly string[],
  b: readonly string[],
  compare: (one: string, other: string) => number,
  missing?: string,
): number {
  for (let n = 0; n < Math.max(a.length, b.length); n++) {
    const [one = missing, other = missing] = [a[n], b[n]]
    if (one === undefined || other === undefined) return one === undefined ? -1 : 1
    const difference = compare(one, other)
    if (difference !== 0) return difference
  }
  return 0
}

const NUMERAL = /^\d+$/

/** Parts between the dots of a pre-release: numbers by value, before words. Source: semver.org 2.0.0, 11.4 */
export function compareIdentifiers(a: string, b: string): number {
  const [x, y] = [NUMERAL.test(a), NUMERAL.test(b)]
  if (x && y) return compareNumerals(a, b)
  return x === y ? compareTexts(a, b) : x ? -1 : 1
}

/**
 * A number as a key that sorts by code point as its value: how many digits it has (`a` none, `b` one, … `z` 25 and more
 * to come), then the digits.
 */
export function numberKey(digits: string): string {
  const value = digits.replace(/^0+/, '')
  const full = Math.floor(value.length / 25)
  return `${'z'.repeat(full)}${String.fromCharCode(97 + (value.length % 25))}${value}`
}

/** A text as printable ASCII that sorts by code point as `compareTexts` sorts the text; it ends as none begins. */
export function textKey(text: string): string {
  const escape = (char: string): string =>
    `${char < '#' ? '"' : '~'}${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  return `${text.replace(/[^#-}]/g, escape)}!`
}
