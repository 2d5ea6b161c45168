import { compareLists, compareNumerals } from '../../core/versions/numerals.ts'

/** Whether Cabal takes this for a version: numbers and dots. */
export const isHackage = (text: string): boolean => text.length <= 200 && /^\d+(?:\.\d+)*$/.test(text)

/**
 * Compares two Haskell versions, number by number: `1 < 1.0 < 1.0.0 < 1.1`.
 * Source: Haskell Package Versioning Policy, and the order of Data.Version
 */
export const compareHackage = (a: string, b: string): number =>
  compareLists(a.split('.'), b.split('.'), compareNumerals)
