import { compareLists, compareNumerals, compareTexts } from '../../core/versions/numerals.ts'

const PATTERN = /^\s*\d[0-9a-z]*(?:\.[0-9a-z]+)*(?:-[0-9a-z-]+(?:\.[0-9a-z-]+)*)?\s*$/i

/** Whether this is a version of a gem; `1beta`, which RubyGems took once, is one. */
export const isRubyGems = (text: string): boolean => text.length <= 200 && PATTERN.test(text)

const isNumber = (segment: string): boolean => /^\d/.test(segment)

function withoutNoughts(segments: readonly string[]): readonly string[] {
  const last = segments.findLastIndex(segment => !/^0+$/.test(segment))
  return segments.slice(0, last + 1)
}

/** Runs of digits and of letters; a hyphen begins a pre-release. Noughts before the first word and at the end go. */
function segmentsOf(version: string): readonly string[] {
  const all =
    version
      .trim()
      .replaceAll('-', '.pre.')
      .match(/\d+|[a-z]+/gi) ?? []
  const word = all.findIndex(segment => !isNumber(segment))
  const cut = word === -1 ? all.length : word
  return [...withoutNoughts(all.slice(0, cut)), ...withoutNoughts(all.slice(cut))]
}

/** A word stands before every number: it makes a pre-release. */
function compareSegments(a: string, b: string): number {
  const [x, y] = [isNumber(a), isNumber(b)]
  if (x !== y) return x ? 1 : -1
  return x ? compareNumerals(a, b) : compareTexts(a, b)
}

/**
 * Compares two versions of RubyGems: `1.0.a.9 < 1.0.a10 < 1.0 = 1.0.0 < 1.0.1`.
 * Source: Gem::Version, https://docs.ruby-lang.org/en/master/Gem/Version.html
 */
export const compareRubyGems = (a: string, b: string): number =>
  compareLists(segmentsOf(a), segmentsOf(b), compareSegments, '0')
