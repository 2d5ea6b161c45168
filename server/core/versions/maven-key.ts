import { compareListToNothing, compareToNothing, parse, QUALIFIERS, type Item, type Rows } from './maven.ts'
import { numberKey, textKey } from './numerals.ts'

/*
 * What can stand at one place, in ascending order: a word that announces a release ('0' to '4'), an empty word before
 * what counts less than nothing, such a list, a nought before such a thing, the end, an empty word before what counts
 * more, `sp`, any other word, a list that counts more, a number.
 */
const EMPTY_LESS = '5'
const LIST_LESS = '6'
const NOUGHT_LESS = '7'
const END = '8'
const EMPTY_MORE = '9'
const SP = 'A'
const WORD = 'B'
const LIST_MORE = 'C'
const NUMBER = 'D'

/** What stands from a place on, against nothing. */
function signOf(rows: Rows, row: number, at: number): number {
  for (const item of rows[row]?.slice(at) ?? []) {
    const difference = compareToNothing(item)
    if (difference !== 0) return difference
  }
  return compareListToNothing(rows, row + 1)
}

function wordKey(word: string, isLess: boolean): string {
  if (word === '') return isLess ? EMPTY_LESS : EMPTY_MORE
  if (word === 'sp') return SP
  const at = QUALIFIERS.indexOf(word)
  return at === -1 ? `${WORD}${textKey(word)}` : String(at)
}

/**
 * Maps a Maven version to printable ASCII that sorts by code point as `compareMaven` does; equal versions have equal
 * keys: `1.0` and `1-ga` are one.
 *
 * Maven's own order runs in circles where a word stands between dots (`1.sp.1`) or a nought before a word (`1.0.rc.1`):
 * 1 < 1.sp.1 < 1-rc < 1. Of such versions the key keeps how they stand to their release.
 */
export function mavenKey(version: string): string {
  const rows = parse(version)
  let key = ''
  const add = (item: Item, row: number, at: number): void => {
    const isLess = signOf(rows, row, at) < 0
    if (typeof item === 'string') key += wordKey(item, isLess)
    else key += item === 0n && isLess ? NOUGHT_LESS : `${NUMBER}${numberKey(String(item))}`
  }
  rows.forEach((items, row) => {
    items.forEach((item, at) => {
      add(item, row, at)
    })
    if (row + 1 < rows.length) key += compareListToNothing(rows, row + 1) < 0 ? LIST_LESS : LIST_MORE
  })
  return `${key}${END}`
}
