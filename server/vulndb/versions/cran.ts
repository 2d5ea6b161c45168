import { compareLists, compareNumerals } from '../../core/versions/numerals.ts'

/** Whether R takes this for a package's version: numbers with dots or hyphens between them. */
export const isCran = (text: string): boolean => text.length <= 200 && /^\d+(?:[.-]\d+)*$/.test(text)

/**
 * Compares two versions of R packages, number by number; a hyphen is a dot: `0.9 < 0.75 < 1.0 < 1.0-0 = 1.0.0`.
 * Source: `package_version` in R's base package, and "Writing R Extensions", 1.1.1
 */
export const compareCran = (a: string, b: string): number =>
  compareLists(a.split(/[.-]/), b.split(/[.-]/), compareNumerals)
