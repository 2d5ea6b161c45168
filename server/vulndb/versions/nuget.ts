import { compareIdentifiers, compareLists, compareNumerals } from '../../core/versions/numerals.ts'

const PATTERN = /^v?(\d+(?:\.\d+){0,3})(?:-([0-9a-z-]+(?:\.[0-9a-z-]+)*))?(?:\+[0-9a-z.-]*)?$/i

/** Whether NuGet takes this for a version: up to four numbers, a pre-release, metadata. */
export const isNuget = (text: string): boolean => text.length <= 200 && PATTERN.test(text.trim())

/** The numbers and the pre-release, in lower case: NuGet does not tell cases apart. */
function parse(text: string): { readonly numbers: readonly string[]; readonly label: readonly string[] | undefined } {
  const [, numbers = '', label] = PATTERN.exec(text.trim().toLowerCase()) ?? []
  return { numbers: numbers.split('.'), label: label?.split('.') }
}

/**
 * Compares two NuGet versions: `1.0-beta < 1.0-beta.2 < 1.0 = 1.0.0.0 < 1.0.0.1-alpha`. Metadata does not count.
 * Source: https://learn.microsoft.com/nuget/concepts/package-versioning
 */
export function compareNuget(a: string, b: string): number {
  const [x, y] = [parse(a), parse(b)]
  const difference = compareLists(x.numbers, y.numbers, compareNumerals, '0')
  if (difference !== 0) return difference
  if (x.label === undefined || y.label === undefined)
    return Number(y.label !== undefined) - Number(x.label !== undefined)
  return compareLists(x.label, y.label, compareIdentifiers)
}
