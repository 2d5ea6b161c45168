import { describe, expect, test } from 'vitest'
import { areOrdered, cut, isBoundary, plan, splice, type OrderedShard, type Rendered } from './shards.ts'

/** A small generator with a seed, so that a failure can be run again. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = Math.imul(state ^ (state >>> 15), state | 1)
    state ^= state + Math.imul(state ^ (state >>> 7), state | 61)
    return ((state ^ (state >>> 14)) >>> 0) / 4294967296
  }
}

const textOf = (id: number, version: number): Rendered => ({ id, text: `Package: p${id}\nVersion: ${version}\n\n` })
const sorted = (packages: ReadonlyMap<number, number>): Rendered[] =>
  [...packages].sort(([a], [b]) => a - b).map(([id, version]) => textOf(id, version))
const shardsOf = (packages: ReadonlyMap<number, number>): OrderedShard[] => cut(sorted(packages)).map(one => one.shard)

describe('cutting an index', () => {
  test('is complete and in order, and makes pieces of about 64 entries', () => {
    // every third number: the others are packages of other distributions
    const entries = Array.from({ length: 10_000 }, (_, n) => textOf(3 * n + 1, n))
    const cuts = cut(entries)
    expect(cuts.map(one => one.text).join('')).toBe(entries.map(entry => entry.text).join(''))
    expect(cuts.flatMap(one => one.ids)).toEqual(entries.map(({ id }) => id))
    for (const one of cuts.slice(1)) expect(isBoundary(one.shard.from)).toBe(true)
    expect(cuts.length).toBeGreaterThan(100)
    expect(cuts.length).toBeLessThan(250)
  })

  test('what is added after all others changes the last piece alone', () => {
    const packages = new Map(Array.from({ length: 1_000 }, (_, n) => [n + 1, 1]))
    const [before, added] = [shardsOf(packages), 1_001]
    const [range, ...others] = plan(before, [added])
    expect(others).toEqual([])
    expect(range).toEqual({
      from: before.at(-1)?.from,
      to: undefined,
      shards: [before.length - 1, before.length],
      ids: [added],
    })
  })

  test('gives the same pieces whatever the way there: rewriting the planned ranges equals cutting everything again', () => {
    const random = seeded(20_261_121)
    const pool = Array.from({ length: 6_000 }, (_, n) => n + 1)
    const boundaries = pool.filter(isBoundary)
    const packages = new Map<number, number>(pool.filter(id => id % 2 === 0).map(id => [id, 1]))
    let shards = shardsOf(packages)
    for (let round = 0; round < 200; round++) {
      const dirty = new Set<number>()
      for (let n = 0; n < 1 + Math.floor(random() * 4); n++) {
        const from = random() < 0.4 ? boundaries : pool
        const id = from[Math.floor(random() * from.length)] ?? 0
        dirty.add(id)
        if (random() < 0.5) packages.delete(id)
        else packages.set(id, round)
      }
      const ranges = plan(shards, dirty)
      expect(ranges.flatMap(range => range.ids)).toEqual([...dirty].sort((a, b) => a - b))
      const changes = ranges.map(range => ({
        range,
        shards: cut(
          sorted(packages).filter(({ id }) => id >= range.from && (range.to === undefined || id < range.to)),
        ).map(one => one.shard),
      }))
      shards = splice(shards, changes)
      expect(shards).toEqual(shardsOf(packages))
    }
  })

  test('of no packages has no pieces, and the first package makes the first piece', () => {
    expect(cut([])).toEqual([])
    expect(plan([], []), 'a part that nothing changed in is not read').toEqual([])
    const range = { from: 3, to: 13, shards: [0, 0], ids: [3, 7, 12] } as const
    expect(plan([], [12, 3, 7])).toEqual([range])
    expect(splice([], [{ range, shards: shardsOf(new Map([[3, 1]])) }])).toHaveLength(1)
  })

  test('pieces that begin with a name are those of an earlier release', () => {
    expect(areOrdered(shardsOf(new Map([[1, 1]])))).toBe(true)
    expect(areOrdered([{ from: 'hello', digest: '', size: 0, entries: 1 }])).toBe(false)
  })
})
