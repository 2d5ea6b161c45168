import { compareNumerals, compareTexts } from '../../core/versions/numerals.ts'

/** Whether it is a version as authors of native code write them: it begins with a number and has no blanks. */
export const isNative = (text: string): boolean => text.length <= 200 && /^\d[\w.+~-]*$/.test(text)

const PRE = /^(?:alpha|beta|pre|preview|rc|cr|dev|test|snapshot|nightly|git|svn)$/

/** What stands at one place of a version, in ascending order. */
const [ANNOUNCED, END, WORD, NUMBER] = [0, 1, 2, 3]
type Part = readonly [kind: number, text: string]
const NOTHING: Part = [END, '']

/** `a` and `b` before a number are Python's alpha and beta; alone they are releases of OpenSSL. */
function partOf(text: string, next: string | undefined): Part {
  if (/^\d/.test(text)) return [NUMBER, text]
  return [PRE.test(text) || (/^[ab]$/.test(text) && /^\d/.test(next ?? '')) ? ANNOUNCED : WORD, text]
}

/** Zeros before a word or the end do not count: `3.0.0-alpha` is one of `3.0`. */
function partsOf(version: string): Part[] {
  const parts: Part[] = []
  const texts = version.toLowerCase().match(/\d+|[a-z]+/g) ?? []
  const trim = (): void => {
    while (/^0+$/.test(parts.at(-1)?.[1] ?? '')) parts.pop()
  }
  texts.forEach((text, n) => {
    const part = partOf(text, texts[n + 1])
    if (part[0] !== NUMBER) trim()
    parts.push(part)
  })
  trim()
  return parts
}

/**
 * Compares versions of native code, part by part: numbers by value, a letter or word behind them is later
 * (`1.0.2 < 1.0.2a < 1.0.2zg < 1.0.3`, `9.2 < 9.2p1 < 9.2.1`), a word that announces a release is earlier
 * (`3.0.0-alpha1 < 3.0.0`).
 */
export function compareNative(a: string, b: string): number {
  const [x, y] = [partsOf(a), partsOf(b)]
  for (let n = 0; n < Math.max(x.length, y.length); n++) {
    const [[kind, one], [other, two]] = [x[n] ?? NOTHING, y[n] ?? NOTHING]
    const difference =
      kind !== other ? kind - other : kind === NUMBER ? compareNumerals(one, two) : compareTexts(one, two)
    if (difference !== 0) return difference
  }
  return 0
}
