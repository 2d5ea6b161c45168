import { editDistance } from '../lib/edit-distance.ts'
import { matchesPattern, type NameKey } from './registry-names.ts'

/** A name that belongs to the house, or a pattern of such names, and the registry that has it. */
export interface OwnedEntry {
  /** `ours-lib`, or a pattern such as `@ours/*`. */
  readonly name: string
  readonly owner: string
}

/**
 * Words that squats put before or behind a name. Source: the names in the malicious packages of OSV, such as
 * `nodejs-encrypt`, `python-dateutils`, `discordpy-self`.
 */
const AFFIXES = [
  'node',
  'nodejs',
  'js',
  'ts',
  'npm',
  'python',
  'python3',
  'py',
  'py3',
  'pip',
  'java',
  'lib',
  'cli',
] as const
const LEAST = 5
/** Of shorter words only what is left out, doubled or swapped counts. */
const LEAST_SHORT = 4
const LEAST_FOR_TWO = 12
/** Where names are shorter, another first letter makes another word: `react` and `preact`. */
const LEAST_FOR_FIRST = 8

interface Written {
  /** Without what separates its words, in lower case. */
  readonly flat: string
  /** The same with letters that look alike as one of them. */
  readonly skeleton: string
  readonly words: readonly string[]
  /** Which letters and digits are in `flat`, as bits. */
  readonly mask: number
}

const wordsOf = (name: string): readonly string[] =>
  name
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean)

const skeletonOf = (flat: string): string =>
  flat.replace(/rn/g, 'm').replace(/vv/g, 'w').replace(/0/g, 'o').replace(/[1i]/g, 'l').replace(/5/g, 's')

function maskOf(flat: string): number {
  let mask = 0
  for (const char of flat) {
    const code = char.charCodeAt(0)
    // all digits are one bit
    mask |= 1 << (code >= 97 ? code - 97 : 26)
  }
  return mask
}

function written(words: readonly string[]): Written {
  const flat = words.join('')
  return { flat, skeleton: skeletonOf(flat), words, mask: maskOf(flat) }
}

