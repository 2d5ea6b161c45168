import { isThere, type Item, type ItemState } from './planned.ts'

const named = ({ identity: { name, version } }: Item): string => `${name} ${version}`
const MOST = 3

/** Finds everything that a package of these needs, directly or not, without itself. */
export function belowOf(items: readonly Item[]): (item: Item) => ReadonlySet<Item> {
  const bySeq = new Map(items.map(item => [item.seq, item]))
  return item => {
    const seen = new Set<Item>()
    const front = [...item.needs]
    for (let seq = front.pop(); seq !== undefined; seq = front.pop()) {
      const needed = bySeq.get(seq)
      if (needed === undefined || needed === item || seen.has(needed)) continue
      seen.add(needed)
      front.push(...needed.needs)
    }
    return seen
  }
}

/**
 * Tells why a package must wait for people although nothing is wrong with it: something that it needs, directly or not,
 * did not come in. What has not been decided yet does not count: in a cycle something is first.
 * @param below  `belowOf` all packages of the import
 * @param states  by place, kept up to date by the caller
 */
export function lackOf(
  below: (item: Item) => ReadonlySet<Item>,
  states: ReadonlyMap<number, ItemState>,
): (item: Item) => string | undefined {
  return item => {
    if (item.lacks !== undefined) return item.lacks
    const all = [...below(item)]
    const unmet = all.find(({ lacks }) => lacks !== undefined)
    if (unmet?.lacks !== undefined) return `It needs ${named(unmet)}. ${unmet.lacks}`
    const absent = all.filter(({ seq }) => {
      const state = states.get(seq) ?? 'waiting'
      return state !== 'waiting' && !isThere(state)
    })
    if (absent.length === 0) return undefined
    const names = absent.slice(0, MOST).map(named).join(', ')
    const more = absent.length > MOST ? ` and ${absent.length - MOST} more` : ''
    return absent.length === 1
      ? `It needs ${names}, which is not published here. Decide on it first.`
      : `It needs ${names}${more}, which are not published here. Decide on them first.`
  }
}
