import { createHash } from 'node:crypto'

/**
 * A piece of an index: the packages from the number `from` to the next piece. Packages stand in the order in which they
 * came, so that what is added changes the last piece alone, whatever it is called. Cut by content, so that the same
 * entries give the same pieces whatever the way there.
 */
export interface Shard {
  /** The first package in it. A name in pieces of earlier releases, which were in the order of names. */
  readonly from: number | string
  /** SHA-256 of its text. */
  readonly digest: string
  readonly size: number
  readonly entries: number
  /** How many of them are in the index of every architecture; absent in pieces that release 0.1 recorded. */
  readonly neutral?: number
}

/** A piece in the order of today. */
export interface OrderedShard extends Shard {
  readonly from: number
}

export interface Rendered {
  /** The number of its package, which grows with each that comes. */
  readonly id: number
  readonly text: string
  /** True for an entry that is in the index of every architecture. */
  readonly isNeutral?: boolean
}
/** A piece with its text. `lengths` are the bytes of each entry in it. */
export interface Piece {
  readonly shard: Shard
  readonly text: string
  readonly lengths: readonly number[]
}
/** `ids` are the packages in it, in order. */
export interface Cut extends Piece {
  readonly shard: OrderedShard
  readonly ids: readonly number[]
}

/**
 * About this many entries a piece. Most of a publication is compressing the changed piece. With 64 that is a quarter of
 * what it is with 256, and the xz of Debian's index 8 % larger.
 */
const SPREAD = 64

/** True where a new piece begins: decided by the number alone. */
export function isBoundary(id: number): boolean {
  // the finalizer of MurmurHash3, 32 bits: any hash that spreads will do, as long as it never changes
  let hash = Math.imul(id ^ (id >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) % SPREAD === 0
}

/** A piece of these entries. @param from  the first package that may stand in it */
export function pieceOf<From extends Shard['from']>(
  entries: readonly Omit<Rendered, 'id'>[],
  from: From,
): Piece & { readonly shard: { readonly from: From } } {
  const text = entries.map(one => one.text).join('')
  return {
    text,
    lengths: entries.map(one => Buffer.byteLength(one.text)),
    shard: {
      from,
      digest: createHash('sha256').update(text).digest('hex'),
      size: Buffer.byteLength(text),
      entries: entries.length,
      neutral: entries.filter(({ isNeutral }) => isNeutral === true).length,
    },
  }
}

/** Cuts entries, given in the order of their numbers, into pieces. */
export function cut(entries: readonly Rendered[]): Cut[] {
  const starts = entries.flatMap(({ id }, n) => (n === 0 || isBoundary(id) ? [n] : []))
  return starts.map((start, n) => {
    const some = entries.slice(start, starts[n + 1])
    return { ...pieceOf(some, some[0]?.id ?? 0), ids: some.map(({ id }) => id) }
  })
}

/**
 * Packages from `from` up to, not including, `to`; undefined is the end. `shards` says which pieces lie in it: first
 * and one past the last; `ids` which packages in it changed, in order.
 */
export interface Range {
  readonly from: number
  readonly to: number | undefined
  readonly shards: readonly [number, number]
  readonly ids: readonly number[]
}

/** Whether the pieces are in the order of today: those of earlier releases are not, and are written again. */
export function areOrdered(shards: readonly Shard[]): shards is readonly OrderedShard[] {
  return shards.every(({ from }) => typeof from === 'number')
}

function find(shards: readonly OrderedShard[], id: number): number {
  let low = 0
  let high = shards.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((shards[middle]?.from ?? 0) <= id) low = middle + 1
    else high = middle
  }
  return Math.max(0, low - 1)
}

/** The range from the first of these packages to the last: an index without pieces can get no others. */
function spanOf(ids: readonly number[]): Range[] {
  const [first, last] = [ids[0], ids.at(-1)]
  return first === undefined || last === undefined ? [] : [{ from: first, to: last + 1, shards: [0, 0], ids }]
}

/** Which pieces must be written again because these packages changed; none if none did. */
export function plan(shards: readonly OrderedShard[], ids: Iterable<number>): Range[] {
  const changed = [...ids].sort((a, b) => a - b)
  if (shards.length === 0) return spanOf(changed)
  const touched = new Map<number, number[]>()
  for (const id of changed) {
    const at = find(shards, id)
    // where the first package of a piece goes, the piece may join the one before it
    if (shards[at]?.from === id && at > 0 && !touched.has(at - 1)) touched.set(at - 1, [])
    const here = touched.get(at)
    if (here === undefined) touched.set(at, [id])
    else here.push(id)
  }
  const ranges: (Range & { readonly ids: number[] })[] = []
  for (const [at, here] of [...touched].sort(([a], [b]) => a - b)) {
    const last = ranges.at(-1)
    const to = shards[at + 1]?.from
    if (last !== undefined && last.shards[1] === at) {
      last.ids.push(...here)
      ranges[ranges.length - 1] = { ...last, to, shards: [last.shards[0], at + 1] }
    } else ranges.push({ from: at === 0 ? 0 : (shards[at]?.from ?? 0), to, shards: [at, at + 1], ids: here })
  }
  return ranges
}

/** Puts newly cut pieces in the place of those that the ranges covered. */
export function splice<One extends Shard>(
  shards: readonly One[],
  changes: readonly { readonly range: Range; readonly shards: readonly One[] }[],
): One[] {
  const result: One[] = []
  let at = 0
  for (const { range, shards: fresh } of changes) {
    result.push(...shards.slice(at, range.shards[0]), ...fresh)
    at = range.shards[1]
  }
  return [...result, ...shards.slice(at)]
}