function bitsIn(value: number): number {
  let bits = value - ((value >>> 1) & 0x55555555)
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333)
  return (((bits + (bits >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24
}

/** What a name is called without such words and without the s of a plural; some ways to read it. */
function stemsOf({ flat, words }: Written): readonly string[] {
  const stems = new Set<string>([flat])
  const has = (word: string | undefined): boolean => AFFIXES.some(affix => affix === word)
  const from = has(words[0]) ? 1 : 0
  const to = words.length - (has(words.at(-1)) ? 1 : 0)
  if (from < to) stems.add(words.slice(from, to).join(''))
  for (const affix of AFFIXES) {
    if (flat.startsWith(affix)) stems.add(flat.slice(affix.length))
    if (flat.endsWith(affix)) stems.add(flat.slice(0, -affix.length))
  }
  for (const stem of [...stems]) if (stem.endsWith('s')) stems.add(stem.slice(0, -1))
  return [...stems].filter(stem => stem.length >= LEAST)
}

const isPlural = (a: string, b: string): boolean => `${a}s` === b || `${b}s` === a

const lettersOf = (flat: string): string => flat.replace(/\d/g, '#')

/**
 * Whether short words are one another with two letters swapped, or one left out between the first and the last: `react`
 * and `reat`. Another letter makes another word of them: `http` and `html`, `sqs` and `sns`.
 */
function isNearShort(a: string, b: string): boolean {
  if (Math.min(a.length, b.length) < LEAST_SHORT || editDistance(a, b, 1) > 1) return false
  if (a.length !== b.length) return a[0] === b[0] && a.at(-1) === b.at(-1)
  return [...a].toSorted().join('') === [...b].toSorted().join('')
}

/** Whether a word, or a name without what separates its words, is the other one with few other letters. */
function isNearText(a: string, b: string): boolean {
  const shorter = Math.min(a.length, b.length)
  if (shorter < LEAST) return isNearShort(a, b)
  const most = shorter >= LEAST_FOR_TWO ? 2 : 1
  if (editDistance(a, b, most) > most) return false
  return shorter >= LEAST_FOR_FIRST || a[0] === b[0] || (a[0] === b[1] && a[1] === b[0])
}

/** Words that differ, where as many words stand in both names. */
const pairsOf = (a: Written, b: Written): readonly (readonly [string, string])[] =>
  a.words.length === b.words.length
    ? a.words.flatMap((word, at): (readonly [string, string])[] => {
        const other = b.words[at] ?? ''
        return word === other ? [] : [[word, other]]
      })
    : []

/** One word of several, by itself: `ours-lib` and `ours-libs` are near, `boto-sqs` and `boto-rds` are not. */
const isNearWord = (a: string, b: string): boolean => isPlural(a, b) || isNearText(a, b)

/** Whether one name is the other with so few other letters that they are taken for one another. */
function isNear(a: Written, b: Written): boolean {
  // another number is another release: v1 and v2, sha256 and sha512
  if (!isNearText(a.flat, b.flat) || lettersOf(a.flat) === lettersOf(b.flat)) return false
  return a.words.length === 1 || pairsOf(a, b).every(([one, other]) => isNearWord(one, other))
}

interface Indexed extends Written {
  readonly entry: OwnedEntry
}

/** Owned names by what finds those that look like them without comparing all. */
interface Shelf {
  readonly exact: Map<string, Indexed>
  readonly stems: Map<string, Indexed>
  readonly byLength: Map<number, Indexed[]>
}

const newShelf = (): Shelf => ({ exact: new Map(), stems: new Map(), byLength: new Map() })

function put(shelf: Shelf, one: Indexed): void {
  for (const key of [one.flat, one.skeleton]) if (!shelf.exact.has(key)) shelf.exact.set(key, one)
  for (const stem of stemsOf(one)) if (!shelf.stems.has(stem)) shelf.stems.set(stem, one)
  const alike = shelf.byLength.get(one.flat.length) ?? []
  alike.push(one)
  shelf.byLength.set(one.flat.length, alike)
}

/** The entry that a name looks like. `withStems`: words around it count, too. */
function findOn(shelf: Shelf, name: Written, withStems: boolean): OwnedEntry | undefined {
  const { flat, skeleton, mask } = name
  // three letters look like anything
  if (flat.length < LEAST - 1) return undefined
  const same = shelf.exact.get(flat) ?? shelf.exact.get(skeleton)
  if (same !== undefined) return same.entry
  if (withStems)
    for (const stem of stemsOf(name)) {
      const found = shelf.stems.get(stem)
      // one of both has the word: `lib-ours` is no `cli-ours`
      if (found !== undefined && (found.flat === stem || stem === flat || isPlural(found.flat, flat)))
        return found.entry
    }
  for (let length = flat.length - 2; length <= flat.length + 2; length++)
    for (const one of shelf.byLength.get(length) ?? [])
      // a letter more, less or other changes two bits at most
      if (bitsIn(one.mask ^ mask) <= 4 && isNear(name, one)) return one.entry
  return undefined
}

/**
 * Finds names that look like names of the house: other separators (`ourlib`, `our_lib`), a scope as a word
 * (`ours-lib` for `@ours/lib`), letters that look alike (0 and o, 1, i and l, 5 and s, rn and m, vv and w), one letter
 * put in, left out, replaced or swapped (two from 12 letters on), the s of a plural, a word that squats put around
 * (`node-`, `-js`, `python-`). In names of several words each word is looked at by itself. Names of less than four
 * letters are never taken for others; one of four, and a word of four, only where it reads the same, two letters are
 * swapped, or one between the first and the last is left out or put in (`react` and `reat`; not `http` and `html`).
 * Another first letter counts from eight letters on (`react` is no `preact`), and another number never (`v1`, `v2`).
 * The name without its scope is no look-alike: `lib` is not `@ours/lib`.
 * @param keyOf  how the format compares names
 * @returns what a name looks like; undefined for one of the house, and for others
 */
export function createLookalikes(
  owned: readonly OwnedEntry[],
  keyOf: NameKey,
): (name: string) => OwnedEntry | undefined {
  const keys = new Set<string>()
  const patterns: string[] = []
  const whole = newShelf()
  const heads = new Map<number, Shelf>()
  for (const entry of owned) {
    const one = { ...written(wordsOf(entry.name)), entry }
    if (!entry.name.endsWith('*')) {
      keys.add(keyOf(entry.name))
      put(whole, one)
      continue
    }
    patterns.push(entry.name)
    const shelf = heads.get(one.words.length) ?? newShelf()
    put(shelf, one)
    heads.set(one.words.length, shelf)
  }
  return name => {
    const key = keyOf(name)
    if (keys.has(key) || patterns.some(pattern => matchesPattern(keyOf, pattern, name))) return undefined
    const words = wordsOf(key)
    const found = findOn(whole, written(words), true)
    if (found !== undefined) return found
    for (const [length, shelf] of heads) {
      // as many words as the pattern has, and something behind them
      if (length === 0 || words.length <= length) continue
      const head = findOn(shelf, written(words.slice(0, length)), false)
      if (head !== undefined) return head
    }
    return undefined
  }
}
