import { createHash } from 'node:crypto'

/**
 * A piece of an index: everything from the name `from` to the next piece. Cut by content, so that the same entries give
 * the same pieces whatever the way there.
 */
export interface Shard {
  /** The first name in it. */
  readonly from: string
  /** SHA-256 of its text. */
  readonly digest: string
  readonly size: number
  readonly entries: number
  /** How many of them are in the index of every architecture; absent in pieces that release 0.1 recorded. */
  readonly neutral?: number
}

export interface Rendered {
  readonly name: string
  readonly text: string
  /** True for an entry that is in the index of every architecture. */
  readonly isNeutral?: boolean
}
/** A piece with its text. `lengths` are the bytes of each entry in it. */
export interface Cut {
  readonly shard: Shard
  readonly text: string
  readonly names: readonly string[]
  readonly lengths: readonly number[]
}

/**
 * About this many names a piece. Most of a publication is compressing the changed piece. With 64 that is a quarter of
 * what it is with 256, and the xz of Debian's index 8 % larger. A smaller power of two only adds boundaries, so pieces
 * of releases that had 256 stay valid until a name in them changes.
 */
const SPREAD = 64

/** True where a new piece begins: decided by the name alone. */
export function isBoundary(name: string): boolean {
  // FNV-1a, 32 bits: any hash that spreads will do, as long as it never changes
  let hash = 0x811c9dc5
  for (let n = 0; n < name.length; n++) hash = Math.imul(hash ^ name.charCodeAt(n), 0x01000193) >>> 0
  return (hash ^ (hash >>> 15)) % SPREAD === 0
}

/** Cuts entries, given in the order of their names, into pieces. Versions of one name stay together. */
export function cut(entries: Iterable<Rendered>): Cut[] {
  const cuts: Cut[] = []
  let names: { from: string; last: string; all: string[]; texts: string[]; neutral: number } | undefined
  const close = (): void => {
    if (names === undefined) return
    const text = names.texts.join('')
    cuts.push({
      text,
      names: names.all,
      lengths: names.texts.map(one => Buffer.byteLength(one)),
      shard: {
        from: names.from,
        digest: createHash('sha256').update(text).digest('hex'),
        size: Buffer.byteLength(text),
        entries: names.texts.length,
        neutral: names.neutral,
      },
    })
  }
  for (const { name, text, isNeutral } of entries) {
    if (names === undefined || (name !== names.last && isBoundary(name))) {
      close()
      names = { from: name, last: '', all: [], texts: [], neutral: 0 }
    }
    if (name !== names.last) names.all.push(name)
    names.last = name
    names.texts.push(text)
    if (isNeutral === true) names.neutral++
  }
  close()
  return cuts
}

/**
 * Names from `from` up to, not including, `to`; undefined is the end. `shards` says which pieces lie in it: first and
 * one past the last; `names` which names in it changed, in order.
 */
export interface Range {
  readonly from: string
  readonly to: string | undefined
  readonly shards: readonly [number, number]
  readonly names: readonly string[]
}

// code point order, as PostgreSQL's collate "C" over UTF-8; package names are ASCII, where UTF-16 order is the same
function find(shards: readonly Shard[], name: string): number {
  let low = 0
  let high = shards.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((shards[middle]?.from ?? '') <= name) low = middle + 1
    else high = middle
  }
  return Math.max(0, low - 1)
}

/** The range from the first of these names to the last: an index without pieces can get no others. */
function spanOf(names: readonly string[]): Range[] {
  const [first, last] = [names[0], names.at(-1)]
  // no name has a control character, so nothing lies between the last name and this bound
  return first === undefined ? [] : [{ from: first, to: `${last}\u0001`, shards: [0, 0], names }]
}

/** Which pieces must be written again because these names changed; none if no name did. */
export function plan(shards: readonly Shard[], names: Iterable<string>): Range[] {
  const changed = [...names].sort()
  if (shards.length === 0) return spanOf(changed)
  const touched = new Map<number, string[]>()
  for (const name of changed) {
    const at = find(shards, name)
    // where a piece's first name goes, the piece may join the one before it
    if (shards[at]?.from === name && at > 0 && !touched.has(at - 1)) touched.set(at - 1, [])
    const here = touched.get(at)
    if (here === undefined) touched.set(at, [name])
    else here.push(name)
  }
  const ranges: (Range & { readonly names: string[] })[] = []
  for (const [at, here] of [...touched].sort(([a], [b]) => a - b)) {
    const last = ranges.at(-1)
    const to = shards[at + 1]?.from
    if (last !== undefined && last.shards[1] === at) {
      last.names.push(...here)
      ranges[ranges.length - 1] = { ...last, to, shards: [last.shards[0], at + 1] }
    } else ranges.push({ from: at === 0 ? '' : (shards[at]?.from ?? ''), to, shards: [at, at + 1], names: here })
  }
  return ranges
}

/** Puts newly cut pieces in the place of those that the ranges covered. */
export function splice(
  shards: readonly Shard[],
  changes: readonly { readonly range: Range; readonly shards: readonly Shard[] }[],
): Shard[] {
  const result: Shard[] = []
  let at = 0
  for (const { range, shards: fresh } of changes) {
    result.push(...shards.slice(at, range.shards[0]), ...fresh)
    at = range.shards[1]
  }
  return [...result, ...shards.slice(at)]
}
