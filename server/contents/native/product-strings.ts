import type { Found, OpenFile } from '../reader.ts'
import { compareNumbers } from './compare-numbers.ts'
import { holdsText, type Visit } from './numbers-with-dots.ts'
import { PRODUCTS, type Product } from './products.ts'

// several products can end in the same two characters before their version
const BY_END = new Map<number, Product[]>()
const STARTING: Product[] = []
for (const product of PRODUCTS) {
  const { before } = product
  if (before === '\0') STARTING.push(product)
  else {
    const end = before.charCodeAt(before.length - 1) + 256 * before.charCodeAt(before.length - 2)
    BY_END.set(end, [...(BY_END.get(end) ?? []), product])
  }
}

const MOST_VERSIONS = 200
const LONGEST = 200
const [SPACE, TILDE] = [0x20, 0x7e]
const NONE: readonly Product[] = []

/** Products whose version stands where they write it; what else they must have is asked afterwards. */
export interface ProductStrings {
  readonly visit: Visit
  found(file: OpenFile): Promise<Found[]>
}

/** Whether a product can be the one before a number. */
function isBefore({ before, along }: Product, bytes: Buffer, from: number): boolean {
  if (before === '\0') return true
  if (from < before.length || bytes.toString('latin1', from - before.length, from) !== before) return false
  return along === undefined || along.test(bytes.toString('latin1', Math.max(0, from - LONGEST), from))
}

/** The version that a file of these names has at a number. */
function versionOf({ after, file }: Product, bytes: Buffer, from: number, names: readonly string[]) {
  const own = file === undefined ? undefined : names.map(name => file.exec(name)).find(match => match !== null)
  if (file !== undefined && own === undefined) return undefined
  after.lastIndex = 0
  const version = after.exec(bytes.toString('latin1', from, from + LONGEST))?.[1]
  const begin = own?.[1]
  return begin === undefined || version?.startsWith(`${begin}.`) === true ? version : undefined
}

/** The versions that count of those that were seen; undefined stands for one that is not known. */
function chosen({ isNewest, isOnly }: Product, versions: ReadonlySet<string>): (string | undefined)[] {
  const all = [...versions]
  if (isNewest === true) return [all.sort(compareNumbers).at(-1)]
  return isOnly === true && all.length > 1 ? [undefined] : all
}

/** @param names  of the file, and what the library in it calls itself */
export function createProductStrings(names: readonly string[]): ProductStrings {
  const seen = new Map<Product, Set<string>>()
  return {
    visit(bytes, from) {
      const last = bytes[from - 1] ?? 0
      const products =
        last < SPACE || last > TILDE ? STARTING : (BY_END.get(last + 256 * (bytes[from - 2] ?? 0)) ?? NONE)
      for (const product of products) {
        const version = isBefore(product, bytes, from) ? versionOf(product, bytes, from, names) : undefined
        if (version === undefined) continue
        const versions = seen.get(product) ?? new Set()
        seen.set(product, versions)
        if (versions.size < MOST_VERSIONS) versions.add(version)
      }
    },
    async found(file) {
      const found = new Map<string, Found>()
      for (const [product, versions] of seen) {
        const { name, beside } = product
        if (beside !== undefined && !(await holdsText(file, beside))) continue
        const told = versions.size > 1 ? await product.settle?.(file, [...versions]) : undefined
        for (const version of told === undefined ? chosen(product, versions) : [told])
          found.set(`${name} ${version}`, {
            type: 'generic',
            name,
            version,
            presence: 'shipped',
            rule: 'version-string',
            confidence: 'probable',
          })
      }
      return [...found.values()]
    },
  }
}
